"""Opens an assistant the way the flags say, with its progress and its notices on stderr."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from rag_assistant.cli.state import State, is_terminal

if TYPE_CHECKING:
    from rag_assistant.assistant import Assistant
    from rag_assistant.settings import Settings
    from rag_assistant.types import Answer, Filters, Turn


class ProgressDisplay(Protocol):
    """Shows the progress of work; closing it takes a bar off the screen."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Shows that ``done`` of ``total`` are done in this stage."""

    def close(self) -> None:
        """Ends the display."""


class PlainProgress:
    """For stderr in a file or a pipe: one line per stage with ``-v``, and always one while another process is waited
    for."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Names a stage when it begins."""
        del done
        if stage != self._stage:
            self._stage = stage
            if stage.startswith("waiting"):
                self._state.note(stage)
                return
            self._state.detail(f"{stage} ({total})" if total > 0 else stage)

    def close(self) -> None:
        """Does nothing: lines stay."""


@contextmanager
def reporting(state: State) -> Iterator[ProgressDisplay]:
    """Progress as a bar on a terminal, else as lines with ``-v``."""
    progress: ProgressDisplay = PlainProgress(state)
    if is_terminal(sys.stderr):
        from rag_assistant.cli.terminal import BarProgress

        progress = BarProgress()
    try:
        yield progress
    finally:
        progress.close()


@contextmanager
def opened(state: State, settings: Settings, *, searches: bool = True, **options: Any) -> Iterator[Assistant]:
    """An assistant, with its notices shown; it is closed at the end.

    Args:
        state: The run.
        settings: From the flags.
        searches: Whether it is going to be asked something: then the imports of a search are made at once.
        **options: Passed on to ``Assistant.open``.
    """
    with reporting(state) as progress, ExitStack() as stack:
        gc.disable()  # imports make many objects and no garbage: this saves a tenth of the time
        try:
            from rag_assistant.assistant import Assistant

            assistant = stack.enter_context(Assistant.open(settings=settings, progress=progress, **options))
            if searches:
                with suppress(ImportError):  # the search itself says what is wrong
                    import_module("chromadb")  # while the model is still being loaded by another thread
        finally:
            gc.enable()
        progress.close()
        for notice in assistant.notices:
            state.note(notice)
        yield assistant


def watched(
    assistant: Assistant, question: str, *, history: Sequence[Turn] = (), filters: Filters | None = None
) -> Answer:
    """An answer whose text is shown on the terminal while it is written, and removed when it is done."""
    from rag_assistant.cli.terminal import LiveText
    from rag_assistant.types import StageEvent, TextEvent

    stream = assistant.stream(question, history=history, filters=filters)
    with LiveText() as draft:
        for event in stream.events():
            if isinstance(event, StageEvent):
                waits = event.stage == "waiting"
                draft.stage(f"{event.stage}{':' if waits else ''} {event.detail}".rstrip(), also=waits)
            elif isinstance(event, TextEvent):
                draft.add(event.text)
    return stream.answer


def drained(
    state: State, assistant: Assistant, question: str, *, history: Sequence[Turn] = (), filters: Filters | None = None
) -> Answer:
    """An answer that nobody watches; only what it waits for is shown."""
    from rag_assistant.types import StageEvent

    stream = assistant.stream(question, history=history, filters=filters)
    for event in stream.events():
        if isinstance(event, StageEvent) and event.stage == "waiting":
            state.note(f"waiting: {event.detail}")
    return stream.answer
