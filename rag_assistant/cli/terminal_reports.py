"""A report in Markdown, drawn on a terminal. Imported only where there is one."""

from __future__ import annotations

import re

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_assistant.cli.terminal import console
from rag_assistant.render import clean

_ESTIMATE = re.compile(r"(\d\.\d+)(?: \[(\d\.\d+), (\d\.\d+)\])? n=(\d+)")
_LOWER = " (lower is better)"
_ROOM_FOR_COUNTS = 90
_LONGEST_WORD = 32


def show_report(text: str) -> None:
    """Headings in bold, tables in columns, the rest as it is."""
    screen = console()
    screen.width = max(screen.width, 40)
    lines = clean(text).split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("|"):
            end = next((n for n in range(at, len(lines)) if not lines[n].startswith("|")), len(lines))
            _show_table(screen, [cells_of(row) for row in lines[at:end]])
            at = end
            continue
        if line.startswith("#"):
            screen.print(Text(line.lstrip("# "), style="bold"))
        elif line or at + 1 < len(lines):
            screen.print(Text(line))
        at += 1


def cells_of(line: str) -> list[str]:
    """The cells of a line of a Markdown table."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _show_table(screen: Console, rows: list[list[str]]) -> None:
    head, _, *body = rows
    if any(_ESTIMATE.fullmatch(cell) for row in body for cell in row):
        head, body = _narrowed(head, body, counts=screen.width >= _ROOM_FOR_COUNTS)
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name, column in zip(head, zip(*body, strict=True), strict=True):
        prose = max(map(len, column)) > _LONGEST_WORD
        table.add_column(Text(name), overflow="fold", no_wrap=not prose, ratio=1 if prose else None)
    for row in body:
        table.add_row(*map(_cell, row))
    screen.print(table)


def _narrowed(head: list[str], body: list[list[str]], *, counts: bool) -> tuple[list[str], list[list[str]]]:
    """Bounds with two digits, and how many questions in a column of its own, so that a line needs 80 characters."""
    rows = []
    for row in body:
        found = [_ESTIMATE.fullmatch(cell) for cell in row]
        cells = [_short(cell, match) for cell, match in zip(row, found, strict=True)]
        last = found[-1]
        rows.append([*cells, last[4] if last else ""] if counts else cells)
    return [*head, "n"] if counts else head, rows


def _short(cell: str, match: re.Match[str] | None) -> str:
    if match is None:
        return f"{cell.removesuffix(_LOWER)} ↓" if cell.endswith(_LOWER) else cell
    if match[2] is None:
        return match[1]
    low, high = (f"{float(bound):.2f}".removeprefix("0") for bound in (match[2], match[3]))
    return f"{match[1]} [{low}, {high}]"


def _cell(cell: str) -> Text:
    if cell.startswith("**") and cell.endswith("**"):
        return Text(cell.strip("*"), style="bold")
    told = Text(cell)
    if re.fullmatch(r"\d\.\d+ \[.*\]", cell):
        told.stylize("dim", cell.index(" "))
    return told
