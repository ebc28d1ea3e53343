"""From the columns of a table to the fields of a record, by the names that exporting programs give them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rag_assistant.loaders.base import Problem
from rag_assistant.loaders.exports import KEPT, in_order, names_in_order, papers_of_export, restored
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.identity import arxiv_page, pubmed_page
from rag_assistant.types import Paper

FIELDS = ("id", "title", "abstract", "authors", "year", "venue", "url", "doi")
"""What a column can be named for with ``--map``."""

# In letters and digits only; the first that a table has is taken, if it isn't blank.
_NAMES = {
    "id": "id key citationkey",
    "title": "title articletitle documenttitle itemtitle papertitle primarytitle ti t1",
    "abstract": "abstract abstractnote abstracttext articleabstract ab n2",
    "authors": "authorfullnames af authors author authornames firstauthors creators au a1",
    "year": "publicationyear year pubyear py publicationdate pubdate date onlinedate yr",
    "venue": "sourcetitle publicationtitle journalbook journal journaltitle secondarytitle containertitle booktitle "
    "publicationname conferencename venue source so t2 alternatetitle2",
    "url": "url link articleurl pdflink documenturl openurllink openreview proceedings pmlr ur",
    "doi": "doi itemdoi articledoi di do",
    "arxiv": "arxivid arxiv eprint",
    "pmid": "pmid pubmedid pm",
    KEPT: "ragassistant",
}
_ALIASES = {field: tuple(names.split()) for field, names in _NAMES.items()}
_KNOWN = frozenset(name for names in _ALIASES.values() for name in names)
_HEADER_WITHIN = 10
_TOLD = 12
_NUMBER = re.compile(r"\s*\(\d{5,}\)")
_INITIALS = re.compile(r"[^\s,;]+(?: [^\s,;]+){0,3} (?:[A-Z]\.?-?){1,4}\.?")
_GLUED = re.compile(
    r"(?<=[a-z\u00df-\u00ff.])(?<!\bMc)(?<!\bMac)(?<!\bDe)(?<!\bLa)(?<!\bLe)(?<!\bDi)(?=[A-Z\u00c0-\u00de][a-z.\u00df-\u00ff])"
)
_EMBASE = re.compile(r"(.{3,200}?) \((\d{4})\)")

Row = tuple[int, Sequence[str]]
"""A line and its cells."""


def papers_of_rows(
    file: str, rows: Iterable[Row], columns: Mapping[str, str] | None = None, *, header_needed: bool = True
) -> Iterator[Paper | Problem]:
    """The papers of a table whose header is among its first rows.

    Args:
        file: As named by the user.
        rows: The rows with their lines, the header included.
        columns: The user's names of columns, by field.
        header_needed: Whether it is a problem that no row is a header; else nothing is yielded then.
    """
    named = columns or {}
    held: list[Row] = []
    iterator = iter(rows)
    header: Row | None = None
    for row in iterator:
        if any(cell.strip() for cell in row[1]):
            held.append(row)
        if held and held[-1] is row and is_header(row[1], named):
            header = row
            break
        if len(held) >= _HEADER_WITHIN:
            break
    if header is None:
        if header_needed:
            yield _no_header(file, held, named)
        return
    places = _places(header[1], named)
    lacking = [column for field, column in named.items() if field not in places]
    if lacking:
        yield _lacking(file, header, lacking)
        return
    found = False
    for line, cells in iterator:
        if any(cell.strip() for cell in cells):
            found = True
            record = _record(file, line, cells, places)
            kept = next((cells[at] for at in places.get(KEPT, ()) if at < len(cells)), None)
            yield from restored(papers_of_export(record), kept, record)
    if not found:
        yield Problem(file, header[0], "", "holds no row below its header")


def is_header(cells: Sequence[str], columns: Mapping[str, str] | None = None) -> bool:
    """Whether a row names columns: that of titles or abstracts and another one, or those that the user names."""
    names = {_letters(cell) for cell in cells}
    if columns and names & {_letters(column) for column in columns.values()}:
        return True
    telling = names & {*_ALIASES["title"], *_ALIASES["abstract"]}
    return bool(telling) and (len(names & _KNOWN) > 1 or len(names) == 1)


def _places(header: Sequence[str], columns: Mapping[str, str]) -> dict[str, list[int]]:
    """For each field its columns, the best first."""
    names = [_letters(cell) for cell in header]
    places: dict[str, list[int]] = {}
    for field, aliases in _ALIASES.items():
        if field in columns:
            exact = [at for at, cell in enumerate(header) if cell.strip() == columns[field]]
            found = exact or [at for at, name in enumerate(names) if name == _letters(columns[field])]
        else:
            found = [at for alias in aliases for at, name in enumerate(names) if name == alias]
        if found:
            places[field] = found
    return places


def _record(file: str, line: int, cells: Sequence[str], places: Mapping[str, list[int]]) -> Record:
    def all_of(field: str) -> list[str]:
        texts = (cells[at].strip() for at in places.get(field, ()) if at < len(cells))
        return [text for text in texts if text]

    def first(field: str) -> str | None:
        return next(iter(all_of(field)), None)

    venue, year = first("venue"), first("year")
    source = _EMBASE.match(venue) if venue else None
    if venue and source and year is None:  # "Endoscopic Ultrasound (2014) 3:3 (152-160). Date of Publication: 2014"
        venue, year = source[1], source[2]
    preprint = first("arxiv")
    return Record(
        file=file,
        line=line,
        id=first("id"),
        title=first("title"),
        abstract=first("abstract"),
        authors=_people(first("authors") or ""),
        year=year,
        venue=venue,
        url=[
            *all_of("url"),
            *([arxiv_page(preprint)] if preprint else []),
            pubmed_page(first("pmid")),
        ],
        doi=first("doi"),
    )


def _people(text: str) -> list[str] | str:
    """The names in a cell: "Lee, A.; Ray, B.", "Lee A., Ray B.", "['Lee, A.', 'Ray, B.']" or "Ann LeeBob Ray"."""
    text = _NUMBER.sub("", text)  # Scopus' own number of each author
    if text.startswith(("['", '["')) and len(text) < 100_000:
        try:
            listed = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            listed = None
        if isinstance(listed, list) and all(isinstance(name, str) for name in listed):
            return names_in_order(listed)
    if ";" in text:
        return names_in_order([text])
    parts = [part.strip() for part in text.split(",")]
    if (len(parts) > 1 or text.endswith(".")) and all(_INITIALS.fullmatch(part) for part in parts):
        return names_in_order(parts)
    if len(parts) == 2 and any(len(part.split()) == 1 for part in parts):
        return [in_order(text)]
    if "," not in text and " and " not in text and (names := _GLUED.split(text))[1:]:
        return names
    return text


def _letters(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _no_header(file: str, held: Sequence[Row], columns: Mapping[str, str]) -> Problem:
    if not held:
        return Problem(file, None, "", "is empty")
    if columns:
        return _lacking(file, held[0], list(columns.values()))
    message = (
        f"has no column that is known as title or abstract, but {_listed(held[0][1])}; name it: --map abstract=COLUMN"
    )
    return Problem(file, held[0][0], "", message)


def _lacking(file: str, header: Row, lacking: Sequence[str]) -> Problem:
    named = " and ".join(repr(column) for column in lacking)
    return Problem(file, header[0], "", f"has no column {named}, but {_listed(header[1])}")


def _listed(cells: Sequence[str]) -> str:
    named = [" ".join(cell.split())[:40] for cell in cells if cell.strip()]
    more = f" and {len(named) - _TOLD} more" if len(named) > _TOLD else ""
    return ", ".join(map(repr, named[:_TOLD])) + more
