"""One paper from several sources is one paper, and what only looks alike stays apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rag_assistant.loaders import LoadReport, load_papers
from rag_assistant.types import Paper

ABSTRACT = (
    "We study how ants find the shortest way to their food when the way changes all the time, and show that a third of "
    "them never learns it."
)
TITLE = "How Ants Find the Shortest Way"
FULL = {"id": "a", "title": TITLE, "abstract": ABSTRACT, "authors": ["Ann Lee"], "year": 2024, "venue": "Ants 2024"}


def load(folder: Path, *records: dict[str, Any], **options: Any) -> LoadReport:
    path = folder / "papers.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return load_papers(path, **options)


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ({"doi": "10.1000/X"}, {"doi": "https://doi.org/10.1000/x", "title": "Ants"}, "same DOI"),
        ({"url": "https://arxiv.org/abs/2401.12345v1"}, {"doi": "10.48550/arXiv.2401.12345"}, "same arXiv id"),
        ({"id": "arxiv:2401.12345"}, {"links": {"pdf": "https://arxiv.org/pdf/2401.12345v3"}}, "same arXiv id"),
        (
            {"openreview": "https://openreview.net/forum?id=aB1"},
            {"url": "https://openreview.net/pdf?id=aB1"},
            "same OpenReview id",
        ),
        ({"id": "pmid:123"}, {"id": "pmid:123", "title": "Ants"}, "same PubMed id"),
        ({}, {"title": "How ants find <i>the</i> shortest way."}, "same title"),
        (
            {"title": "How Ants Find the $K$-th Shortest Way"},
            {"title": "How ants find the K-th shortest way"},
            "same title",
        ),
        (
            {},
            {"abstract": ABSTRACT.replace("ants", "<b>ants</b>").replace("We study", "Abstract: We study")},
            "same title",
        ),
        ({}, {"abstract": ABSTRACT.replace("their", "the"), "doi": "10.1000/other"}, "same title"),
        ({}, {"abstract": None, "authors": ["A. Lee"]}, "same title"),
        ({}, {"abstract": None, "authors": [], "year": 2025}, "same title"),
        ({}, {"title": None}, "same first words"),
    ],
)
def test_what_is_one_paper(tmp_path: Path, one: dict[str, Any], other: dict[str, Any], why: str) -> None:
    first, second = FULL | one, {**FULL, "id": "b", "authors": ["Ann Lee"]} | other
    for records in ((first, second), (second, first)):
        report = load(tmp_path, *records)
        assert [paper.id for paper in report.papers] == [records[0]["id"]]
        (told,) = report.merged
        assert told in report.notes
        assert str(told).endswith(
            f"papers.jsonl:2: is the same paper as {records[0]['id']!r} from {tmp_path}/papers.jsonl:1: {why}"
        )
        assert report.papers[0].source == f"{tmp_path}/papers.jsonl:1; {tmp_path}/papers.jsonl:2"
        apart = load(tmp_path, *records, merge=False)
        assert len(apart.papers) == len({paper.id for paper in apart.papers}) == 2
        assert apart.merged == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"title": "How Ants Find the Longest Way", "abstract": "We study bees. They are here and there and fly."}),
        (
            {},
            {"abstract": "Bees are something else, and nobody who studies ants says so, nor do we in this paper here."},
        ),
        ({"doi": "10.1000/x"}, {"doi": "10.1000/y", "title": "Another Title of It"}),
        ({"abstract": None, "doi": "10.1000/x"}, {"abstract": None, "doi": "10.1000/y"}),
        ({"abstract": None, "year": 2018}, {"abstract": None, "year": 2024}),
        ({"abstract": None}, {"abstract": None, "authors": ["Bob Ray"]}),
        (
            {"title": "Editorial", "abstract": None, "authors": []},
            {"title": "Editorial", "abstract": None, "authors": []},
        ),
        (
            {"url": "https://arxiv.org/abs/2401.12345"},
            {"url": "https://arxiv.org/abs/2401.12346", "title": "Others Do"},
        ),
    ],
)
def test_what_only_looks_alike_stays_apart(tmp_path: Path, one: dict[str, Any], other: dict[str, Any]) -> None:
    report = load(tmp_path, FULL | one, {**FULL, "id": "b"} | other)
    assert [paper.id for paper in report.papers] == ["a", "b"]
    assert report.merged == report.notes == ()


def test_the_fullest_record_wins_and_gets_what_the_others_have(tmp_path: Path) -> None:
    snippet = {"id": "s", "title": TITLE, "abstract": ABSTRACT[:90] + " \u2026", "url": "https://x.org/1"}
    linked = {"id": "l", "title": TITLE.upper(), "links": {"code": "https://c.org"}, "doi": "10.1000/x"}
    report = load(tmp_path, snippet, FULL | {"year": None}, linked)
    assert report.papers == (
        Paper(
            id="s",
            title=TITLE,
            abstract=ABSTRACT,
            authors=("Ann Lee",),
            year=None,
            venue="Ants 2024",
            url="https://x.org/1",
            doi="10.1000/x",
            links={"code": "https://c.org"},
        ),
    )
    assert len(report.merged) == 2
    assert report.papers[0].source.count("papers.jsonl:") == 3


def test_a_plain_document_of_abstracts_gets_the_bibliography_of_an_export(tmp_path: Path) -> None:
    (tmp_path / "abstracts.txt").write_text(f"Ants 2024\n\n{ABSTRACT}\n")
    (tmp_path / "library.bib").write_text(
        f"@article{{lee24, title={{{TITLE}}}, abstract={{{ABSTRACT}}}, year={{2024}}}}"
    )
    (paper,) = load_papers([tmp_path / "abstracts.txt", tmp_path / "library.bib"]).papers
    assert (paper.title, paper.title_derived, paper.year, paper.abstract) == (TITLE, False, 2024, ABSTRACT)
    assert paper.id.startswith("p-")


def test_renderings_of_one_abstract_are_one_paper(tmp_path: Path) -> None:
    (tmp_path / "lee24a.md").write_text(
        "---\ntitle: How <em>Ants</em> Find the $K$ Ways\nabstract: 'We <b>study</b> 30\\% of $K$ ants, see\n"
        "  \\url{https://x.org}, and find that they go where the others go and come back.'\nid: lee24a\n---\n"
    )
    (tmp_path / "list.jsonl").write_text(
        json.dumps(
            {
                "id": "icml-1",
                "title": "How Ants Find the $K$ Ways",
                "abstract": "We study 30% of $K$ ants, see https://x.org, and find that they go where the others go.",
            }
        )
    )
    report = load_papers(tmp_path)
    assert [paper.id for paper in report.papers] == ["lee24a"]
    assert len(report.merged) == 1


def test_a_key_that_two_libraries_use_for_two_papers(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(
        "@article{lee24, title={On ants}, abstract={Ants are here and there.}, doi={10.1000/a}}"
    )
    (tmp_path / "b.bib").write_text(
        "@article{lee24, title={On bees}, abstract={Bees fly to the flowers.}, doi={10.1000/b}}"
    )
    report = load_papers(tmp_path)
    assert [(paper.id, paper.title) for paper in report.papers] == [("lee24", "On ants"), ("doi:10.1000/b", "On bees")]
    (note,) = report.notes
    assert "'lee24' is the id of another paper" in note.message
    assert [paper.id for paper in load_papers(tmp_path / "b.bib").papers] == ["lee24"]


def test_records_of_one_paper_without_ids_are_told_briefly_or_kept_apart_without_a_word(tmp_path: Path) -> None:
    same = {"title": TITLE, "abstract": ABSTRACT}
    report = load(tmp_path, same, same, same)
    assert len(report.papers) == 1
    assert all(f"from {tmp_path}/papers.jsonl:1: same" in str(note) for note in report.notes)
    apart = load(tmp_path, same, same, same, merge=False)
    assert len({paper.id for paper in apart.papers}) == 3
    assert apart.notes == ()


def test_papers_that_are_there_keep_their_ids(tmp_path: Path) -> None:
    there = load(tmp_path, FULL | {"id": "mine"}, {"id": "other", "title": "On bees", "abstract": "Bees fly."}).papers
    (tmp_path / "new.bib").write_text(
        f"@article{{lee24, title={{{TITLE}}}, doi={{10.1000/x}}, author={{Lee, Ann}}, year={{2024}}}}\n"
        "@article{ray24, title={On wasps}, abstract={Wasps are neither.}}\n"
    )
    report = load_papers(tmp_path / "new.bib", known=there)
    assert [paper.id for paper in report.papers] == ["mine", "ray24"]
    joined = report.papers[0]
    assert (joined.abstract, joined.doi, joined.venue) == (ABSTRACT, "10.1000/x", "Ants 2024")
    assert joined.source == f"{tmp_path}/papers.jsonl:1; {tmp_path}/new.bib:1"
    assert len(report.merged) == 1
    assert [paper.id for paper in load_papers(tmp_path / "new.bib", known=there, merge=False).papers] == [
        "lee24",
        "ray24",
    ]


def test_many_papers_of_one_title_take_no_time(tmp_path: Path) -> None:
    records = [
        {"id": f"e{n}", "title": "Editorial", "abstract": f"{n} words on {n} and {n * 7} others."} for n in range(3000)
    ]
    report = load(tmp_path, *records)
    assert len(report.papers) == 3000
