"""What others call a record's fields in JSON: OpenReview, Semantic Scholar, Crossref, CSL, Publish or Perish."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rag_assistant.loaders.exports import in_order
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.identity import arxiv_page

_MARKS = frozenset(
    """
    content externalIds paperId corpusid DOI URL container-title issued article_url cites_url related_url GSRank
    Abstract ArticleURL
    """.split()
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_DATES = ("published-print", "issued", "published-online", "published", "created")


def is_foreign(value: Mapping[str, Any]) -> bool:
    """Whether an object is a record of another program, and not of this project's own form."""
    authors = value.get("author")
    named = isinstance(authors, list) and any(
        isinstance(one, dict) and {"family", "literal"} & one.keys() for one in authors
    )
    return named or isinstance(value.get("title"), list) or any(key in value for key in _MARKS)


def foreign_record(file: str, line: int, value: Mapping[str, Any]) -> Record | None:
    """The record of an object; ``None`` for a note of OpenReview that is no paper, such as a review."""
    content = value.get("content")
    if isinstance(content, dict):
        if not {"abstract", "authors"} & content.keys():
            return None
        return _openreview(file, line, value, {name: _inner(field) for name, field in content.items()})
    ids = value.get("externalIds")
    ids = ids if isinstance(ids, dict) else {}
    preprint = ids.get("ArXiv")
    abstract = _text(_first(value, "abstract", "Abstract"))
    if isinstance(abstract, str) and "<jats:" in abstract:
        abstract = " ".join(abstract.split())  # as in all XML, its lines mean nothing
    return Record(
        file=file,
        line=line,
        id=_key(value.get("id")),
        title=_text(_first(value, "title", "Title")),
        abstract=abstract,
        authors=names_of(_first(value, "authors", "author", "Authors")),
        year=_year(value),
        venue=_text(_first(value, "container-title", "venue", "journal", "booktitle", "source", "Source", "publisher")),
        url=[
            *_addresses(value, "url", "URL", "article_url", "ArticleURL", "fulltext_url", "openAccessPdf"),
            *([arxiv_page(preprint)] if isinstance(preprint, str) else []),
        ],
        doi=_text(_first(value, "DOI", "doi") or ids.get("DOI")),
    )


def _openreview(file: str, line: int, note: Mapping[str, Any], content: Mapping[str, Any]) -> Record:
    forum = note.get("forum") or note.get("id")
    venue, year = content.get("venue"), None
    for text in (venue, content.get("venueid")):
        found = _YEAR.search(text) if isinstance(text, str) else None
        year = year or (found and int(found[0]))
    stamp = next((note[name] for name in ("pdate", "odate", "cdate", "tcdate") if note.get(name)), None)
    if year is None and isinstance(stamp, int) and 0 < stamp < 4_102_444_800_000:
        year = datetime.fromtimestamp(stamp / 1000, UTC).year
    return Record(
        file=file,
        line=line,
        title=_text(content.get("title")),
        abstract=_text(content.get("abstract")),
        authors=names_of(content.get("authors")),
        year=year,
        venue=_text(venue),
        url=[f"https://openreview.net/forum?id={forum}"] if isinstance(forum, str) else None,
        doi=None,
    )


def _inner(field: Any) -> Any:
    """The newer API of OpenReview wraps each value."""
    return field["value"] if isinstance(field, dict) and "value" in field else field


def _first(value: Mapping[str, Any], *names: str) -> Any:
    return next((value[name] for name in names if value.get(name)), None)


def _text(value: Any) -> Any:
    """Crossref lists what is there once; Semantic Scholar gives a journal as an object."""
    if isinstance(value, list):
        value = next(iter(value), None)
    return value.get("name") if isinstance(value, dict) else value


def _key(value: Any) -> str | None:
    """An id that a person or a reference manager gave, not an address or a number in a database."""
    return value if isinstance(value, str) and value.isascii() and value.replace("-", "_").isidentifier() else None


def names_of(value: Any) -> Any:
    """Names in order, of texts or of objects that hold a name's parts; anything else as it is."""
    if not isinstance(value, list):
        return value
    return [_name(one) if isinstance(one, dict) else in_order(one) if isinstance(one, str) else one for one in value]


def _name(author: Mapping[str, Any]) -> Any:
    parts = ("given", "prefix", "non-dropping-particle", "dropping-particle", "family", "suffix")
    said = " ".join(author[part] for part in parts if isinstance(author.get(part), str) and author[part])
    return said or _first(author, "literal", "name")


def _year(value: Mapping[str, Any]) -> Any:
    for name in _DATES:
        date = value.get(name)
        if isinstance(date, dict):
            try:
                year = date["date-parts"][0][0]
            except (KeyError, IndexError, TypeError):
                year = date.get("raw") or date.get("literal")
            if year:
                return year if isinstance(year, int) and not isinstance(year, bool) else str(year)
    year = _first(value, "year", "Year", "publicationDate", "date", "issued")
    return str(year) if isinstance(year, int | float) and not isinstance(year, bool) else year


def _addresses(value: Mapping[str, Any], *names: str) -> list[str]:
    found = (value.get(name) for name in names)
    texts = (one.get("url") if isinstance(one, dict) else one for one in found)
    return [text for text in texts if isinstance(text, str)]
