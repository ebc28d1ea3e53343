"""What other programs write into their exports, read as a person reads it. The samples are made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_assistant.loaders import LoadReport, load_papers
from rag_assistant.types import Paper

Load = Callable[[str, str], LoadReport]
RIS = "TY  - JOUR\nTI  - Ants\n{}\nER  - \n"


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a text as a file of that name."""

    def run(name: str, text: str) -> LoadReport:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return load_papers(path)

    return run


def one(report: LoadReport) -> Paper:
    assert report.problems == ()
    (paper,) = report.papers
    return paper


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Abstract: We find it.", "We find it."),
        ("ABSTRACT We find it.", "We find it."),
        ("Abstract\u2014We find it.", "We find it."),
        ("AbstractWe find it.", "We find it."),
        ("Abstract algebra is what we do.", "Abstract algebra is what we do."),
        ("Abstractive summaries are.", "Abstractive summaries are."),
        ("We find it. \u00a9 2024 Elsevier B.V.", "We find it."),
        ("We find it. \u00a9 Springer-Verlag Berlin Heidelberg 2013.", "We find it."),
        ("We find it. Copyright \u00a9 2021 Some Society. All rights reserved.", "We find it."),
        ("We find it. (C) 2003 Elsevier Science Ltd. All rights reserved.", "We find it."),
        ("We find it. (PsycINFO Database Record (c) 2019 APA, all rights reserved)", "We find it."),
        ("\u00a9 2020 Elsevier B.V.We find it.", "We find it."),
        ("\u00a9 2012 Elsevier Ltd. All rights reserved. We find it.", "We find it."),
        ("We study copyright (c) in law and all rights reserved by it.",) * 2,
        ("<p>We <i>find</i> it.</p><p>It &lt; 5 &amp; &#945;.</p>", "We find it.\nIt < 5 & \u03b1."),
        ("We find H<sub>2</sub>O at 10<sup>-5</sup>, the 5<sup>th</sup>.", "We find H2O at 10^-5, the 5th."),
        ("We find a < b, p<0.05 and c > d.",) * 2,
        ("<b>Background:</b> It is. <b>Methods:</b> We do.", "Background: It is. Methods: We do."),
        ("We find 30\\% of $x\\%$ and {\\'e}t{\\'e}.", "We find 30% of $x\\%$ and \u00e9t\u00e9."),
        ('He said \\"a thing\\" to {0, 1}.',) * 2,
        ("BACKGROUND: One.\nMETHODS: Two.",) * 2,
    ],
)
def test_an_abstract_is_cleaned_of_what_is_no_part_of_it(load: Load, written: str, read: str) -> None:
    assert one(load("a.ris", RIS.format(f"AB  - {written}"))).abstract == read


@pytest.mark.parametrize("nothing", ["[No abstract available]", "No abstract available.", "N/A", "null", "-"])
def test_what_says_that_there_is_no_abstract_is_none(load: Load, nothing: str) -> None:
    report = load("a.ris", RIS.format(f"AB  - {nothing}"))
    assert one(report).abstract == ""
    assert report.without_abstract == report.papers


@pytest.mark.parametrize(
    ("written", "year"),
    [("2014//", 2014), ("2014/02/19/", 2014), ("Feb-Mar 1998", 1998), ("1 Jan.-Feb. 2019", 2019), ("c2001", 2001)],
)
def test_a_year_is_found_in_a_date(load: Load, written: str, year: int) -> None:
    assert one(load("a.ris", RIS.format(f"PY  - {written}"))).year == year


def test_a_date_without_a_year_is_told_and_the_paper_kept(load: Load) -> None:
    report = load("a.ris", RIS.format("PY  - forthcoming"))
    assert one(report).year is None
    assert [str(note).rpartition("/")[2] for note in report.notes] == [
        "a.ris:1: year: 'forthcoming' holds no year; left out"
    ]


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Marx, Karl", ("Karl Marx",)),
        ("van de Schoot, Rens", ("Rens van de Schoot",)),
        ("King, Martin Luther, Jr.", ("Martin Luther King Jr.",)),
        ("Liu R.", ("R. Liu",)),
        ("Lee, Ann; Ray, Bob", ("Ann Lee", "Bob Ray")),
        ("Ann Lee III", ("Ann Lee III",)),
        ("World Health Organization", ("World Health Organization",)),
        ("Hoven, null", ("Hoven",)),
        ("[No author name available]", ()),
        ("[Anonymous]", ()),
    ],
)
def test_names_have_the_given_name_first(load: Load, written: str, names: tuple[str, ...]) -> None:
    assert one(load("a.ris", RIS.format(f"AU  - {written}"))).authors == names


@pytest.mark.parametrize(
    ("lines", "doi", "url", "key"),
    [
        ("DO  - http://dx.doi.org/10.1002/Cpp.2398", "10.1002/Cpp.2398", "https://doi.org/10.1002/Cpp.2398", "doi:"),
        ("DO  - doi:10.1002/cpp(98)2", "10.1002/cpp(98)2", "https://doi.org/10.1002/cpp(98)2", "doi:"),
        ("UR  - https://doi.org/10.1002/cpp.2398.", "10.1002/cpp.2398", "https://doi.org/10.1002/cpp.2398", "doi:"),
        ("DO  - 10.1002/a\nUR  - https://db.org/x?session=1", "10.1002/a", "https://doi.org/10.1002/a", "doi:"),
        ("DO  - 10.1002/a\nUR  - https://page.org/x", "10.1002/a", "https://page.org/x", "doi:"),
        ("UR  - http://arxiv.org/abs/2401.12345v2", None, "http://arxiv.org/abs/2401.12345v2", "arxiv:2401.12345"),
        ("DO  - 10.48550/arXiv.2401.12345", "10.48550/arXiv.2401.12345", "https://arxiv.org/abs/2401.12345", "arxiv:"),
        (
            "UR  - https://openreview.net/pdf?id=aB_1-c",
            None,
            "https://openreview.net/pdf?id=aB_1-c",
            "openreview:aB_1-c",
        ),
        ("UR  - <Go to ISI>://WOS:000334648000001", None, None, "p-"),
    ],
)
def test_dois_and_pages(load: Load, lines: str, doi: str | None, url: str | None, key: str) -> None:
    paper = one(load("a.ris", RIS.format(lines)))
    assert (paper.doi, paper.url) == (doi, url)
    assert paper.id.startswith(key)


def test_ris_as_it_comes(load: Load) -> None:
    report = load(
        "a.ris",
        "Record #1 of 3\nProvider: Some database\n1.\nTY  - JOUR\nID  - 12345\nT1  - Title\nN2  - One\nwrapped line.\n"
        "\nAnother paragraph.\nKW  - a\nb\nY1  - 2014//\nER  -\n\n2.\nTY  - CONF\nID  - 12345\nTI  - Second\n"
        "TY  - CONF\nBT  - Third, with no end before it\nAB  - Short.\nN2  - The longer of two.\nLA  - en",
    )
    assert [paper.title for paper in report.papers] == ["Title", "Second", "Third, with no end before it"]
    assert [paper.abstract for paper in report.papers] == [
        "One\nwrapped line.\n\nAnother paragraph.",
        "",
        "The longer of two.",
    ]
    assert [paper.source.rpartition(":")[2] for paper in report.papers] == ["4", "17", "20"]
    assert report.problems == report.notes == ()


def test_ris_with_one_space_and_mixed_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.ris").write_bytes(b"TY - JOUR\r\nTI - One\r\nER -\r\n\rTY - JOUR\rTI - Two\rAB - We do.\rER -\r")
    report = load_papers(tmp_path / "a.ris")
    assert [(paper.title, paper.abstract) for paper in report.papers] == [("One", ""), ("Two", "We do.")]


def test_medline_of_pubmed_and_of_eric(load: Load) -> None:
    text = (
        "\n\nPMID- 123\nOWN - NLM\nDP  - 2019 Jan-Feb\nTI  - A wrapped\n      title.\nAB  - BACKGROUND: One\n"
        "      two.\nFAU - Lee, Ann\nAU  - Lee A\nCN  - A Group\nJT  - Journal\nAID - S1 [pii]\n\n"
        "OWN - ERIC\nTI  - Second\nAU  - Ray, Bob\nLID - http://eric.ed.gov/?id=1\nAB  - We do.\n\n"
        "OWN - ERIC\nTI  - Third\nAID - http://dx.doi.org/10.1186/s4\nAB  - We did.\n"
    )
    first, second, third = load("a.nbib", text).papers
    assert (first.id, first.title, first.abstract) == ("pmid:123", "A wrapped title.", "BACKGROUND: One two.")
    assert (first.authors, first.year, first.venue) == (("Ann Lee", "A Group"), 2019, "Journal")
    assert first.url == "https://pubmed.ncbi.nlm.nih.gov/123/"
    assert (second.authors, second.url) == (("Bob Ray",), "http://eric.ed.gov/?id=1")
    assert third.id == "doi:10.1186/s4"


def test_endnote_s_tagged_records_begin_where_a_tag_comes_again(load: Load) -> None:
    text = (
        "%T First\n%0 Journal Article\n%A Lee, Ann\n%A Ray, Bob\n%B Quarterly\n%D 2021\n%8 June 1, 2021\n%X We do.\n"
        "\n\nWe end.\n%U https://x.org/1\n\n\n%T Second\n%D 2020\n%R 10.1000/x\n\n%0 Book\n%T Third\n"
    )
    first, second, third = load("a.enl", text).papers
    assert (first.title, first.authors, first.venue, first.year) == ("First", ("Ann Lee", "Bob Ray"), "Quarterly", 2021)
    assert " ".join(first.abstract.split()) == "We do. We end."
    assert (second.title, second.doi, third.title) == ("Second", "10.1000/x", "Third")


def test_refworks_behind_its_legend(load: Load) -> None:
    text = (
        "Refworks Export Tagged Format\n\nTag legend\n*****\nRT=Reference Type\nT1=Primary Title\n*****\n"
        "BEGIN EXPORTED REFERENCES\n\n\nRT Journal Article\nSR Electronic(1)\nID 7\nA1 Lee,Ann\nT1 Ants\nJF Journal\n"
        "YR 2003\nAB We do\nAI for ants.\nNO doi: 10.1086/374030\nLK http://x.org/1\n\nRT Book\nT1 Bees\n"
    )
    first, second = load("a.txt", text).papers
    assert (first.title, first.authors, first.year, first.venue) == ("Ants", ("Ann Lee",), 2003, "Journal")
    assert (first.abstract, first.doi, first.url) == ("We do AI for ants.", "10.1086/374030", "http://x.org/1")
    assert second.title == "Bees"


def test_web_of_science_with_and_without_indents_and_under_another_name(load: Load) -> None:
    text = (
        "FN Clarivate Analytics Web of Science\nVR 1.0\nPT J\nAU Lee, A\n   Ray, B\nAF Lee, Ann\n   Ray, Bob\n"
        "TI A wrapped\n   title\nSO JOURNAL\nPY 2004\nAB We do\n   it.\nDI 10.1021/bi1\nER\n\n"
        "PT J\nTI Of AI\nand carbon\nAU Coe, Cy (cy@x.org)\nDay, Di\nAB We use\nDNA here.\nER\nEF\n"
    )
    first, second = load("a.ris", text).papers
    assert (first.title, first.authors, first.abstract) == ("A wrapped title", ("Ann Lee", "Bob Ray"), "We do it.")
    assert (first.doi, first.year, first.venue) == ("10.1021/bi1", 2004, "JOURNAL")
    assert (second.title, second.authors) == ("Of AI and carbon", ("Cy Coe", "Di Day"))
    assert second.abstract == "We use DNA here."


def test_bibtex_as_tex_has_it(load: Load) -> None:
    text = r"""
@string{icml = "Intl. Conf. on " # {Learning}}
%a comment
@InProceedings{lee24,
  title     = {On {G}{\"o}del, Erd{\H o}s and $K$-Level {B}ounds: {\alpha}-things},
  author    = {M{\"u}ller, J{\"o}rg and de la Cruz, Jr., Ana and {World Bank, Washington} and Ji{\v{r}}{\'{\i}} Ko{\v c}
               and others},
  booktitle = icml, year = 2024, month = jan # "~1",
  abstract  = {We get 30\% of $O(n^2)$ on pp.~3--4, \emph{not} \textbf{\emph{more}}, see \url{https://x.org/a_b} and
               ``quote'' \mathbb{R} \& all.},
  eprint = {2401.12345v2}, archivePrefix = {arXiv}, keywords = {a, b},
}
@article{last, title = "A {"}quoted{"} title", subtitle = {And more}, date = {2019-05-01}, doi = {10.1000/x\_y}}
@comment{no entry}
"""
    first, second = load("a.bib", text).papers
    assert first.id == "lee24"
    assert first.title == "On Gödel, Erdős and $K$-Level Bounds: α-things"
    assert first.authors == ("Jörg Müller", "Ana de la Cruz Jr.", "World Bank, Washington", "Jiří Koč")
    assert (first.venue, first.year) == ("Intl. Conf. on Learning", 2024)
    assert " ".join(first.abstract.split()) == (
        "We get 30% of $O(n^2)$ on pp. 3–4, not more, see https://x.org/a_b and “quote” \\mathbb{R} & all."
    )
    assert first.links == {"arxiv": "https://arxiv.org/abs/2401.12345"}
    assert (second.title, second.year) == ('A "quoted" title: And more', 2019)


def test_what_is_wrong_in_bibtex_spoils_no_other_entry(load: Load) -> None:
    report = load(
        "a.bib",
        "@article{a, title = {One}\n year = 2020,\n}\n@article{broken,\n title = {Two {never closed},\n}\n\n"
        "@article{c, title={Three}, title={Drei}}\n@article{c, title={Four}}\n@article{nothing}\n",
    )
    assert [(paper.title, paper.year) for paper in report.papers] == [("One", 2020), ("Three", None), ("Four", None)]
    broken, nothing = report.problems
    assert (broken.line, broken.message) == (4, "is no entry of BibTeX: a brace, quote or comma is missing")
    assert (nothing.line, nothing.field) == (10, "abstract")
    comma, key = report.notes
    assert (comma.line, comma.field, comma.message) == (1, "title", "a comma is missing behind this field")
    assert key.line == 9


def test_entries_of_a_proceedings_file_are_of_its_proceedings(load: Load) -> None:
    text = (
        "@Proceedings{v1, booktitle={Proceedings of X}, editor={Ed Itor}, year={2024}}\n"
        "@InProceedings{a24, title={Ants}, abstract={We do.}}\n"
        "@InProceedings{b24, title={Bees}, booktitle={Elsewhere}, year={2020}}\n"
    )
    book, ants, bees = load("a.bib", text).papers
    assert (book.title, book.authors, book.venue) == ("Proceedings of X", ("Ed Itor",), None)
    assert (ants.venue, ants.year) == ("Proceedings of X", 2024)
    assert (bees.venue, bees.year) == ("Elsewhere", 2020)


def test_pmlr_posts(load: Load) -> None:
    post = (
        "---\ntitle: 'Ants: a study'\nabstract: We find 30\\% of $x$,\n  see \\url{https://x.org}.\nid: lee24a\n"
        "publisher: PMLR\nvolume: '251'\ncontainer-title: Proceedings of\n  Ants\nauthor:\n- given: Ann\n"
        "  family: Lee\n- given: Haitz\n  family: Borde\n  prefix: S\u00e1ez de\ndate: 2024-10-12\naddress:\n"
        "extras: []\n# a comment\n---\n"
    )
    paper = one(load("2024-10-12-lee24a.md", post))
    assert (paper.id, paper.title, paper.year) == ("lee24a", "Ants: a study", 2024)
    assert paper.abstract == "We find 30% of $x$, see https://x.org."
    assert paper.authors == ("Ann Lee", "Haitz S\u00e1ez de Borde")
    assert (paper.venue, paper.url) == ("Proceedings of Ants", "https://proceedings.mlr.press/v251/lee24a.html")


@pytest.mark.parametrize(
    ("header", "line", "told"),
    [
        ("title: a: b\nabstract: x", 2, "its header is not YAML: mapping values are not allowed"),
        ("abstract: &a [x]\nb: [*a, *a]", 2, "repeats parts of itself by YAML's aliases"),
        ("abstract: x\n- y", 3, "its header is not YAML"),
        ("abstract: 2024-01-01\ntitle: [x]", 2, "abstract: must be text, not date"),
    ],
)
def test_a_bad_post_is_one_problem(load: Load, header: str, line: int, told: str, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("We do. It works.")
    (tmp_path / "bad.md").write_text(f"---\n{header}\n---\n")
    report = load_papers(tmp_path)
    (problem,) = report.problems
    assert (problem.line, told in str(problem)) == (line, True)


def test_openreview_s_two_apis_and_notes_that_are_no_papers(load: Load) -> None:
    notes = [
        {
            "id": "new1",
            "forum": "new1",
            "pdate": 1700000000000,
            "content": {
                "title": {"value": "New"},
                "abstract": {"value": "We do."},
                "authors": {"value": ["Ann Lee"]},
                "venue": {"value": "ICLR 2024 poster"},
            },
        },
        {"id": "r1", "forum": "new1", "content": {"review": {"value": "Good."}, "rating": {"value": 8}}},
        {
            "id": "old1",
            "cdate": 1600000000000,
            "content": {"title": "Old", "abstract": "We did.", "authors": ["Bob Ray"]},
        },
    ]
    report = load("a.json", json.dumps({"notes": notes, "count": 3}, indent=1))
    new, old = report.papers
    assert (new.id, new.title, new.abstract, new.authors) == ("openreview:new1", "New", "We do.", ("Ann Lee",))
    assert (new.venue, new.year, old.year) == ("ICLR 2024 poster", 2024, 2020)
    assert new.links == {"openreview": "https://openreview.net/forum?id=new1"}
    assert old.url == "https://openreview.net/forum?id=old1"
    assert [note.message for note in report.notes] == ["passed over: a note of OpenReview that is no paper"]
    as_lines = load("b.jsonl", "".join(json.dumps(note) + "\n" for note in notes))
    assert as_lines.papers == report.papers


def test_crossref_csl_and_semantic_scholar(load: Load) -> None:
    work = {
        "DOI": "10.1234/AB",
        "title": ["On <i>ants</i> &amp; bees"],
        "abstract": "<jats:title>Abstract</jats:title><jats:sec><jats:title>Methods</jats:title>"
        "<jats:p>We do &lt; 5.</jats:p></jats:sec>",
        "author": [{"given": "Ann", "family": "Lee"}, {"name": "A Group"}],
        "issued": {"date-parts": [[2020, 1]]},
        "container-title": ["Journal"],
    }
    crossref = one(load("a.json", json.dumps({"status": "ok", "message": {"items": [work]}})))
    assert (crossref.id, crossref.title) == ("doi:10.1234/ab", "On ants & bees")
    assert crossref.abstract == "Methods: We do < 5."
    assert (crossref.authors, crossref.year, crossref.venue) == (("Ann Lee", "A Group"), 2020, "Journal")
    assert load("b.json", json.dumps({"message": work})).papers == (crossref,)
    beethoven = {"family": "Beethoven", "non-dropping-particle": "van", "given": "Ludwig"}
    csl = one(
        load(
            "c.json", json.dumps([{"id": "van1824", "title": "Ode", "author": [beethoven], "issued": {"raw": "1824"}}])
        )
    )
    assert (csl.id, csl.authors, csl.year) == ("van1824", ("Ludwig van Beethoven",), 1824)
    scholar = {
        "paperId": "0a1b",
        "externalIds": {"DOI": "10.18653/v1/x", "ArXiv": "2401.00001"},
        "title": "Ants",
        "abstract": None,
        "authors": [{"authorId": "1", "name": "Ann Lee"}],
        "year": 2024,
        "journal": {"name": "ArXiv"},
        "url": "https://www.semanticscholar.org/paper/0a1b",
    }
    paper = one(load("d.json", json.dumps({"total": 1, "data": [scholar]})))
    assert (paper.id, paper.doi, paper.venue) == ("doi:10.18653/v1/x", "10.18653/v1/x", "ArXiv")
    assert paper.links == {"arxiv": "https://arxiv.org/abs/2401.00001"}


def test_publish_or_perish_and_arxiv_in_a_client_s_record(load: Load) -> None:
    found = [
        {
            "uid": "GS:1",
            "title": "Ants \u2026",
            "source": "J",
            "article_url": "https://x.org/1",
            "authors": ["A Lee"],
            "year": 0,
        }
    ]
    scholar = one(load("a.json", "\ufeff" + json.dumps(found)))
    assert (scholar.title, scholar.venue, scholar.url, scholar.authors) == (
        "Ants \u2026",
        "J",
        "https://x.org/1",
        ("A Lee",),
    )
    assert scholar.year is None
    feed = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/abs/1707.08567v1</id>'
        "<title>On\n ants</title><summary>  We wrap\nlines.\n  A paragraph.\n</summary>"
        "<published>2017-07-27T08:18:33Z</published><author><name>Ann Lee</name></author></entry></feed>"
    )
    paper = one(load("b.json", json.dumps({"url": "https://export.arxiv.org/x", "status_code": 200, "body": feed})))
    assert (paper.id, paper.title, paper.venue, paper.year) == ("arxiv:1707.08567", "On ants", "arXiv", 2017)
    assert paper.abstract == "We wrap lines.\nA paragraph."
    assert paper.links == {"arxiv": "https://arxiv.org/abs/1707.08567"}


def test_of_json_that_is_cut_short_the_records_before_the_cut_are_read(load: Load) -> None:
    report = load("a.json", '{"items": [\n{"title": "One", "abstract": "We do."},\n{"title": "Two", "abs')
    assert [(paper.title, paper.source.rpartition(":")[2]) for paper in report.papers] == [("One", "2")]
    (problem,) = report.problems
    assert (problem.line, "is not JSON: Unterminated string" in problem.message) == (3, True)
    report = load("b.json", '[\n{"title": "One"}\n')
    assert [problem.message for problem in report.problems] == ["is cut short: the list of records has no end"]
