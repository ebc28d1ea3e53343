"""The parts of a report, and their Markdown. A terminal draws the same parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_assistant.evals.statistics import Estimate


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Strong:
    """A cell that stands out."""

    text: str


@dataclass(frozen=True, slots=True)
class Lower:
    """The name of a score that is better when it is lower."""

    name: str


Cell = str | Estimate | Strong | Lower


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values under column names."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]


Part = str | Heading | Table


def markdown(parts: Iterable[Part]) -> str:
    """The parts as Markdown, separated by empty lines."""
    return "\n\n".join(map(_written, parts)) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _written(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Table(head, rows):
            return table(head, rows)
    return part


def _cell(cell: Cell) -> str:
    match cell:
        case Estimate():
            return f"{cell} n={cell.n}"
        case Strong(text):
            return f"**{text}**"
        case Lower(name):
            return f"{name} (lower is better)"
    return cell
