"""From the fields of a record, whatever their types, to a paper or to one problem that names the field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import quote

from rag_assistant.escapes import without_escapes
from rag_assistant.loaders.base import Problem
from rag_assistant.loaders.identity import derived_id, derived_title
from rag_assistant.types import Paper

MAX_ABSTRACT = 100_000
"""In characters. The longest abstracts in print have about 10,000; what is longer is a file gone wrong."""
MAX_FIELD = 2_000
"""In characters, for every other field."""
YEARS = (1500, 2100)

_UNSAFE = re.compile(r"[\x00\ud800-\udfff]")
_DOI = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/\S+)$", re.IGNORECASE)
_WEB = re.compile(r"^https?://[^\s/<>\"]+[^\s<>\"]*$", re.IGNORECASE)
_PREFERRED = ("proceedings", "openreview")


@dataclass(frozen=True, slots=True)
class Record:
    """One record as its file has it; nothing is checked yet.

    ``None`` and blank text mean that a field is absent. ``lines`` holds the line of each field where it isn't ``line``.
    """

    file: str
    line: int
    id: object = None
    title: object = None
    abstract: object = None
    authors: object = None
    year: object = None
    venue: object = None
    url: object = None
    doi: object = None
    links: tuple[tuple[str, object], ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)


class _FieldError(Exception):
    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def clean(text: str) -> str:
    """The text verbatim but for CRLF made LF, terminal escapes and outer white space left out, and NUL and lone
    surrogates made U+FFFD."""
    return _UNSAFE.sub("\ufffd", without_escapes(text.replace("\r\n", "\n"))).strip()


def papers_from(record: Record) -> Iterator[Paper | Problem]:
    """The paper of a record, after notes on what was left out of it; or the one problem for which it is skipped.

    A title or an abstract is required. A title that is absent is made of the abstract's first words, an abstract that
    is absent is empty, an id that is absent is made of the DOI or the content. Titles, names and venues are made one
    line. A web address or DOI that is none, and an author without a name, is left out with a note; any other field that
    can't be used is a problem.
    """
    notes: list[Problem] = []
    try:
        paper = _paper(record, notes)
    except _FieldError as error:
        yield _problem(record, error.name, str(error))
        return
    yield from notes
    yield paper


def _paper(record: Record, notes: list[Problem]) -> Paper:
    title = _line("title", record.title)
    abstract = _abstract(record, title, notes)
    doi = _line("doi", record.doi)
    if doi is not None:
        match = _DOI.match(doi)
        if match is None:
            notes.append(_problem(record, "doi", f"{_shown(doi)} is no DOI (10.…/…); left out", note=True))
        doi = match[1] if match else None
    links: dict[str, str] = {}
    for name, value in record.links:
        address = _address(record, name, value, notes)
        if address is not None:
            links[name] = address
    url = _address(record, "url", record.url, notes)
    if url is None and links:
        url = next((links[name] for name in _PREFERRED if name in links), next(iter(links.values())))
    if url is None and doi is not None:
        url = "https://doi.org/" + quote(doi, safe="/:;().-_")
    authors, year = _authors(record, notes), _year(record.year)
    content = abstract or "\n".join((*authors, str(year)))
    return Paper(
        id=_id(record.id) or derived_id(title or "", content, doi),
        title=title or derived_title(abstract),
        abstract=abstract,
        authors=authors,
        year=year,
        venue=_line("venue", record.venue),
        url=url,
        doi=doi,
        links=links,
        title_derived=title is None,
        source=f"{record.file}:{record.line}",
    )


def _problem(record: Record, name: str, message: str, *, note: bool = False) -> Problem:
    return Problem(record.file, record.lines.get(name, record.line), name, message, note)


def _abstract(record: Record, title: str | None, notes: list[Problem]) -> str:
    value = record.abstract
    if value is not None and not isinstance(value, str):
        _wrong("abstract", "text", value)
    text = clean(value or "")
    if not any(character.isalnum() for character in text):
        told = "has no words" if text else "is missing" if value is None else "is empty"
        if title is None:
            raise _FieldError("abstract", f"{told}, and there is no title either")
        if text:
            notes.append(_problem(record, "abstract", f"{told}; left out", note=True))
        return ""
    if len(text) > MAX_ABSTRACT:
        raise _FieldError("abstract", f"has {len(text):,} characters; an abstract has at most {MAX_ABSTRACT:,}")
    return text


def _line(name: str, value: object) -> str | None:
    """A field of one line; ``None`` where it is absent or blank."""
    if value is None:
        return None
    if not isinstance(value, str):
        _wrong(name, "text", value)
    text = " ".join(clean(value).split())
    if len(text) > MAX_FIELD:
        raise _FieldError(name, f"has {len(text):,} characters; at most {MAX_FIELD:,} are taken")
    return text or None


def _id(value: object) -> str | None:
    text = _line("id", str(value) if isinstance(value, int) and not isinstance(value, bool) else value)
    if text is not None and (len(text) > 200 or not text.isprintable()):
        raise _FieldError("id", f"{_shown(text)} can't be an id: up to 200 printable characters")
    return text


def _year(value: object) -> int | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = value
    if isinstance(value, str):
        number = int(value) if re.fullmatch(r"\s*\d{1,9}\s*", value, re.ASCII) else None
    elif isinstance(value, float):  # spreadsheets make 2024.0 of a column with gaps
        number = int(value) if value.is_integer() else None
    if isinstance(number, bool) or not isinstance(number, int):
        raise _FieldError("year", f"{_shown(value)} is no year, such as 2024")
    if not YEARS[0] <= number <= YEARS[1]:
        raise _FieldError("year", f"{_shown(value)} is not between {YEARS[0]} and {YEARS[1]}")
    return number


def _authors(record: Record, notes: list[Problem]) -> tuple[str, ...]:
    value = record.authors
    if value is None:
        return ()
    if isinstance(value, str):
        value = _split_names(clean(value))
    if not isinstance(value, list | tuple):
        _wrong("authors", "a list of names or one text", value)
    names = []
    for number, item in enumerate(value, 1):
        name = item.get("name") if isinstance(item, dict) else item
        if isinstance(name, str):
            names.append(_line("authors", name))
        else:
            notes.append(_problem(record, "authors", f"number {number} is {_kind(item)}, no name; left out", note=True))
    return tuple(name for name in names if name)


def _split_names(text: str) -> list[str]:
    """ "A B; C D", "A B and C D" or "A B, C D"; but "Lee, Ann" is one name, since no part of "A B, C D" is one word."""
    if ";" in text:
        parts = text.split(";")
    else:
        parts = []
        for part in re.split(r",?\s+and\s+", text):
            names = part.split(",")
            parts += names if all(len(name.split()) > 1 for name in names) else [part]
    return [" ".join(part.split()) for part in parts if part.strip()]


def _address(record: Record, name: str, value: object, notes: list[Problem]) -> str | None:
    text = _line(name, value)
    if text is not None and not _WEB.match(text):
        message = f"{_shown(text)} is no web address (http:// or https://); left out"
        notes.append(_problem(record, name, message, note=True))
        return None
    return text


def _wrong(name: str, wanted: str, value: object) -> NoReturn:
    raise _FieldError(name, f"must be {wanted}, not {_kind(value)}")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "true or false"), (str, "text"), (int | float, "a number"), (list, "a list"), (dict, "an object"))
    return next((said for kind, said in kinds if isinstance(value, kind)), type(value).__name__)


def _shown(value: object) -> str:
    """Its first characters, quoted where it is text, and printable in any case."""
    text = value if isinstance(value, str) else repr(value)
    start, more = text[:60], "\u2026" if len(text) > 60 else ""
    if not isinstance(value, str) and start.isprintable():
        return start + more
    return (repr(start) if start.isprintable() else ascii(start)) + more
