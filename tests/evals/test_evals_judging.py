"""The judge: yes or no over HTTP, nothing asked twice, and its agreement with the patterns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assistant.cli import main
from rag_assistant.evals import Dataset, compare_runs, evaluate, load_run, write_baseline
from rag_assistant.evals.judging import Judgement, Verdict, agreements, judgement_of, kappa
from rag_assistant.types import Answer
from tests.backends.chat_server import Reply, Script, serving

CHOSEN = ("nika24a/factors", "bartoldson24a/flops", "nika24a/fp-dpo-error", "far/capital")


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    with serving() as script:
        yield script


@pytest.fixture
def run(shipped: Dataset, gold, answer_of, tmp_path: Path) -> Path:
    """Gold answers, one false premise answered wrongly, one refusal."""

    def system(question: str) -> Answer:
        if question == premise.question:
            return answer_of(question, [(gold.papers["nika24a"], "It says so.")])
        return gold.ask(question)

    premise = shipped.case("nika24a/fp-dpo-error")
    evaluate(system, shipped.select(ids=CHOSEN), out=tmp_path / "run")
    return tmp_path / "run"


def judged(
    server: Script, run: Path, capsys: pytest.CaptureFixture[str], *replies: Reply | str, model: str = "m"
) -> tuple[int, str, str]:
    server.say(*replies)
    flags = ["--backend", "openai-like", "--base-url", server.url, "--model", model]
    code = main(["eval", "judge", str(run), *flags, "--cache", str(run.parent / "cache")])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_kappa_is_cohen_s() -> None:
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([(True, False), (False, True)]) == pytest.approx(-1)
    assert kappa([(True, True)]) is None
    assert kappa([]) is None


def test_right_by_the_judge_is_all_vital_parts_and_no_contradiction() -> None:
    def verdicts(case_id: str, told: bool | None, welcome: bool, against: bool) -> tuple[Verdict, ...]:
        return (
            Verdict(case_id, "nugget", "a", True, told, told),
            Verdict(case_id, "nugget", "b", False, welcome, True),
            Verdict(case_id, "contradiction", "", True, against, None),
        )

    groups = (
        *verdicts("right", True, False, False),
        *verdicts("missing", False, True, False),
        *verdicts("against", True, True, True),
        *verdicts("unread", None, True, False),
    )
    correct = {"right": True, "missing": False, "against": True, "unread": True}
    found = {agreement.what: agreement for agreement in agreements(Judgement("m", {}, groups, correct))}
    right = found["the answer is right"]
    assert (right.n, right.only_patterns, right.only_judge) == (3, ("against",), ())
    assert right.share == pytest.approx(2 / 3)
    assert found["a part of the right answer is told"].n == 7


def test_each_thing_is_asked_once_and_kept(server: Script, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = judged(server, run, capsys, "NO", "YES.")
    assert code == 0, err
    asked = [body["messages"][1]["content"] for _, _, body in server.seen]
    assert all(body["temperature"] == 0 for _, _, body in server.seen)
    assert sum("Does the answer tell the part" in text for text in asked) >= 3
    assert sum("contradicts?" in text for text in asked) == 2
    assert sum("assumes something that is not so" in text for text in asked) == 1
    assert not any("capital" in text for text in asked), "a refusal is not judged"
    assert f"openai-like m: {len(asked)} calls" in err
    assert "## Judge" in out
    assert "only by the patterns" in out
    first = (run / "judge.json").read_text("utf-8")
    code, again, err = judged(server, run, capsys, "NO")
    assert (code, again) == (0, out)
    assert "openai-like m: 0 calls, 0 tokens" in err
    assert (run / "judge.json").read_text("utf-8") == first
    judged(server, run, capsys, "NO", model="another")
    assert len(server.seen) == len(asked)


def test_an_error_behind_the_end_of_a_reply_loses_nothing(
    server: Script, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = json.dumps({"choices": [{"delta": {"content": "NO"}, "finish_reason": "stop"}]})
    raw = f'data: {said}\n\ndata: {{"error": "late"}}\n\n'
    code, _, err = judged(server, run, capsys, Reply(raw=raw, kind="text/event-stream"))
    assert code == 0, err


def test_a_budget_stops_it_before_a_call_and_what_was_said_is_kept(
    server: Script, run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_MAX_SESSION_TOKENS", "4000")
    monkeypatch.setenv("RAG_MAX_TOKENS", "50")
    code, out, err = judged(server, run, capsys, Reply(("NO",), usage=(3000, 10)))
    assert (code, out) == (1, "")
    assert [body["max_tokens"] for _, _, body in server.seen] == [50, 50]
    assert "note: openai-like m: 2 calls, 6,020 tokens" in err
    assert "more than max_session_tokens allows (4,000 tokens); it was not made" in err
    monkeypatch.delenv("RAG_MAX_SESSION_TOKENS")
    code, _, err = judged(server, run, capsys, "NO")
    assert code == 0, err
    assert len({body["messages"][1]["content"] for _, _, body in server.seen}) == len(server.seen) > 2


def test_it_stands_in_the_reports_and_gates_nothing(
    server: Script, run: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = load_run(run)
    judged(server, run, capsys, Reply(("<think>Is it NO?</think>\nYES",)))
    found = judgement_of(load_run(run))
    assert found is not None
    assert {verdict.judged for verdict in found.verdicts} == {True}
    assert len(found.contradicting) == 2
    assert main(["eval", "show", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "It gates nothing." in shown
    assert "the answer is right | 2 | 0.000 | 0.000" in shown
    assert main(["eval", "report", str(run), "--html"]) == 0
    page = (run / "report.html").read_text("utf-8")
    assert '<section id="judge">' in page
    assert "Judge: puts the premise right" in page
    assert compare_runs(before, load_run(run)).regressions == ()


def test_what_is_neither_yes_nor_no_is_counted(server: Script, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = judged(server, run, capsys, "It depends.")
    assert code == 0
    found = judgement_of(load_run(run))
    assert found is not None
    assert found.unreadable == len(found.verdicts)
    assert f"{found.unreadable} neither yes nor no" in out
    assert agreements(found) == ()


def test_a_judge_that_fails_keeps_what_it_said(server: Script, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = judged(server, run, capsys, "YES", "YES", Reply(status=401, raw="{}"))
    assert code == 1
    assert "hint: " in err
    assert not (run / "judge.json").exists()
    kept = [json.loads(path.read_text("utf-8")) for path in (run.parent / "cache").rglob("*.json")]
    assert [entry["reply"] for entry in kept] == ["YES", "YES"]
    judged(server, run, capsys, "YES")
    assert len(server.seen) == len(judgement_of(load_run(run)).verdicts) - 2  # type: ignore[union-attr]


def test_what_can_not_be_judged_is_told(server: Script, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "judge", str(run)]) == 1
    assert "No judge is named." in capsys.readouterr().err
    assert main(["eval", "judge", str(run), "--backend", "extractive"]) == 1
    assert "calls no model" in capsys.readouterr().err
    write_baseline(load_run(run), run.parent / "baseline.json")
    assert judged(server, run.parent / "baseline.json", capsys, "YES")[0] == 1
    rows = (run / "rows.jsonl").read_text("utf-8").replace('"case_sha256": "', '"case_sha256": "0')
    (run / "rows.jsonl").write_text(rows, "utf-8")
    assert "No answer of this run can be judged." in judged(server, run, capsys, "YES")[2]
    (run / "judge.json").write_text("{", "utf-8")
    assert main(["eval", "show", str(run)]) == 1
    assert "hint: delete it, and judge the run again" in capsys.readouterr().err
