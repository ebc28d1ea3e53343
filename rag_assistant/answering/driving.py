"""From one question's steps to its events: the only place where a backend is called, in two ways."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager

from rag_assistant.answering.calls import Call
from rag_assistant.answering.run import Run
from rag_assistant.drafts import Piece, Waiting
from rag_assistant.errors import BackendError
from rag_assistant.types import Event, StageEvent


def drive(run: Run) -> Iterator[Event]:
    """The events of a question that is answered."""
    stage = StageEvent("writing")
    for step in run.steps():
        if not isinstance(step, Call):
            stage = step if isinstance(step, StageEvent) else stage
            yield step
            continue
        call: Call | None = step
        while call is not None:
            yield from call.events()
            try:
                for piece in call.pieces():
                    if isinstance(piece, Waiting):
                        yield _waiting(piece, stage)
                    else:
                        yield from run.add(piece)
                call = None
            except BackendError as error:
                call = run.instead(error)


async def adrive(run: Run) -> AsyncGenerator[Event]:
    """The same, without blocking the event loop; closing it ends the request that is under way."""
    stage = StageEvent("writing")
    steps = run.steps()
    while (step := await asyncio.to_thread(next, steps, None)) is not None:
        if not isinstance(step, Call):
            stage = step if isinstance(step, StageEvent) else stage
            yield step
            continue
        call: Call | None = step
        while call is not None:
            for told in call.events():
                yield told
            try:
                async with _closed(call.apieces()) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Waiting):
                            yield _waiting(piece, stage)
                            continue
                        for event in run.add(piece):
                            yield event
                call = None
            except BackendError as error:
                call = await asyncio.to_thread(run.instead, error)


def _waiting(piece: Waiting, stage: StageEvent) -> StageEvent:
    """That a call waits, or that it is on again with what it was for."""
    return StageEvent("waiting", piece.why) if piece.why else stage


@asynccontextmanager
async def _closed(pieces: AsyncIterator[Piece]) -> AsyncIterator[AsyncIterator[Piece]]:
    """Ends a backend's generator, and with it the request, as soon as nobody reads it any more."""
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
