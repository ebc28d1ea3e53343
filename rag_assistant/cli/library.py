"""``index`` and ``papers``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.session import opened, reporting
from rag_assistant.cli.state import State, emit, emit_json, is_terminal, say
from rag_assistant.errors import InputError
from rag_assistant.render import one_line, to_bibtex

if TYPE_CHECKING:
    from rag_assistant.index.build import IndexSummary
    from rag_assistant.loaders import LoadReport
    from rag_assistant.settings import Settings

_IDS_SHOWN = 8
_LINES = 10
"""Of what is skipped, and of notes; with these all of a run stays on one screen."""


@command
def index(
    state: State,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Files, folders or web addresses of papers, a Zotero library, or arxiv:ID, doi:DOI, "
            "openreview:VENUE/YEAR; none means the bundled corpus.",
        ),
    ] = None,
    add: Annotated[bool, typer.Option("--add", help="Keep the papers that are there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Drop papers without asking.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write all that was read, changed, merged and skipped there."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=COLUMN", help="What a table calls a field, e.g. abstract=Summary."),
    ] = None,
    no_merge: Annotated[bool, typer.Option("--no-merge", help="Keep records of the same paper apart.")] = False,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Read addresses of this machine and its network too.")
    ] = False,
    *,
    flags: o.IndexOptions,
    json: o.Json = False,
) -> None:
    """Make the index hold exactly the papers of these paths, or add them to it, and say what changed. Asks before it
    drops papers."""
    if add and not paths:
        raise InputError("--add needs the papers to add.", hint="rag-assistant index --add PATH...")
    from rag_assistant.loaders import grouped

    read = _LoadRequest(paths, not no_merge, _columns(columns or ()), allow_private)
    summary, report = _indexed(state, flags.settings(), read, add=add, dry_run=dry_run, yes=yes)
    merged = set(report.merged)
    _tell([f"skipped: {line}" for line in grouped(report.problems)], say)
    notes = grouped(note for note in report.notes if note not in merged)
    _tell([*notes, *summary.problems, *summary.notices], state.note)
    if out is not None:
        from rag_assistant.evals.folder import write_whole

        write_whole(out, report_text(summary, report, dry_run=dry_run), hint="--report FILE names another")
    if json:
        emit_json(summary_dict(summary, report, dry_run=dry_run))
    else:
        emit(summary_text(summary, report, dry_run=dry_run), end="\n")


@command
def papers(
    state: State,
    *,
    chosen: o.FilterOptions,
    flags: o.IndexOptions,
    json: o.Json = False,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Write BibTeX.")] = False,
) -> None:
    """List the papers of the index. In a pipe: id, year, venue, title and authors, tab separated."""
    if json and bibtex:
        raise InputError("Only one of --json and --bibtex can be given.", hint="leave the other out")
    filters = chosen.filters()
    with opened(state, flags.settings(), searches=False) as assistant:
        found = assistant.papers(filters=filters)
    if json:
        emit_json({"papers": [paper.to_dict() for paper in found]})
    elif bibtex:
        emit(to_bibtex(found))
    elif is_terminal(sys.stdout):
        from rag_assistant.cli.terminal import show_papers

        show_papers(found)
    else:
        for paper in found:
            cells = (
                paper.id,
                "" if paper.year is None else str(paper.year),
                paper.venue or "",
                paper.title,
                "; ".join(paper.authors),
            )
            emit("\t".join(one_line(cell) for cell in cells), end="\n")


def summary_text(summary: IndexSummary, report: LoadReport, *, dry_run: bool = False) -> str:
    """What an indexing did, or would do, in a few lines."""
    changes = [change_text(verb, ids) for verb, ids in _changes(summary, dry_run).items() if ids]
    told = [_read(report), *(changes or ["nothing to change" if dry_run else "nothing changed"])]
    if dry_run:
        return "\n".join([*told, f"{_count(summary.papers, 'paper')} then"])
    counts = f"{_count(summary.papers, 'paper')}, {_count(summary.passages, 'passage')}"
    place = summary.server or summary.path
    return "\n".join([*told, f"{counts}, {summary.embedded} embedded, {summary.seconds:.1f} s: {place}"])


def report_text(summary: IndexSummary, report: LoadReport, *, dry_run: bool = False) -> str:
    """The same with every file, paper and problem on a line of its own."""
    merged = set(report.merged)
    parts = {
        "read": _names(report),
        **_changes(summary, dry_run),
        "merged": [*map(str, report.merged)],
        "without abstract": [f"{paper.source}: {paper.id}" for paper in report.without_abstract],
        "skipped": [*map(str, report.problems)],
        "notes": [*(str(note) for note in report.notes if note not in merged), *summary.problems, *summary.notices],
    }
    lines = [summary_text(summary, report, dry_run=dry_run)]
    for name, told in parts.items():
        lines += ["", f"{name}: {len(told):,}", *(f"  {one_line(one)}" for one in told)]
    return "\n".join([*lines, ""])


def summary_dict(summary: IndexSummary, report: LoadReport, *, dry_run: bool = False) -> dict[str, Any]:
    """The same as plain JSON types."""
    return {
        "dry_run": dry_run,
        "added": list(summary.added),
        "changed": list(summary.changed),
        "unchanged": len(summary.unchanged),
        "removed": list(summary.removed),
        "papers": summary.papers,
        "passages": summary.passages,
        "embedded": summary.embedded,
        "read": _names(report),
        "merged": [*map(str, report.merged)],
        "without_abstract": len(report.without_abstract),
        "skipped": [asdict(problem) for problem in report.problems],
        "notes": [*map(str, report.notes), *summary.problems, *summary.notices],
        "seconds": round(summary.seconds, 3),
        "path": summary.server or str(summary.path),
    }


@dataclass(frozen=True, slots=True)
class _LoadRequest:
    """What is read, and how."""

    paths: list[str] | None
    merge: bool
    columns: dict[str, str]
    allow_private: bool


def _columns(given: Sequence[str]) -> dict[str, str]:
    """Names of columns by field, of ``--map``."""
    columns = {}
    for text in given:
        field, mark, column = text.partition("=")
        if not (mark and field.strip() and column.strip()):
            raise InputError(f"--map can't be {text!r}.", hint="a field and its column, such as abstract=Summary")
        columns[field.strip()] = column.strip()
    return columns


def _indexed(
    state: State, settings: Settings, read: _LoadRequest, *, add: bool, dry_run: bool, yes: bool
) -> tuple[IndexSummary, LoadReport]:
    """Builds without opening: that would first build the bundled corpus where no index is, or stop at a damaged one."""
    from rag_assistant.bundled import bundled
    from rag_assistant.embedders.resolve import resolve_embedder
    from rag_assistant.index.build import build_index, held, preview, would_drop
    from rag_assistant.index.server import server_of
    from rag_assistant.loaders import load_papers

    embedder, server = resolve_embedder(settings.embedder, model=settings.embedder_model), server_of(settings)
    chosen = read.paths or settings.corpus
    with reporting(state) as progress:
        report = load_papers(
            chosen or bundled("corpus"),
            merge=read.merge,
            columns=read.columns,
            known=held(settings.index_path, server=server) if add else (),
            allow_private=read.allow_private,
            progress=progress,
        )
    if dry_run:
        return preview(settings.index_path, report.papers, embedder, add=add, server=server), report
    if report.papers and not add and not yes:
        gone = would_drop(settings.index_path, report.papers, server=server)
        _ask_before_dropping(gone, server.shown if server else str(settings.index_path))
    with reporting(state) as progress:
        summary = build_index(
            settings.index_path,
            report.papers,
            embedder,
            add=add,
            source="paths" if chosen else "bundled",
            progress=progress,
            lock_timeout=settings.lock_timeout,
            server=server,
        )
    return summary, report


def _ask_before_dropping(gone: tuple[str, ...], place: str) -> None:
    """Returns if nothing would go, or it may go."""
    if gone:
        told = f"The index {place} holds papers that aren't among these; this {change_text('would drop', gone)}"
        others = "--add keeps them, --dry-run tells all that would change"
        confirmed(told, "Drop them?", "Nothing was changed. --add keeps the papers that are there.", others)


def confirmed(told: str, question: str, no: str = "Nothing was changed.", others: str = "") -> None:
    """Returns if a person at a terminal says yes.

    Raises:
        InputError: Nobody is there to be asked.
        typer.Exit: They say no.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise InputError(f"{told}.", hint=", ".join(filter(None, ("--yes does it without asking", others))))
    say(f"{told}.")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)  # noqa: T201 - Typer's would write to stdout too
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        say(no)
        raise typer.Exit(1)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _read(report: LoadReport) -> str:
    """What was read and what came of it."""
    places = [_count(len(report.files), "file")] if report.files else []
    places += [_count(len(report.sources), "request")] if report.sources else []
    counts = [_count(len(report.papers), "paper")]
    if report.merged:
        counts.append(f"{len(report.merged):,} merged")
    if report.without_abstract:
        counts.append(f"{len(report.without_abstract):,} without abstract")
    if report.problems:
        counts.append(f"{len(report.problems):,} skipped")
    fields = sum(note.left_out for note in report.notes)
    if fields:
        counts.append(f"{_count(fields, 'field')} left out")
    return f"read {' and '.join(places)}: {', '.join(counts)}"


def _names(report: LoadReport) -> list[str]:
    from rag_assistant.loaders.base import display

    return [*map(display, report.files), *report.sources]


def _changes(summary: IndexSummary, dry_run: bool) -> dict[str, tuple[str, ...]]:
    return {
        "would add" if dry_run else "added": summary.added,
        "would change" if dry_run else "changed": summary.changed,
        "would drop" if dry_run else "dropped": summary.removed,
    }


def change_text(verb: str, ids: tuple[str, ...]) -> str:
    """What happens to papers, with the first of their ids."""
    more = f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else ""
    return f"{verb} {len(ids)}: {', '.join(ids[:_IDS_SHOWN])}{more}"


def _tell(lines: list[str], tell: Callable[[str], None]) -> None:
    """As many lines as leave room for the rest of the screen."""
    for line in lines[:_LINES]:
        tell(line)
    if len(lines) > _LINES:
        say(f"and {len(lines) - _LINES:,} more; --report FILE keeps all")
