"""How a model is called, whatever for: options, retries, pauses, and what its refusals teach about its context."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from pathlib import Path

from rag_assistant.backends.base import Prompt
from rag_assistant.backends.replies import Delta, ModelReply
from rag_assistant.drafts import Piece, Waiting
from rag_assistant.errors import BackendContextTooLong, BackendError
from rag_assistant.settings import Settings

RETRIES = 2
LONGEST_WAIT = 60.0
"""A server that asks for a longer pause than this is not waited for."""
CHARACTERS_A_TOKEN = 8
"""More than any text has on average: tokens are the server's unit and can't be counted here."""
_FIRST_PAUSE = 0.5
_ANSWER_SHARE = 4
"""The answer gets at most this part of a context: a quarter."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is called.

    Attributes:
        max_tokens: At most this many are written, reasoning included.
        temperature: ``None`` leaves it to the server.
        timeout: Seconds to wait for the next piece.
        retries: How often a call that was refused for now is repeated, after the time in ``Retry-After`` or a growing
            pause.
        context_tokens: How many tokens prompt and answer may have together; ``None`` asks the server.
        prompts: Folder of own prompts.
    """

    max_tokens: int = 1024
    temperature: float | None = 0.0
    timeout: float = 120.0
    retries: int = RETRIES
    context_tokens: int | None = None
    prompts: Path | None = None

    @classmethod
    def of(cls, settings: Settings, *, temperature: float | None = 0.0) -> Options:
        """As the settings say; ``temperature`` where they say nothing."""
        return cls(
            max_tokens=settings.max_tokens,
            temperature=temperature if settings.temperature is None else settings.temperature,
            timeout=settings.timeout,
            context_tokens=settings.context_tokens,
            prompts=settings.prompts,
        )


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is sent."""

    system: str
    user: str
    max_tokens: int

    def within(self, delta: Delta, characters: int) -> Delta:
        """The delta after so many characters: itself, or a copy cut to the length that a reply of ``max_tokens`` can
        have, as a server may not keep to it."""
        left = CHARACTERS_A_TOKEN * self.max_tokens - characters - len(delta.thought)
        return delta if len(delta.text) <= left else replace(delta, text=delta.text[: max(0, left)])


class CallingBackend(ABC):
    """Calls a model. Subclasses make :class:`Delta` of a :class:`Request`, in two ways.

    Attributes:
        name: What a user calls the backend.
        model: What a user calls the model.
        options: How it is called.
    """

    name: str

    def __init__(self, model: str, server: str, options: Options) -> None:
        self.model = model
        self.options = options
        self.server = server
        self._pause = Pause()
        self._learned: int | None = None

    @abstractmethod
    def deltas(self, request: Request) -> Iterator[Delta]:
        """The reply as it comes; closing the generator ends the request.

        Raises:
            BackendError: The model failed.
        """

    @abstractmethod
    def adeltas(self, request: Request) -> AsyncIterator[Delta]:
        """The same, without blocking the event loop; an async generator."""

    def told_context(self) -> int | None:
        """How many tokens the model takes, prompt and answer together, where its server tells."""
        return None

    def context(self) -> int | None:
        """How many tokens prompt and answer may have together: the setting, else what the server tells; in any case
        no more than its refusals taught. ``None`` where nothing is known."""
        known = self.options.context_tokens or self.told_context()
        return min((limit for limit in (known, self._learned) if limit is not None), default=None)

    def answer_tokens(self, limit: int | None) -> int:
        """How many tokens may be written where prompt and answer have ``limit`` together."""
        return self.options.max_tokens if limit is None else min(self.options.max_tokens, limit // _ANSWER_SHARE)

    def read(self, prompt: Prompt, reading: ModelReply) -> Iterator[Piece]:
        """Sends a rendered prompt, again where that is refused for now, and yields what the reply is read as.

        Raises:
            BackendError: The model failed, maybe after pieces that are whole.
        """
        attempt = 0
        while True:
            while left := self._pause.left():  # another call may have made it longer
                yield Waiting(self._pause.told(left))
                time.sleep(left)
                yield Waiting()
            request = self._request(prompt)
            reading.characters = 0
            try:
                with closing(self.deltas(request)) as deltas:  # type: ignore[type-var]
                    for delta in deltas:
                        kept = request.within(delta, reading.characters)
                        yield from reading.add(kept)
                        if kept is not delta:
                            reading.cut()
                            break
                break
            except BackendError as error:
                attempt += 1
                if reading.ended:  # what is missing is no part of the answer
                    break
                if not self._again(error, prompt, attempt, begun=reading.begun):
                    yield from reading.broken(error)
        yield from reading.finish()

    async def aread(self, prompt: Prompt, reading: ModelReply) -> AsyncGenerator[Piece]:
        """The same, without blocking the event loop."""
        attempt = 0
        while True:
            while left := self._pause.left():
                yield Waiting(self._pause.told(left))
                await asyncio.sleep(left)
                yield Waiting()
            request = await asyncio.to_thread(self._request, prompt)  # it may ask the server for its context
            reading.characters = 0
            try:
                async with aclosing(self.adeltas(request)) as deltas:  # type: ignore[type-var]
                    async for delta in deltas:
                        kept = request.within(delta, reading.characters)
                        for piece in reading.add(kept):
                            yield piece
                        if kept is not delta:
                            reading.cut()
                            break
                break
            except BackendError as error:
                attempt += 1
                if reading.ended:
                    break
                if not self._again(error, prompt, attempt, begun=reading.begun):
                    for piece in reading.broken(error):
                        yield piece
        for piece in reading.finish():
            yield piece

    def _request(self, prompt: Prompt) -> Request:
        return Request(prompt.system, prompt.user, self.answer_tokens(self.context()))

    def _again(self, error: BackendError, prompt: Prompt, attempt: int, *, begun: bool) -> bool:
        """Whether the call is to be repeated, after what is left of the pause."""
        if isinstance(error, BackendContextTooLong):
            # The limit is below what was sent, whatever the server calls it: tokens are an estimate here.
            below = int((0.8 if error.limit else 0.6) * sum(prompt.tokens))
            self._learned = min(error.limit or below, below)
            return False
        if begun or error.retry_after is None or attempt > self.options.retries or error.retry_after > LONGEST_WAIT:
            return False
        if error.retry_after:
            self._pause.hold(error.retry_after, "the server asks for")
        else:
            self._pause.hold(_FIRST_PAUSE * 2 ** (attempt - 1), f"{error.message.rstrip('.')}; trying again in")
        return True


class Pause:
    """A time in which no call is made: what a server asks for after one call too many holds back all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0
        self._why = ""

    def hold(self, seconds: float, why: str) -> None:
        """Lets nobody call before these seconds are over; ``why`` is said before their number."""
        until = time.monotonic() + seconds
        with self._lock:
            if until > self._until:
                self._until, self._why = until, why

    def told(self, left: float) -> str:
        """Why there are so many seconds left of it."""
        return f"{self._why} {math.ceil(left) if left > 0.95 else f'{left:.1f}'} s"

    def left(self) -> float:
        """How many seconds are left of it; 0 when calls may be made."""
        with self._lock:
            return max(0.0, self._until - time.monotonic())
