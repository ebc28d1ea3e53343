"""A report in Markdown, drawn on a terminal. Imported only where there is one."""

from __future__ import annotations

import re

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_assistant.cli.reports import cells_of
from rag_assistant.cli.terminal import console
from rag_assistant.render import clean

_INTERVAL = re.compile(r"(\[[^\]]*\])? ?(n=\d+)?$")


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


def _show_table(screen: Console, rows: list[list[str]]) -> None:
    head, _, *body = rows
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for place, name in enumerate(head):
        last = place == len(head) - 1
        table.add_column(Text(name), overflow="fold", ratio=1 if last and _is_prose(body) else None)
    for row in body:
        table.add_row(*map(_cell, row))
    screen.print(table)


def _is_prose(body: list[list[str]]) -> bool:
    return any(len(row[-1]) > 40 for row in body)


def _cell(cell: str) -> Text:
    if cell.startswith("**"):
        return Text(cell.strip("*"), style="bold")
    told = Text(cell)
    found = _INTERVAL.search(cell)
    if found and found.start() > 0 and found[0].strip():
        told.stylize("dim", found.start())
    return told
