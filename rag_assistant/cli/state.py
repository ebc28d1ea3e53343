"""The state of one run of the command, and its output."""

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
        """Writes a note on stderr, once."""
        if text not in self.noted:
            self.noted.add(text)
            say(f"note: {text}")

    def error(self, error: Exception) -> None:
        """Writes what went wrong and what mends it."""
        known = refusal_of(error)
        if known is not None:
            message, hint = known.message, known.hint
        else:
            again = "" if self.debug else "run it again with --debug to see where, and "
            message = f"Unexpected {type(error).__name__}: {error}"
            hint = f"{again}report this; rag-assistant doctor may tell more"
        say(f"error: {message}")
        if hint:
            say(f"hint: {hint}")

    def detail(self, text: str) -> None:
        """Writes a line with ``-v`` only."""
        if self.verbose:
            say(text)


def is_terminal(stream: Any) -> bool:
    """Whether the stream is a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def say(line: str) -> None:
    """Writes one line on stderr; if that is closed or full, nobody can read it, which is no reason to stop."""
    try:
        print(one_line(line), file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        _drop(sys.stderr)


def emit(text: str, *, end: str = "") -> None:
    """Writes to stdout at once, without anything that a terminal would act on.

    Raises:
        typer.Exit: The reader has gone, as with ``| head``: the command ends silently.
        RagError: stdout is closed, or can't take the text.
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
    """Discards what a stream still buffers, which would fail again when Python closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def emit_json(value: Any, *, indent: int | None = 2) -> None:
    """Writes one JSON document, in UTF-8. What a terminal would act on is escaped, so that nothing is lost."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    for character in set(text) - {"\n"}:
        if clean(character) != character:
            text = text.replace(character, json.dumps(character)[1:-1])
    emit(text, end="\n")
