"""A Zotero library is read as it stands on disk, whatever Zotero is doing with it, and never written."""

from __future__ import annotations

import itertools
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assistant.errors import LoadError
from rag_assistant.loaders import load_papers
from rag_assistant.types import Paper

from .zotero_library import ZoteroLibrary

ABSTRACT = "We study ants at length. It works."


@pytest.fixture
def library(tmp_path: Path) -> Iterator[ZoteroLibrary]:
    made = ZoteroLibrary(tmp_path / "Zotero")
    yield made
    made.connection.close()


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def titles(path: Path) -> list[str]:
    return [paper.title for paper in load_papers(path).papers]


def test_all_that_an_item_says_of_a_paper_arrives(library: ZoteroLibrary) -> None:
    library.add(
        "journalArticle",
        ("editor", "Eve", "Editor"),
        ("author", "Ann", "Lee"),
        ("author", "", "The Ant Group"),
        title="On <i>Lasius niger</i>",
        abstractNote=ABSTRACT,
        date="2024-07-21 July 21, 2024",
        DOI="10.1145/12345.678",
        url="https://example.org/ants",
        publicationTitle="Ants",
        extra="Citation Key: lee24\narXiv: 2401.00001 [q-bio]",
        pages="1-9",
    )
    report = load_papers(library.path)
    assert report.papers == (
        Paper(
            id="doi:10.1145/12345.678",
            title="On Lasius niger",
            abstract=ABSTRACT,
            authors=("Ann Lee", "The Ant Group"),
            year=2024,
            venue="Ants",
            url="https://example.org/ants",
            doi="10.1145/12345.678",
            links={"arxiv": "https://arxiv.org/abs/2401.00001"},
        ),
    )
    assert report.papers[0].source == f"{library.path}:1"
    assert report.problems == report.notes == ()


@pytest.mark.parametrize(
    ("fields", "year", "venue", "paper_id", "doi"),
    [
        ({"date": "2024-00-00 2024", "proceedingsTitle": "PMLR", "conferenceName": "ICML"}, 2024, "PMLR", "p-", None),
        ({"date": "0000-00-00 n.d.", "conferenceName": "ICML"}, None, "ICML", "p-", None),
        ({"archiveID": "arXiv:2401.00002", "repository": "arXiv"}, None, "arXiv", "arxiv:2401.00002", None),
        ({"DOI": "10.48550/arXiv.2401.00003"}, None, None, "arxiv:2401.00003", "10.48550/arXiv.2401.00003"),
        ({"url": "http://arxiv.org/abs/hep-th/9901001v2"}, None, None, "arxiv:hep-th/9901001", None),
        ({"extra": "DOI: 10.1000/x", "university": "Delft"}, None, "Delft", "doi:10.1000/x", "10.1000/x"),
    ],
)  # fmt: skip
def test_where_zotero_keeps_what(
    library: ZoteroLibrary, fields: dict[str, str], year: int | None, venue: str | None, paper_id: str, doi: str | None
) -> None:
    library.add("preprint", title="On ants", abstractNote=ABSTRACT, **fields)
    (paper,) = load_papers(library.path).papers
    assert (paper.year, paper.venue, paper.doi) == (year, venue, doi)
    assert paper.id.startswith(paper_id)


def test_only_papers_are_papers_and_one_without_abstract_is_counted(library: ZoteroLibrary) -> None:
    library.add("journalArticle", title="Kept", abstractNote=ABSTRACT)
    for kind in ("attachment", "note", "annotation"):
        library.add(kind, title=f"A {kind}", abstractNote="Other words of it.")
    library.trash(library.add("journalArticle", title="Thrown away", abstractNote="Words in the trash."))
    library.feed(library.add("journalArticle", title="News", abstractNote="Words of a feed."))
    library.add("journalArticle", title="Silent")
    report = load_papers(library.path)
    assert [paper.title for paper in report.papers] == ["Kept", "Silent"]
    assert [paper.title for paper in report.without_abstract] == ["Silent"]
    assert report.problems == ()


def test_of_zoteros_folder_the_library_is_read_and_nothing_else(library: ZoteroLibrary) -> None:
    library.add("journalArticle", title="On ants", abstractNote=ABSTRACT)
    folder = library.path.parent
    (folder / "storage" / "ABCD1234").mkdir(parents=True)
    (folder / "storage" / "ABCD1234" / "notes.txt").write_text("This is no abstract of a paper at all.")
    (folder / "zotero.sqlite.bak").write_bytes(library.path.read_bytes())
    for named in (folder, folder.parent):
        report = load_papers(named)
        assert [paper.title for paper in report.papers] == ["On ants"]
        assert report.problems == report.notes == ()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_what_zotero_has_open_is_read_and_nothing_is_written(library: ZoteroLibrary, mode: str) -> None:
    library.add("journalArticle", title="Old", abstractNote=ABSTRACT)
    library.connection.execute(f"PRAGMA journal_mode = {mode}")
    library.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    library.add("journalArticle", title="New", abstractNote="Ants are many. They are small.")
    before = contents(library.path.parent)
    assert titles(library.path) == ["Old", "New"]
    assert contents(library.path.parent) == before
    with pytest.raises(sqlite3.OperationalError, match="locked"):  # so another way in would have failed
        sqlite3.connect(f"file:{library.path}?mode=ro", uri=True, timeout=0.1).execute("SELECT * FROM items")


def test_a_change_under_way_is_not_seen(library: ZoteroLibrary) -> None:
    library.add("journalArticle", title="Old", abstractNote=ABSTRACT)
    library.connection.execute("PRAGMA cache_size = 1")  # so that it is in the file before its end
    for number in range(200):
        library.add("thesis", commit=False, title=f"Half {number}", abstractNote=f"{number} ants. " * 200)
    before = contents(library.path.parent)
    assert set(before) == {"zotero.sqlite", "zotero.sqlite-journal"}
    assert titles(library.path) == ["Old"]
    assert contents(library.path.parent) == before


def test_a_library_that_never_rests_is_told(library: ZoteroLibrary) -> None:
    library.add("journalArticle", title="On ants", abstractNote=ABSTRACT)
    done = threading.Event()

    def disturb() -> None:
        for second in itertools.count(1):
            os.utime(library.path, (second, second))
            if done.wait(0.0001):
                return

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        with pytest.raises(LoadError, match="is being written by Zotero all the time"):
            load_papers(library.path)
    finally:
        done.set()
        thread.join()


def test_a_library_that_may_not_be_written(library: ZoteroLibrary) -> None:
    library.add("journalArticle", title="On ants", abstractNote=ABSTRACT)
    library.connection.close()
    library.path.chmod(0o400)
    library.path.parent.chmod(0o500)
    assert titles(library.path) == ["On ants"]
    library.path.parent.chmod(0o700)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "is no library of Zotero 5 or newer"),
        (b"not a database, but quite a long text" * 99, "is damaged, or no SQLite database"),
        (b"SQLite format 3\0" + b"\xff" * 4000, "is damaged, or no SQLite database"),
    ],
)
def test_another_file_is_told_in_a_sentence(tmp_path: Path, data: bytes, told: str) -> None:
    (tmp_path / "zotero.sqlite").write_bytes(data)
    with pytest.raises(LoadError, match=told):
        load_papers(tmp_path)


def test_a_library_cut_short_is_told_or_read(library: ZoteroLibrary) -> None:
    for number in range(50):
        library.add("journalArticle", title=f"On {number}", abstractNote=f"{number} ants. " * 300)
    library.connection.close()
    whole = library.path.read_bytes()
    for share in range(1, 8):
        library.path.write_bytes(whole[: len(whole) * share // 8])
        with pytest.raises(LoadError, match=r"damaged|can't be read|no library"):
            load_papers(library.path)


def test_a_library_damaged_in_its_tables(library: ZoteroLibrary) -> None:
    library.add("journalArticle", title="On ants", abstractNote=ABSTRACT)
    library.connection.close()
    whole = library.path.read_bytes()
    for broken in (b"CREATE TABL\xe0 items", b"CREATE TABLE i\xceems", b"\xff" * 18):
        library.path.write_bytes(whole.replace(b"CREATE TABLE items", broken))
        with pytest.raises(LoadError, match=r"damaged|no library of Zotero"):
            load_papers(library.path)
