"""The assistants behind the page, which open while it loads, and a limit on how many questions run at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rag_assistant.assistant import Assistant
from rag_assistant.errors import InputError, RagError
from rag_assistant.settings import Settings

OPENING = 120.0
"""How many seconds a question waits for the index to open before it says so."""


class BusyError(RagError):
    """Too many questions are waiting."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A way of answering that visitors may choose: a backend and one of its models, by default the one in settings."""

    backend: str
    model: str | None = None

    @classmethod
    def parse(cls, text: str) -> Offer:
        """From ``NAME`` or ``NAME=MODEL``."""
        backend, _, model = text.partition("=")
        return cls(backend, model or None)

    def __str__(self) -> str:
        return f"{self.backend}={self.model}" if self.model else self.backend


class Service:
    """Assistants over one index, by the offer that they answer with.

    Each opens in the background: the first when the server is up, others when first asked for. One that couldn't be
    opened is tried again at the next question, so that a rebuilt index or a started model server is found.
    """

    def __init__(
        self, settings: Settings, *, backends: Sequence[str] = (), running: int = 4, waiting: int = 60
    ) -> None:
        self.settings = settings
        self.offers = tuple(dict.fromkeys((Offer(settings.backend), *map(Offer.parse, backends))))
        self._running, self._waiting = running, waiting
        self._in_line = 0
        self._slots: asyncio.Semaphore | None = None
        self._lock = threading.Lock()
        self._opening: dict[Offer, Future[Assistant]] = {}

    def open(self) -> None:
        """Starts to open the first assistant."""
        self._start(self.offers[0])

    def close(self) -> None:
        """Closes what is open."""
        with self._lock:
            futures, self._opening = list(self._opening.values()), {}
        for future in futures:
            if future.done() and future.exception() is None:
                future.result().close()

    def label(self, offer: Offer) -> str:
        """The name of an offer, for visitors: the backend, and its model if one is set."""
        model = offer.model or (self.settings.model if offer.backend != "extractive" else None)
        return f"{offer.backend}, {model}" if model else offer.backend

    async def assistant(self, chosen: str | None = None) -> Assistant:
        """The assistant of an offer, by default the first, once it is open.

        Raises:
            InputError: It isn't one of the offers that the server was started with.
            RagError: The assistant can't be opened, or that takes longer than two minutes.
        """
        offer = Offer.parse(chosen) if chosen else self.offers[0]
        if offer not in self.offers:
            known = ", ".join(self.label(one) for one in self.offers)
            raise InputError(f"{chosen!r} isn't offered here.", hint=f"choose one of {known}")
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._start(offer))), OPENING)
        except TimeoutError as error:
            raise BusyError(
                "The index is still being opened or rebuilt.", hint="wait a minute and ask again"
            ) from error

    def is_open(self, chosen: str | None = None) -> bool:
        """Whether an assistant can be asked without waiting for it to open."""
        future = self._opening.get(Offer.parse(chosen) if chosen else self.offers[0])
        return future is not None and future.done() and future.exception() is None

    def _start(self, offer: Offer) -> Future[Assistant]:
        with self._lock:
            known = self._opening.get(offer)
            if known is not None and not (known.done() and known.exception() is not None):
                return known
            future: Future[Assistant] = Future()
            self._opening[offer] = future
        threading.Thread(target=self._open, args=(offer, future), name=f"open {offer}", daemon=True).start()
        return future

    def _open(self, offer: Offer, future: Future[Assistant]) -> None:
        chosen = {"backend": offer.backend, "model": offer.model or self.settings.model}
        try:
            future.set_result(Assistant.open(settings=self.settings.model_copy(update=chosen)))
        except BaseException as error:  # passed on to whoever asks
            future.set_exception(error)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A place among the questions that run.

        Raises:
            BusyError: No more may run or wait.
        """
        if self._slots is None:
            self._slots = asyncio.Semaphore(self._running)
        if self._in_line >= self._running + self._waiting:
            raise BusyError(
                f"The assistant is busy: {self._in_line} questions are being answered or wait.",
                hint="try again in a minute; your question is kept",
            )
        self._in_line += 1
        try:
            async with self._slots:
                yield
        finally:
            self._in_line -= 1

    @property
    def must_wait(self) -> bool:
        """Whether a question asked now has to wait for others."""
        return self._in_line >= self._running
