"""JSON Lines: its names and aliases, and one clear error for each way a record can be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_assistant.loaders import LoadReport, load_papers
from rag_assistant.types import Paper

GOOD = {"id": "good", "title": "Good", "abstract": "It works."}
Load = Callable[..., LoadReport]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads lines, each a JSON value or raw text, as one file."""

    def run(*lines: object) -> LoadReport:
        path = tmp_path / "papers.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return load_papers(path)

    return run


def one(report: LoadReport) -> Paper:
    assert report.problems == ()
    (paper,) = report.papers
    return paper


def test_names_of_a_conference_list(load: Load) -> None:
    paper = one(
        load(
            {
                "id": "icml2024-1",
                "title": "A\n title",
                "abstract": "It works.\r\nIt does.",
                "authors": ["Ann Lee", " Bob  Ray ", ""],
                "url": "https://icml.cc/1",
                "openreview": "https://openreview.net/forum?id=1",
                "pmlr": "https://proceedings.mlr.press/v235/1.html",
                "venue": "ICML 2024",
                "year": None,
                "unknown": {"deep": [1]},
            }
        )
    )
    assert paper == Paper(
        id="icml2024-1",
        title="A title",
        abstract="It works.\nIt does.",
        authors=("Ann Lee", "Bob Ray"),
        venue="ICML 2024",
        url="https://icml.cc/1",
        links={
            "openreview": "https://openreview.net/forum?id=1",
            "proceedings": "https://proceedings.mlr.press/v235/1.html",
        },
    )


def test_names_of_beir(load: Load) -> None:
    paper = one(load({"_id": 4983, "title": "", "text": "We study a thing. It works.", "metadata": {}}))
    assert (paper.id, paper.abstract) == ("4983", "We study a thing. It works.")
    assert (paper.title, paper.title_derived) == ("We study a thing. It works.", True)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("Ann Lee; Bob Ray ;", ("Ann Lee", "Bob Ray")),
        ("Lee, Ann; Ray, Bob", ("Lee, Ann", "Ray, Bob")),
        ("Ann Lee, Bob Ray", ("Ann Lee", "Bob Ray")),
        ("Ann Lee, Bob Ray, and Cy Coe", ("Ann Lee", "Bob Ray", "Cy Coe")),
        ("Lee, Ann and Ray, Bob", ("Lee, Ann", "Ray, Bob")),
        ("Lee, Ann", ("Lee, Ann",)),
        ("Anderson Sandberg", ("Anderson Sandberg",)),
        ("; ".join(f"Author Number{n}" for n in range(3000)), tuple(f"Author Number{n}" for n in range(3000))),
        ([{"name": "Ann Lee"}, "Bob Ray"], ("Ann Lee", "Bob Ray")),
        ("", ()),
        ([], ()),
    ],
)
def test_authors(load: Load, given: object, names: tuple[str, ...]) -> None:
    assert one(load({**GOOD, "authors": given})).authors == names


@pytest.mark.parametrize(
    ("left_out", "kind"),
    [(None, "null"), (7, "a number"), ({"name": None}, "an object"), ({"orcid": "0"}, "an object"), (["B"], "a list")],
)
def test_an_author_without_a_name_is_left_out_with_a_note(load: Load, left_out: object, kind: str) -> None:
    report = load({**GOOD, "authors": ["Ann Lee", left_out, "Bob Ray"]})
    assert one(report).authors == ("Ann Lee", "Bob Ray")
    (note,) = report.notes
    assert (note.line, note.field, note.message) == (1, "authors", f"number 2 is {kind}, no name; left out")
    assert one(load({**GOOD, "authors": [left_out]})).authors == ()


@pytest.mark.parametrize(
    ("given", "year"), [(2024, 2024), ("2024", 2024), (" 2024 ", 2024), (2024.0, 2024), ("", None)]
)
def test_years(load: Load, given: object, year: int | None) -> None:
    assert one(load({**GOOD, "year": given})).year == year


@pytest.mark.parametrize("doi", ["10.1145/AbC.(1)", "https://doi.org/10.1145/AbC.(1)", "doi: 10.1145/AbC.(1)"])
def test_a_doi_gives_an_id_and_an_address(load: Load, doi: str) -> None:
    paper = one(load({"abstract": "It works.", "doi": doi}))
    assert (paper.id, paper.doi) == ("doi:10.1145/abc.(1)", "10.1145/AbC.(1)")
    assert paper.url == "https://doi.org/10.1145/AbC.(1)"


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "www.x.org", "file:///etc/x", "https://", "http://a b"]
)
def test_what_is_no_web_address_is_left_out_with_a_note(load: Load, address: str) -> None:
    report = load({**GOOD, "url": address, "links": {"code": address, "page": "https://x.org/"}})
    assert (report.papers[0].url, dict(report.papers[0].links)) == ("https://x.org/", {"page": "https://x.org/"})
    assert [note.field for note in report.notes] == ["code", "url"]


def test_lone_surrogates_and_nul_are_replaced(load: Load) -> None:
    paper = one(load('{"id": "a", "title": "t\\ud800", "abstract": "\\udfffIt\\u0000 works \\ud83d\\ude00."}'))
    assert (paper.title, paper.abstract) == ("t\ufffd", "\ufffdIt\ufffd works \U0001f600.")


def test_line_separators_within_text_are_no_line_ends(load: Load) -> None:
    assert one(load('{"abstract": "One\u2028two\u0085three."}')).abstract == "One\u2028two\u0085three."


@pytest.mark.parametrize(
    ("line", "field", "told"),
    [
        ({"id": "nothing"}, "abstract", "is missing, and there is no title either"),
        ({"title": " ", "abstract": None}, "abstract", "is missing, and there is no title either"),
        ({"abstract": " \n"}, "abstract", "is empty, and there is no title either"),
        ({"abstract": "\u200b..."}, "abstract", "has no words"),
        ({"abstract": ["One.", "Two."]}, "abstract", "must be text, not a list"),
        ({"title": 3, "abstract": 7}, "abstract", "must be text, not a number"),
        ('{"id": "a", "abstract": "cut', "", "is not JSON: Unterminated string"),
        ("not json", "", "is not JSON: Expecting value at column 1"),
        ("[" * 200_000, "", "nested too deep"),
        ('{"a":' * 200_000, "", "nested too deep"),
        ('{"year": ' + "1" * 10_000 + "}", "", "a number too long to read"),
        ('["a"]', "", "every record must be an object"),
        ("null", "", "every record must be an object"),
        ('"text"', "", "every record must be an object"),
    ],
)
def test_a_bad_record_is_one_problem_and_the_rest_is_loaded(load: Load, line: Any, field: str, told: str) -> None:
    report = load({**GOOD, "id": "first"}, "", line, {"id": "last", "abstract": "It lasts."})
    assert [paper.id for paper in report.papers] == ["first", "last"]
    (problem,) = report.problems
    assert (problem.line, problem.field) == (3, field)
    assert told in problem.message
    assert str(problem) == ": ".join(filter(None, [f"{problem.file}:3", field, problem.message]))
    assert len(str(problem)) < 400


@pytest.mark.parametrize("abstract", [None, "", " \n", "\u200b..."])
def test_a_record_without_an_abstract_is_kept_for_its_bibliography(load: Load, abstract: str | None) -> None:
    report = load({"id": "a", "title": "On ants", "abstract": abstract, "authors": ["Ann Lee"]})
    paper = one(report)
    assert (paper.id, paper.title, paper.abstract, paper.title_derived) == ("a", "On ants", "", False)
    assert report.without_abstract == (paper,)
    assert [note.message for note in report.notes] == (["has no words; left out"] if abstract == "\u200b..." else [])


@pytest.mark.parametrize(
    ("abstract", "told"),
    [
        (["One."], "must be text, not a list"),
        (7, "must be text, not a number"),
        ("w " * 60_000, "has 119,999 characters"),
    ],
)
def test_an_abstract_that_cannot_be_used_is_left_out_where_there_is_a_title(
    load: Load, abstract: object, told: str
) -> None:
    report = load({"title": "On ants", "abstract": abstract})
    assert (one(report).title, one(report).abstract) == ("On ants", "")
    (note,) = report.notes
    assert (note.field, note.left_out, note.message.startswith(told)) == ("abstract", True, True)


def test_without_an_abstract_the_rest_of_the_record_tells_papers_of_one_title_apart(load: Load) -> None:
    report = load({"title": "Editorial", "year": 2020}, {"title": "Editorial", "year": 2023})
    assert len({paper.id for paper in report.papers}) == 2


@pytest.mark.parametrize(
    ("line", "field", "told"),
    [
        ({**GOOD, "title": {"en": "T"}}, "title", "must be text, not an object"),
        ({**GOOD, "title": "T" * 3000}, "title", "has 3,000 characters; at most 2,000 are taken"),
        ({**GOOD, "id": ["a"]}, "id", "must be text, not a list"),
        ({**GOOD, "id": True}, "id", "must be text, not true or false"),
        ({**GOOD, "id": "a" * 201}, "id", "200 printable characters"),
        ({**GOOD, "id": "a\u202eb"}, "id", "200 printable characters"),
        ({**GOOD, "year": "in press"}, "year", "'in press' is no year"),
        ({**GOOD, "year": 2024.5}, "year", "2024.5 is no year"),
        ({**GOOD, "year": True}, "year", "True is no year"),
        ({**GOOD, "year": [2024]}, "year", "[2024] is no year"),
        ({**GOOD, "year": 20240}, "year", "20240 is not between 1500 and 2100"),
        ({**GOOD, "year": "0"}, "year", "'0' is not between 1500 and 2100"),
        ('{"id": "a", "abstract": "It works.", "year": NaN}', "year", "nan is no year"),
        ({**GOOD, "authors": 3}, "authors", "must be a list of names or one text, not a number"),
        ({**GOOD, "authors": ["A" * 2001]}, "authors", "has 2,001 characters"),
        ({**GOOD, "venue": 5}, "venue", "must be text, not a number"),
        ({**GOOD, "url": 5}, "url", "must be text, not a number"),
        ({**GOOD, "links": ["https://x.org"]}, "links", "must be an object"),
        ({**GOOD, "links": {"code": 1}}, "code", "must be text, not a number"),
    ],
)
def test_a_field_that_cannot_be_used_is_left_out_of_its_paper(load: Load, line: Any, field: str, told: str) -> None:
    report = load(line)
    (paper,) = report.papers
    assert paper.abstract == GOOD["abstract"]
    assert not getattr(paper, field, None) or field in ("id", "title")
    assert report.problems == ()
    (note,) = report.notes
    assert (note.line, note.field, note.left_out) == (1, field, True)
    assert told in note.message


@pytest.mark.parametrize(
    "text", ['[\n{"abstract": "It works."}\n]', '[{"abstract": "It works."}]', '{\n"abstract": "It works."\n}']
)
def test_json_that_is_not_json_lines_is_read_all_the_same(load: Load, text: str) -> None:
    assert one(load(text)).abstract == "It works."
