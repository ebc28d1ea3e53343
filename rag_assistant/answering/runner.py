"""Turns a question's steps into its events, sync and async; nowhere else are calls made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from rag_assistant.answering.calls import Call, Steps
from rag_assistant.errors import BackendError
from rag_assistant.types import Event


def events_of(steps: Steps) -> Iterator[Event]:
    """Makes the calls among the steps, and yields all events."""
    step = next(steps, None)
    while step is not None:
        failure: BackendError | None = None
        if isinstance(step, Call):
            try:
                yield from step.events()
            except BackendError as error:
                failure = error
        else:
            yield step
        step = _after(steps, failure)


async def aevents_of(steps: Steps) -> AsyncGenerator[Event]:
    """The same without blocking the event loop; closing it ends the request under way."""
    step = await asyncio.to_thread(next, steps, None)
    while step is not None:
        failure: BackendError | None = None
        if isinstance(step, Call):
            try:
                async with aclosing(step.aevents()) as events:
                    async for event in events:
                        yield event
            except BackendError as error:
                failure = error
        else:
            yield step
        step = await asyncio.to_thread(_after, steps, failure)


def _after(steps: Steps, failure: BackendError | None) -> Event | Call | None:
    """The next step, once a failed call's error has been thrown in; ``None`` at the end."""
    if failure is None:
        return next(steps, None)
    try:
        return steps.throw(failure)
    except StopIteration:
        return None
