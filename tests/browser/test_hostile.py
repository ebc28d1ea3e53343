"""Text that attacks goes through every view: nothing runs, nothing asks, nothing leaves the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Seen, ask, opened, ready
from tests.browser.payloads import ADDRESSES, PAYLOADS
from tests.ui.served import served

_FOREIGN = "img, iframe, object, embed, video, audio, script, style, link, meta, base, input, select"
_SHOWN = "#conversation, #live, #sources, #chats, #corpus, .composer .chip, #tip"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page over papers that are payloads, answered by a model that writes payloads."""
    folder = tmp_path_factory.mktemp("hostile")
    papers = folder / "papers"
    papers.mkdir()
    for place, payload in enumerate(PAYLOADS):
        with (papers / f"{_as_name(payload)}{place}.jsonl").open("w", encoding="utf-8") as file:
            record = {
                "id": f"p{place}-{payload[:30]}",
                "title": f"Zebra steering {place} {payload}",
                "abstract": f"Zebra steering number {place} works with {payload} in zebra models. A zebra {payload}.",
                "authors": [f"Ada {payload}", "Bob"],
                "venue": f"Venue {payload}",
                "year": 2024,
                "url": ADDRESSES[place % len(ADDRESSES)],
            }
            file.write(json.dumps(record) + "\n")
            if place % 9 == 0:  # without a title: it is made of the first words
                file.write(json.dumps({"abstract": f"{payload} steers a zebra. It is untitled."}) + "\n")
    with served(folder, "--offer", "tests.browser.backends:Hostile", corpus=papers) as address:
        yield address


def _as_name(payload: str) -> str:
    """The payload as a file can be called."""
    return payload.replace("/", "\N{DIVISION SLASH}").replace("\0", "")[:70]


def test_there_are_enough_payloads() -> None:
    assert len(set(PAYLOADS)) >= 60


def test_nothing_runs_and_nothing_leaves(context: Any, hostile: str, seen: Seen) -> None:
    page = opened(context, hostile)
    _clean(page, seen)
    page.click("[data-drawer=settings-drawer]")
    page.get_by_label("Authors").click()
    page.wait_for_timeout(200)
    page.keyboard.press("Escape")
    page.get_by_label("Answers written by").click()
    page.get_by_role("option", name="Hostile").click()
    page.click("#settings-drawer [data-do=close]")
    turn = ask(page, "Which papers are about zebra steering?")
    assert turn.locator(".statement.uncited").count() + turn.locator(".statement.unsupported").count() >= 60
    assert page.locator("#sources .source").count() >= 60
    _clean(page, seen)
    for summary in page.locator("#sources .set:visible summary").all()[::9]:
        summary.click()
    for marker in turn.locator("a.cite").all()[::16]:
        marker.hover()
        marker.click()
    _clean(page, seen)
    page.locator("#sources .set:visible [data-do=about]").nth(3).click()
    assert page.locator(".composer .chip").is_visible()
    for start in range(0, len(PAYLOADS), 25):
        ask(page, f"What is zebra {' '.join(PAYLOADS[start : start + 25])}?")
    _clean(page, seen)
    page.click("[data-drawer=chats-drawer]")
    page.click("#chats [data-do=rename]")
    page.fill("#chats form input", PAYLOADS[2])
    page.press("#chats form input", "Enter")
    page.wait_for_selector("#chats .name:has-text('onerror')")
    page.reload()
    ready(page)
    page.wait_for_selector("#t0")
    _clean(page, seen)


def test_links_are_http_and_tell_nobody(context: Any, hostile: str, seen: Seen) -> None:
    page = opened(context, hostile)
    ask(page, "Which papers are about zebra steering?")
    for link in page.locator("#page a[href]:not(.cite)").all():
        assert link.get_attribute("href").startswith(("http://", "https://"))
        assert link.get_attribute("rel") == "noopener noreferrer"
    _clean(page, seen)


def test_chats_that_were_tampered_with_do_no_harm(context: Any, hostile: str, seen: Seen) -> None:
    page = opened(context, hostile)
    page.evaluate("localStorage.setItem('rag-assistant-chats', '\"garbage<img src=x onerror=alert(1)>')")
    page.reload()
    ready(page)
    assert ask(page, "Which papers are about zebra steering?").locator("a.cite").count() >= 1
    _clean(page, seen)


def test_names_of_files_in_errors_do_no_harm(context: Any, tmp_path: Path, seen: Seen) -> None:
    missing = tmp_path / "".join(_as_name(payload) for payload in PAYLOADS[2:6]).replace(":", "")
    with served(tmp_path, corpus=missing) as url:
        page = opened(context, url)
        assert "onerror" in page.locator("#conversation .trouble").inner_text()
        page.fill("#question", "What is a zebra?")
        page.press("#question", "Enter")
        page.wait_for_selector("#t0 .trouble")
        _clean(page, seen)
        page.reload()
        ready(page)
        _clean(page, seen)


def _clean(page: Any, seen: Seen) -> None:
    page.wait_for_timeout(250)
    assert page.evaluate("window.pwned") is None
    assert seen.dialogs == []
    assert seen.away == []
    found = page.evaluate(
        "([areas, tags]) => [...document.querySelectorAll(areas)].flatMap(a => [...a.querySelectorAll(tags)])"
        ".map(e => e.outerHTML.slice(0, 200))",
        [_SHOWN, _FOREIGN],
    )
    assert found == []
    handlers = page.evaluate(
        "areas => [...document.querySelectorAll(areas)].flatMap(a => [...a.querySelectorAll('*')])"
        ".flatMap(e => [...e.attributes].filter(x => x.name.startsWith('on')).map(x => x.name))",
        _SHOWN,
    )
    assert handlers == []
