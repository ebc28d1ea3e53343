"""``--collection``, ``collections``, ``remove`` and ``export``: several collections beside each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result, run_command

Run = Callable[..., Result]


def _papers(path: Path, *names: str) -> Path:
    lines = [
        {"id": n, "title": f"On {n}", "abstract": f"We study {n} and show that {n} is fast.", "year": 2020}
        for n in names
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def rag_home(tmp_path: Path) -> Run:
    """Runs a command with a data folder of the test's own."""

    def run(*arguments: object, **environment: str) -> Result:
        home = {"XDG_DATA_HOME": str(tmp_path / "data"), "RAG_INDEX": "", **environment}
        return run_command(*arguments, cwd=tmp_path, stdin="", **home)

    return run


def test_collections_stand_beside_each_other(rag_home: Run, tmp_path: Path) -> None:
    assert rag_home("index", _papers(tmp_path / "a.jsonl", "alpha", "beta"), "--collection", "letters").code == 0
    assert rag_home("index", _papers(tmp_path / "n.jsonl", "seven"), "--collection", "numbers").code == 0
    rows = [line.split("\t") for line in rag_home("collections").out.splitlines()]
    assert [(row[0], row[1]) for row in rows] == [("letters", "2"), ("numbers", "1")]
    assert rag_home("papers", "--collection", "numbers").out.startswith("seven\t2020")
    answer = json.loads(rag_home("ask", "What is studied about alpha?", "--collection", "letters", "--json").out)
    assert [one["paper"]["id"] for one in answer["citations"]] == ["alpha"]
    # The nearer source names the place.
    assert rag_home("papers", RAG_COLLECTION="letters").out.count("\n") == 2
    assert rag_home("papers", "--collection", "numbers", RAG_INDEX=str(tmp_path / "other")).out.startswith("seven")
    (tmp_path / "rag.toml").write_text('collection = "numbers"\n')
    assert rag_home("papers").out.startswith("seven")
    both = rag_home("papers", "--collection", "letters", "--index", tmp_path / "x")
    assert (both.code, "give one of both" in both.err) == (1, True)


def test_a_collection_has_settings_of_its_own(rag_home: Run, tmp_path: Path) -> None:
    rag_home("index", _papers(tmp_path / "a.jsonl", "alpha"), "--collection", "letters")
    own = tmp_path / "data" / "rag-assistant" / "collections" / "letters" / "rag.toml"
    own.write_text("k = 3\n")
    (tmp_path / "rag.toml").write_text('k = 7\nlength = "short"\n')
    shown = json.loads(rag_home("config", "--json", RAG_COLLECTION="letters").out)["settings"]
    assert (shown["k"]["value"], shown["k"]["source"], shown["length"]["value"]) == (3, str(own), "short")
    own.write_text('index = "elsewhere"\n')
    done = rag_home("papers", "--collection", "letters")
    assert (done.code, "can't set 'index'" in done.err) == (1, True)


@pytest.mark.parametrize("name", ["..", "a/b", "", "-x", "a" * 65, "a b"])
def test_a_name_that_is_no_folder_of_its_own_is_refused(rag_home: Run, name: str) -> None:
    done = rag_home("papers", f"--collection={name}")
    assert done.code == 1
    assert "can't be set" in done.err
    assert "Traceback" not in done.err


def test_one_that_is_not_there_is_told_with_those_that_are(rag_home: Run, tmp_path: Path) -> None:
    rag_home("index", _papers(tmp_path / "a.jsonl", "alpha"), "--collection", "letters")
    done = rag_home("ask", "What is alpha?", "--collection", "leters")
    assert done.code == 1
    assert "There is no collection 'leters'" in done.err
    assert "did you mean letters?" in done.err
    assert rag_home("collections").out.count("\n") == 1


def test_papers_are_removed_and_a_collection_is_deleted(rag_home: Run, tmp_path: Path) -> None:
    named = ("--collection", "letters")
    rag_home("index", _papers(tmp_path / "a.jsonl", "alpha", "beta"), *named)
    done = rag_home("remove", "beta", *named)
    assert (done.code, done.out.splitlines()[0]) == (0, "removed 1: beta")
    assert "holds no paper gamma" in rag_home("remove", "gamma", *named).err
    assert "Name the papers to remove" in rag_home("remove", *named).err
    assert "name it: --collection" in rag_home("remove", "--all").err
    refused = rag_home("remove", "--all", *named)
    assert (refused.code, "--yes" in refused.err) == (1, True)
    assert rag_home("papers", *named).out.startswith("alpha")
    assert rag_home("remove", "--all", "--yes", *named).out == "deleted the collection letters of 1 papers\n"
    assert rag_home("collections").out == ""
    assert "There is no collection" in rag_home("remove", "--all", "--yes", *named).err


def test_an_export_makes_the_same_collection_again(rag_home: Run, tmp_path: Path) -> None:
    assert rag_home("index", "--collection", "bundled").code == 0
    before = rag_home("papers", "--collection", "bundled", "--json").out
    for name in ("jsonl", "csv", "bib"):
        assert rag_home("export", f"out.{name}", "--collection", "bundled").code == 0
        assert rag_home("index", f"out.{name}", "--collection", name).code == 0
        after = rag_home("papers", "--collection", name, "--json").out
        for paper in (papers := json.loads(before)["papers"]) + (again := json.loads(after)["papers"]):
            paper.pop("source", None)
        assert again == papers
    assert rag_home("export", "--collection", "bundled", "--id", "nika24a").out.count("\n") == 1
    assert "can't be written as 'pdf'" in rag_home("export", "out.pdf").err
