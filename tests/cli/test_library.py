"""``index`` and ``papers``: what they say and what they leave behind."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rag_assistant.render import clean
from tests.cli.conftest import COMMAND, Run
from tests.loaders.services import Reply, entry, serving
from tests.loaders.zotero_library import ZoteroLibrary


def _write(path: Path, *papers: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    return path


def _paper(name: str, abstract: str = "") -> dict[str, object]:
    text = abstract or f"We study {name} and show that {name} converges. It is fast."
    return {"id": name, "title": f"On {name}", "abstract": text, "year": 2023, "authors": ["A. Author"]}


def test_papers_lists_columns_in_a_pipe(rag: Run) -> None:
    done = rag("papers")
    assert (done.code, done.err) == (0, "")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert len(rows) == 19
    assert all(len(row) == 5 for row in rows)
    nika = next(row for row in rows if row[0] == "nika24a")
    assert nika[1:3] == ["2024", "ICML 2024"]
    assert nika[4].startswith("Andi Nika; ")


def test_papers_as_json_and_bibtex_and_filtered(rag: Run) -> None:
    assert len(rag("papers", "--json").json["papers"]) == 19
    assert rag("papers", "--bibtex").out.count("@inproceedings{") == 19
    assert rag("papers", "--author", "singla").out.startswith("nika24a\t")
    assert rag("papers", "--id", "nika24a", "--id", "le-bars24a").out.count("\n") == 2
    assert rag("papers", "--year", "-2023").out == ""


_SEVERAL = """
from rag_assistant.embedders.minilm import MiniLM

class Several(MiniLM):
    def __init__(self, model="first"):
        super().__init__()
        self.name, self.fingerprint = "several", f"{MiniLM.fingerprint}:{model}"
"""


def test_an_index_of_another_embedding_model_is_made_again(rag_alone: Run, tmp_path: Path) -> None:
    (tmp_path / "several.py").write_text(_SEVERAL)
    _write(tmp_path / "a.jsonl", _paper("alpha"), _paper("beta"))
    flags = ("--embedder", "several:Several", "--embedder-model")
    assert rag_alone("index", "a.jsonl", *flags, "second").code == 0

    def index_now(*model: str) -> dict[str, str]:
        checks = rag_alone("doctor", "--json", *flags, *model).json["checks"]
        return next(check for check in checks if check["name"] == "index")

    told = "made with another model or version of the embedder several"
    assert index_now("second")["status"] == "ok"
    first = index_now("first")
    assert (first["status"], told in first["detail"]) == ("bad", True)
    done = rag_alone("search", "alpha", *flags, "second")
    assert (done.code, done.err) == (0, "")
    other = rag_alone("search", "alpha", "--embedder", "several:Several", RAG_EMBEDDER_MODEL="third")
    assert (other.code, told in other.err) == (0, True)
    assert index_now("third")["status"] == "ok"


def test_index_makes_the_index_equal_the_paths(rag_alone: Run, tmp_path: Path) -> None:
    _write(tmp_path / "a.jsonl", _paper("alpha"), _paper("beta"))
    first = rag_alone("index", "a.jsonl")
    assert first.code == 0, first.err
    assert "added 2: alpha, beta" in first.out
    assert "2 papers" in first.out
    assert "dropped" not in first.out

    again = rag_alone("index", "a.jsonl")
    assert "nothing changed" in again.out
    assert "0 embedded" in again.out

    _write(tmp_path / "a.jsonl", _paper("beta", "We changed beta. It is slow."), _paper("gamma"))
    changed = rag_alone("index", "--yes", "--json", "a.jsonl").json
    assert (changed["added"], changed["changed"], changed["removed"]) == (["gamma"], ["beta"], ["alpha"])
    assert [line.split("\t")[0] for line in rag_alone("papers").out.splitlines()] == ["beta", "gamma"]


def test_add_keeps_and_dry_run_changes_nothing(rag_alone: Run, tmp_path: Path) -> None:
    _write(tmp_path / "a.jsonl", _paper("alpha"))
    _write(tmp_path / "b.jsonl", _paper("beta"))
    assert rag_alone("index", "a.jsonl").code == 0
    dry = rag_alone("index", "--dry-run", "b.jsonl")
    assert "would add 1: beta" in dry.out
    assert "would drop 1: alpha" in dry.out
    assert rag_alone("papers").out.startswith("alpha\t")
    assert rag_alone("papers").out.count("\n") == 1
    added = rag_alone("index", "--add", "b.jsonl")
    assert "added 1: beta" in added.out
    assert "dropped" not in added.out
    assert rag_alone("papers").out.count("\n") == 2


def test_no_paper_goes_unless_somebody_says_so(rag_alone: Run, tmp_path: Path) -> None:
    _write(tmp_path / "a.jsonl", *(_paper(f"alpha{n}") for n in range(9)))
    _write(tmp_path / "b.jsonl", _paper("alpha1", "Alpha is told anew."), _paper("beta"))
    assert rag_alone("index", "a.jsonl").code == 0
    for command in (("index", "b.jsonl"), ("index", "--json", "b.jsonl"), ("index",)):
        refused = rag_alone(*command)
        assert (refused.code, refused.out) == (1, "")
        assert "would drop" in refused.err
        assert "alpha0, " in refused.err
        assert all(flag in refused.err for flag in ("--yes", "--add", "--dry-run"))
    assert rag_alone("papers").out.count("\n") == 9
    assert "dropped" not in rag_alone("index", "--add", "b.jsonl").out
    done = rag_alone("index", "--yes", "b.jsonl")
    assert (done.code, "dropped 8: alpha0, " in done.out) == (0, True)


@pytest.mark.parametrize(("said", "code", "left"), [(b"n\n", 1, "alpha"), (b"\x04", 1, "alpha"), (b"y\n", 0, "beta")])
def test_a_person_is_asked_before_papers_are_dropped(
    rag_alone: Run, tmp_path: Path, said: bytes, code: int, left: str
) -> None:
    _write(tmp_path / "a.jsonl", _paper("alpha"))
    _write(tmp_path / "b.jsonl", _paper("beta"))
    assert rag_alone("index", "a.jsonl").code == 0
    terminal, ours = pty.openpty()
    command = [*COMMAND, "index", "b.jsonl", "--index", str(tmp_path / "index")]
    with subprocess.Popen(command, cwd=tmp_path, stdin=ours, stdout=subprocess.PIPE, stderr=ours) as asking:
        os.close(ours)
        told = b""
        while b"Drop them? [y/N] " not in told:
            told += os.read(terminal, 1000)
        assert b"would drop 1: alpha" in told
        os.write(terminal, said)
        with suppress(OSError):  # the end of a terminal
            while os.read(terminal, 1000):
                pass
        assert asking.wait(60) == code
    os.close(terminal)
    assert rag_alone("papers").out.startswith(f"{left}\t")


def test_no_path_means_the_bundled_corpus(rag_alone: Run, tmp_path: Path) -> None:
    _write(tmp_path / "a.jsonl", _paper("alpha"))
    assert rag_alone("index", "a.jsonl").code == 0
    back = rag_alone("index", "--json", "--yes").json
    assert len(back["added"]) == 19
    assert back["removed"] == ["alpha"]


def test_bad_records_are_told_and_the_rest_is_indexed(rag_alone: Run, tmp_path: Path) -> None:
    odd = {**_paper("beta"), "year": "in press", "url": "ask me"}
    path = _write(tmp_path / "a.jsonl", _paper("alpha"), {"id": "x", "year": 2024}, odd)
    done = rag_alone("index", path)
    assert done.code == 0
    assert "a.jsonl:2" in done.err
    assert "a.jsonl:3: year: 'in press' is no year" in done.err
    assert "abstract" in done.err
    assert "read 1 file: 2 papers, 1 skipped, 2 fields left out" in done.out
    assert "added 2" in done.out


def test_a_path_that_is_not_there(rag_alone: Run, tmp_path: Path) -> None:
    done = rag_alone("index", "absent.jsonl")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert "absent.jsonl" in done.err
    assert "hint: " in done.err


def test_what_a_paper_holds_cannot_steer_the_terminal(rag_alone: Run, tmp_path: Path) -> None:
    escape = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
    evil = _paper("evil", f"We study{escape} ziggurats. The ziggurat has{escape} seven levels.")
    evil["title"] = f"On{escape} ziggurats"
    _write(tmp_path / "a.jsonl", evil, _paper("alpha"))
    assert rag_alone("index", "a.jsonl").code == 0
    for command in (("ask", "How many levels has the ziggurat?"), ("search", "ziggurat"), ("papers",), ("chat",)):
        for form in ((), ("--json",)):
            done = rag_alone(*command, *form, stdin="How many levels has the ziggurat?\n/sources\n")
            assert done.code == 0, done.err
            assert done.out == clean(done.out)
            assert done.err == clean(done.err)


def test_ctrl_c_leaves_the_old_index(rag_alone: Run, tmp_path: Path) -> None:
    _write(tmp_path / "a.jsonl", _paper("alpha"))
    assert rag_alone("index", "a.jsonl").code == 0
    _write(tmp_path / "many.jsonl", *(_paper(f"paper{n}", f"Paper {n} is on {n}. " * 20) for n in range(2000)))
    environment = {**os.environ, "RAG_INDEX": str(tmp_path / "index")}
    command = [*COMMAND, "index", "-v", "--yes", "many.jsonl"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stderr is not None
        while (line := running.stderr.readline()) and b"embedding" not in line:
            pass
        assert line
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, b""), err
    assert err.decode().splitlines()[-1] == "interrupted"
    assert b"Traceback" not in err
    assert rag_alone("papers").out.startswith("alpha\t")


def test_a_second_writer_says_that_it_waits(rag_alone: Run, tmp_path: Path) -> None:
    _write(tmp_path / "a.jsonl", _paper("alpha"))
    _write(tmp_path / "many.jsonl", *(_paper(f"paper{n}", f"Paper {n} is on {n}. " * 20) for n in range(2000)))
    environment = {**os.environ, "RAG_INDEX": str(tmp_path / "index")}
    with subprocess.Popen(
        [*COMMAND, "index", "-v", "many.jsonl"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
    ) as first:
        assert first.stderr is not None
        while b"embedding" not in first.stderr.readline():
            assert first.poll() is None
        second = rag_alone("index", "--lock-timeout", "0.5", "a.jsonl")
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
    assert second.code == 1
    note, error, hint = second.err.splitlines()
    assert note.startswith("note: waiting for another process")
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert rag_alone("index", "a.jsonl").code == 0


def test_what_a_run_did_is_one_screen_and_the_report_has_all(rag_alone: Run, tmp_path: Path) -> None:
    silent = [{"id": f"s{n}", "title": f"Silent {n}"} for n in range(30)]
    broken = [{"id": f"b{n}", "abstract": [n]} for n in range(30)]
    undated = [{**_paper(f"p{n}"), "year": f"MM{n}"} for n in range(30)]
    _write(tmp_path / "a.jsonl", _paper("alpha"), *undated, *silent, *broken)
    _write(tmp_path / "b.jsonl", _paper("alpha"), _paper("beta"))
    done = rag_alone("index", "--report", "report.txt", "a.jsonl", "b.jsonl")
    assert done.code == 0, done.err
    lines = [*done.out.splitlines(), *done.err.splitlines()]
    assert len(lines) < 20
    assert done.out.startswith(
        "read 2 files: 62 papers, 1 merged, 30 without abstract, 30 skipped, 30 fields left out\nadded 62: alpha, p0,"
    )
    assert "and 20 more; --report FILE keeps all" in lines
    report = (tmp_path / "report.txt").read_text()
    parts = {part.split("\n")[0]: part.split("\n")[1:] for part in report.strip().split("\n\n")[1:]}
    assert [(name, len(lines)) for name, lines in ((n.partition(":")[0], lines) for n, lines in parts.items())] == [
        ("read", 2), ("added", 62), ("changed", 0), ("dropped", 0), ("merged", 1), ("without abstract", 30),
        ("skipped", 30), ("notes", 30),
    ]  # fmt: skip
    assert "  a.jsonl:91: abstract: must be text, not a list" in parts["skipped: 30"]
    assert "  a.jsonl:31: year: 'MM29' is no year, such as 2024; left out" in parts["notes: 30"]
    again = rag_alone("index", "--json", "--dry-run", "--report", "again.txt", "a.jsonl", "b.jsonl").json
    assert (again["read"], len(again["merged"]), again["without_abstract"]) == (["a.jsonl", "b.jsonl"], 1, 30)
    assert "nothing to change\n62 papers then" in (tmp_path / "again.txt").read_text()


def test_a_report_that_cant_be_written_is_an_error(rag_alone: Run, tmp_path: Path) -> None:
    _write(tmp_path / "a.jsonl", _paper("alpha"))
    done = rag_alone("index", "--report", "nowhere/report.txt", "a.jsonl")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == "hint: --report FILE names another"


def test_papers_come_from_services_and_from_zotero(rag_alone: Run, tmp_path: Path) -> None:
    library = ZoteroLibrary(tmp_path / "Zotero")
    library.add("journalArticle", ("author", "Ann", "Lee"), title="On bees", abstractNote="We study bees. They fly.")
    with serving() as services:
        services.entries["2401.00001"] = entry("2401.00001", "On ants", "We study ants. They work.", "Bob Ray")
        services.first["arxiv"].append(Reply(503))
        done = rag_alone("index", "arxiv:2401.00001", "Zotero", **services.environment())
    assert done.code == 0, done.err
    assert done.err == "note: waiting: arXiv refused the request (503); asking again in a moment\n"
    assert done.out.startswith("read 1 file and 1 request: 2 papers\nadded 2: arxiv:2401.00001, p-")
    answer = rag_alone("ask", "--json", "Who wrote On ants?").json
    assert "Bob Ray" in answer["text"]
    with serving() as services:
        services.first["arxiv"].append(Reply(403))
        failed = rag_alone("index", "--yes", "arxiv:2401.00001", "Zotero", **services.environment())
    assert (failed.code, failed.out) == (1, "")
    assert failed.err == "error: arXiv refused the request (403).\nhint: check what was asked for\n"
    assert rag_alone("papers").out.count("\n") == 2
