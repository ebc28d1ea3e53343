"""Options that several commands share, and what they mean."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from rag_assistant.cli.state import is_terminal
from rag_assistant.errors import InputError
from rag_assistant.types import Filters

_MOST_CHARACTERS = 1_000_000


def _debug(context: typer.Context, value: bool) -> None:
    if value:
        context.obj.debug = True


def _verbose(context: typer.Context, value: bool) -> None:
    if value:
        context.obj.verbose = True


Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error.", callback=_debug, expose_value=False)
]
Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="Tell on stderr what is done.", callback=_verbose, expose_value=False),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file.", show_default="./rag.toml")
]
Index = Annotated[
    Path | None,
    typer.Option("--index", metavar="DIR", help="Folder of the index.", show_default="your data folder"),
]
Backend = Annotated[
    str | None,
    typer.Option("--backend", metavar="NAME", help="What writes the answer.", show_default="extractive"),
]
Embedder = Annotated[
    str | None, typer.Option("--embedder", metavar="NAME", help="What makes vectors.", show_default="minilm")
]
LockTimeout = Annotated[
    float | None,
    typer.Option(
        "--lock-timeout", metavar="SECONDS", help="How long to wait for another writer.", show_default="no limit"
    ),
]
Year = Annotated[
    str | None,
    typer.Option("--year", metavar="YEARS", help="Only papers of 2024, 2020-2024, 2020- or -2024."),
]
Author = Annotated[
    list[str] | None, typer.Option("--author", metavar="NAME", help="Only papers by an author; repeatable.")
]
Venue = Annotated[list[str] | None, typer.Option("--venue", metavar="NAME", help="Only papers of a venue; repeatable.")]
Id = Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="Only this paper; repeatable.")]
Question = Annotated[
    list[str] | None, typer.Argument(metavar="QUESTION", help="The question; - or nothing reads it from stdin.")
]


def parse_years(text: str) -> tuple[int | None, int | None]:
    """An inclusive range from ``2024``, ``2020-2024``, ``2020-`` or ``-2024``.

    Raises:
        InputError: It is none of these, or it ends before it starts.
    """
    match = re.fullmatch(r"\s*(\d{4})?\s*([-–])?\s*(\d{4})?\s*", text)
    if match is None or (match[1] is None and match[3] is None) or (match[1] and match[3] and not match[2]):
        raise InputError(f"{text!r} is not a range of years.", hint="--year 2024, 2020-2024, 2020- or -2024")
    first, last = (int(year) if year else None for year in (match[1], match[3]))
    if match[2] is None:
        return first, first
    if first is not None and last is not None and last < first:
        raise InputError(f"The years {text!r} end before they start.", hint=f"--year {last}-{first}")
    return first, last


def filters_of(
    year: str | None, author: list[str] | None, venue: list[str] | None, ids: list[str] | None
) -> Filters | None:
    """The filters that the flags name; ``None`` where none is given."""
    filters = Filters(
        years=parse_years(year) if year is not None else None,
        venues=tuple(venue or ()),
        authors=tuple(author or ()),
        ids=tuple(ids or ()),
    )
    return filters or None


def read_question(words: list[str] | None) -> str:
    """The question from the command line, or from stdin when that is ``-`` or nothing and stdin is no terminal.

    Raises:
        InputError: There is none, or it is over a million characters long.
    """
    if words and words != ["-"]:
        return " ".join(words)
    if sys.stdin is None or (not words and is_terminal(sys.stdin)):
        raise InputError("There is no question.", hint='rag-assistant ask "What is CTMA?", or give it on stdin')
    text = sys.stdin.buffer.read(_MOST_CHARACTERS + 1).decode("utf-8", "replace")
    if len(text) > _MOST_CHARACTERS:
        raise InputError("The question is over a million characters long.", hint="ask something shorter")
    return text.strip()
