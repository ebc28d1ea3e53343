"""The page of an eval report in a real browser: it asks for nothing, nothing in it runs, its filter works."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_assistant.cli import main
from rag_assistant.evals import Case, Dataset, Nugget, evaluate
from rag_assistant.types import Answer, Citation, Hit, Paper, Passage, Quote, Turn
from tests.browser.conftest import Seen
from tests.browser.payloads import PAYLOADS
from tests.browser.test_access import findings

SPLITS = ("dev", "test")


def cases() -> Dataset:
    made = [
        Case(
            f"p/{place}",
            f"What of {payload}?",
            category="fact" if place % 3 else "near_miss",
            answerable=bool(place % 3),
            split=SPLITS[place % 2],
            expected_status=("answered",) if place % 3 else ("not_in_abstracts",),
            history=((f"Before {payload}", payload),) if place % 3 == 1 else (),
            papers={f"p{place}": 2} if place % 3 else {},
            nuggets=(Nugget((f"wanted{place} <b>", "or <i>else")),) if place % 3 else (),
            paraphrase=payload,
        )
        for place, payload in enumerate(PAYLOADS)
    ]
    return Dataset.of([*made, Case("good/one", "A good question?", nuggets=(Nugget(("yes",)),))], name=PAYLOADS[0])


def hostile(question: str, *, history: Sequence[Turn] = ()) -> Answer:
    """Answers with what it was asked, in every place that an answer has."""
    if question == f"What of {PAYLOADS[7]}?":
        raise RuntimeError(f"failed at {PAYLOADS[7]}")
    words = question + (" yes" if "good" in question else "")
    paper = Paper(f"id-{question[8:40]}", f"Title {question}", words, authors=(question,), url="javascript:alert(1)")
    hit = Hit(paper, Passage("x", paper.id, 0, len(words), words), 1, 1.0, dense=0.5)
    return Answer(
        question,
        question,
        "answered",
        words,
        citations=(Citation(1, paper, (Quote(words, 0, len(words)),)),),
        hits=(hit,),
        timings_ms={"total": 1.0, "<img src=x onerror=alert(1)>": 2.0},
    )


def improved(question: str, *, history: Sequence[Turn] = ()) -> Answer:
    """The same, but it refuses what the papers don't say."""
    place = PAYLOADS.index(question[8:-1]) if question[8:-1] in PAYLOADS else 1
    return hostile(question, history=history) if place % 3 else Answer(question, question, "not_in_abstracts", "No.")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    dataset = cases()
    questions = folder / "set.jsonl"
    for name, system in (("first", hostile), ("second", improved)):
        evaluate(system, dataset, out=folder / name, probes=False, command={"set": str(questions)})
    questions.write_text("".join(json.dumps(case.to_dict()) + "\n" for case in dataset), "utf-8")
    runs = [str(folder / "first"), str(folder / "second")]
    assert main(["eval", "report", *runs, "--html", "--out", str(folder / "report.html")]) == 0
    return folder / "report.html"


@pytest.fixture
def page(context: Any, report: Path) -> Any:
    made = context.new_page()
    made.goto(report.as_uri())
    return made


def test_nothing_runs_and_nothing_is_asked_for(page: Any, report: Path, seen: Seen) -> None:
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.click("#open-all")
    assert page.locator(".failure[open]").count() == page.locator(".failure").count() > 60
    page.wait_for_timeout(250)
    assert page.evaluate("window.pwned") is None
    assert (seen.dialogs, seen.errors, told) == ([], [], [])
    assert seen.away == [report.as_uri()], "the page itself and nothing else"
    assert page.locator("script").count() == page.locator("style").count() == 1
    assert page.locator("img, iframe, object, embed, video, audio, link, base, image, use, animate").count() == 0
    assert page.locator("a:not([href^='#'])").count() == 0
    handlers = page.evaluate(
        "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on/.test(a.name)).length"
    )
    assert handlers == 0


def test_what_is_put_into_it_later_can_not_run_either(page: Any) -> None:
    page.evaluate(
        "() => { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned=1\">');"
        "const s = document.createElement('script'); s.textContent = 'window.pwned=1'; document.body.append(s); }"
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None


def test_payloads_are_shown_as_the_text_they_are(page: Any) -> None:
    shown = page.locator(".failure .asked").all_inner_texts()
    assert f"What of {PAYLOADS[0]}?" in shown
    assert f"What of {PAYLOADS[2]}?" in shown


def visible(page: Any) -> list[tuple[str, str]]:
    return page.evaluate(
        "[...document.querySelectorAll('.failure')].filter(e => e.offsetParent).map(e => "
        "[e.dataset.split, e.dataset.category])"
    )


def test_the_filter_narrows_by_every_field(page: Any) -> None:
    everything = visible(page)
    page.select_option("#filters [name=split]", "dev")
    assert {split for split, _ in visible(page)} == {"dev"}
    page.select_option("#filters [name=category]", "near_miss")
    assert {tuple(found) for found in visible(page)} == {("dev", "near_miss")}
    assert page.locator("#count").inner_text() == f"{len(visible(page))} of {len(everything)} questions"
    page.select_option("#filters [name=run]", "B")
    assert visible(page) == []
    page.click("#clear")
    assert visible(page) == everything
    page.select_option("#filters [name=kind]", "error")
    assert len(visible(page)) == 1
    page.select_option("#filters [name=kind]", "")
    page.select_option("#filters [name=run]", "some")
    assert {category for _, category in visible(page)} == {"near_miss"}
    page.select_option("#filters [name=run]", "")
    page.fill("#filters [name=text]", "WANTED58 title")
    assert len(visible(page)) == 1
    page.fill("#filters [name=text]", "nothing says this")
    assert page.locator("#none").is_visible()


def test_the_split_switch_shows_one_at_a_time(page: Any) -> None:
    drawn = page.locator("#calibration .split:visible")
    assert drawn.get_attribute("data-split") == "all"
    page.click("#split-switch label:has-text('dev')")
    assert drawn.get_attribute("data-split") == "dev"


def test_it_reads_well_on_a_phone_and_without_scripts(browser: Any, report: Path) -> None:
    made = browser.new_context(viewport={"width": 390, "height": 800}, java_script_enabled=False)
    page = made.new_page()
    page.goto(report.as_uri())
    assert page.locator(".split:visible").count() == page.locator(".split").count() > 3
    assert page.locator("#filters").is_hidden()
    made.close()
    made = browser.new_context(viewport={"width": 390, "height": 800})
    page = made.new_page()
    page.goto(report.as_uri())
    page.click("#open-all")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    made.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, report: Path, scheme: Any) -> None:
    made = browser.new_context(color_scheme=scheme, bypass_csp=True)  # axe is a script that isn't the page's
    page = made.new_page()
    page.goto(report.as_uri())
    page.evaluate("[...document.querySelectorAll('.failure')].slice(0, 8).forEach(card => { card.open = true; })")
    assert findings(page) == []
    made.close()
