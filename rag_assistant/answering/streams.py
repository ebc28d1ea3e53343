"""Answers on their way, for ``for`` and for ``async for``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing

from rag_assistant.types import Answer, Event, FinalEvent, TextEvent


class AnswerStream:
    """An answer on its way: iterate it for pieces of text, or :meth:`events` for everything that happens.

    One pass only. ``answer`` is there when the pass is over.
    """

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._answer: Answer | None = None

    def events(self) -> Iterator[Event]:
        """Stage, hits, text and at last the final event."""
        for event in self._events:
            if isinstance(event, FinalEvent):
                self._answer = event.answer
            yield event

    def __iter__(self) -> Iterator[str]:
        for event in self.events():
            if isinstance(event, TextEvent):
                yield event.text

    @property
    def answer(self) -> Answer:
        """The finished answer; what has not been read of the stream yet is read first."""
        if self._answer is None:
            for _ in self.events():
                pass
        if self._answer is None:
            raise RuntimeError("The stream was closed before its end, so there is no answer.")
        return self._answer


class AsyncAnswerStream:
    """As :class:`AnswerStream`, for ``async for``."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self._events = events
        self._answer: Answer | None = None

    async def events(self) -> AsyncGenerator[Event]:
        """Stage, hits, text and at last the final event."""
        try:
            async for event in self._events:
                if isinstance(event, FinalEvent):
                    self._answer = event.answer
                yield event
        finally:
            if isinstance(self._events, AsyncGenerator):
                await self._events.aclose()  # at once: a generator that is left ends when the loop finds the time

    async def __aiter__(self) -> AsyncGenerator[str]:
        async with aclosing(self.events()) as events:
            async for event in events:
                if isinstance(event, TextEvent):
                    yield event.text

    @property
    def answer(self) -> Answer:
        """The finished answer, once the stream has been read to its end."""
        if self._answer is None:
            raise RuntimeError("Read the stream to its end first.")
        return self._answer
