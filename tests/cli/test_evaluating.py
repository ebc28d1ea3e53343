"""``eval`` over the bundled set and corpus, as another process; the gate that CI runs must shut."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag_assistant import Assistant
from rag_assistant.evals import Dataset, default_set, evaluate, load_run, summarize
from rag_assistant.evals.report import SECTIONS
from rag_assistant.types import Answer, Turn
from tests.cli.conftest import COMMAND, Run, run_command

SUBSET = ("synthesis", "listing", "near_miss", "far")
CATEGORIES = [word for name in SUBSET for word in ("--category", name)]


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of those that hang on several papers, and every other one of those that must be refused."""
    lines = default_set().read_text("utf-8").splitlines()
    of = {name: [line for line in lines if json.loads(line)["category"] == name] for name in SUBSET}
    chosen = {*of["synthesis"], *of["listing"], *of["near_miss"][::2], *of["far"][::2]}
    path = tmp_path_factory.mktemp("set") / "part.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines if line in chosen), "utf-8")
    return path


@pytest.fixture(scope="module")
def base(built: Path, part: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over a part of the set, and its baseline beside it; tests read it only."""
    folder = tmp_path_factory.mktemp("evals")
    home = {"RAG_INDEX": str(built)}
    done = run_command("eval", "run", "--set", part, *CATEGORIES, "--out", "run", cwd=folder, **home)
    assert (done.code, done.err) == (0, ""), done.err
    assert "refusal_near" in done.out
    assert "0 rows with errors" in done.out
    done = run_command("eval", "baseline", "run", "baseline.json", cwd=folder)
    assert done.code == 0, done.err
    return folder


def gate(base: Path, run: Path | str) -> tuple[int, str, str]:
    done = run_command("eval", "diff", base / "baseline.json", run, "--fail-on-regression", cwd=base)
    return done.code, done.out, done.err


def test_a_run_leaves_its_folder_and_passes_its_own_gate(base: Path) -> None:
    assert {path.name for path in (base / "run").iterdir()} == {"run.json", "rows.jsonl", "timings.jsonl", "report.md"}
    code, out, err = gate(base, base / "run")
    assert (code, err) == (0, "")
    assert out.startswith("# Eval diff: no regression")


def test_a_baseline_holds_neither_answers_nor_where_it_was_made(base: Path) -> None:
    text = (base / "baseline.json").read_text("utf-8")
    written = json.loads(text)
    assert "command" not in written["header"]
    assert all("answer" not in row for row in written["rows"])


def test_retrieval_cut_to_one_paper_does_not_get_through(base: Path, part: Path, built: Path, tmp_path: Path) -> None:
    with Assistant.open(index=built, k=1) as assistant:
        evaluate(assistant, Dataset.load(part).select(categories=SUBSET), out=tmp_path / "one")
    code, out, err = gate(base, tmp_path / "one")
    assert code == 1, out
    assert "REGRESSION" in out
    assert err.startswith("error: ")
    assert "is a regression" in err


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


def test_refusals_turned_off_do_not_get_through(base: Path, part: Path, built: Path, tmp_path: Path) -> None:
    with Assistant.open(index=built) as assistant:
        evaluate(Unrefusing(assistant), Dataset.load(part).select(categories=SUBSET), out=tmp_path / "yes")
    code, out, _ = gate(base, tmp_path / "yes")
    assert code == 1
    assert "refusal_far fell significantly" in out
    assert "questions are newly wrong; 3 may be." in out


@pytest.mark.parametrize("damage", ["quote", "error", "four wrong", "killed"])
def test_each_fault_alone_shuts_the_gate(base: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(base / "run", folder)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text("utf-8").splitlines()]
    header = json.loads((folder / "run.json").read_text("utf-8"))
    right = [row for row in rows if row["scores"].get("correct") == 1.0 and not row["probe"]]
    if damage == "quote":
        next(row for row in rows if "quote_validity" in row["scores"])["scores"]["quote_validity"] = 0.5
    elif damage == "error":
        rows[0]["errors"] = {"question": "RuntimeError: broken"}
    elif damage == "four wrong":
        for row in right[:3]:
            row["scores"]["correct"] = 0.0
    else:
        header["finished"] = None

    def write() -> None:
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        (folder / "run.json").write_text(json.dumps(header), "utf-8")

    write()
    if damage == "four wrong":
        assert gate(base, folder)[0] == 0, "three may be newly wrong"
        right[3]["scores"]["correct"] = 0.0
        write()
    code, out, err = gate(base, folder)
    assert code == 1, out
    expected = {
        "quote": "quote_validity is below 1 in 1 answers",
        "error": "1 rows have errors",
        "four wrong": "4 questions are newly wrong; 3 may be.",
        "killed": "The run was interrupted",
    }[damage]
    assert expected in out
    assert expected in err


def test_a_gate_without_its_baseline_or_with_that_of_another_set_is_shut(base: Path) -> None:
    done = run_command("eval", "diff", "gone.json", "run", "--fail-on-regression", cwd=base)
    assert (done.code, done.out) == (1, "")
    assert "There is no eval run at gone.json" in done.err
    written = json.loads((base / "baseline.json").read_text("utf-8"))
    for row in written["rows"][:2]:
        row["case_sha256"] = "other"
    (base / "older.json").write_text(json.dumps(written), "utf-8")
    assert run_command("eval", "diff", "older.json", "run", "--fail-on-regression", cwd=base).code == 0
    done = run_command("eval", "diff", "older.json", "run", "--same-questions", cwd=base)
    assert done.code == 1
    assert "2 questions are only in one of the runs, or were changed" in done.err


def test_show_and_json(base: Path, part: Path) -> None:
    shown = run_command("eval", "show", "run", cwd=base)
    assert shown.out == (base / "run" / "report.md").read_text("utf-8")
    as_data = run_command("eval", "show", "run", "--json", cwd=base).json
    assert as_data["questions"] == len(Dataset.load(part))
    assert 0 < as_data["estimates"]["recall@5"]["all"]["value"] <= 1
    assert as_data["errors"] == []
    assert run_command("eval", "show", "baseline.json", cwd=base).out.startswith("# Eval run")
    table = run_command("eval", "show", "run", "--markdown", cwd=base).out
    assert table.startswith("|  | dev | test |\n| --- | --- | --- |\n| correct | 0.")
    assert "| refused though answerable (lower is better) | " in table
    compared = run_command("eval", "diff", "--json", "baseline.json", "run", cwd=base).json
    assert (compared["regressed"], compared["newly_wrong"]) == (False, [])


def test_the_default_folder_and_the_choice_of_questions(rag: Run, tmp_path: Path) -> None:
    done = rag("eval", "run", "--split", "test", "--category", "far", "--limit", "2", "--json")
    assert done.json["questions"] == 2
    folder = Path(done.json["folder"])
    assert folder.parent == Path("runs")
    rows = [json.loads(line) for line in (tmp_path / folder / "rows.jsonl").read_text("utf-8").splitlines()]
    assert {(row["split"], row["category"]) for row in rows} == {("test", "far")}


def test_an_interrupted_run_goes_on(rag: Run, base: Path, part: Path, built: Path, tmp_path: Path) -> None:
    arguments = [*COMMAND, "eval", "run", "--set", str(part), *CATEGORIES, "--out", "run"]
    process = subprocess.Popen(
        arguments, cwd=tmp_path, env={**os.environ, "RAG_INDEX": str(built)}, stderr=subprocess.PIPE, text=True
    )
    rows = tmp_path / "run" / "rows.jsonl"
    end = time.monotonic() + 120
    while (not rows.exists() or rows.read_text("utf-8").count("\n") < 3) and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "questions are kept; to go on: rag-assistant eval run --resume run" in err
    kept = rows.read_text("utf-8").splitlines()
    assert 3 <= len(kept) < 50
    refused = rag("eval", "baseline", "run", "baseline.json")
    assert (refused.code, (tmp_path / "baseline.json").exists()) == (1, False)
    assert "An interrupted run makes no baseline." in refused.err
    assert rag("eval", "run", "--resume", "run", "--split", "dev").err == (
        "error: --resume goes on with a run as it was begun.\nhint: leave out --split\n"
    )
    done = rag("eval", "run", "--resume", "run")
    assert (done.code, done.err) == (0, "")
    assert rows.read_bytes() == (base / "run" / "rows.jsonl").read_bytes()
    assert rows.read_text("utf-8").splitlines()[: len(kept)] == kept


def test_a_terminal_sees_a_bar_and_tables(base: Path, built: Path, tmp_path: Path) -> None:
    def at_terminal(*arguments: str) -> str:
        master, slave = pty.openpty()
        env = {**os.environ, "RAG_INDEX": str(built), "TERM": "xterm-256color", "COLUMNS": "80"}
        process = subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, env=env, stdout=slave, stderr=slave)
        os.close(slave)
        seen = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # how Linux tells that the other end is closed
                break
            if not piece:
                break
            seen += piece
        os.close(master)
        assert process.wait(timeout=60) == 0, seen.decode()
        return seen.decode()

    told = at_terminal("eval", "run", "--category", "far", "--out", "run")
    assert "asking" in told
    assert "/28" in told
    assert "report: run/report.md" in told
    report = at_terminal("eval", "show", str(base / "run"))
    assert "| " not in report
    assert "false_refusal ↓" in report
    shown = re.sub(r"\x1b\[[0-9;]*m", "", report)
    for name, found in summarize(load_run(base / "run")).estimates.items():
        for estimate in found.values() if name in SECTIONS["Abstention"] else ():
            low, high = (f"{bound:.2f}".removeprefix("0") for bound in (estimate.low, estimate.high))
            assert f"{estimate.value:.3f} [{low}, {high}]" in shown, "rounded once"


def test_probes_of_follow_ups_are_counted_apart(rag: Run) -> None:
    chosen = Dataset.load().select(categories=("follow_up",), limit=4)
    probes = 2 * sum(case.answerable and bool(case.history) for case in chosen)
    assert probes
    done = rag("eval", "run", "-v", "--category", "follow_up", "--limit", "4", "--out", "run")
    assert done.code == 0, done.err
    assert f"asking 4 questions and {probes} probes ({4 + probes})" in done.err
    assert "\n4 questions, " in done.out
    assert f"\n{probes} probes: follow-ups asked again" in done.out
    assert f"- probes: {probes}, follow-ups" in rag("eval", "show", "run").out
    shown = rag("eval", "show", "--json", "run").json
    assert (shown["questions"], shown["probes"]) == (4, probes)
    assert f"(and {probes_of_the_set()} probes" in (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def probes_of_the_set() -> int:
    return 2 * sum(case.category == "follow_up" and case.answerable and bool(case.history) for case in Dataset.load())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "--split", "train"], "There is no split 'train'."),
        (["run", "--category", "easy"], "There is no category 'easy'."),
        (["run", "--limit", "0"], "A limit of 0 leaves no question."),
        (["run", "--set", "gone.jsonl"], "gone.jsonl can't be read: No such file"),
        (["run", "--set", "bad.jsonl"], "error: bad.jsonl:1: category: missing"),
        (["run", "--set", "foreign.jsonl"], " lacks: nowhere."),
        (["run", "--metric", "nonsense"], "There is no metric named 'nonsense'."),
        (["run", "--backend", "nonsense"], "nonsense"),
        (["run", "--out", "full"], "full is there already and not empty."),
        (["run", "--limit", "1", "--out", "bad.jsonl/run"], "The run can't be written to"),
        (["run", "--resume", "gone"], "There is no eval run at gone"),
        (["show", "gone"], "There is no eval run at gone"),
        (["show", "bad.jsonl"], "bad.jsonl is not an eval run."),
        (["diff", "gone", "gone"], "There is no eval run at gone"),
        (["validate", "gone.jsonl"], "gone.jsonl can't be read: No such file"),
        (["validate", "foreign.jsonl"], "foreign.jsonl has"),
    ],
)
def test_refusals_name_the_fix(rag: Run, tmp_path: Path, arguments: list[str], expected: str) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "x"}\n', "utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x", "utf-8")
    case = next(line for line in default_set().read_text("utf-8").splitlines() if "nika24a/oracle" in line)
    (tmp_path / "foreign.jsonl").write_text(case.replace('"nika24a"', '"nowhere"') + "\n", "utf-8")
    done = rag("eval", *arguments)
    assert done.code == 1
    assert expected in done.err
    assert "\nhint: " in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "runs").exists()


def test_validate_tells_every_fault_with_its_line(rag: Run, tmp_path: Path) -> None:
    assert rag("eval", "validate").code == 0
    (tmp_path / "bad.jsonl").write_text('{"id": "x"}\nnot json\n', "utf-8")
    done = rag("eval", "validate", "bad.jsonl")
    assert done.code == 1
    assert "bad.jsonl:1" in done.out
    assert "bad.jsonl:2: not JSON" in done.out
    as_data = rag("eval", "validate", "bad.jsonl", "--json")
    assert as_data.code == 1
    assert {problem["line"] for problem in as_data.json["problems"]} == {1, 2}


def test_a_backend_that_always_fails_is_told_and_its_rows_are_asked_again(rag: Run, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(
        "class Failing:\n"
        "    name, model = 'failing', ''\n"
        "    def stream(self, prompt):\n"
        "        raise RuntimeError('no model')\n"
        "    async def astream(self, prompt):\n"
        "        raise RuntimeError('no model')\n"
        "        yield\n",
        "utf-8",
    )
    done = rag("eval", "run", "--category", "fact", "--limit", "2", "--backend", "failing:Failing", "--out", "run")
    assert done.code == 1
    assert "2 rows with errors" in done.out
    assert "error: Every question failed: RuntimeError: no model" in done.err
    refused = rag("eval", "baseline", "run", "baseline.json")
    assert refused.code == 1
    assert "2 rows of run have errors" in refused.err
    assert rag("eval", "run", "--resume", "run").code == 1


def test_a_retrieval_set_is_searched_beside_bm25(rag: Run, built: Path, tmp_path: Path) -> None:
    papers = [
        {"id": "d1", "title": "Pruning", "abstract": "Small weights are pruned from large networks."},
        {"id": "d2", "title": "Graphs", "abstract": "Sparse graphs help message passing."},
        {"id": "d3", "title": "Steering", "abstract": "Affine functions steer language models."},
    ]
    claims = [{"id": "q1", "claim": "weights are pruned"}, {"id": "q2", "claim": "sparse graphs"}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, papers)), "utf-8")
    (tmp_path / "claims.jsonl").write_text("\n".join(map(json.dumps, claims)), "utf-8")
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n", "utf-8")
    files = ["--corpus", "corpus.jsonl", "--queries", "claims.jsonl", "--qrels", "qrels.tsv"]
    done = rag("eval", "retrieval", *files)
    assert (done.code, done.err) == (0, "")
    assert "| score | rag-assistant | BM25 | p (rag-assistant against BM25) |" in done.out
    assert not (tmp_path / "kept").exists()
    as_data = rag("eval", "retrieval", *files, "--index", "kept", "--json").json
    assert (as_data["papers"], as_data["queries"]) == (3, 2)
    for name in ("rag-assistant", "BM25"):
        assert as_data["runs"][name]["scores"]["ndcg@10"]["value"] == 1.0
    again = rag("eval", "retrieval", *files, "--index", "kept", "-v")
    assert "0 embedded" in again.err
    assert len(rag("papers", "--json").json["papers"]) == 19, "the user's own index is left alone"
    foreign = rag("eval", "retrieval", *files, "--index", built)
    assert (foreign.code, "holds other papers" in foreign.err) == (1, True)
    assert len(rag("papers").out.splitlines()) == 19
    gone = rag("eval", "retrieval", *files[:4], "--qrels", "gone.tsv")
    assert (gone.code, gone.out) == (1, "")
    assert "gone.tsv can't be read" in gone.err
