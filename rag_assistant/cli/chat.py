"""``chat``: a conversation in the terminal, or one question a line on stdin."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.asking import tell
from rag_assistant.cli.command import command
from rag_assistant.cli.session import drained, opened, watched
from rag_assistant.cli.state import State, emit, emit_json, is_terminal, say
from rag_assistant.errors import RagError
from rag_assistant.render import annotated, source_text, to_text

if TYPE_CHECKING:
    from rag_assistant.assistant import Assistant
    from rag_assistant.types import Answer, Turn

HELP = {
    "/sources": "the papers behind the last answer, with the quoted words",
    "/new": "start over: what was said before no longer counts",
    "/help": "this list",
    "/quit": "leave; so does Ctrl-D",
}


@command
def chat(
    state: State,
    *,
    flags: o.AnswerOptions,
    json: o.Json = False,
) -> None:
    """Ask one question after another; a follow-up may leave out what was said before."""
    with opened(state, flags.settings()) as assistant:
        conversation = Conversation(assistant, state, as_json=json)
        if is_terminal(sys.stdin):
            say(f"{len(assistant.papers()):,} papers. Ask, or /help.")
        while (line := _next_line()) is not None and conversation.take(line.strip()):
            pass
    if conversation.failures and not is_terminal(sys.stdin):
        raise typer.Exit(1)


class Conversation:
    """What was said so far, and what a line does to it.

    Attributes:
        failures: How many questions ended in an error.
    """

    def __init__(self, assistant: Assistant, state: State, *, as_json: bool = False) -> None:
        self._assistant = assistant
        self._state = state
        self._json = as_json
        self._person = is_terminal(sys.stdout) and not as_json
        self._history: list[Turn] = []
        self._last: Answer | None = None
        self.failures = 0

    def take(self, line: str) -> bool:
        """Does what a line asks for; false when the conversation is over."""
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
        elif line.startswith("/") and " " not in line:
            close = get_close_matches(line, HELP, n=1)
            say(f"There is no command {line}" + (f"; did you mean {close[0]}?" if close else "; /help lists them."))
        elif line:
            self._answer(line)
        return True

    def _answer(self, question: str) -> None:
        history = tuple(self._history)
        try:
            if self._person:
                answer = watched(self._assistant, question, history=history)
            else:
                answer = drained(self._state, self._assistant, question, history=history)
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
        tell(self._state, answer)
        self._show(answer)

    def _show(self, answer: Answer) -> None:
        if self._json:
            emit_json(answer.to_dict(), indent=None)
        elif self._person:
            from rag_assistant.cli.terminal import show_text

            show_text(answer)
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


def _next_line() -> str | None:
    """The next line of stdin, or ``None`` at its end."""
    if sys.stdin is None:
        return None
    if is_terminal(sys.stdin) and is_terminal(sys.stdout):
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
