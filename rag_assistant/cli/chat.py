"""``chat``: a conversation in the terminal, or one question per line on stdin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.asking import show_notices
from rag_assistant.cli.command import command
from rag_assistant.cli.session import drained, opened, watched
from rag_assistant.cli.state import State, emit, emit_json, is_terminal, say
from rag_assistant.errors import InputError, RagError
from rag_assistant.render import annotated, source_text, to_text

if TYPE_CHECKING:
    from rag_assistant.assistant import Assistant
    from rag_assistant.types import Answer, Turn

HELP = {
    "/sources": "the papers behind the last answer, with the quoted words",
    "/filter": "which papers are asked; /filter year 2020-2024 (author, venue, id) sets, /filter clear asks all",
    "/new": "start over: what was said before no longer counts",
    "/help": "this list",
    "/quit": "leave; so does Ctrl-D, or Ctrl-C twice",
}
_FIELDS = {"year": "year", "author": "author", "venue": "venue", "id": "ids"}


@command
def chat(
    state: State,
    *,
    papers: o.FilterOptions,
    flags: o.AnswerOptions,
    json: o.Json = False,
) -> None:
    """Ask one question after another; a follow-up may leave out what was said before."""
    papers.filters()  # a malformed filter is reported before anything is loaded
    with opened(state, flags.settings()) as assistant:
        conversation = Conversation(assistant, state, papers, as_json=json)
        if is_terminal(sys.stdin):
            say(f"{conversation.reach()}. Ask, or /help.")
        for line in _lines():
            if not conversation.take(line.strip()):
                break
    if conversation.failures and not is_terminal(sys.stdin):
        raise typer.Exit(1)


class Conversation:
    """The conversation so far, and what each line does to it.

    Attributes:
        failures: How many questions ended in an error.
    """

    def __init__(self, assistant: Assistant, state: State, chosen: o.FilterOptions, *, as_json: bool = False) -> None:
        self._assistant = assistant
        self._chosen = chosen
        self._state = state
        self._json = as_json
        self._person = is_terminal(sys.stdout) and not as_json
        self._history: list[Turn] = []
        self._last: Answer | None = None
        self.failures = 0

    def take(self, line: str) -> bool:
        """Does what a line asks for; false if that ends the conversation."""
        if line == "/quit":
            return False
        if line == "/new":
            self._history, self._last = [], None
            say("A new conversation.")
        elif line == "/help":
            for command, meaning in HELP.items():
                say(f"{command}: {meaning}")
        elif line == "/sources":
            self._sources()
        elif line.split(" ")[0] == "/filter":
            try:
                self._filter(line.removeprefix("/filter").strip())
            except RagError as error:
                self._state.error(error)
        elif line.startswith("/") and " " not in line:
            close = get_close_matches(line, HELP, n=1)
            say(f"There is no command {line}" + (f"; did you mean {close[0]}?" if close else "; /help lists them."))
        elif line:
            self._answer(line)
        return True

    def reach(self) -> str:
        """How many papers the filters let through, of how many."""
        filters, every = self._chosen.filters(), len(self._assistant.papers())
        asked = "" if filters is None else f"{len(self._assistant.papers(filters=filters)):,} of "
        return f"{asked}{every:,} {'paper' if every == 1 else 'papers'}"

    def _filter(self, asked: str) -> None:
        """Sets a filter, or clears one or all, and shows those in force."""
        name, _, value = asked.partition(" ")
        if name == "clear":
            self._chosen = o.FilterOptions()
        elif name in _FIELDS:
            self._chosen = _with(self._chosen, name, value.strip())
        elif name:
            close = get_close_matches(name, [*_FIELDS, "clear"], n=1)
            near = f"did you mean {close[0]}? " if close else ""
            raise InputError(f"There is no filter {name}.", hint=f"{near}/filter year, author, venue, id or clear")
        held = [(name, getattr(self._chosen, field)) for name, field in _FIELDS.items()]
        shown = "; ".join(
            f"{name} {value if isinstance(value, str) else ', '.join(value)}" for name, value in held if value
        )
        say(f"{shown or 'no filter'}: {self.reach()}")

    def _answer(self, question: str) -> None:
        history, filters = tuple(self._history), self._chosen.filters()
        try:
            if self._person:
                answer = watched(self._assistant, question, history=history, filters=filters)
            else:
                answer = drained(self._state, self._assistant, question, history=history, filters=filters)
        except RagError as error:
            self.failures += 1
            self._state.error(error)
            return
        except KeyboardInterrupt:
            if not is_terminal(sys.stdin):
                raise
            say("stopped")
            return
        self._history.append((question, answer.text))
        self._last = answer
        show_notices(self._state, answer)
        self._show(answer)

    def _show(self, answer: Answer) -> None:
        if self._json:
            emit_json(answer.to_dict(), indent=None)
        elif self._person:
            from rag_assistant.cli.terminal import show_in_short

            show_in_short(answer)
        elif answer.nearest:
            emit(to_text(answer), end="\n")
        else:
            emit(annotated(answer), end="\n\n")

    def _sources(self) -> None:
        if self._last is None or not self._last.citations:
            say("There is no answer with sources yet." if self._last is None else "The last answer cites no paper.")
        elif self._person:
            from rag_assistant.cli.terminal import show_sources

            show_sources(self._last)
        else:
            emit("\n".join(source_text(citation) for citation in self._last.citations), end="\n\n")


def _with(chosen: o.FilterOptions, name: str, value: str) -> o.FilterOptions:
    """The filters with one set, or without it if there is no value; commas separate alternatives.

    Raises:
        InputError: The years aren't a range.
    """
    several = [part for part in map(str.strip, value.split(",")) if part]
    given: dict[str, Any] = {_FIELDS[name]: (value if name == "year" else several) or None}
    made = replace(chosen, **given)
    try:
        made.filters()
    except InputError as error:
        raise InputError(error.message, hint=error.hint.replace("--year", "/filter year")) from error
    return made


def _lines() -> Iterator[str]:
    """The lines of stdin. At a prompt Ctrl-C clears the line; pressed twice in a row, it ends the input."""
    pressed = False
    while True:
        try:
            line = _next_line()
        except KeyboardInterrupt:
            if not _prompts():
                raise
            emit("\n")
            if pressed:
                say("Left by Ctrl-C.")
                return
            pressed = True
            say("Ctrl-C once more leaves.")
            continue
        if line is None:
            return
        pressed = False
        yield line


def _prompts() -> bool:
    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


def _next_line() -> str | None:
    """The next line of stdin, or ``None`` at its end."""
    if sys.stdin is None:
        return None
    if _prompts():
        import contextlib

        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  # gives input() its line editing and history

        try:
            return input("> ")
        except EOFError:
            emit("\n")
            return None
    line = sys.stdin.buffer.readline()
    return line.decode("utf-8", "replace") if line else None
