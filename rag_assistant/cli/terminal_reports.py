"""A report drawn on a terminal. Imported only if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from rag_assistant.cli.terminal import console
from rag_assistant.evals.markdown import Cell, Heading, Lower, Part, Strong, Table
from rag_assistant.evals.statistics import Estimate
from rag_assistant.render import clean

_ROOM_FOR_COUNTS = 90
_LONGEST_WORD = 32


def show_report(parts: Iterable[Part]) -> None:
    """Headings in bold, tables in columns, the rest as it is."""
    screen = console()
    screen.width = max(screen.width, 40)
    for number, part in enumerate(parts):
        if number:
            screen.print()
        screen.print(_drawn(part, counts=screen.width >= _ROOM_FOR_COUNTS))


def _drawn(part: Part, *, counts: bool) -> RenderableType:
    match part:
        case Heading(text):
            return Text(clean(text), style="bold")
        case Table():
            return _columns(part, counts=counts)
    return Text(clean(part))


def _columns(part: Table, *, counts: bool) -> RichTable:
    """A table; if there is room, with a column for the number of questions behind each estimate."""
    head, rows = [*part.head], [[_shown(cell) for cell in row] for row in part.rows]
    sizes = [_questions(row) for row in part.rows]
    if counts and any(sizes):
        head.append("n")
        rows = [[*row, Text(size)] for row, size in zip(rows, sizes, strict=True)]
    drawn = RichTable(box=None, pad_edge=False, show_header=any(head), header_style="dim", padding=(0, 2, 0, 0))
    for place, name in enumerate(head):
        prose = max((len(row[place]) for row in rows), default=0) > _LONGEST_WORD
        drawn.add_column(Text(name), overflow="fold", no_wrap=not prose, ratio=1 if prose else None)
    for row in rows:
        drawn.add_row(*row)
    return drawn


def _questions(row: Sequence[Cell]) -> str:
    return next((str(cell.n) for cell in reversed(row) if isinstance(cell, Estimate)), "")


def _shown(cell: Cell) -> Text:
    match cell:
        case Estimate(value, low, high):
            return Text.assemble(f"{value:.3f}", ("" if low is None or high is None else _bounds(low, high), "dim"))
        case Strong(text):
            return Text(text, style="bold")
        case Lower(name):
            return Text(f"{clean(name)} ↓")
    return Text(clean(cell))


def _bounds(low: float, high: float) -> str:
    """The bounds with two digits, so that a line fits into 80 characters."""
    return " [{}, {}]".format(*(f"{bound:.2f}".removeprefix("0") for bound in (low, high)))
