"""What a step of an answer waits for: the pieces of a writer or a model, and what becomes of them."""

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
"""Takes a piece in and tells what there is to tell of it."""


@dataclass(frozen=True, slots=True)
class Call:
    """Something to be asked.

    Attributes:
        pieces, apieces: Ask it, without and with an event loop.
        take: Takes in what comes.
        stage: What is told to go on once a pause is over.
        prompt: What is told before it is asked.
    """

    pieces: Callable[[], Iterator[Piece]]
    apieces: Callable[[], AsyncIterator[Piece]]
    take: Take
    stage: StageEvent = WRITING
    prompt: PromptEvent | None = None

    def events(self) -> Iterator[Event]:
        """Asks, and tells what happens.

        Raises:
            BackendError: It failed.
        """
        if self.prompt is not None:
            yield self.prompt
        for piece in self.pieces():
            yield from self._told(piece)

    async def aevents(self) -> AsyncGenerator[Event]:
        """The same, without blocking the event loop; closing it ends the request that is under way."""
        if self.prompt is not None:
            yield self.prompt
        async with _closed(self.apieces()) as pieces:
            async for piece in pieces:
                # A sentence is read before it is told, which takes long enough to hold up other work.
                told = self._told(piece)
                for event in await asyncio.to_thread(list, told) if isinstance(piece, Draft) else told:
                    yield event

    def _told(self, piece: Piece) -> Iterable[Event]:
        if isinstance(piece, Waiting):
            return (StageEvent("waiting", piece.why) if piece.why else self.stage,)
        return self.take(piece)


Steps = Generator[Event | Call, None, None]
"""What happens, and calls to be made in between; the ``BackendError`` of one that fails is thrown in at its place."""


def of_model(call: ModelCall, take: Take, stage: StageEvent = WRITING) -> Call:
    """A model's call."""
    model, prompt = call.caller.model, call.prompt
    told = PromptEvent(model.name, model.model, prompt.info, prompt.system, prompt.user)
    return Call(call.pieces, call.apieces, take, stage, told)


def of_writer(writer: Backend, prompt: Prompt, ledger: BudgetLedger, take: Take) -> Call:
    """A writer that is asked for an answer as a whole; what it says it took is paid from the ledger."""

    def taken(piece: Piece) -> Iterable[Event]:
        return take(ledger.after(piece) if isinstance(piece, Usage) else piece)

    return Call(lambda: writer.stream(prompt), lambda: writer.astream(prompt), taken)


@asynccontextmanager
async def _closed(pieces: AsyncIterator[Piece]) -> AsyncIterator[AsyncIterator[Piece]]:
    """Ends a generator, and with it the request, as soon as nobody reads it any more."""
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
