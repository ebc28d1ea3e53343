"""Runs and comparisons as text, as JSON and, at a terminal, with drawn tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rag_assistant.cli.state import emit, is_terminal

if TYPE_CHECKING:
    from rag_assistant.evals import Run
    from rag_assistant.evals.markdown import Part


def headline(run: Run, seconds: float) -> str:
    """The most important scores, in lines of fewer than 80 characters, and where to find the rest."""
    from rag_assistant.evals import summarize
    from rag_assistant.evals.headline import HEADLINE, cell
    from rag_assistant.plugins import BUILTINS

    summary = summarize(run)
    splits = [split for split in ("dev", "test") if any(row.split == split for row in run.main)]
    shown = [*splits, "all"] if len(splits) > 1 else splits or ["all"]
    added = [name for name in run.header.get("metrics", ()) if name not in BUILTINS["metric"]]
    rows = [["", *shown]]
    for name in (*HEADLINE, *(n for n in summary.estimates if n in added)):
        if name in summary.estimates:
            rows.append([name, *(cell(summary.estimates[name].get(split)) for split in shown)])
    wrong = sum(row.scores.get("correct") == 0.0 for row in run.main)
    counted = f"{len(run.main)} questions, {wrong} wrong, {len(run.failed)} rows with errors, {seconds:.0f} s"
    probes = len(run.rows) - len(run.main)
    asked = [f"{probes} probes: follow-ups asked again without history and stand-alone"] if probes else []
    return "\n".join([*_aligned(rows), "", counted, *asked, f"report: {run.folder}/report.md"])


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def run_dict(run: Run) -> dict[str, Any]:
    """A run's header and numbers as plain JSON types, with the ids of the questions that went wrong."""
    from rag_assistant.evals import summarize

    summary = summarize(run)
    numbers = {name: value for name, value in asdict(summary).items() if name != "errors"}
    return {
        "folder": str(run.folder) if run.folder else None,
        "header": dict(run.header),
        "questions": len(run.main),
        "probes": len(run.rows) - len(run.main),
        "interrupted": run.interrupted,
        **numbers,
        "wrong": [row.id for row in run.main if row.scores.get("correct") == 0.0],
        "errors": [{"id": row.id, "probe": row.probe, "errors": dict(row.errors)} for row in summary.errors],
    }


def emit_report(parts: Iterable[Part]) -> None:
    """Writes a report as Markdown, or drawn if a person reads it."""
    from rag_assistant.evals.markdown import markdown

    if is_terminal(sys.stdout):
        from rag_assistant.cli.terminal_reports import show_report

        show_report(parts)
    else:
        emit(markdown(parts))


def estimates_dict(estimates: Mapping[str, Any]) -> dict[str, Any]:
    """Estimates by name as plain JSON types."""
    return {name: asdict(value) for name, value in estimates.items()}
