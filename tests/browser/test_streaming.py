"""An answer while it is written: streaming, stopping, leaving; and what is said when it can't be given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import filelock

from tests.browser.conftest import PLAIN, Seen, ask, choose_backend, opened, ready
from tests.ui.served import served

DPO = "Does DPO keep its advantage when the true reward is not realizable?"


def test_stopping_keeps_what_was_written_and_mathematics_streams(page: Any, seen: Seen) -> None:
    choose_backend(page, "tests.browser.backends:Slow")
    page.fill("#question", DPO)
    page.press("#question", "Enter")
    page.wait_for_selector("#live .katex")
    page.wait_for_function("() => document.querySelector('#live .answer')?.textContent.includes('word5')")
    assert "$5 and $6" in page.locator("#live .answer").inner_text()
    assert page.locator("#live .math").count() == 1
    page.click("#stop")
    page.wait_for_selector("#t0 .note:has-text('Stopped: the answer is not complete, and its end')", timeout=2000)
    assert page.locator("#t0 .unchecked").count() >= 1
    kept = page.locator("#t0 .answer").inner_text()
    assert "word5" in kept
    page.wait_for_timeout(700)
    assert page.locator("#t0 .answer").inner_text() == kept
    page.wait_for_function("() => !document.querySelector('#live .turn')", timeout=5000)
    page.reload()
    ready(page)
    page.wait_for_selector("#t0 .note:has-text('Stopped')")
    assert seen.nothing(), seen


def test_sources_come_with_their_sentences_and_stay_after_stop(page: Any, seen: Seen) -> None:
    choose_backend(page, "tests.browser.backends:Steady")
    page.fill("#question", DPO)
    page.press("#question", "Enter")
    markers = page.locator("#live a.cite")
    page.wait_for_function("() => document.querySelectorAll('#live a.cite').length === 2")
    page.wait_for_function("() => document.querySelector('#live .answer').textContent.includes('word3')")
    markers.nth(1).focus()
    assert page.locator("#tip p").count() == 1
    markers.nth(1).press("Enter")
    _lights_its_own_quote(page, markers.nth(1))
    page.wait_for_function("() => document.querySelector('#live .answer').textContent.includes('word9')")
    _lights_its_own_quote(page, markers.nth(1))  # still, though the answer was rendered anew
    page.click("#stop")
    page.wait_for_selector("#t0 .note:has-text('Stopped: the answer is not complete')", timeout=2000)
    page.wait_for_function("() => !document.querySelector('#live .turn')")
    page.reload()
    ready(page)
    kept = page.locator("#t0 a.cite")
    assert kept.count() == 2
    assert "word9" in page.locator("#t0 .answer").inner_text()
    quotes = []
    for marker in kept.all():
        marker.click()
        quotes.append(_lights_its_own_quote(page, marker))
    assert quotes[0] != quotes[1]
    assert seen.nothing(), seen


def _lights_its_own_quote(page: Any, marker: Any) -> str:
    card = page.locator(marker.get_attribute("href"))
    lit = card.locator("mark.on")
    assert lit.count() == 1
    quote = str(lit.evaluate(PLAIN))
    assert quote[1:] in str(marker.evaluate("e => e.closest('.statement').textContent"))
    assert card.locator("mark").count() == 2
    return quote


def test_a_chat_left_in_the_middle_keeps_what_was_written(page: Any) -> None:
    choose_backend(page, "tests.browser.backends:Steady")
    page.fill("#question", DPO)
    page.press("#question", "Enter")
    page.wait_for_function("() => document.querySelectorAll('#live a.cite').length === 2")
    page.reload()
    ready(page)
    page.wait_for_selector("#t0 .note:has-text('Broken off: the answer is not complete')")
    page.locator("#t0 a.cite").first.click()
    assert page.locator("mark.on").count() == 1


def test_one_slow_answer_does_not_hold_up_another(context: Any, url: str) -> None:
    slow, quick = opened(context, url), opened(context, url)
    choose_backend(slow, "tests.browser.backends:Slow")
    slow.fill("#question", DPO)
    slow.press("#question", "Enter")
    slow.wait_for_selector("#live .answer")
    assert ask(quick, DPO).locator("a.cite").count() >= 1
    assert slow.locator("#live .answer").count() == 1
    slow.click("#stop")


def test_errors_speak_and_the_chat_goes_on(page: Any) -> None:
    choose_backend(page, "openai-like, llama3.2")
    told = ask(page, DPO).locator(".trouble").inner_text()
    assert "can't be reached" in told
    assert "Check that it runs" in told
    choose_backend(page, "openai")
    told = ask(page, DPO).locator(".trouble").inner_text()
    assert "needs a key" in told
    assert "Set it" in told
    choose_backend(page, "tests.browser.backends:Broken")
    assert "the server's log has the details" in ask(page, DPO).locator(".trouble").inner_text()
    assert "/etc/passwd" not in page.content()
    choose_backend(page, "extractive")
    assert ask(page, DPO).locator("a.cite").count() >= 1


def test_a_draft_that_fails_its_check_can_be_looked_at(page: Any, seen: Seen) -> None:
    choose_backend(page, "tests.browser.backends:Inventing")
    turn = ask(page, DPO)
    assert turn.locator(".answer").get_attribute("data-status") == "not_in_abstracts"
    wrote = turn.locator(".answer details")
    assert not wrote.locator("p").is_visible()
    wrote.locator("summary").click()
    assert "bake bread on Mars" in wrote.locator("p").inner_text()
    assert "<img" in wrote.locator("p").inner_text()
    assert "1,200 tokens sent, 34 written · $0.0012" in turn.locator(".facts").inner_text()
    assert seen.nothing(), seen


def test_one_too_many_is_told_that_it_is_busy_and_can_ask_again(
    context: Any, bundled_index: Path, tmp_path: Path
) -> None:
    flags = ("--running", "1", "--waiting", "0", "--offer", "tests.browser.backends:Slow")
    with served(tmp_path, *flags, index=bundled_index) as url:
        first, second = opened(context, url), opened(context, url)
        choose_backend(first, "tests.browser.backends:Slow")
        first.fill("#question", DPO)
        first.press("#question", "Enter")
        first.wait_for_selector("#live .answer")
        told = ask(second, DPO).locator(".trouble").inner_text()
        assert "The assistant is busy" in told
        assert "Try again in a minute" in told
        first.click("#stop")
        first.wait_for_selector("#t0 .note:has-text('Stopped')")
        second.locator("#t0 [data-do=retry]").click()
        second.wait_for_selector("#t0 a.cite")


def test_an_index_that_is_being_rebuilt_is_told_and_then_answers(context: Any, tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    with served(tmp_path, env={"RAG_LOCK_TIMEOUT": "0.2"}) as url:
        with filelock.FileLock(tmp_path / "index" / "write.lock"):
            page = opened(context, url)
            told = ask(page, DPO).locator(".trouble").inner_text()
            assert "Another process is writing the index" in told
            assert "Try again when it is done" in told
        page.locator("#t0 [data-do=retry]").click()
        page.wait_for_selector("#t0 a.cite")
