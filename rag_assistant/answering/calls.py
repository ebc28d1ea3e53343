"""The calls that an answer waits for: a writer's or a model's pieces, and the events they turn into."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rag_assistant.drafts import Draft, Piece, Waiting
from rag_assistant.models.budget import BudgetLedger
from rag_assistant.models.caller import ModelCall
from rag_assistant.types import Event, PromptEvent, StageEvent, Usage
from rag_assistant.writers.base import Backend, Prompt

WRITING = StageEvent("writing")
Take = Callable[[Piece], Iterable[Event]]
"""Adds a piece to the answer, and gives the events to send."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a writer, a model or a check.

    Attributes:
        pieces, apieces: Make the call, without and with an event loop.
        take: Handles what arrives.
        stage: The event that says that work goes on after a pause.
        prompt: The event to send before the call.
    """

    pieces: Callable[[], Iterator[Piece]]
    apieces: Callable[[], AsyncIterator[Piece]]
    take: Take
    stage: StageEvent = WRITING
    prompt: PromptEvent | None = None

    def events(self) -> Iterator[Event]:
        """Makes the call, and yields what happens.

        Raises:
            BackendError: The call failed.
        """
        if self.prompt is not None:
            yield self.prompt
        for piece in self.pieces():
            yield from self._events_for(piece)

    async def aevents(self) -> AsyncGenerator[Event]:
        """The same without blocking the event loop; closing it ends the request under way."""
        if self.prompt is not None:
            yield self.prompt
        async with _closed(self.apieces()) as pieces:
            async for piece in pieces:
                # A sentence is judged before it is sent, which takes long enough to hold up other work.
                events = self._events_for(piece)
                for event in await asyncio.to_thread(list, events) if isinstance(piece, Draft) else events:
                    yield event

    def _events_for(self, piece: Piece) -> Iterable[Event]:
        if isinstance(piece, Waiting):
            return (StageEvent("waiting", piece.why) if piece.why else self.stage,)
        return self.take(piece)


Steps = Generator[Event | Call, None, None]
"""Events, and calls to be made in between; a failed call's ``BackendError`` is thrown in where it was yielded."""


def of_model(call: ModelCall, take: Take, stage: StageEvent = WRITING) -> Call:
    """A model's call."""
    model, prompt = call.caller.model, call.prompt
    sent = PromptEvent(model.name, model.model, prompt.info, prompt.system, prompt.user)
    return Call(call.pieces, call.apieces, take, stage, sent)


def of_writer(writer: Backend, prompt: Prompt, ledger: BudgetLedger, take: Take) -> Call:
    """A call to a writer for a whole answer; the usage that it reports is charged to the ledger."""

    def taken(piece: Piece) -> Iterable[Event]:
        return take(ledger.after(piece) if isinstance(piece, Usage) else piece)

    return Call(lambda: writer.stream(prompt), lambda: writer.astream(prompt), taken)


@asynccontextmanager
async def _closed(pieces: AsyncIterator[Piece]) -> AsyncIterator[AsyncIterator[Piece]]:
    """Ends a generator, and its request with it, as soon as nobody reads from it."""
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
