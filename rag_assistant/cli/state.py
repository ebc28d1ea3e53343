"""What holds for a whole run of the command, and how it writes."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from typing import Any

from rag_assistant.errors import RagError, refusal_of
from rag_assistant.render import clean, one_line

PIPE_CLOSED = 141


@dataclass(slots=True)
class State:
    """One run: its switches and the notices already shown."""

    debug: bool = False
    verbose: bool = False
    noted: set[str] = field(default_factory=set)

    def note(self, text: str) -> None:
        """Tells the user something on stderr, once."""
        if text not in self.noted:
            self.noted.add(text)
            say(f"note: {text}")

    def error(self, error: Exception) -> None:
        """Tells what went wrong and what mends it."""
        told = refusal_of(error)
        if told is not None:
            message, hint = told.message, told.hint
        else:
            again = "" if self.debug else "run it again with --debug to see where, and "
            message = f"Unexpected {type(error).__name__}: {error}"
            hint = f"{again}report this; rag-assistant doctor may tell more"
        say(f"error: {message}")
        if hint:
            say(f"hint: {hint}")

    def detail(self, text: str) -> None:
        """Tells it with ``-v`` only."""
        if self.verbose:
            say(text)


def is_terminal(stream: Any) -> bool:
    """Whether a person reads the stream as it is written."""
    return stream is not None and not stream.closed and stream.isatty()


def say(line: str) -> None:
    """One line on stderr; where that is closed or full there is nobody to tell, and no reason to stop."""
    try:
        print(one_line(line), file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        _drop(sys.stderr)


def emit(text: str, *, end: str = "") -> None:
    """Writes to stdout at once, cleaned of what a terminal acts on.

    Raises:
        typer.Exit: The reader has gone, as with ``| head``: the command ends without a word.
        RagError: stdout is closed, or can't take it.
    """
    if sys.stdout is None:
        raise RagError("There is no stdout to write to: it is closed.", hint="send it to a file or a terminal")
    shown = clean(text) + end
    try:
        print(shown, end="", flush=True)  # noqa: T201
    except OSError as error:
        _drop(sys.stdout)
        if isinstance(error, BrokenPipeError):
            import typer

            raise typer.Exit(PIPE_CLOSED) from error
        raise RagError(
            f"stdout can't take {len(shown.encode(errors='replace')):,} bytes: {error.strerror}.",
            hint="free some space there, or send it elsewhere",
        ) from error


def _drop(stream: Any) -> None:
    """Loses what a stream still holds, which would fail again when Python closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def emit_json(value: Any, *, indent: int | None = 2) -> None:
    """One JSON document, in UTF-8. What a terminal would act on is written as an escape, so that nothing is lost."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    for character in set(text) - {"\n"}:
        if clean(character) != character:
            text = text.replace(character, json.dumps(character)[1:-1])
    emit(text, end="\n")
