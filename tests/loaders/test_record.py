"""Records written by hand, and the slips that hands make."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_assistant.errors import LoadError
from rag_assistant.loaders import load_papers
from rag_assistant.types import Paper


def load(folder: Path, text: str) -> Paper:
    path = folder / "a.md"
    path.write_text(text, encoding="utf-8")
    report = load_papers(path)
    assert report.problems == report.notes == ()
    (paper,) = report.papers
    return paper


def test_every_key(tmp_path: Path) -> None:
    text = (
        "\n---\nID: a1\ntitle:  \"Why?\": a study # of 'x: y'\nauthor: Lee, Ann\nauthor: Bob Ray\n\n"
        "venue: V\nyear: 2023\ndoi: https://doi.org/10.1000/x\nurl:\nopenreview: https://o.org/1\nlink: code https://c.org/1\n---\n\n"
        "First: a line.\n---\nkey: not a header.\n\nSecond.\n"
    )
    assert load(tmp_path, text) == Paper(
        id="a1",
        title="\"Why?\": a study # of 'x: y'",
        abstract="First: a line.\n---\nkey: not a header.\n\nSecond.",
        authors=("Lee, Ann", "Bob Ray"),
        year=2023,
        venue="V",
        url="https://o.org/1",
        doi="10.1000/x",
        links={"openreview": "https://o.org/1", "code": "https://c.org/1"},
    )


def test_authors_on_one_line_and_no_other_key(tmp_path: Path) -> None:
    paper = load(tmp_path, "---\nauthors: Ann Lee; Bob Ray\n---\nIt works.")
    assert paper.authors == ("Ann Lee", "Bob Ray")
    assert paper.id.startswith("p-")
    assert paper.title_derived
    assert load(tmp_path, "---\n---\nIt works.").id == paper.id


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("It works.", 1, "must begin with a line '---'"),
        ("\n# Title\n---\n", 2, "must begin with a line '---'"),
        ("---\ntitle: T\nIt works.", 1, "never closed"),
        ("---\ntitle: T\nIt works.\n---\nIt does.", 3, "'It works.' is not of the form 'key: value'"),
        ("---\na title: T\n---\nIt works.", 2, "not of the form 'key: value'"),
        ("---\nid: a\ntitel: T\n---\nIt works.", 3, "titel: is no key of a paper; did you mean 'title'?"),
        ("---\nid: a\nzzz: T\n---\nIt works.", 3, "zzz: is no key of a paper; keys are id, title, authors"),
        ("---\nid: a\nID: b\n---\nIt works.", 3, "id: is given twice, first in line 2"),
        ("---\nauthor: A B\nauthors: C D\n---\nIt works.", 3, "authors: give either"),
        ("---\nid: a\n---\n\n", 3, "abstract: is empty, and there is no title either"),
        ("---\nid: a\n---\n\n...\n", 5, "abstract: has no words"),
    ],
)
def test_a_slip_is_told_with_its_line(tmp_path: Path, text: str, line: int, told: str) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("---\n---\nGood.")
    bad.write_text(text)
    report = load_papers(tmp_path)
    assert [paper.abstract for paper in report.papers] == ["Good."]
    (problem,) = report.problems
    assert str(problem).startswith(f"{bad}:{line}: ")
    assert told in str(problem)
    with pytest.raises(LoadError) as caught:
        load_papers(bad)
    assert told in str(caught.value)


def test_what_cannot_be_used_is_left_out_with_the_line_it_is_in(tmp_path: Path) -> None:
    fields = "id: a\nlink: code ask me\ndoi: none\nyear: MMXX\nlink: code"
    (tmp_path / "a.md").write_text(f"---\n{fields}\nlink: https://x.org\n---\nIt works.")
    report = load_papers(tmp_path)
    told = [(note.line, note.field) for note in report.notes]
    assert told == [(4, "doi"), (3, "code"), (6, "link"), (5, "year")]
    assert report.problems == ()
    assert (report.papers[0].links, report.papers[0].doi) == ({"link": "https://x.org"}, None)
