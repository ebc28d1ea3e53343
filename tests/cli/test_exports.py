"""``index`` with exports of other programs, and what becomes of papers without an abstract."""

from __future__ import annotations

import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.cli.conftest import Run

ANTS = "We study how ants find the way to their food. A third of all ants never learns it."
BIB = f"""
@article{{lee24, title={{How Ants Find Their Way}}, author={{Lee, Ann and M{{\\"u}}ller, J{{\\"o}}rg}}, year={{2024}},
  journal={{Ants}}, abstract={{{ANTS}}}}}
@article{{ray23, title={{A Theory of Bees and Their Hives}}, author={{Ray, Bob}}, year={{2023}}, journal={{Bees}}}}
"""
RIS = f"TY  - JOUR\nTI  - How ants find their way\nAB  - {ANTS} \u00a9 2024 Elsevier\nDO  - 10.1000/x\nER  - \n"


def test_one_paper_of_two_files_and_one_without_an_abstract(rag_alone: Run, tmp_path: Path) -> None:
    (tmp_path / "library.bib").write_text(BIB)
    (tmp_path / "download.txt").write_text(RIS)
    done = rag_alone("index", "--json", "library.bib", "download.txt")
    assert done.code == 0, done.err
    assert done.json["added"] == ["lee24", "ray23"]
    assert done.json["without_abstract"] == 1
    assert done.json["merged"] == ["download.txt:1: is the same paper as 'lee24' from library.bib:2: same title"]
    assert done.json["skipped"] == []
    listed = {paper["id"]: paper for paper in rag_alone("papers", "--json").json["papers"]}
    assert listed["lee24"]["authors"] == ["Ann Lee", "J\u00f6rg M\u00fcller"]
    assert (listed["lee24"]["doi"], listed["lee24"]["abstract"]) == ("10.1000/x", ANTS)
    assert listed["lee24"]["source"] == "library.bib:2; download.txt:1"

    again = rag_alone("index", "library.bib", "download.txt")
    assert again.out.startswith(
        "read 2 files: 2 papers, 1 merged, 1 without abstract\nnothing changed\n2 papers, 1 passage"
    )

    apart = rag_alone("index", "--no-merge", "--dry-run", "library.bib", "download.txt")
    assert "would add 1: doi:10.1000/x" in apart.out
    assert apart.out.startswith("read 2 files: 3 papers, 1 without abstract\n")
    assert apart.out.endswith("3 papers then\n")


def test_a_paper_without_an_abstract_answers_for_its_bibliography_only(rag_alone: Run, tmp_path: Path) -> None:
    (tmp_path / "library.bib").write_text(BIB)
    assert rag_alone("index", "library.bib").code == 0
    everything = rag_alone("ask", "--json", "List all papers").json
    assert {citation["paper"]["id"] for citation in everything["citations"]} == {"lee24", "ray23"}
    assert "Bees" in rag_alone("ask", "Which papers are by Bob Ray?").out
    assert [hit["paper"]["id"] for hit in rag_alone("search", "--json", "bees and their hives").json["hits"]] == [
        "lee24"
    ]
    content = rag_alone("ask", "--json", "What does the theory of bees say about hives?").json
    assert "ray23" not in {citation["paper"]["id"] for citation in content["citations"]}
    (tmp_path / "titles.csv").write_text("Title,Authors\nA Theory of Bees and Their Hives,Bob Ray\n")
    alone = rag_alone("index", "--yes", "titles.csv")
    assert "1 paper, 0 passages" in alone.out
    assert rag_alone("ask", "What is said of bees?").code == 0


def test_what_is_added_joins_what_is_there(rag_alone: Run, tmp_path: Path) -> None:
    (tmp_path / "library.bib").write_text(BIB)
    (tmp_path / "download.ris").write_text(RIS)
    assert rag_alone("index", "library.bib").code == 0
    added = rag_alone("index", "--add", "--json", "download.ris").json
    assert (added["added"], added["changed"], added["papers"]) == ([], ["lee24"], 2)
    assert len(added["merged"]) == 1
    assert rag_alone("index", "--add", "--no-merge", "--json", "download.ris").json["added"] == ["doi:10.1000/x"]


def test_columns_are_named_and_slips_told(rag_alone: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Name;Summary\nAnts;We do. It works.\n")
    done = rag_alone("index", "--dry-run", "--map", "title=Name", "--map", "abstract=Summary", "a.csv")
    assert (done.code, "would add 1: p-" in done.out) == (0, True)
    for flags, told in (
        ((), "--map abstract=COLUMN"),
        (("--map", "abstract"), "--map can't be 'abstract'"),
        (("--map", "abstrct=Summary"), "A paper has no field 'abstrct'"),
        (("--map", "abstract=Sumary"), "has no column 'Sumary', but 'Name', 'Summary'"),
    ):
        wrong = rag_alone("index", "--dry-run", *flags, "a.csv")
        assert (wrong.code, wrong.out) == (1, "")
        assert told in wrong.err


def test_an_address_is_read_where_it_may_be(rag_alone: Run, tmp_path: Path) -> None:
    (tmp_path / "papers.ris").write_text(RIS)
    serve = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/papers.ris"
        refused = rag_alone("index", "--dry-run", address)
        done = rag_alone("index", "--dry-run", "--json", "--allow-private", address)
        server.shutdown()
        thread.join()
    assert (refused.code, "--allow-private" in refused.err) == (1, True)
    assert done.json["added"] == ["doi:10.1000/x"]


def test_many_problems_alike_are_told_in_a_line(rag_alone: Run, tmp_path: Path) -> None:
    records = [{"id": str(number)} for number in range(500)]
    good = {"id": "good", "title": "Ants", "abstract": ANTS}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in [good, *records]))
    done = rag_alone("index", "--dry-run", "a.jsonl")
    assert done.err == (
        "skipped: a.jsonl:2, a.jsonl:3, a.jsonl:4 and 497 more: abstract: is missing, and there is no title either\n"
    )
    assert done.out.startswith("read 1 file: 1 paper, 500 skipped\n")
