"""One question being answered: the text so far, and the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rag_assistant.errors import InputError, RagError
from rag_assistant.types import (
    Answer,
    Citation,
    Event,
    Filters,
    FinalEvent,
    Length,
    StageEvent,
    Statement,
    TextEvent,
    Turn,
)
from rag_assistant.ui.chat_history import Exchange
from rag_assistant.ui.service import Service

_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices in the settings drawer."""

    backend: str | None
    k: int | None
    length: Length | None
    first_year: int | None
    last_year: int | None
    venues: tuple[str, ...]
    authors: tuple[str, ...]

    @classmethod
    def sent(
        cls,
        backend: str | None,
        k: float | None,
        length: Length | None,
        first_year: str | float | None,
        last_year: str | float | None,
        venues: list[str] | None,
        authors: list[str] | None,
    ) -> Choices:
        """The choices that the page's controls sent.

        Raises:
            InputError: A year isn't a year.
        """
        return cls(
            backend,
            int(k) if k is not None else None,
            length or None,
            _year(first_year),
            _year(last_year),
            _named(venues),
            _named(authors),
        )

    def filters(self, about: str = "") -> Filters | None:
        """The filters that are set; ``about`` is the id of one paper."""
        years = (self.first_year, self.last_year) if self.first_year or self.last_year else None
        return Filters(years, self.venues, self.authors, (about,) if about else ()) or None


@dataclass(slots=True)
class Asking:
    """A question being answered.

    Attributes:
        stage, detail: What is being done.
    """

    question: str
    stage: str = "searching"
    detail: str = ""
    _text: str = ""
    _statements: list[Statement] = field(default_factory=list)
    _citations: dict[int, Citation] = field(default_factory=dict)
    _answer: Answer | None = None

    async def run(
        self, service: Service, choices: Choices, history: Sequence[Turn], about: str
    ) -> AsyncIterator[tuple[Answer | None, bool]]:
        """The text so far, and whether new sources came with it; at most twenty times a second."""
        async with service.turn():
            if not service.is_open(choices.backend):
                self.stage = "opening"
                yield None, False
            assistant = await service.assistant(choices.backend)
            stream = assistant.astream(
                self.question, history=history, k=choices.k, filters=choices.filters(about), length=choices.length
            )
            cited = 0
            async with _paced(stream.events()) as batches:
                async for batch in batches:
                    for event in batch:
                        self._take(event)
                    if self._answer is not None:
                        return
                    yield self.draft, len(self._statements) > cited
                    cited = len(self._statements)

    def _take(self, event: Event) -> None:
        if isinstance(event, FinalEvent):
            self._answer = event.answer
        elif isinstance(event, StageEvent):
            self.stage, self.detail = event.stage, event.detail
        elif isinstance(event, TextEvent):
            self._add(event)

    def _add(self, event: TextEvent) -> None:
        self._text += event.text
        if event.statement is not None:
            self._statements.append(event.statement)
        self._citations |= {citation.number: citation for citation in event.citations}

    @property
    def draft(self) -> Answer | None:
        """The text so far, with its sources."""
        if not self._text:
            return None
        citations = tuple(self._citations[number] for number in sorted(self._citations))
        return Answer(self.question, "", "answered", self._text, tuple(self._statements), citations)

    def finished(self) -> Exchange:
        """The exchange with its answer."""
        if self._answer is None:
            raise RagError("The answer broke off.", hint="ask again")
        return Exchange(self.question, self._answer, self._answer.to_dict())

    def failed(self, message: str, hint: str) -> Exchange:
        """The exchange with what went wrong, and the text written before that."""
        return Exchange(self.question, draft=self.draft, error=message, hint=hint)


@asynccontextmanager
async def _paced(events: AsyncIterator[Event]) -> AsyncIterator[AsyncIterator[list[Event]]]:
    """The events in batches: those within a twentieth of a second come together, and none waits for longer.

    A separate task reads them; it ends with the context, and so does the request behind it.
    """
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def read() -> None:
        try:
            async for event in events:
                queue.put_nowait(event)
        finally:
            queue.put_nowait(None)

    async def batches() -> AsyncIterator[list[Event]]:
        event = await queue.get()
        while event is not None:
            batch = [event]
            while not queue.empty() and (event := queue.get_nowait()) is not None:
                batch.append(event)
            yield batch
            if event is not None:
                await asyncio.sleep(_PAUSE)
                event = await queue.get()
        await reading  # raises the error that ended it, if any

    reading = asyncio.create_task(read())
    try:
        yield batches()
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def _named(values: list[str] | None) -> tuple[str, ...]:
    """Without the empty text that a drop-down adds when it loses focus."""
    return tuple(value for value in values or () if value.strip())


def _year(value: str | float | None) -> int | None:
    text = str(value or "").strip()
    if not text:
        return None
    if not text.isdecimal():
        raise InputError(f"{text!r} is not a year.", hint="choose one in the settings, or clear the filters")
    return int(text)
