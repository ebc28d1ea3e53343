"""From the fields of a record, whatever their types, to a paper or to one problem that names the field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar, cast
from urllib.parse import quote

from rag_assistant.escapes import without_escapes
from rag_assistant.loaders.base import LEFT_OUT, Problem
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
_T = TypeVar("_T")
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

    A title or an abstract is required: what else can't be used is left out with a note. A title that is absent is made
    of the abstract's first words, an abstract that is absent is empty, an id that is absent is made of the DOI or the
    content. Titles, names and venues are made one line.
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
    def usable(read: Callable[[str, object], _T | None], name: str, value: object) -> _T | None:
        try:
            return read(name, value)
        except _FieldError as error:
            notes.append(_problem(record, name, f"{error}{LEFT_OUT}", note=True))
            return None

    title = usable(_line, "title", record.title)
    if title is None:
        abstract = _abstract("abstract", record.abstract)
        if abstract is None:
            told = "is missing" if record.abstract is None else "is empty"
            raise _FieldError("abstract", f"{told}, and there is no title either")
    else:
        abstract = usable(_abstract, "abstract", record.abstract) or ""
    doi = usable(_doi, "doi", record.doi)
    addresses = {name: usable(_address, name, value) for name, value in record.links}
    links = {name: address for name, address in addresses.items() if address is not None}
    given = usable(_names, "authors", record.authors) or []
    authors = tuple(name for item in given if (name := usable(_name, "authors", item)))
    year = usable(_year, "year", record.year)
    url = usable(_address, "url", record.url)
    if url is None and links:
        url = next((links[name] for name in _PREFERRED if name in links), next(iter(links.values())))
    if url is None and doi is not None:
        url = "https://doi.org/" + quote(doi, safe="/:;().-_")
    told_apart = abstract or "\n".join((*authors, str(year)))
    return Paper(
        id=usable(_id, "id", record.id) or derived_id(title or "", told_apart, doi),
        title=title or derived_title(abstract),
        abstract=abstract,
        authors=authors,
        year=year,
        venue=usable(_line, "venue", record.venue),
        url=url,
        doi=doi,
        links=links,
        title_derived=title is None,
        source=f"{record.file}:{record.line}",
    )


def _problem(record: Record, name: str, message: str, *, note: bool = False) -> Problem:
    return Problem(record.file, record.lines.get(name, record.line), name, message, note)


def _abstract(name: str, value: object) -> str | None:
    """``None`` where it is absent or blank."""
    if value is None:
        return None
    if not isinstance(value, str):
        _wrong(name, "text", value)
    text = clean(value)
    if text and not any(character.isalnum() for character in text):
        raise _FieldError(name, "has no words")
    if len(text) > MAX_ABSTRACT:
        raise _FieldError(name, f"has {len(text):,} characters; an abstract has at most {MAX_ABSTRACT:,}")
    return text or None


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


def _id(name: str, value: object) -> str | None:
    text = _line(name, str(value) if isinstance(value, int) and not isinstance(value, bool) else value)
    if text is not None and (len(text) > 200 or not text.isprintable()):
        raise _FieldError(name, f"{_shown(text)} can't be an id: up to 200 printable characters")
    return text


def _doi(name: str, value: object) -> str | None:
    text = _line(name, value)
    match = None if text is None else _DOI.match(text)
    if text is not None and match is None:
        raise _FieldError(name, f"{_shown(text)} is no DOI (10.…/…)")
    return match[1] if match else None


def _year(name: str, value: object) -> int | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = value
    if isinstance(value, str):
        number = int(value) if re.fullmatch(r"\s*\d{1,9}\s*", value, re.ASCII) else None
    elif isinstance(value, float):  # spreadsheets make 2024.0 of a column with gaps
        number = int(value) if value.is_integer() else None
    if isinstance(number, bool) or not isinstance(number, int):
        raise _FieldError(name, f"{_shown(value)} is no year, such as 2024")
    if not YEARS[0] <= number <= YEARS[1]:
        raise _FieldError(name, f"{_shown(value)} is not between {YEARS[0]} and {YEARS[1]}")
    return number


def _names(name: str, value: object) -> Iterable[tuple[int, object]] | None:
    """The authors as they are given, with their numbers."""
    if isinstance(value, str):
        value = _split_names(clean(value))
    if value is not None and not isinstance(value, list | tuple):
        _wrong(name, "a list of names or one text", value)
    return None if value is None else enumerate(value, 1)


def _name(name: str, numbered: object) -> str | None:
    number, item = cast("tuple[int, object]", numbered)
    said = item.get("name") if isinstance(item, dict) else item
    if not isinstance(said, str):
        raise _FieldError(name, f"number {number} is {_kind(item)}, no name")
    return _line(name, said)


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


def _address(name: str, value: object) -> str | None:
    text = _line(name, value)
    if text is not None and not _WEB.match(text):
        raise _FieldError(name, f"{_shown(text)} is no web address (http:// or https://)")
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
