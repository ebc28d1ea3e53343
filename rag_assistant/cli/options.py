"""Groups of options that several commands share, and what they mean."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_assistant.cli.state import is_terminal, say
from rag_assistant.errors import InputError
from rag_assistant.types import Filters, Length

if TYPE_CHECKING:
    from rag_assistant.settings import Settings

_MOST_CHARACTERS = 1_000_000


Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Question = Annotated[
    list[str] | None, typer.Argument(metavar="QUESTION", help="The question; - or nothing reads it from stdin.")
]


ModelName = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model, as the backend names it.", show_default="its own"),
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="Address of an OpenAI-compatible server.", show_default="none"),
]


@dataclass(frozen=True, slots=True)
class SettingsOptions:
    """Flags that override settings of the same names."""

    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Settings file.", show_default="./rag.toml")
    ] = None

    def given(self) -> dict[str, Any]:
        """The flags that were given, by name."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}

    def settings(self, **others: Any) -> Settings:
        """The settings, overridden by the given flags, and these by ``others``; shows the settings' notices."""
        from rag_assistant.settings import Settings

        made = Settings.load(**{**self.given(), **others})
        for notice in made.notices:
            say(f"note: {notice}")
        return made


@dataclass(frozen=True, slots=True)
class EmbedderOptions(SettingsOptions):
    """The embedder, for an index that is named in another way."""

    embedder: Annotated[
        str | None, typer.Option("--embedder", metavar="NAME", help="What makes vectors.", show_default="minilm")
    ] = None
    embedder_model: Annotated[
        str | None,
        typer.Option("--embedder-model", metavar="NAME", help="Its model, as it names it.", show_default="its own"),
    ] = None
    lock_timeout: Annotated[
        float | None,
        typer.Option(
            "--lock-timeout", metavar="SECONDS", help="How long to wait for another writer.", show_default="no limit"
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class IndexOptions(EmbedderOptions):
    """An index, and how to open it."""

    index: Annotated[
        Path | None,
        typer.Option("--index", metavar="DIR", help="Folder of the index.", show_default="your data folder"),
    ] = None
    collection: Annotated[
        str | None,
        typer.Option("--collection", metavar="NAME", help="A collection of papers, instead.", show_default="none"),
    ] = None
    chroma_url: Annotated[
        str | None,
        typer.Option("--chroma-url", metavar="URL", help="A Chroma server, instead.", show_default="none"),
    ] = None
    chroma_tenant: Annotated[
        str | None,
        typer.Option("--chroma-tenant", metavar="NAME", help="Its tenant.", show_default="default_tenant"),
    ] = None
    chroma_database: Annotated[
        str | None,
        typer.Option("--chroma-database", metavar="NAME", help="Its database.", show_default="default_database"),
    ] = None


@dataclass(frozen=True, slots=True)
class AnswerOptions(IndexOptions):
    """An index, and what writes answers from it."""

    backend: Annotated[
        str | None,
        typer.Option("--backend", metavar="NAME", help="What writes the answer.", show_default="extractive"),
    ] = None
    model: ModelName = None
    base_url: BaseUrl = None
    length: Annotated[
        Length | None, typer.Option("--length", help="How long answers should be.", show_default="normal")
    ] = None

    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", help="Tokens an answer may have.", show_default="1024")
    ] = None
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="T", help="How freely to write, 0 to 2.", show_default="0")
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", help="How long to wait for the model.", show_default="120"),
    ] = None
    context_tokens: Annotated[
        int | None,
        typer.Option(
            "--context-tokens", metavar="N", help="Tokens the model takes and writes.", show_default="as it says"
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", metavar="DOLLARS", help="What an answer may cost.", show_default="no limit"),
    ] = None
    fallback: Annotated[
        bool | None,
        typer.Option("--fallback/--no-fallback", help="Whether the abstracts answer if the model fails."),
    ] = None
    reader: Annotated[
        str | None,
        typer.Option(
            "--reader",
            metavar="NAME",
            help="What judges whether an abstract answers; none judges nothing.",
            show_default="trained",
        ),
    ] = None
    check: Annotated[
        str | None,
        typer.Option(
            "--check", metavar="NAME", help="A further check of each statement, e.g. model.", show_default="none"
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """Which papers to use."""

    year: Annotated[
        str | None, typer.Option("--year", metavar="YEARS", help="Only papers of 2024, 2020-2024, 2020- or -2024.")
    ] = None
    author: Annotated[
        list[str] | None, typer.Option("--author", metavar="NAME", help="Only papers by an author; repeatable.")
    ] = None
    venue: Annotated[
        list[str] | None, typer.Option("--venue", metavar="NAME", help="Only papers of a venue; repeatable.")
    ] = None
    ids: Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="Only this paper; repeatable.")] = None

    def filters(self) -> Filters | None:
        """The filters that the flags name; ``None`` if none is given.

        Raises:
            InputError: The years aren't a range.
        """
        filters = Filters(
            years=parse_years(self.year) if self.year is not None else None,
            venues=tuple(self.venue or ()),
            authors=tuple(self.author or ()),
            ids=tuple(self.ids or ()),
        )
        return filters or None


def parse_years(text: str) -> tuple[int | None, int | None]:
    """An inclusive range from ``2024``, ``2020-2024``, ``2020-`` or ``-2024``.

    Raises:
        InputError: The text is none of these, or the range ends before it starts.
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


def read_question(words: list[str] | None) -> str:
    """The question on the command line; from stdin if that is ``-``, or if it is empty and stdin isn't a terminal.

    Raises:
        InputError: There is no question, or it is over a million characters long.
    """
    if words and words != ["-"]:
        return " ".join(words)
    if sys.stdin is None or (not words and is_terminal(sys.stdin)):
        raise InputError("There is no question.", hint='rag-assistant ask "What is CTMA?", or give it on stdin')
    text = sys.stdin.buffer.read(_MOST_CHARACTERS + 1).decode("utf-8", "replace")
    if len(text) > _MOST_CHARACTERS:
        raise InputError("The question is over a million characters long.", hint="ask something shorter")
    return text.strip()
