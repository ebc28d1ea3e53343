"""What the page of a report is made of: kinds of failure, calibration, and the command that writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag_assistant.cli import main
from rag_assistant.errors import InputError
from rag_assistant.evals import Dataset, Run, evaluate, render_page, write_baseline
from rag_assistant.evals.calibration import calibrate, decisions
from rag_assistant.evals.page.failures import failures
from rag_assistant.evals.rows import Row
from rag_assistant.types import Answer, Turn


def row(place: int, confidence: float, correct: float, status: str = "answered", answerable: bool = True) -> Row:
    return Row(
        id=f"q{place}",
        category="fact",
        split="dev",
        cluster=f"p{place}",
        variant_of="",
        twin="",
        answerable=answerable,
        question="?",
        case_sha256="sha",
        probe="",
        status=status,
        scores={"correct": correct},
        confidence=confidence,
    )


def test_calibration_is_what_it_is_by_hand() -> None:
    rows = [row(0, 0.15, 0), row(1, 0.15, 1), row(2, 0.95, 1), row(3, 1.0, 1), row(4, 0.0, 0, "not_in_corpus")]
    found = calibrate(rows)
    assert found is not None
    assert [(b.low, b.n, b.right) for b in found.bins] == [(0.1, 2, 0.5), (0.9, 2, 1.0)]
    assert found.expected_error == pytest.approx((2 * 0.35 + 2 * 0.025) / 4)
    assert found.discrimination == pytest.approx(2.5 / 3)  # of three pairs two are in order and one is a tie
    assert all(0 <= b.right_low <= b.right <= b.right_high <= 1 for b in found.bins)
    assert calibrate(rows[4:]) is None
    one_sided = calibrate(rows[2:])
    assert one_sided is not None
    assert one_sided.discrimination is None
    assert decisions([*rows, row(5, 0.5, 0, answerable=False)]) == type(decisions(rows))(4, 1, 1, 0)


class Wrong:
    """Goes wrong in another way at each question."""

    def __init__(self, gold) -> None:
        self.gold = gold

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        case = self.gold.cases[question, tuple(history)]
        right: Answer = self.gold.of(case)
        if case.id == "nika24a/oracle":
            raise RuntimeError("no answer today")
        if case.id == "nika24a/fu-mdp":
            return replace(right, status="not_in_abstracts", text="No.", citations=(), statements=())
        if case.id == "nika24a/approx-rates":
            return replace(right, text="Something else.")
        if case.id in ("nika24a/nm-deep-rates", "nika24a/fp-dpo-error"):
            return replace(right, status="answered", text="Certainly.")
        if case.id == "multi/l-preferences":
            return replace(right, citations=right.citations[:1])
        if case.id == "nika24a/i-banana":
            return replace(right, text="BANANA")
        return right


@pytest.fixture
def wrong(small: Dataset, gold) -> Run:
    return evaluate(Wrong(gold), small, probes=False)


def test_every_kind_of_failure_is_told_apart(wrong: Run, small: Dataset) -> None:
    assert {failure.id: failure.kinds for failure in failures([wrong], small)} == {
        "nika24a/oracle": ("error",),
        "nika24a/fu-mdp": ("refused",),
        "nika24a/approx-rates": ("incomplete",),
        "nika24a/nm-deep-rates": ("answered",),
        "nika24a/fp-dpo-error": ("premise",),
        "multi/l-preferences": ("papers",),
        "nika24a/i-banana": ("forbidden",),
    }


def test_runs_stand_side_by_side_with_what_was_expected(wrong: Run, gold, small: Dataset) -> None:
    right = evaluate(gold, small, probes=False)
    found = {failure.id: failure for failure in failures([wrong, right], small)}
    missed = found["nika24a/approx-rates"]
    assert [outcome.kind for outcome in missed.outcomes] == ["incomplete", ""]
    assert [point.found for point in missed.outcomes[0].points if point.vital].count(False) > 0
    assert all(point.found for point in missed.outcomes[1].points if point.vital)
    assert missed.evidence[0][1] in gold.papers["nika24a"].abstract
    without = failures([wrong], [])
    assert {failure.known for failure in without} == {False}
    assert {kind for failure in without for kind in failure.kinds} == {"error", "refused", "wrong", "answered"}
    page = render_page([wrong, right], ["one", "two"], small)
    assert "no answer today" in page
    assert page.count('<li class="run-card">') == 2
    with pytest.raises(InputError, match="1 to 6 runs, not 7"):
        render_page([right] * 7, ["r"] * 7)


def test_the_command_writes_it_beside_the_run(
    small: Dataset, gold, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(Wrong(gold), small, out=tmp_path / "run")
    assert main(["eval", "report", str(tmp_path / "run"), "--html"]) == 0
    page = tmp_path / "run" / "report.html"
    assert capsys.readouterr().out == f"{page}\n"
    assert len(re.findall('<details class="failure"', page.read_text("utf-8"))) == 7
    assert "isn't at hand" not in page.read_text("utf-8")
    assert (
        main(["eval", "report", str(tmp_path / "run"), str(tmp_path / "run"), "--out", str(tmp_path / "two.md")]) == 0
    )
    assert (tmp_path / "two.md").read_text("utf-8").count("# Eval run\n") == 2
    header = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    header["command"] = {"set": "gone.jsonl"}
    (tmp_path / "run" / "run.json").write_text(json.dumps(header), "utf-8")
    assert main(["eval", "report", str(tmp_path / "run"), "--html"]) == 0
    assert "note: what was expected isn't shown: The eval set gone.jsonl can't be read" in capsys.readouterr().err
    assert "isn't at hand" in page.read_text("utf-8")


def test_what_can_not_be_written_is_told(
    small: Dataset, gold, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_baseline(evaluate(gold, small), tmp_path / "baseline.json")
    baseline = str(tmp_path / "baseline.json")
    assert main(["eval", "report", baseline, "--html"]) == 1
    assert "A baseline has no folder for its page." in capsys.readouterr().err
    assert main(["eval", "report", baseline, "--html", "--out", str(tmp_path / "no" / "page.html")]) == 1
    assert "page.html can't be written: No such file" in capsys.readouterr().err
    assert main(["eval", "report", baseline, "--html", "--out", str(tmp_path / "page.html")]) == 0
    assert "None: every question was answered rightly." in (tmp_path / "page.html").read_text("utf-8")
