"""A Zotero library: the file ``zotero.sqlite`` of its data folder, also while Zotero runs."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rag_assistant.loaders.base import Problem, display
from rag_assistant.loaders.exports import papers_of_export
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.identity import arxiv_id, arxiv_page
from rag_assistant.types import Paper

_VENUES = (
    "publicationTitle",
    "proceedingsTitle",
    "conferenceName",
    "bookTitle",
    "university",
    "institution",
    "repository",
)
_FIELDS = ("title", "abstractNote", "date", "DOI", "url", "extra", "archiveID", *_VENUES)
_AUTHORS = ("author", "presenter", "inventor")
_TRIES = 3
_SHOWN = 80
_DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)
"""The second where SQLite's own message repeats what it can't read."""

_ITEMS = """
    SELECT itemID FROM items JOIN itemTypes USING (itemTypeID)
    WHERE typeName NOT IN ('attachment', 'note', 'annotation')
    AND itemID NOT IN (SELECT itemID FROM deletedItems) AND itemID NOT IN (SELECT itemID FROM feedItems)
    ORDER BY itemID"""
_DATA = f"""
    SELECT itemID, fieldName, value FROM itemData JOIN fields USING (fieldID) JOIN itemDataValues USING (valueID)
    WHERE fieldName IN ({", ".join("?" * len(_FIELDS))})"""  # noqa: S608 - only question marks are put in
_CREATORS = """
    SELECT itemID, creatorType, firstName, lastName FROM itemCreators
    JOIN creators USING (creatorID) JOIN creatorTypes USING (creatorTypeID) ORDER BY itemID, orderIndex"""


def load_zotero(path: Path) -> Iterator[Paper | Problem]:
    """The items of a library with their title, authors, abstract, year, venue, DOI and addresses.

    Attachments, notes, feeds and what is in the trash are no papers. Nothing is written, not even beside the file. A
    line is the item's number in the library; a problem names the item by its title.
    """
    file = display(path)
    try:
        records = _read(path, file)
    except sqlite3.OperationalError as error:
        told = "is no library of Zotero 5 or newer" if "no such" in str(error) else f"can't be read: {error}"
        yield Problem(file, None, "", told)
        return
    except _DAMAGED:
        yield Problem(file, None, "", "is damaged, or no SQLite database")
        return
    if records is None:
        yield Problem(file, None, "", "is being written by Zotero all the time; try again when it is quiet")
        return
    for record in records:
        for item in papers_of_export(record):
            if isinstance(item, Problem):
                item = replace(item, file=f"{file}: {str(record.title or record.line)[:_SHOWN]}", line=None)
            yield item


def _read(path: Path, file: str) -> list[Record] | None:
    """``None`` where the file was changed each time while it was read."""
    for _ in range(_TRIES):
        before = _stamps(path)
        try:
            with TemporaryDirectory() as folder, closing(_opened(path, Path(folder))) as library:
                records = _records(library, file)
        except (*_DAMAGED, FileNotFoundError):
            if _stamps(path) == before:
                raise
        else:
            if _stamps(path) == before:
                return records
    return None


def _opened(path: Path, folder: Path) -> sqlite3.Connection:
    """Zotero locks its file for as long as it runs, so the lock is passed over; what it has not yet written into the
    file, or would take back out, stands in a second one, which SQLite reads in a copy only."""
    beside = [one for one, (_, size) in zip(_beside(path), _stamps(path)[1:], strict=True) if size]
    for one in (path, *beside) if beside else ():
        shutil.copyfile(one, folder / one.name)
    address = (folder / path.name).as_uri() if beside else f"{path.resolve().as_uri()}?immutable=1"
    library = sqlite3.connect(address, uri=True)
    library.text_factory = lambda data: data.decode("utf-8", "replace")
    return library


def _beside(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}-{end}") for end in ("journal", "wal")]


def _stamps(path: Path) -> list[tuple[int, int]]:
    """When the library and what is beside it were written last, and how long each is; 0 where there is none."""
    found = [path.stat(), *(one.stat() if one.exists() else None for one in _beside(path))]
    return [(one.st_mtime_ns, one.st_size) if one else (0, 0) for one in found]


def _records(library: sqlite3.Connection, file: str) -> list[Record]:
    data: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for item, name, value in library.execute(_DATA, _FIELDS):
        data[item][name] = str(value)
    authors: defaultdict[int, list[str]] = defaultdict(list)
    for item, kind, *name in library.execute(_CREATORS):
        if kind in _AUTHORS:
            authors[item].append(" ".join(part for part in name if part))
    return [_record(file, item, data[item], authors[item]) for (item,) in library.execute(_ITEMS)]


def _record(file: str, item: int, data: dict[str, str], authors: list[str]) -> Record:
    extra = data.get("extra", "")
    doi = data.get("DOI") or next(iter(re.findall(r"(?im)^DOI:\s*(\S+)", extra)), None)
    preprint = arxiv_id(data.get("archiveID"), extra, data.get("url"), doi)
    year = re.match(r"[1-9]\d{3}", data.get("date", ""))  # "2024-07-21 July 21, 2024"; of no year "0000-00-00 ..."
    return Record(
        file=file,
        line=item,
        title=data.get("title"),
        abstract=data.get("abstractNote"),
        authors=authors,
        year=year and year[0],
        venue=next((data[name] for name in _VENUES if data.get(name)), None),
        url=[data.get("url"), arxiv_page(preprint) if preprint else None],
        doi=doi,
    )
