"""Ask, stream, check a sentence against its abstract, follow up, refuse, stop, edit, reload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import PLAIN, Seen, ask, opened, ready
from tests.ui.served import free_port, served

DPO = "Does DPO keep its advantage when the true reward is not realizable?"


def test_a_marker_leads_to_exactly_the_quoted_words(page: Any, seen: Seen) -> None:
    turn = ask(page, DPO)
    marker = turn.locator("a.cite").first
    marker.hover()
    quoted = page.locator("#tip p").first.evaluate(PLAIN)
    marker.click()
    card = page.locator(marker.get_attribute("href"))
    lit = card.locator("mark.on")
    assert [f"“{text.evaluate(PLAIN)}”" for text in lit.all()] == [quoted]
    assert card.locator(".quotes li").first.evaluate(PLAIN) == quoted
    assert lit.first.evaluate(
        "e => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; }"
    )
    assert card.evaluate("e => document.activeElement === e")
    assert seen.nothing(), seen


def test_every_marker_of_several_answers_lights_its_own_quote(page: Any) -> None:
    ask(page, "Which papers are about language models?")
    ask(page, "Which papers prove convergence rates?")
    markers = page.locator("a.cite").all()
    assert len(markers) > 5
    for marker in markers:
        marker.press("Enter")
        card = page.locator(marker.get_attribute("href"))
        places = marker.get_attribute("data-q").split()
        quotes = [card.locator(f".quotes li[data-q='{place}']").evaluate(PLAIN) for place in places]
        assert [f"“{mark.evaluate(PLAIN)}”" for mark in card.locator("mark.on").all()] == quotes
        assert card.is_visible()


def test_first_sight_offers_questions_that_are_answered(page: Any) -> None:
    examples = page.locator(".examples button")
    assert examples.count() == 4
    examples.first.click()
    page.wait_for_selector("#t0 .answer[data-status=answered] a.cite")


def test_a_follow_up_shows_what_was_searched_for(page: Any) -> None:
    ask(page, "What is Byzantine-robust federated learning prone to?")
    turn = ask(page, "And what about its convergence?")
    assert "Searched for:" in turn.inner_text()
    assert "Byzantine" in turn.locator(".small").inner_text()


def test_a_refusal_says_so_and_shows_the_nearest_papers(page: Any) -> None:
    turn = ask(page, "What is the capital of France?")
    assert turn.locator(".answer").get_attribute("data-status") == "not_in_corpus"
    assert "France" in turn.inner_text()
    assert turn.locator("a.cite").count() == 0
    nearest = page.locator("#sources .set:visible .source")
    assert nearest.count() >= 2
    assert nearest.first.locator("h3 a").get_attribute("rel") == "noopener noreferrer"


def test_ask_about_one_paper(page: Any) -> None:
    ask(page, DPO)
    title = page.locator("#sources .source h3").first.inner_text()
    page.locator("#sources [data-do=about]").first.click()
    assert title[:20] in page.locator(".composer .chip").inner_text()
    ask(page, "Which papers are there on learning?")
    shown = page.locator("#sources .set:visible h3").all_inner_texts()
    assert set(shown) <= {title}


def test_editing_and_retrying_replace_what_came_after(page: Any) -> None:
    ask(page, DPO)
    ask(page, "What is the capital of France?")
    page.locator("#t0").hover()
    page.locator("#t0 [data-do=edit]").click()
    assert page.input_value("#question") == DPO
    page.fill("#question", "Which papers are about language models?")
    page.press("#question", "Enter")
    page.wait_for_selector("#t0 li a.cite")
    assert page.locator("#conversation .turn").count() == 1
    page.locator("#t0 [data-do=retry]").click()
    page.wait_for_selector("#live .turn, #t0 li a.cite")
    page.wait_for_function("() => !document.body.matches('.running')")
    assert page.locator("#conversation .turn").count() == 1


def test_chats_outlive_a_reload_and_a_restart(context: Any, bundled_index: Path, tmp_path: Path) -> None:
    port = free_port()
    with served(tmp_path, index=bundled_index, port=port) as url:
        page = opened(context, url)
        ask(page, DPO)
        page.locator("[data-do=feedback][data-value=up]").click()
        page.wait_for_selector("[data-value=up][aria-pressed=true]")
        page.fill(".word input", "good")
        page.click(".word button")
        page.wait_for_timeout(600)
        page.goto("about:blank")  # the page would reload by itself when the server is back
    with served(tmp_path, port=port) as url:
        page.goto(url)
        ready(page)
        page.wait_for_selector("#t0 a.cite")
        assert page.locator("[data-value=up]").get_attribute("aria-pressed") == "true"
        assert page.input_value(".word input") == "good"
        page.locator("a.cite").first.click()
        assert page.locator("mark.on").count() == 1
        page.click("[data-drawer=chats-drawer]")
        page.click("#chats [data-do=rename]")
        page.fill("#chats form input", "Preferences")
        page.press("#chats form input", "Enter")
        page.wait_for_selector("#chats .name:has-text('Preferences')")
        page.click("#chats [data-do=new]")
        page.wait_for_selector(".welcome")
        page.click("[data-drawer=chats-drawer]")
        page.click("#chats .name")
        page.wait_for_selector("#t0")
        page.click("[data-drawer=chats-drawer]")
        page.click("#chats [data-do=delete]")
        page.click("#chats [data-do=delete]")
        page.wait_for_selector("#chats .empty", state="attached")


@pytest.mark.parametrize(
    ("kind", "holds"), [("markdown", "](http"), ("bibtex", "@inproceedings{"), ("json", '"schema_version"')]
)
def test_exports(page: Any, kind: str, holds: str) -> None:
    ask(page, DPO)
    page.locator("#t0 .menu summary").click()
    with page.expect_download() as saved:
        page.locator(f"#t0 [data-kind={kind}]").click()
    assert holds in Path(saved.value.path()).read_text(encoding="utf-8")


def test_filters_hold_for_the_next_question(page: Any) -> None:
    page.click("[data-drawer=settings-drawer]")
    authors = page.get_by_label("Authors")
    authors.fill("Sharon Li")
    authors.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    ask(page, "Which papers are about language models?")
    assert page.locator("#sources .set:visible .source").count() >= 1
    assert all("Sharon Li" in text for text in page.locator("#sources .set:visible .authors").all_inner_texts())
    page.click("[data-drawer=settings-drawer]")
    page.click("#clear")
    page.keyboard.press("Escape")
    ask(page, "Which papers are about language models?")
    assert page.locator("#sources .set:visible .source").count() > 1


def test_the_length_holds_for_the_next_question(page: Any) -> None:
    counts = []
    for length in ("Short", "Long"):
        page.click("[data-drawer=settings-drawer]")
        page.get_by_label(length, exact=True).check()
        page.click("#settings-drawer [data-do=close]")
        counts.append(ask(page, "What is CTMA?").locator(".statement").count())
    assert counts[0] == 1
    assert counts[1] > 3


def test_a_chat_is_exported_whole(page: Any) -> None:
    ask(page, DPO)
    ask(page, "What is the capital of France?")
    page.click("[data-drawer=chats-drawer]")
    with page.expect_download() as saved:
        page.click("#chats [data-do=export-chat]")
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert text.startswith(f"# {DPO[:59]}")
    assert f"## {DPO}" in text
    assert "## What is the capital of France?" in text
