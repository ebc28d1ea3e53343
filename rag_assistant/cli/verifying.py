"""``verify``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.session import opened
from rag_assistant.cli.state import State, emit, emit_json, is_terminal
from rag_assistant.errors import InputError
from rag_assistant.render import one_line, verification_text


@dataclass(frozen=True, slots=True)
class VerifyOptions(o.IndexOptions):
    """An index, and the reader that judges claims."""

    reader: Annotated[
        str | None,
        typer.Option("--reader", metavar="NAME", help="What judges the claim.", show_default="trained"),
    ] = None


@command
def verify(
    state: State,
    claim: Annotated[
        list[str] | None,
        typer.Argument(metavar="CLAIM", help="The claim; - or nothing reads one a line from stdin."),
    ] = None,
    paper: Annotated[
        str | None, typer.Option("--paper", metavar="ID", help="The one paper to read it against.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", metavar="N", help="How many papers to read it against.", show_default="5")
    ] = None,
    *,
    papers: o.FilterOptions,
    flags: VerifyOptions,
    json: o.Json = False,
) -> None:
    """Say whether the abstracts support a claim, contradict it or don't say, with the words that decide."""
    filters = papers.filters()
    piped = not claim or claim == ["-"]
    if piped and (sys.stdin is None or (not claim and is_terminal(sys.stdin))):
        raise InputError("There is no claim.", hint='rag-assistant verify "CTMA is robust.", or give claims on stdin')
    with opened(state, flags.settings(k=k)) as assistant:
        number = 0
        for number, one in enumerate(_lines() if piped else [" ".join(claim or ())], start=1):
            found = assistant.verify(one, paper=paper, filters=filters)
            if json:
                emit_json(found.to_dict(), indent=None if piped else 2)
                continue
            if number > 1:
                emit("", end="\n")
            if piped:
                emit(f"> {one_line(one)}", end="\n")
            if is_terminal(sys.stdout):
                from rag_assistant.cli.terminal import show_verification

                show_verification(found)
            else:
                emit(verification_text(found))
        if not number:
            raise InputError("There is no claim on stdin.", hint="give one a line")


def _lines() -> Iterator[str]:
    """The lines of stdin that aren't blank, as they arrive."""
    for line in sys.stdin.buffer:
        text = line.decode("utf-8", "replace").strip()
        if text:
            yield text
