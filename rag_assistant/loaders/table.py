"""Tables as text: CSV, TSV and what is parted by semicolons, as Scopus, Web of Science, IEEE, Springer, Embase, PubMed
and Zotero export it."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from rag_assistant.loaders.base import Form, Problem, display, readable_text
from rag_assistant.loaders.columns import Row, is_header, papers_of_rows
from rag_assistant.types import Paper

_PARTING = (",", "\t", ";", "|")
_HEADER_WITHIN = 10
_END = "\x00end of the table\x00"


def load_table(path: Path, columns: Mapping[str, str] | None = None) -> Iterator[Paper | Problem]:
    """The papers of a ``.csv`` or ``.tsv`` file, one a row.

    What parts its columns is told by its header, which is the first row, or one of the first ten, that names a column
    of titles or abstracts.

    Args:
        path: The file.
        columns: The user's names of columns, by field.
    """
    text = yield from readable_text(path)
    if text is None:
        return
    file = display(path)
    lines = text.lstrip("\ufeff").split("\n")
    if lines and lines[0].lower().startswith("sep=") and len(lines[0]) == 5:  # said to Excel
        parting, lines[0] = lines[0][4], ""
    else:
        parting = _parting(lines, columns) or max(_PARTING, key=lines[0].count)
    unclosed: list[int] = []
    yield from papers_of_rows(file, _rows(lines, parting, unclosed), columns)
    for line in unclosed:
        yield Problem(file, line, "", "a quotation mark in this row has no end; the row was passed over")


def _rows(lines: list[str], parting: str, unclosed: list[int]) -> Iterator[Row]:
    """The rows; and the lines of those that would swallow all the rest, since a quotation mark in them isn't closed."""
    csv.field_size_limit(sys.maxsize)  # what is too long for a field of a paper is told for that paper
    start = 0
    while start < len(lines):  # a mark behind the one that isn't closed would have closed it: this ends soon
        reader = csv.reader((f"{line}\n" for line in [*lines[start:], _END]), delimiter=parting)
        line = start + 1
        for cells in reader:
            if cells and cells[-1].endswith((_END, f"{_END}\n")):
                break
            yield line, cells
            line = start + reader.line_num + 1
        if cells == [_END]:
            return
        unclosed.append(line)
        start = line


def _parting(lines: list[str], columns: Mapping[str, str] | None) -> str:
    """What parts the columns of the first row that is a header; nothing where none is."""
    for line in [line for line in lines[: 10 * _HEADER_WITHIN] if line.strip()][:_HEADER_WITHIN]:
        split = {mark: next(csv.reader([line], delimiter=mark), []) for mark in _PARTING if mark in line}
        found = [mark for mark, cells in split.items() if is_header(cells, columns)]
        if found:
            return max(found, key=lambda mark: len(split[mark]))
        if is_header([line], columns):
            return ","
    return ""


def _recognises(head: str) -> bool:
    csv.field_size_limit(sys.maxsize)
    parting = _parting(head.lstrip("\ufeff").split("\n"), None)
    return bool(parting) and parting in head


TABLE = Form(load_table, _recognises, ("csv", "tsv", "tab"), map_columns=load_table)
