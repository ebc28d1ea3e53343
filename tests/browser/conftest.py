"""Debian's chromium, driven by Playwright, and pages that notice everything that must not happen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.ui.served import free_port, served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
BACKENDS = ("Slow", "Steady", "Inventing", "Broken")
PLAIN = """e => {
    const c = e.cloneNode(true);
    c.querySelectorAll('.math').forEach(m => { m.textContent = m.dataset.source || m.textContent; });
    return c.textContent.replace(/\\s+/g, ' ').trim(); }"""
"""The text of an element as a reader sees it, with formulas as their source."""
_MISSING = "no browser: apt-get install chromium fonts-dejavu-core, and pip install playwright"


@dataclass
class Seen:
    """What a page did that it must not do."""

    dialogs: list[str] = field(default_factory=list)
    away: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def nothing(self) -> bool:
        return not (self.dialogs or self.away or self.errors)


@pytest.fixture(
    scope="module"
)  # not longer: while Playwright is up, its event loop is in the way of tests with their own
def browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if sync_playwright is None or CHROMIUM is None:
        if required():
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


def required() -> bool:
    """Whether a missing browser is a failure.

    Read from how this process, or the one that started it under ``-n 2``, began, since tests forget ``RAG_*``.
    """
    began = (Path("/proc/self/environ"), Path(f"/proc/{os.getppid()}/environ"))
    return any(b"RAG_REQUIRE_BROWSER=1" in file.read_bytes().split(b"\0") for file in began if file.exists())


@pytest.fixture(scope="session")
def url(bundled_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page over the bundled papers, with backends to choose from: the tests' own, and two that can't answer."""
    names = [*(f"tests.browser.backends:{name}" for name in BACKENDS), "openai", "openai-like=llama3.2"]
    offers = [flag for name in names for flag in ("--offer", name)]
    nobody = {"RAG_BASE_URL": f"http://127.0.0.1:{free_port()}/v1"}
    with served(tmp_path_factory.mktemp("ui"), *offers, index=bundled_index, env=nobody) as address:
        yield address


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def context(browser: Any, seen: Seen) -> Iterator[Any]:
    made = browser.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
    made.set_default_timeout(60_000)  # never waited out where the machine is quick enough
    yield watched(made, seen)
    made.close()


def watched(context: Any, seen: Seen) -> Any:
    """The context, with everything that leaves the machine or opens a dialog noted in ``seen``."""

    def note(request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1":
            seen.away.append(request.url)

    def dialog(opened: Any) -> None:
        seen.dialogs.append(opened.message)
        opened.dismiss()

    def page(made: Any) -> None:
        made.on("dialog", dialog)
        made.on("pageerror", lambda error: seen.errors.append(str(error)))

    context.on("request", note)
    context.on("page", page)
    return context


@pytest.fixture
def page(context: Any, url: str) -> Any:
    return opened(context, url)


def opened(context: Any, url: str) -> Any:
    made = context.new_page()
    made.goto(url)
    ready(made)
    return made


def ready(page: Any) -> None:
    """Once the page has its handlers and its chats."""
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector("#corpus .brand p:not(:empty), #conversation .trouble", state="attached")


def ask(page: Any, question: str) -> Any:
    """Asks and returns the finished turn."""
    before = page.locator("#conversation .turn").count()
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_function(
        "n => document.querySelectorAll('#conversation .turn').length > n && !document.body.matches('.running')",
        arg=before,
    )
    return page.locator("#conversation .turn").last


def choose_backend(page: Any, name: str) -> None:
    """In the settings drawer."""
    page.click("[data-drawer=settings-drawer]")
    page.get_by_label("Answers written by").click()
    page.get_by_role("option", name=name, exact=True).click()
    page.click("#settings-drawer [data-do=close]")
