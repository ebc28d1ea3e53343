import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag_assistant.errors import InputError, LoadError
from rag_assistant.evals import Case, Dataset, Progress, evaluate, load_run, render_report, summarize, write_baseline
from rag_assistant.types import Answer, Turn


def test_a_run_asks_every_question_and_keeps_what_it_needs(small: Dataset, gold, tmp_path: Path) -> None:
    seen: list[Progress] = []
    run = evaluate(gold, small, out=tmp_path / "run", progress=seen.append)
    assert [row.id for row in run.main] == [case.id for case in small]
    assert all(row.scores["correct"] == 1.0 for row in run.main)
    assert not run.failed
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (0, len(small) + 2, len(small) + 2)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "report.md",
        "rows.jsonl",
        "run.json",
        "timings.jsonl",
    ]
    assert load_run(tmp_path / "run").rows == run.rows
    (row,) = (row for row in run.main if row.id == "bartoldson24a/flops")
    assert row.answer is not None
    assert row.answer["citations"][0]["quotes"][0]["text"].startswith("Leveraging")
    assert row.answer["timings_ms"] == {}
    assert row.timings_ms["total"] == 2.0


def test_the_header_says_what_ran_without_secrets(small: Dataset, gold, tmp_path: Path) -> None:
    evaluate(gold, small, out=tmp_path / "run", seed=7)
    text = (tmp_path / "run" / "run.json").read_text("utf-8")
    header = json.loads(text)
    assert "sk-very-secret" not in text
    assert header["system"]["settings"] == {"k": 6, "openai_api_key": "***", "max_tokens": 400}
    assert header["system"]["index"] == {"papers": 19}
    assert header["set"]["sha256"] == small.sha256
    assert header["seed"] == 7
    assert {"commit", "dirty", "versions", "prompts", "metrics", "created", "finished"} <= set(header)


def test_two_runs_of_the_same_thing_are_the_same(small: Dataset, gold, tmp_path: Path) -> None:
    for name in ("one", "two"):
        evaluate(gold, small, out=tmp_path / name)
    one, two = ((tmp_path / name / "rows.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two


def test_follow_ups_are_also_asked_without_history_and_in_full(small: Dataset, gold) -> None:
    run = evaluate(gold, small)
    probes = {row.probe: row for row in run.rows if row.id == "nika24a/fu-mdp"}
    assert set(probes) == {"", "raw", "standalone"}
    assert probes["raw"].scores["correct"] == 0.0
    assert probes["standalone"].scores["correct"] == 1.0
    (found, _) = summarize(run).follow_ups
    assert (found.score, found.gap_closed) == ("correct", 1.0)
    assert {row.probe for row in evaluate(gold, small, probes=False).rows} == {""}


def test_a_pair_of_twins_counts_when_both_are_right() -> None:
    answered = Case("near", "Which data?", category="near_miss", answerable=False, twin="far")
    refused = Case("near2", "Which code?", category="near_miss", answerable=False, twin="far2")
    pairs = [answered, Case("far", "Which rate?", twin="near"), refused, Case("far2", "Which paper?", twin="near2")]

    def answer(question: str) -> Answer:
        return Answer(question, question, "not_in_abstracts" if question == "Which code?" else "answered", "So.")

    estimates = summarize(evaluate(answer, Dataset.of(pairs), probes=False)).estimates
    assert estimates["refusal_near"]["all"].value == 0.5
    assert (estimates["twin_pairs"]["all"].value, estimates["twin_pairs"]["all"].n) == (0.5, 2)


def test_a_question_that_fails_is_a_row(small: Dataset, gold, tmp_path: Path) -> None:
    def shaky(question: str, history: Sequence[Turn]) -> Answer:
        if question.startswith("What kind of access"):
            raise RuntimeError("no answer today")
        return gold.ask(question, history=history)

    run = evaluate(shaky, small, out=tmp_path / "run")
    (row,) = run.failed
    assert (row.id, row.status, dict(row.errors)) == (
        "nika24a/oracle",
        "error",
        {"question": "RuntimeError: no answer today"},
    )
    assert row.scores == {"correct": 0.0}
    assert "no answer today" in (tmp_path / "run" / "report.md").read_text("utf-8")


def test_a_metric_that_fails_is_named_in_its_row(small: Dataset, gold) -> None:
    def half(case: Case, answer: Answer) -> float:
        return 1 / len(case.history)

    def length(case: Case, answer: Answer) -> float:
        return float(len(answer.text))

    run = evaluate(gold, small, metrics=["answers", half, length])
    failed = [row for row in run.main if row.failed]
    assert {tuple(row.errors) for row in failed} == {("half",)}
    assert len(failed) == len(small) - 1
    assert all(row.scores["length"] > 0 and "correct" in row.scores for row in run.main)
    assert "length" in render_report(run)


def test_what_returns_no_answer_is_an_error_row(small: Dataset) -> None:
    run = evaluate(lambda question: f"You asked {question}", small, probes=False)
    assert len(run.failed) == len(small)
    assert "not an Answer" in run.failed[0].errors["question"]


def test_any_callable_can_be_asked_and_nothing_else(small: Dataset, refuse) -> None:
    with_history: list[int] = []

    def asked(question: str, *, history: Sequence[Turn]) -> Answer:
        with_history.append(len(history))
        return refuse(question)

    evaluate(asked, small)
    assert sum(with_history) == 1
    assert evaluate(refuse, small).main[0].status == "not_in_abstracts"
    with pytest.raises(InputError, match="can't be asked"):
        evaluate("a text", small)


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(small: Dataset, gold, tmp_path: Path) -> None:
    whole = evaluate(gold, small, out=tmp_path / "whole")

    class Stopped(type(gold)):  # type: ignore[misc]
        def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
            if len(self.asked) == 4:
                raise KeyboardInterrupt
            return super().ask(question, history=history)

    stopped = Stopped(small, gold.papers)
    run = evaluate(stopped, small, out=tmp_path / "run")
    assert run.interrupted
    assert len(run.rows) == 4
    assert load_run(tmp_path / "run").interrupted
    with (tmp_path / "run" / "rows.jsonl").open("a") as file:
        file.write('{"id": "cut o')
    gold.asked.clear()
    resumed = evaluate(gold, small, out=tmp_path / "run", resume=True)
    assert not resumed.interrupted
    assert len(gold.asked) == len(whole.rows) - 4
    assert (tmp_path / "run" / "rows.jsonl").read_bytes() == (tmp_path / "whole" / "rows.jsonl").read_bytes()


def test_resume_asks_again_what_failed(small: Dataset, gold, tmp_path: Path) -> None:
    class Down(type(gold)):  # type: ignore[misc]
        def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
            raise ConnectionError("down")

    assert len(evaluate(Down(small, gold.papers), small, out=tmp_path / "run").failed) == len(small) + 2
    assert not evaluate(gold, small, out=tmp_path / "run", resume=True).failed


def test_resume_refuses_another_run(small: Dataset, gold, refuse, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run to go on with"):
        evaluate(gold, small, out=tmp_path / "none", resume=True)
    with pytest.raises(InputError, match="nothing to resume"):
        evaluate(gold, small, resume=True)
    evaluate(gold, small, out=tmp_path / "run")
    with pytest.raises(InputError, match="not empty"):
        evaluate(gold, small, out=tmp_path / "run")
    with pytest.raises(InputError, match="another system"):
        evaluate(refuse, small, out=tmp_path / "run", resume=True)
    with pytest.raises(InputError, match="another set"):
        evaluate(gold, replace(small, cases=small.cases[:3]), out=tmp_path / "run", resume=True)
    with pytest.raises(InputError, match="another seed"):
        evaluate(gold, small, out=tmp_path / "run", resume=True, seed=1)


SLEEPER = """
import sys, time
from rag_assistant.evals import Case, Dataset, evaluate
from rag_assistant.types import Answer
def slow(question):
    print(question, flush=True)
    time.sleep(0 if question == "One?" else 60)
    return Answer(question, question, "not_in_corpus", "No.")
evaluate(slow, Dataset.of([Case("a", "One?"), Case("b", "Two?")]), out=sys.argv[1])
"""


def test_a_real_ctrl_c_leaves_a_folder_that_can_be_read(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", SLEEPER, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=root) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "One?\n"
        assert process.stdout.readline() == "Two?\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    run = load_run(tmp_path / "run")
    assert run.interrupted
    assert [row.id for row in run.rows] == ["a"]


def test_a_run_that_is_killed_can_be_read_and_resumed(small: Dataset, gold, tmp_path: Path) -> None:
    evaluate(gold, small, out=tmp_path / "run")
    rows = (tmp_path / "run" / "rows.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "run" / "rows.jsonl").write_text("".join(rows[:3]) + rows[3][:40], "utf-8")
    assert len(load_run(tmp_path / "run").rows) == 3
    assert len(evaluate(gold, small, out=tmp_path / "run", resume=True).rows) == len(rows)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    old = '{"header": {}, "rows": [{"id": 1}]}'
    for text, message in (("[]", "not an eval run"), ("{}", "not an eval run"), ("{", "not JSON"), (old, "of this")):
        path = tmp_path / "baseline.json"
        path.write_text(text, "utf-8")
        with pytest.raises(LoadError, match=message):
            load_run(path)
    with pytest.raises(LoadError, match="no eval run"):
        load_run(tmp_path)


def test_a_baseline_is_a_run_without_answers(small: Dataset, gold, tmp_path: Path) -> None:
    run = evaluate(gold, small)
    write_baseline(run, tmp_path / "baseline.json")
    assert str(Path.cwd()) not in (tmp_path / "baseline.json").read_text()
    assert str(tmp_path) not in (tmp_path / "baseline.json").read_text()
    kept = load_run(tmp_path / "baseline.json")
    assert [(row.id, dict(row.scores)) for row in kept.rows] == [(row.id, dict(row.scores)) for row in run.main]
    assert all(row.answer is None for row in kept.rows)
    assert "Leveraging a compute-efficient" not in (tmp_path / "baseline.json").read_text("utf-8")
    with pytest.raises(InputError, match="interrupted"):
        write_baseline(replace(run, interrupted=True), tmp_path / "b.json")


def test_the_report_shows_both_splits_and_every_part(shipped: Dataset, gold) -> None:
    report = render_report(evaluate(gold, shipped))
    for part in ("Answers", "Retrieval", "Citations", "Abstention", "Attacks", "By category", "Reworded", "Follow-ups"):
        assert f"## {part}" in report, part
    assert "| score | dev | test | all |" in report
    assert "| quote_validity | 1.000 [" in report
    assert "correct under attack" in report
    assert "## Cost" in report
    assert "## Errors" not in report


def test_a_run_without_scipy_is_kept_without_a_report(
    small: Dataset, gold, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    evaluate(gold, small, out=tmp_path / "run")
    assert 'pip install "rag-assistant[eval]"' in (tmp_path / "run" / "report.md").read_text("utf-8")
    assert len(load_run(tmp_path / "run").main) == len(small)


def test_importing_evals_costs_no_heavy_library() -> None:
    code = (
        "import sys, rag_assistant.evals as e; e.evaluate, e.compare_runs, e.load_beir, e.render_report;"
        "print([m for m in ('numpy', 'scipy', 'chromadb', 'llama_index', 'onnxruntime') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "[]"
