"""Tables: how they are parted, which of their columns are what, and workbooks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from openpyxl import Workbook

from rag_assistant.errors import LoadError
from rag_assistant.loaders import LoadReport, load_papers
from rag_assistant.types import Paper


def load(folder: Path, text: str, name: str = "a.csv", **columns: str) -> LoadReport:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load_papers(path, columns=columns)


def one(report: LoadReport) -> Paper:
    assert report.problems == ()
    (paper,) = report.papers
    return paper


def workbook(path: Path, *sheets: Sequence[Sequence[object]]) -> Path:
    book = Workbook()
    book.remove(book.worksheets[0])
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


@pytest.mark.parametrize("parting", [",", ";", "\t", "|"])
@pytest.mark.parametrize("before", ["", "sep={}\n", "Search of 1 Jan 2024\n\n"])
def test_what_parts_the_columns_is_told_by_the_header(tmp_path: Path, parting: str, before: str) -> None:
    header = parting.join(("Title", "Publication Year", "Abstract"))
    row = parting.join(('"Ants; bees, and\nwasps"', "2014//", '"We ""do"" it."'))
    report = load(tmp_path, f"{before.format(parting)}{header}\n\n{row}\n", "table.txt")
    paper = one(report)
    assert (paper.title, paper.year, paper.abstract) == ("Ants; bees, and wasps", 2014, 'We "do" it.')
    line = 3 + before.count("\n")
    assert paper.source.endswith(f":{line}")


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        (  # Scopus
            "Authors,Author full names,Title,Year,Source title,DOI,Link,Abstract,Source",
            '"Lee A.; Ray B.","Lee, Ann (57202138757); Ray, Bob (7409220509)",Ants,2024,Journal,10.1000/a,'
            'https://www.scopus.com/x?eid=1,"We do. \u00a9 2024 Elsevier.",Scopus',
            (("Ann Lee", "Bob Ray"), 2024, "Journal", "10.1000/a", "https://doi.org/10.1000/a", "We do."),
        ),
        (  # Scopus, as it was
            "Authors,Title,Year,Source title,DOI,Abstract",
            '"Lee A., Ray B.C.",Ants,2024,Journal,10.1000/a,[No abstract available]',
            (("A. Lee", "B.C. Ray"), 2024, "Journal", "10.1000/a", "https://doi.org/10.1000/a", ""),
        ),
        (  # Scopus, one author
            "Authors,Title,Year,Source title,DOI,Abstract",
            "Lee A.,Ants,2024,Journal,10.1000/a,We do.",
            (("A. Lee",), 2024, "Journal", "10.1000/a", "https://doi.org/10.1000/a", "We do."),
        ),
        (  # Web of Science
            "Publication Type,Authors,Author Full Names,Article Title,Source Title,Abstract,Publication Year,DOI",
            'J,"Lee, A","Lee, Ann",Ants,JOURNAL,We do.,2004,10.1021/b',
            (("Ann Lee",), 2004, "JOURNAL", "10.1021/b", "https://doi.org/10.1021/b", "We do."),
        ),
        (  # Web of Science, its tags
            "PT\tAU\tAF\tTI\tSO\tAB\tPY\tDI",
            "J\tLee, A\tLee, Ann; Ray, Bob\tAnts\tJOURNAL\tWe do.\t2004\t10.1021/b",
            (("Ann Lee", "Bob Ray"), 2004, "JOURNAL", "10.1021/b", "https://doi.org/10.1021/b", "We do."),
        ),
        (  # IEEE
            '"Document Title","Authors","Publication Title","Publication Year","Abstract","DOI","PDF Link"',
            '"Ants","A. Lee; B. Ray","Conference","2010","We do.","10.1109/c","https://ieeexplore.ieee.org/x?n=1"',
            (("A. Lee", "B. Ray"), 2010, "Conference", "10.1109/c", "https://doi.org/10.1109/c", "We do."),
        ),
        (  # Springer
            '"Item Title","Publication Title","Item DOI","Authors","Publication Year","URL"',
            '"Ants","Journal","10.1007/d","Ann LeeBob McRay","2019","http://link.springer.com/article/10.1007/d"',
            (("Ann Lee", "Bob McRay"), 2019, "Journal", "10.1007/d", "http://link.springer.com/article/10.1007/d", ""),
        ),
        (  # Embase
            "Title,Original Title,Author Names,Source,Abstract,Original Abstract,Open URL Link",
            '"Ants",,"Lee A., Ray B.","Some Journal (2014) 3:3 (152-160). Date of Publication: 2014","We do.",,'
            "http://sfx.org/x?id=doi:10.4103%2F2303-9&atitle=A",
            (("A. Lee", "B. Ray"), 2014, "Some Journal", "10.4103/2303-9", "https://doi.org/10.4103/2303-9", "We do."),
        ),
        (  # PubMed
            "PMID,Title,Authors,Citation,First Author,Journal/Book,Publication Year,DOI",
            '123,Ants,"Lee A, Ray B.",J. 2021;1(2),Lee A,Journal,2021,',
            (("A Lee", "B. Ray"), 2021, "Journal", None, "https://pubmed.ncbi.nlm.nih.gov/123/", ""),
        ),
        (  # Zotero
            '"Key","Item Type","Publication Year","Author","Title","Publication Title","DOI","Url","Abstract Note"',
            '"AB12","journalArticle","2020","Lee, Ann; Ray, Bob","Ants","Journal","","https://x.org/1","We do."',
            (("Ann Lee", "Bob Ray"), 2020, "Journal", None, "https://x.org/1", "We do."),
        ),
        (  # a data frame of records
            "abstract,first_authors,title,publication_year",
            "We do.,\"['Lee, Ann', 'Ray, Bob']\",Ants,2014//",
            (("Ann Lee", "Bob Ray"), 2014, None, None, None, "We do."),
        ),
    ],
    ids="Scopus,Scopus before,Scopus one author,WoS,WoS tags,IEEE,Springer,Embase,PubMed,Zotero,data frame".split(","),
)
def test_columns_of_programs(tmp_path: Path, header: str, row: str, expected: tuple[object, ...]) -> None:
    paper = one(load(tmp_path, f"{header}\n{row}\n", "a.tsv" if "\t" in header else "a.csv"))
    assert paper.title == "Ants"
    assert (paper.authors, paper.year, paper.venue, paper.doi, paper.url, paper.abstract) == expected


def test_rows_that_are_short_long_blank_or_without_a_title(tmp_path: Path) -> None:
    text = 'title,abstract\n"Only a title",""\n"","An abstract alone. It is."\n\n,\nShort\nLong,We do.,more,and more\n'
    report = load(tmp_path, text)
    assert [(paper.title, bool(paper.abstract)) for paper in report.papers] == [
        ("Only a title", False),
        ("An abstract alone. It is.", True),
        ("Short", False),
        ("Long", True),
    ]
    assert report.problems == ()


def test_a_quotation_mark_without_an_end_costs_its_row_only(tmp_path: Path) -> None:
    report = load(tmp_path, "Title,Abstract\nOne,We do.\nTwo,\"We don't.\nThree,We will.\nFour,We would.\n")
    assert [paper.title for paper in report.papers] == ["One", "Three", "Four"]
    assert [(problem.line, problem.message) for problem in report.problems] == [
        (3, "a quotation mark in this row has no end; the row was passed over")
    ]


def test_a_column_is_named_by_the_user(tmp_path: Path) -> None:
    text = "Name,Summary,When,Year\nAnts,We do.,2020,x\n"
    with pytest.raises(LoadError) as caught:
        load(tmp_path, text)
    assert "no column that is known as title or abstract, but 'Name', 'Summary', 'When', 'Year'" in caught.value.message
    assert "--map abstract=COLUMN" in caught.value.message
    paper = one(load(tmp_path, text, title="Name", abstract="summary", year="When"))
    assert (paper.title, paper.abstract, paper.year) == ("Ants", "We do.", 2020)
    book = workbook(tmp_path / "a.xlsx", [["Name", "Summary"], ["Bees", "We do too."]])
    assert one(load_papers(book, columns={"abstract": "Summary", "title": "Name"})).title == "Bees"
    known = one(load(tmp_path, "Title,Abstract,Abstract (German)\nAnts,Eng.,Deu.\n", abstract="Abstract (German)"))
    assert known.abstract == "Deu."


def test_a_column_that_is_not_there_and_a_field_that_no_paper_has(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"has no column 'Sumary', but 'Title', 'Summary'"):
        load(tmp_path, "Title,Summary\nAnts,We do.\n", abstract="Sumary")
    with pytest.raises(LoadError, match="A paper has no field 'abstrct'") as caught:
        load(tmp_path, "Title,Summary\nAnts,We do.\n", abstrct="Summary")
    assert "abstract" in caught.value.hint


def test_names_of_columns_do_nothing_to_other_forms(tmp_path: Path) -> None:
    assert one(load(tmp_path, "TY  - JOUR\nTI  - Ants\nER  - \n", "a.ris", abstract="Summary")).title == "Ants"


def test_a_workbook_s_first_sheet_with_a_header_is_read(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "a.xlsx",
        [["About this book"], ["It was exported"]],
        [
            [],
            ["ID", "Title", "Authors", "Year", "Abstract", "When", "Done"],
            ["a1", "Ants", "Lee, Ann; Ray, Bob", 2021.0, "We do.\nIt works.", datetime(2021, 5, 1), True],
            [None, None, None],
            ["a1", "Bees", None, "2022", None],
            [17, "=1+1", None, 2023],
        ],
        [["Title"], ["Of another sheet"]],
    )
    report = load_papers(path)
    ants, bees, formula = report.papers if len(report.papers) == 3 else (*report.papers, None)
    assert (ants.id, ants.authors, ants.year, ants.abstract) == (
        "a1",
        ("Ann Lee", "Bob Ray"),
        2021,
        "We do.\nIt works.",
    )
    assert ants.source.endswith("a.xlsx:3")
    assert (bees.title, bees.year) == ("Bees", 2022)
    assert bees.id != "a1"
    assert formula is None  # a formula whose value was never saved is no title
    assert [problem.line for problem in report.problems] == [6]


def test_a_workbook_of_nothing_known_says_which_columns_it_has(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"a\.xlsx:1: has no column that is known as title or abstract, but 'Name'"):
        load_papers(workbook(tmp_path / "a.xlsx", [["Name", "Price"], ["x", 3]]))
    with pytest.raises(LoadError, match=r"a\.xlsx: is empty"):
        load_papers(workbook(tmp_path / "a.xlsx", []))


def test_workbooks_that_are_none(tmp_path: Path) -> None:
    good = workbook(tmp_path / "good.xlsx", [["Title"], ["Ants"]]).read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(good[: len(good) // 2])
    (tmp_path / "old.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500))
    (tmp_path / "text.xlsx").write_text("Something else.")
    with ZipFile(tmp_path / "other.xlsx", "w") as packed:
        packed.writestr("word/document.xml", "<w/>")
    with ZipFile(tmp_path / "hollow.xlsx", "w") as packed:
        packed.writestr("xl/workbook.xml", "<w/>")
    with ZipFile(tmp_path / "bomb.xlsx", "w", ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", bytes(201 << 20))
    for seed in range(20):
        damaged = bytearray(good)
        for _ in range(10):
            damaged[random.Random(seed).randrange(len(good))] ^= 0x55
        (tmp_path / f"damaged{seed}.xlsx").write_bytes(damaged)
    report = load_papers(tmp_path)
    assert any(paper.title == "Ants" for paper in report.papers)
    told = {Path(problem.file).name: problem.message for problem in report.problems}
    assert told["cut.xlsx"] == "is damaged: it can't be unpacked"
    assert told["old.xlsx"] == "is a document of an older Office; save it as .xlsx or .csv"
    assert told["text.xlsx"] == "is no workbook of Excel"
    assert told["other.xlsx"] == "is a zip archive and no workbook of Excel; unpack it"
    assert told["hollow.xlsx"] == "is damaged: it can't be read as a workbook to its end"
    assert told["bomb.xlsx"] == "unpacks to more than 200 MB; save it as .csv, or split it"
    assert not any("loader failed" in message for message in told.values())


def test_what_a_sheet_says_of_its_size_is_not_believed(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["Title"], ["Ants"]])
    with ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    name = "xl/worksheets/sheet1.xml"
    far = b'<row r="99999999"><c r="A99999999" t="inlineStr"><is><t>Far</t></is></c></row></sheetData>'
    parts[name] = parts[name].replace(b'ref="A1:A2"', b'ref="A1:XFD1048576"').replace(b"</sheetData>", far)
    with ZipFile(path, "w") as packed:
        for part, content in parts.items():
            packed.writestr(part, content)
    assert [paper.title for paper in load_papers(path).papers] == ["Ants"]
