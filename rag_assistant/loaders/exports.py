"""Records of other programs' exports, read as a person reads them.

What a program writes into a field is not always what the field is for: "Abstract: We study", "© 2024 Elsevier",
"2014//", "https://doi.org/10.1000/x" for a DOI, markup for text. A record of this project's own forms is taken as it
stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any
from urllib.parse import unquote

from rag_assistant.escapes import without_escapes
from rag_assistant.loaders.base import LEFT_OUT, Problem
from rag_assistant.loaders.fields import MAX_ABSTRACT, YEARS, Record, papers_from
from rag_assistant.loaders.identity import DOI, arxiv_id, arxiv_page, known_page, public_id
from rag_assistant.loaders.markup import plain
from rag_assistant.tex import from_tex
from rag_assistant.types import Paper

KEPT = "rag-assistant"
"""The field in which this program's own exports keep what the format's other fields can't, as JSON."""
_HEADING = re.compile(r"\W{0,3}abstract(?:\s*[:.\u2014\u2013]\s*|\s+-\s+|\s*\n\s*|(?-i:(?=[A-Z][a-z])))", re.IGNORECASE)
_HEADING_IN_CAPITALS = re.compile(r"ABSTRACT\s+(?=[A-Z0-9])")
_NONE = re.compile(
    r"\W*(?:no abstracts?(?: (?:is )?available)?|abstract not available|n/?a|none|null)?\W*", re.IGNORECASE
)
_INITIALS_LAST = re.compile(r"((?:[a-z']+ )*[A-Z\u00c0-\u00de][^\s,.]+) ((?:[A-Z]\.?-?){1,3}\.?)")
_NOBODY = re.compile(r"\s*(?:\[?(?:no author(?:s| name)? available|anonymous)\]?|null|nan|none|n/a)\s*", re.IGNORECASE)
_RIGHTS = (
    r"\(?\s*(?:(?:Copyright:?\s*)?©|(?:Copyright:?\s*)?(?:\(\s*c\)\s*|Copyright\s+)(?:19|20)\d\d|"
    r"PsycINFO Database Record|All rights reserved|This article is protected by copyright)"
)
_RIGHTS_CHARACTERS = 400
_TAIL = re.compile(rf"(?<=[.!?)\]\"\u201d])\s*{_RIGHTS}", re.IGNORECASE)
_LEAD = re.compile(rf"\s*{_RIGHTS}[^\n]{{0,150}}?\.\s*(?=(?-i:[A-Z](?:[a-z]+|\s)))", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d|2100)(?!\d)")
_WEB = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)


def papers_of_export(record: Record, *, tex: bool = False) -> Iterator[Paper | Problem]:
    """As ``papers_from``, with each field cleaned of what is no part of it.

    Args:
        record: As its file has it. ``url`` may be a list of texts that hold addresses, ``doi`` a text that holds one.
            Where there is a DOI, an address with a query, which may be of a session or a library, is left out.
        tex: Whether its texts are TeX, as in BibTeX, and not only may hold some.
    """
    urls = _urls(record.url)
    doi = _doi(record.doi, urls)
    links = dict(record.links)
    for url in urls:
        name, page = known_page(url)
        if name:
            links.setdefault(name, page)
    preprint = arxiv_id(doi, *(str(value) for value in links.values()))
    if preprint:
        links.setdefault("arxiv", arxiv_page(preprint))
    year, note = _year(record)
    if note is not None:
        yield note
    yield from papers_from(
        replace(
            record,
            id=record.id or public_id(doi, [*urls, *map(str, links.values())]),
            title=_text(record.title, tex),
            abstract=_abstract(record.abstract, tex),
            authors=_names(record.authors, tex),
            year=year,
            venue=_text(record.venue, tex),
            url=next((url for url in urls if doi is None or "?" not in url or known_page(url)[0]), None),
            doi=doi,
            links=tuple(links.items()),
        )
    )


def fields_of(paper: Paper) -> dict[str, Any]:
    """What a record of the paper has, under the names of :class:`Record`, as plain JSON types."""
    names = ("id", "title", "abstract", "authors", "year", "venue", "url", "doi", "links")
    own = {name: value for name, value in paper.to_dict().items() if name in names}
    return own | ({"title": None} if paper.title_derived else {})


def restored(read: Iterable[Paper | Problem], kept: str | None, record: Record) -> Iterator[Paper | Problem]:
    """What was read, with the fields in their place that were kept besides; see :data:`KEPT`.

    Args:
        read: The paper of the record, and notes.
        kept: The text of that field, which may be percent-encoded.
        record: Where it stands.
    """
    besides = _kept_fields(kept)
    if not besides:
        yield from read
        return
    found = list(read)
    plain = next((fields_of(one) for one in found if isinstance(one, Paper)), {})
    yield from (one for one in found if isinstance(one, Problem) and one.note and one.field not in besides)
    whole = plain | besides
    links = whole.pop("links", None)
    pairs = tuple(links.items()) if isinstance(links, dict) else ()
    yield from papers_from(Record(record.file, record.line, links=pairs, **whole))


def _kept_fields(kept: str | None) -> dict[str, Any]:
    if not kept:
        return {}
    try:
        found = json.loads(kept if kept.lstrip().startswith("{") else unquote(kept))
    except (ValueError, RecursionError):
        return {}
    known = {field.name for field in fields(Record)} - {"file", "line", "lines"}
    return {name: value for name, value in found.items() if name in known} if isinstance(found, dict) else {}


def names_in_order(names: Iterable[str]) -> list[str]:
    """Each name with the given name first; one text may hold several, parted by semicolons."""
    return [in_order(name) for text in names for name in text.split(";") if name.strip()]


def in_order(name: str) -> str:
    """ "Lee, Ann", "Lee, Ann, Jr." and "Lee A.M." with the given name first; anything else as it stands."""
    initials = _INITIALS_LAST.fullmatch(name.strip())
    if initials:
        return f"{initials[2]} {initials[1]}"
    family, *others = (part.strip() for part in name.split(","))
    if not others or len(others) > 2 or not family or not all(others):
        return name.strip().strip(",")
    return " ".join((*(part for part in others[:1] if not _NOBODY.fullmatch(part)), family, *others[1:]))


def _text(value: object, tex: bool) -> object:
    if not isinstance(value, str) or len(value) > MAX_ABSTRACT:
        return value
    return from_tex(plain(without_escapes(value)), braces=tex)


def _names(value: object, tex: bool) -> object:
    if isinstance(value, list | tuple):
        return [_text(name, tex) for name in value if not (isinstance(name, str) and _NOBODY.fullmatch(name))]
    return None if isinstance(value, str) and _NOBODY.fullmatch(value) else _text(value, tex)


def _abstract(value: object, tex: bool) -> object:
    text = _text(value, tex)
    if not isinstance(text, str) or len(text) > MAX_ABSTRACT:
        return text
    text = text.strip()
    if _NONE.fullmatch(text[:100]) and len(text) < 100:
        return None
    for heading in (_HEADING, _HEADING_IN_CAPITALS):
        found = heading.match(text)
        if found and found.end() < len(text):
            text = text[found.end() :]
    return _without_rights(text).strip()


def _without_rights(text: str) -> str:
    """The abstract without the statement of whose it is, before or behind it."""
    lead = _LEAD.match(text)
    while lead and lead.end() < len(text) and lead.end() < _RIGHTS_CHARACTERS:
        text = text[lead.end() :]
        lead = _LEAD.match(text)
    tail = _TAIL.search(text, max(0, len(text) - _RIGHTS_CHARACTERS))
    return text[: tail.start()] if tail else text


def _year(record: Record) -> tuple[object, Problem | None]:
    """The year that a text holds, and a note where it holds none."""
    value = record.year
    if not isinstance(value, str) or not value.strip():
        return value, None
    found = _YEAR.search(value)
    if found and YEARS[0] <= int(found[1]) <= YEARS[1]:
        return int(found[1]), None
    shown = " ".join(value.split())[:60]
    return None, Problem(record.file, record.line, "year", f"{shown!r} holds no year{LEFT_OUT}", note=True)


def _urls(value: object) -> list[str]:
    texts = value if isinstance(value, list | tuple) else [value]
    found = [_WEB.search(text[:10_000]) for text in texts if isinstance(text, str)]
    return list(dict.fromkeys(match[0].rstrip(".,;") for match in found if match))


def _doi(value: object, urls: list[str]) -> str | None:
    """The DOI that the field holds, or an address of its resolver."""
    texts = [value, *(url for url in urls if "doi.org/" in url or "doi:" in url or "doi=" in url)]
    for text in texts:
        if isinstance(text, str) and (found := DOI.search(unquote(text[:10_000]))):
            doi = re.split(r"[&?]|;jsessionid", found[0])[0] if text is not value else found[0]
            doi = doi.rstrip(".,;")
            return doi[:-1] if doi.endswith((")", "]", "}")) and not _balanced(doi) else doi
    return None


def _balanced(text: str) -> bool:
    return all(text.count(opening) == text.count(closing) for opening, closing in ("()", "[]", "{}"))
