"""Answers, hits and tables for a person at a terminal: wrapped, with links, and calm. Imported only if there is one.

Everything is built from plain ``Text``, never from markup, so that square brackets in an answer stay what they are.
TeX and Markdown in abstracts are made readable only here: pipes, ``--json`` and ``--markdown`` get them unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from rag_assistant.cli.readable import readable
from rag_assistant.render import (
    byline,
    clean,
    closest_text,
    one_line,
    safe_url,
    statement_note,
    unnamed_nearest,
    verdict_line,
)
from rag_assistant.types import Answer, Citation, Hit, Paper, Verification

_WIDEST = 100
_A_SECOND = 10
"""How often text being written is redrawn: each time all of it is wrapped."""


def console(*, error: bool = False) -> Console:
    """A console no wider than is comfortable to read."""
    made = Console(file=sys.stderr if error else sys.stdout, highlight=False, markup=False, emoji=False)
    made.width = min(made.width, _WIDEST)
    return made


class BarProgress:
    """A bar on stderr that goes away when its work is done."""

    def __init__(self) -> None:
        self._bar: RichProgress | None = None
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Shows how far a stage is; stages follow one another."""
        if self._bar is None:
            left = TimeRemainingColumn(compact=True)
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), left)
            self._bar = RichProgress(*columns, console=console(error=True), transient=True)
            self._bar.start()
        if stage != self._stage:
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(one_line(stage), total=total or None)
            self._stage = stage
        self._bar.update(self._bar.task_ids[0], completed=done, total=total or None)

    def close(self) -> None:
        """Takes the bar off the screen; a later call starts a new one."""
        if self._bar is not None:
            self._bar.stop()
        self._bar, self._stage = None, ""


class LiveText:
    """An answer's text as it arrives, taken off the screen when the checked answer replaces it."""

    def __init__(self) -> None:
        self._text = ""
        self._stage = ""
        self._also = False
        self._console = console()
        self._live = Live(
            get_renderable=self._shown,
            console=self._console,
            transient=True,
            refresh_per_second=_A_SECOND,
            vertical_overflow="visible",
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def stage(self, stage: str, *, also: bool = False) -> None:
        """Shows what is being done until text arrives; with ``also`` it is shown below text too."""
        self._stage, self._also = one_line(stage), also

    def add(self, piece: str) -> None:
        """Adds a piece of the text."""
        self._text += readable(clean(piece))

    def _shown(self) -> Text:
        # Only what fits: a live display taller than the screen can't be removed again.
        rows = self._console.height - 2
        if not self._text:
            return Text(f"{self._stage} ...", style="dim")
        lines = Text(self._text).wrap(self._console, self._console.width)
        below = [Text(f"{self._stage} ...", style="dim")] if self._also else []
        return Text("\n").join([*list(lines)[len(below) - rows :], *below])


def show_answer(answer: Answer) -> None:
    """Shows an answer with its numbered sources, their titles, links and quoted words."""
    screen = console()
    screen.print(_body(answer))
    for citation in answer.citations:
        screen.print()
        screen.print(_source(citation))
    _nearest(screen, answer)


def show_verification(found: Verification) -> None:
    """Shows the verdict, then the deciding paper with its quotes, or the nearest papers."""
    screen = console()
    screen.print(Text(verdict_line(found), style="bold"))
    for citation in found.citations:
        screen.print()
        screen.print(_source(citation))
    if found.nearest:
        screen.print()
        screen.print(Text("Nearest papers", style="bold"))
        for paper in found.nearest:
            screen.print(_hanging("-", _paper_lines(paper)))


def show_in_short(answer: Answer) -> None:
    """Shows an answer, the cited papers that its text doesn't name, without quotes, and a blank line."""
    screen = console()
    screen.print(_body(answer))
    unnamed = [citation for citation in answer.citations if citation.paper.title not in answer.text]
    if unnamed:
        screen.print()
    for citation in unnamed:
        by = byline(citation.paper)
        lines = [_linked(citation.paper), *([Text(by, style="dim")] if by else [])]
        screen.print(_hanging(f"[{citation.number}]", lines))
    _nearest(screen, answer)
    screen.print()


def show_sources(answer: Answer) -> None:
    """Shows only the sources."""
    screen = console()
    for citation in answer.citations:
        screen.print(_source(citation))


def show_hits(hits: Sequence[Hit]) -> None:
    """Shows the hits of a search, best first, each with the passage that was found."""
    screen = console()
    for place, hit in enumerate(hits):
        if place:
            screen.print()
        lines = [*_paper_lines(hit.paper), Text(_line(hit.passage.text), style="dim")]
        screen.print(_hanging(f"{hit.rank}.", lines))


def show_papers(papers: Iterable[Paper]) -> None:
    """Shows a table of papers as wide as the screen."""
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("id", no_wrap=True)
    table.add_column("year", no_wrap=True)
    table.add_column("title", ratio=3)
    table.add_column("authors", ratio=2, style="dim")
    for paper in papers:
        year = str(paper.year) if paper.year is not None else ""
        names = [one_line(name) for name in paper.authors]
        who = ", ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more"
        table.add_row(one_line(paper.id), year, _linked(paper), Text(who))
    screen = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    screen.print(table)


def _nearest(screen: Console, answer: Answer) -> None:
    """Shows the papers that come closest to a refused question; by id if the text has their titles already."""
    if answer.closest:
        screen.print()
        screen.print(Text(readable(closest_text(answer.closest)), style="dim"))
    if not answer.nearest:
        return
    screen.print()
    if unnamed_nearest(answer):
        screen.print(Text("Nearest papers", style="bold"))
        for paper in answer.nearest:
            screen.print(_hanging("-", _paper_lines(paper)))
        return
    for paper in answer.nearest:
        url = safe_url(paper.url)
        screen.print(
            _hanging(f"{one_line(paper.id)}:", [Text(url or "no link", style=f"dim link {url}" if url else "dim")])
        )


def _body(answer: Answer) -> Text:
    body, position = Text(), 0
    for statement in sorted(answer.statements, key=lambda s: s.end):
        note = statement_note(statement)
        if note:
            body.append(readable(clean(answer.text[position : statement.end])))
            body.append(f" {note}", style="yellow")
            position = statement.end
    body.append(readable(clean(answer.text[position:])))
    return body


def _source(citation: Citation) -> Table:
    quotes = [Text(f"“{_line(quote.text)}”", style="italic") for quote in citation.quotes]
    return _hanging(f"[{citation.number}]", [*_paper_lines(citation.paper), *quotes])


def _paper_lines(paper: Paper) -> list[Text]:
    lines = [_linked(paper)]
    url, by = safe_url(paper.url), byline(paper)
    if by:
        lines.append(Text(by, style="dim"))
    if url:
        lines.append(Text(url, style=f"dim link {url}", overflow="fold"))
    return lines


def _linked(paper: Paper) -> Text:
    url = safe_url(paper.url)
    return Text(_line(paper.title), style=f"bold link {url}" if url else "bold")


def _line(text: str) -> str:
    return readable(one_line(text))


def _hanging(mark: str, lines: Sequence[Text]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(Text(mark), Padding(Group(*lines), 0))
    return grid
