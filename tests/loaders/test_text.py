"""Plain text: abstracts, headings, and titles made of first words."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_assistant.bundled import bundled
from rag_assistant.errors import LoadError
from rag_assistant.loaders import load_papers


def test_the_bundled_abstracts_as_the_plain_document_they_came_in(tmp_path: Path) -> None:
    abstracts = [paper.abstract for paper in load_papers(bundled("corpus")).papers]
    path = tmp_path / "abstracts.txt"
    path.write_text("ICML 2024 Papers\n\n" + "\n\n".join(abstracts), encoding="utf-8")
    report = load_papers(path)
    assert [paper.abstract for paper in report.papers] == abstracts
    assert [str(note) for note in report.notes] == [
        f"{path}:1: 'ICML 2024 Papers' was taken for a heading and passed over"
    ]
    assert report.problems == ()
    for number, paper in enumerate(report.papers):
        assert paper.source == f"{path}:{3 + 2 * number}"
        assert paper.title_derived
        assert len(paper.title) <= 80
        assert paper.abstract.startswith(paper.title.removesuffix("\u2026"))


def test_wrapped_lines_belong_together_and_blank_lines_part(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("We study\n  a thing.\n \t\n\nIt is open\nto this day\n\nPart Two\n\nYes!\n")
    report = load_papers(tmp_path / "a.txt")
    assert [paper.abstract for paper in report.papers] == ["We study\n  a thing.", "It is open\nto this day", "Yes!"]
    assert [note.line for note in report.notes] == [8]


def test_titles_cut_no_formula(tmp_path: Path) -> None:
    words = "We give a bound of at most a few " + "more " * 6
    (tmp_path / "a.txt").write_text(f"{words}$O(n \\log n + m)$ and $x$ for all graphs that there are. So.")
    (paper,) = load_papers(tmp_path / "a.txt").papers
    assert paper.title == words.strip() + "\u2026"


def test_a_word_longer_than_a_title_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("W" * 200 + ".")
    (paper,) = load_papers(tmp_path / "a.txt").papers
    assert paper.title == "W" * 79 + "\u2026"


def test_headings_alone_are_no_papers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ICML 2024 Papers\n\nPart One\n")
    with pytest.raises(LoadError, match=r"a\.txt: holds no paper"):
        load_papers(tmp_path / "a.txt")


@pytest.mark.parametrize(
    "text",
    [
        "TY  - JOUR\nTI  - Ants\nAU  - Lee, Ann\nAB  - Ants work\n  all day.\nER  - \n",
        "PMID- 1\nOWN - NLM\nTI  - Ants\nFAU - Lee, Ann\nAB  - Ants work\n      all day.\n",
        "%0 Journal Article\n%T Ants\n%A Lee, Ann\n%X Ants work\nall day.\n",
        "RT Journal Article\nSR Electronic(1)\nA1 Lee, Ann\nT1 Ants\nAB Ants work\nall day.\n",
        "PT J\nAU Lee, Ann\nTI Ants\nAB Ants work\n   all day.\nER\n",
        "@article{a,\n title={Ants},\n author={Lee, Ann},\n abstract={Ants work\n all day.}\n}\n",
        '{"title": "Ants", "authors": ["Ann Lee"], "abstract": "Ants work all day."}\n',
        'Title;Authors;Abstract\nAnts;Lee, Ann;"Ants work\nall day."\n',
        "<xml><records><record><titles><title>Ants</title></titles><contributors><authors><author>Lee, Ann</author>"
        "</authors></contributors><abstract>Ants work all day.</abstract></record></records></xml>",
    ],
    ids=["RIS", "PubMed", "EndNote", "RefWorks", "Web of Science", "BibTeX", "JSON", "table", "XML"],
)
def test_an_export_is_read_as_what_it_is_and_not_as_abstracts(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    (paper,) = load_papers(tmp_path / "a.txt").papers
    assert (paper.title, paper.authors) == ("Ants", ("Ann Lee",))
    assert paper.abstract.split() == ["Ants", "work", "all", "day."]


def test_tagged_lines_of_no_known_form_are_not_taken_for_abstracts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("XA - Lee, Ann\nXB - Ants\nXC - Ants work.\nXD - 2020\n")
    with pytest.raises(LoadError, match="reference manager"):
        load_papers(tmp_path / "a.txt")


def test_abstracts_that_begin_with_acronyms_are_abstracts(tmp_path: Path) -> None:
    abstracts = [f"{word} systems are hard. We study them." for word in ("AI", "ML", "RL", "VR", "3D")]
    (tmp_path / "a.txt").write_text("\n\n".join([*abstracts, "We wrap\nlines in this\nabstract."] * 2))
    assert len(load_papers(tmp_path / "a.txt").papers) == 6
