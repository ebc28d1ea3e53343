"""Dark and light, a phone, the keyboard alone, and what axe-core finds."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import ask, opened, required, watched

DPO = "Does DPO keep its advantage when the true reward is not realizable?"
_MISSING = "no axe-core: pip install axe-playwright-python"


def _axe() -> str:
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        if required():
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def findings(page: Any) -> list[str]:
    page.evaluate(_axe())
    result = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    bad = [one for one in result["violations"] if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {node['target']} {node['failureSummary'][:300]}" for one in bad for node in one["nodes"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Any, theme: str) -> None:
    page.evaluate("t => localStorage.setItem('rag-assistant-theme', t)", theme)
    page.reload()
    page.wait_for_selector(".examples button")
    assert page.evaluate("document.body.classList.contains('dark')") is (theme == "dark")
    assert findings(page) == []
    turn = ask(page, "Which papers are about language models?")
    turn.locator("a.cite").nth(1).click()
    ask(page, "What is the capital of France?")
    page.locator("[data-do=feedback][data-value=down]").first.click()
    page.wait_for_selector(".word")
    assert findings(page) == []
    page.click("[data-drawer=settings-drawer]")
    page.wait_for_timeout(300)
    assert findings(page) == []
    page.keyboard.press("Escape")
    page.click("[data-drawer=chats-drawer]")
    page.wait_for_timeout(300)
    assert findings(page) == []


def test_the_theme_is_the_systems_until_chosen(browser: Any, url: str, seen: Any) -> None:
    context = watched(browser.new_context(color_scheme="dark"), seen)
    page = opened(context, url)
    assert page.evaluate("document.body.classList.contains('dark')")
    page.click("[data-do=theme]")
    assert not page.evaluate("document.body.classList.contains('dark')")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert not page.evaluate("document.body.classList.contains('dark')")
    context.close()


def test_a_phone(browser: Any, url: str, seen: Any) -> None:
    context = watched(browser.new_context(viewport={"width": 375, "height": 740}, has_touch=True), seen)
    page = opened(context, url)
    page.wait_for_selector(".examples button")
    _fits(page)
    turn = ask(page, "Which papers are about language models?")
    _fits(page)
    turn.locator("a.cite").first.click()
    page.wait_for_timeout(900)
    lit = page.locator("mark.on").first
    assert lit.evaluate("e => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight; }")
    _fits(page)
    page.locator(".back").click()
    page.wait_for_timeout(300)
    assert turn.locator("a.cite").first.evaluate("e => document.activeElement === e")
    page.click("[data-drawer=settings-drawer]")
    page.wait_for_timeout(300)
    _fits(page)
    context.close()


def _fits(page: Any) -> None:
    """Nothing is wider than the screen, so that nobody has to scroll sideways."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_keyboard_is_enough(page: Any) -> None:
    page.wait_for_selector(".examples button")
    _tab_to(page, "#question")
    page.keyboard.type(DPO)
    page.keyboard.press("Enter")
    page.wait_for_selector("#t0 a.cite")
    page.wait_for_function("() => !document.body.matches('.running')")
    _tab_to(page, "a.cite")
    assert page.locator("#tip").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("#tip").count() == 0
    page.keyboard.press("Enter")
    assert page.locator(".source.on mark.on").count() >= 1
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('a.cite')")
    _tab_to(page, "[data-drawer=settings-drawer]")
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.evaluate("!!document.activeElement.closest('#settings-drawer')")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('[data-drawer=settings-drawer]')")


def _tab_to(page: Any, selector: str) -> None:
    for _ in range(80):
        if page.evaluate("s => document.activeElement?.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} can't be reached with Tab")
