"""The harness on the assistant itself: what holds for every answer, and that a worse assistant doesn't get through."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag_assistant import Assistant
from rag_assistant.bundled import bundled
from rag_assistant.evals import Dataset, Run, compare_runs, evaluate, load_run, write_baseline
from rag_assistant.types import Answer, Turn


@pytest.fixture(scope="module")
def questions(shipped: Dataset) -> Dataset:
    """Those that hang on several papers, and those that must be refused."""
    return shipped.select(categories=["synthesis", "listing", "near_miss", "far"])


@pytest.fixture(scope="module")
def run(assistant: Assistant, questions: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluate(assistant, questions, out=tmp_path_factory.mktemp("runs") / "run")


class Fewer:
    """Retrieval cut down to one paper."""

    def __init__(self, assistant: Assistant) -> None:
        self.assistant = assistant

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        answer = self.assistant.ask(question, history=history, k=1)
        return replace(answer, hits=answer.hits[:1])


class Unrefusing:
    """An assistant that gives its best passage where it should refuse."""

    def __init__(self, assistant: Assistant) -> None:
        self.assistant = assistant

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        answer = self.assistant.ask(question, history=history)
        if answer.status in {"answered", "partial"}:
            return answer
        found = answer.hits or self.assistant.search(question, 1)
        return replace(answer, status="answered", text=found[0].passage.text if found else "Yes.", hits=found)


def test_no_question_fails_and_every_quote_and_marker_holds(run: Run, questions: Dataset) -> None:
    assert [(row.id, row.errors) for row in run.failed] == []
    assert len(run.main) == len(questions)
    for name in ("quote_validity", "marker_validity"):
        assert [row.id for row in run.main if row.scores.get(name, 1.0) < 1.0] == []


def test_the_same_assistant_gives_the_same_rows(
    assistant: Assistant, run: Run, questions: Dataset, unread: Callable[[], None]
) -> None:
    unread()
    few = questions.select(limit=12)
    again = {row.id: row for row in evaluate(assistant, few).main}
    first = {row.id: row for row in run.main}
    assert all(row == first[case_id] for case_id, row in again.items())


def test_the_header_holds_what_the_assistant_says_of_itself(run: Run) -> None:
    assert {"settings", "backend", "embedder", "index"} <= set(run.header["system"])


def test_the_assistant_passes_against_its_own_baseline(run: Run, tmp_path: Path) -> None:
    write_baseline(run, tmp_path / "baseline.json")
    assert compare_runs(load_run(tmp_path / "baseline.json"), run).regressions == ()


def test_retrieval_cut_to_one_paper_is_a_regression(assistant: Assistant, run: Run, questions: Dataset) -> None:
    result = compare_runs(run, evaluate(Fewer(assistant), questions))
    assert any("all_gold" in reason or "recall@" in reason for reason in result.regressions), result.regressions


def test_refusals_turned_off_are_a_regression(assistant: Assistant, run: Run, questions: Dataset) -> None:
    result = compare_runs(run, evaluate(Unrefusing(assistant), questions))
    assert any("refusal_far" in reason for reason in result.regressions), result.regressions
    assert len(result.newly_wrong) > 3


def test_the_readme_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    lines = (bundled("evals") / "README.md").read_text("utf-8").splitlines()
    start = lines.index("    from rag_assistant import Assistant")
    end = next(n for n in range(start, len(lines)) if lines[n] and not lines[n].startswith("    "))
    exec("\n".join(line[4:] for line in lines[start:end]), {})
    assert "| short | " in capsys.readouterr().out
