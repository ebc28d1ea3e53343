"""What holds for a whole run of the command, and how it writes."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from typing import Any

from rag_assistant.errors import RagError
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
        if isinstance(error, RagError):
            message, hint = error.message, error.hint
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
    """One line on stderr."""
    print(one_line(line), file=sys.stderr, flush=True)  # noqa: T201


def emit(text: str, *, end: str = "") -> None:
    """Writes to stdout at once, cleaned of what a terminal acts on.

    Raises:
        typer.Exit: The reader has gone, as with ``| head``: the command ends without a word.
    """
    try:
        print(clean(text), end=end, flush=True)  # noqa: T201
    except BrokenPipeError as error:
        import typer

        # What is still buffered would fail again when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from error


def emit_json(value: Any, *, indent: int | None = 2) -> None:
    """One JSON document, in UTF-8. What a terminal would act on is written as an escape, so that nothing is lost."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    for character in set(text) - {"\n"}:
        if clean(character) != character:
            text = text.replace(character, json.dumps(character)[1:-1])
    emit(text, end="\n")
