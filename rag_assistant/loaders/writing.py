"""Papers as files that other programs read, and that the loaders read back as the very same papers.

Fields go where each format has a place for them. What would not be read back from there as it was, such as the links
of a paper in BibTeX, stands in a field of its own besides, which other programs pass over.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from urllib.parse import quote

from rag_assistant.loaders.base import Problem
from rag_assistant.loaders.bibtex import papers_of_bibtex
from rag_assistant.loaders.columns import papers_of_rows
from rag_assistant.loaders.exports import KEPT, fields_of
from rag_assistant.render import bibtex_entries
from rag_assistant.types import Paper

_FORMULA = ("=", "+", "-", "@", "\t")
_COLUMNS = ("id", "title", "abstract", "authors", "year", "venue", "url", "doi", KEPT)


def to_jsonl(papers: Iterable[Paper]) -> Iterator[str]:
    """JSON Lines: an object a paper, with the fields that it has."""
    for paper in papers:
        yield json.dumps({name: value for name, value in fields_of(paper).items() if value}, ensure_ascii=False) + "\n"


def to_csv(papers: Iterable[Paper]) -> Iterator[str]:
    """CSV with a header: a row a paper, authors parted by semicolons."""
    yield _row(_COLUMNS)
    for paper in papers:
        fields = {**fields_of(paper), "authors": "; ".join(paper.authors)}
        cells = [_cell(fields.get(name)) for name in _COLUMNS[:-1]]
        yield _row([*cells, _lost(paper, papers_of_rows("", [(1, _COLUMNS), (2, cells)]))])


def to_full_bibtex(papers: Iterable[Paper]) -> Iterator[str]:
    """BibTeX with abstracts: an entry a paper, as :func:`rag_assistant.render.to_bibtex` writes them."""
    papers = list(papers)
    for paper, entry in zip(papers, bibtex_entries(papers, abstracts=True), strict=True):
        lost = _lost(paper, papers_of_bibtex("", entry))
        kept = f"  {KEPT} = {{{quote(lost)}}},\n" if lost else ""
        yield f"{entry.rstrip().removesuffix('}')}{kept}}}\n\n"


FORMATS: Mapping[str, Callable[[Iterable[Paper]], Iterator[str]]] = MappingProxyType(
    {"jsonl": to_jsonl, "csv": to_csv, "bib": to_full_bibtex}
)
"""What writes each format, in pieces, by the extension of its files."""


def _cell(value: object) -> str:
    """As text that no spreadsheet takes for a formula, and no reader for two lines at a lone carriage return."""
    text = "" if value is None else str(value).replace("\r", " ")
    return f"'{text}" if text.startswith(_FORMULA) else text


def _row(cells: Iterable[str]) -> str:
    held = io.StringIO()
    csv.writer(held, lineterminator="\n").writerow(cells)
    return held.getvalue()


def _lost(paper: Paper, read: Iterable[Paper | Problem]) -> str:
    """The fields that are not read back as they were, as JSON; empty where all are."""
    back = next((fields_of(found) for found in read if isinstance(found, Paper)), {})
    lost = {name: value for name, value in fields_of(paper).items() if back.get(name) != value}
    return json.dumps(lost) if lost else ""
