"""Takes a picture of every view of the chat page: ``python -m benchmarks.screenshots [docs/images]``.

What a model would write comes from the tests' scripted server. Needs Debian's ``chromium`` and ``playwright``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from rag_assistant.settings import Settings
from rag_assistant.ui import launch
from tests.backends.chat_server import Reply, Script, serving

ROOT = Path(__file__).parent.parent
LIST = "Which papers are about language models?"
FACT = "What convergence rate does Fast Extra Gradient reach?"
TOPIC = "What is MusicRL?"
FOLLOW = "How was it evaluated?"
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
    ask(page, TOPIC)
    ask(page, FOLLOW)
    page.locator("#t1 a.cite").last.click()
    page.mouse.move(5, 400)


def choose_backend(page: Page, name: str) -> None:
    page.click("[data-drawer=settings-drawer]")
    page.get_by_label("Answers written by").click()
    page.get_by_role("option", name=name, exact=True).click()
    page.click("#settings-drawer [data-do=close]")


def under_way(page: Page) -> None:
    choose_backend(page, "openai-like, llama3.2")
    page.fill("#question", TOPIC)
    page.press("#question", "Enter")
    page.wait_for_function("() => document.querySelectorAll('#live a.cite').length === 2")


def stopped(page: Page) -> None:
    under_way(page)
    page.click("#stop")
    page.wait_for_selector("#t0 .note")


def written(page: Page) -> None:
    choose_backend(page, "openai-like, llama3.2")
    ask(page, TOPIC)
    page.locator("#t0 a.cite").nth(1).click()
    page.mouse.move(5, 400)


def failed(page: Page) -> None:
    choose_backend(page, "openai")
    ask(page, FACT)


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
    "under-way": under_way,
    "stopped": stopped,
    "model": written,
    "error": failed,
    "settings": settings,
    "chats": chats,
}
SHAPES: dict[str, dict[str, Any]] = {
    "": {"viewport": {"width": 1280, "height": 800}},
    "-dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "-phone": {"viewport": {"width": 375, "height": 740}, "device_scale_factor": 2},
}
SHOWN = {
    "-dark": ("answer", "list", "settings", "model", "error"),
    "-phone": ("first-sight", "answer", "list", "refusal", "chats", "settings"),
}
SAID = (
    "MusicRL is a music generation system finetuned from human feedback [1.s1]. ",
    "Its makers deployed MusicLM to users and collected 300,000 pairwise preferences [1.s6]. ",
    "It was trained on 64 GPUs for two weeks [1.s6]. ",
    "Listeners say that it has changed how they work. ",
    "In human evaluations both MusicRL-R and MusicRL-U are preferred to the baseline [1.s8].",
)


def write(model: Script, *, slowly: bool) -> None:
    words = tuple(f"{word} " for word in "".join(SAID).split())
    model.say(Reply(words, pause=0.2 if slowly else 0.0))


def save(page: Page, path: Path) -> None:
    """With 256 colours, which no eye misses and which takes a third of the room."""
    Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(256).save(path, optimize=True)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as work,
        sync_playwright() as playwright,
        serving() as model,
        launch(
            Settings(index=Path(work) / "index", corpus=(ROOT / "corpus",), base_url=model.url),
            port=None,
            backends=("openai-like=llama3.2", "openai"),
        ) as served,
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
                write(model, slowly=name in ("under-way", "stopped"))
                steps(page)
                page.wait_for_timeout(500)
                save(page, folder / f"{name}{suffix}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images")
