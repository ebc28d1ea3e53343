"""Workbooks of Excel (``.xlsx``): the first sheet whose header names titles or abstracts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from rag_assistant.loaders.base import Form, Problem, display, read_text
from rag_assistant.loaders.columns import Row, papers_of_rows
from rag_assistant.types import Paper

_MOST_UNPACKED = 200 << 20
_MOST_BLANK_ROWS = 10_000
_MOST_COLUMNS = 1_000


def load_xlsx(path: Path, columns: Mapping[str, str] | None = None) -> Iterator[Paper | Problem]:
    """The papers of a workbook, one a row; a formula counts for the value that it had when the book was saved.

    Args:
        path: The file.
        columns: The user's names of columns, by field.
    """
    refused = _refused(path)
    if refused is not None:
        yield refused
        return
    try:
        yield from _papers(path, columns)
    except MemoryError:
        raise
    except Exception as error:  # openpyxl raises whatever it stumbles over in a damaged workbook
        if isinstance(error, OSError) and error.errno:
            raise
        yield Problem(display(path), None, "", "is damaged: it can't be read as a workbook to its end")


def _refused(path: Path) -> Problem | None:
    """Why the file is not unpacked, if so: what it packs is told in it, and no more than that is ever unpacked."""
    file = display(path)
    try:
        with ZipFile(path) as packed:
            infos = packed.infolist()
    except (BadZipFile, ValueError, NotImplementedError, EOFError, OverflowError):
        if path.read_bytes().startswith(b"PK"):
            return Problem(file, None, "", "is damaged: it can't be unpacked")
        text, problems = read_text(path)  # which says what it is, if it is no text
        told = Problem(file, None, "", "is no workbook of Excel" if text.strip() else "is empty")
        return next((problem for problem in problems if not problem.note), told)
    if not any(info.filename.startswith("xl/") for info in infos):
        return Problem(file, None, "", "is a zip archive and no workbook of Excel; unpack it")
    if sum(info.file_size for info in infos) > _MOST_UNPACKED:
        return Problem(file, None, "", f"unpacks to more than {_MOST_UNPACKED >> 20} MB; save it as .csv, or split it")
    return None


def _papers(path: Path, columns: Mapping[str, str] | None) -> Iterator[Paper | Problem]:
    from openpyxl import load_workbook

    file = display(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a workbook has besides cells
        book = load_workbook(path, read_only=True, data_only=True, keep_links=False)
    try:
        for sheet in book.worksheets:
            came = False
            for item in papers_of_rows(file, _rows(sheet), columns, header_needed=False):
                came = True
                yield item
            if came:
                return
        yield from papers_of_rows(file, _rows(book.worksheets[0]) if book.worksheets else (), columns)
    finally:
        book.close()


def _rows(sheet: Any) -> Iterator[Row]:
    """The rows that have cells. How many a sheet says it has is not believed."""
    sheet.reset_dimensions()
    blank = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True, max_col=_MOST_COLUMNS), 1):
        cells = [_text(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        blank = 0 if cells else blank + 1
        if blank > _MOST_BLANK_ROWS:
            return
        if cells:
            yield number, cells


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if isinstance(value, date) else str(value)


XLSX = Form(
    load_xlsx,
    lambda head: head.startswith("PK") and ("xl/" in head or "[Content_Types]" in head),
    ("xlsx", "xlsm"),
    map_columns=load_xlsx,
)
