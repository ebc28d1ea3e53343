"""Answers on their way, for ``for`` and for ``async for``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing

from rag_assistant.types import Answer, Event, FinalEvent, TextEvent


class AnswerStream:
    """An answer on its way: iterate it for pieces of text, or :meth:`events` for everything that happens.

    One pass only; ``answer`` is there once it is over.
    """

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._answer: Answer | None = None

    def events(self) -> Iterator[Event]:
        """Stages, hits, text, and the final event last."""
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
        """The finished answer; reads the rest of the stream first."""
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
        """Stages, hits, text, and the final event last."""
        try:
            async for event in self._events:
                if isinstance(event, FinalEvent):
                    self._answer = event.answer
                yield event
        finally:
            if isinstance(self._events, AsyncGenerator):
                await self._events.aclose()  # now: an abandoned generator is closed only when the loop gets to it

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
