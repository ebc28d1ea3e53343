"""Takes the README's pictures of every view of the chat UI: ``python benchmarks/screenshots.py [docs/images]``.

Needs Debian's ``chromium`` and ``pip install playwright``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from rag_assistant.settings import Settings
from rag_assistant.ui import launch

ROOT = Path(__file__).parent.parent
LIST = "Which papers are about language models?"
FACT = "What convergence rate does Fast Extra Gradient reach?"
FOLLOW = "And what does it assume?"
MISSING = "What is the capital of France?"
Step = Callable[[Page], None]


def ask(page: Page, question: str) -> None:
    before = page.locator("#conversation .turn").count()
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_function(
        "n => document.querySelectorAll('#conversation .turn').length > n && !document.body.matches('.running')",
        arg=before,
    )
    page.wait_for_timeout(400)


def first_sight(page: Page) -> None:
    page.wait_for_selector(".examples button")


def checked(page: Page) -> None:
    ask(page, FACT)
    page.locator("a.cite").first.click()
    page.mouse.move(5, 400)


def listed(page: Page) -> None:
    ask(page, LIST)
    page.evaluate("scrollTo(0, 0)")
    page.locator("a.cite").nth(1).hover()


def followed(page: Page) -> None:
    ask(page, FACT)
    ask(page, FOLLOW)


def refused(page: Page) -> None:
    ask(page, MISSING)


def settings(page: Page) -> None:
    ask(page, FACT)
    page.click("[data-drawer=settings-drawer]")


def chats(page: Page) -> None:
    ask(page, FACT)
    page.click("[data-do=new] >> nth=0")
    page.wait_for_selector(".examples button")
    ask(page, LIST)
    page.click("[data-drawer=chats-drawer]")


VIEWS: dict[str, Step] = {
    "first-sight": first_sight,
    "answer": checked,
    "list": listed,
    "follow-up": followed,
    "refusal": refused,
    "settings": settings,
    "chats": chats,
}
SHAPES: dict[str, dict[str, Any]] = {
    "": {"viewport": {"width": 1280, "height": 800}},
    "-dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "-phone": {"viewport": {"width": 375, "height": 740}, "device_scale_factor": 2},
}
SHOWN = {"-dark": ("answer", "settings"), "-phone": ("first-sight", "answer", "list", "settings")}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as work,
        sync_playwright() as playwright,
        launch(Settings(index=Path(work) / "index", corpus=(ROOT / "corpus",)), port=None) as served,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for suffix, shape in SHAPES.items():
            for name, steps in VIEWS.items():
                if suffix and name not in SHOWN[suffix]:
                    continue
                context = browser.new_context(reduced_motion="reduce", **shape)
                page = context.new_page()
                page.goto(served.url)
                page.wait_for_selector(".examples button")
                steps(page)
                page.wait_for_timeout(500)
                page.screenshot(path=folder / f"{name}{suffix}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images")
