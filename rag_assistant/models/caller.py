"""The one place where models are called, for whatever purpose: retries, pauses, budgets, and the context size."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass

from rag_assistant.drafts import Piece, Waiting
from rag_assistant.errors import BackendContextTooLong, BackendError
from rag_assistant.models.base import ChatModel, Request
from rag_assistant.models.budget import BudgetLedger
from rag_assistant.models.replies import ModelReply
from rag_assistant.prompts import Rendered
from rag_assistant.types import Usage

LONGEST_WAIT = 60.0
"""The longest pause, in seconds, that a server is granted."""
_FIRST_PAUSE = 0.5
_ANSWER_SHARE = 4
"""The answer gets at most this part of a context: a quarter."""


class Caller:
    """Calls one model; may be used from several threads at once. A call refused for now holds back all others."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self._pause = Pause()
        self._learned: int | None = None

    def context(self) -> int | None:
        """How many tokens prompt and answer may have together: the setting, else what the server says; never more than
        its refusals have shown. ``None`` if nothing is known."""
        known = self.model.options.context_tokens or self.model.context_window()
        return min((limit for limit in (known, self._learned) if limit is not None), default=None)

    def answer_tokens(self, limit: int | None) -> int:
        """How many tokens may be written if prompt and answer have ``limit`` together."""
        most = self.model.options.max_tokens
        return most if limit is None else min(most, limit // _ANSWER_SHARE)

    def prepared(
        self, prompt: Rendered, reply: ModelReply, ledger: BudgetLedger | None = None, *, max_tokens: int | None = None
    ) -> ModelCall:
        """A call ready to be made, with what it may cost reserved.

        Args:
            prompt: What is sent.
            reply: Reads what arrives.
            ledger: Pays for the call.
            max_tokens: How many tokens may be written; by default as many as an answer may have.

        Raises:
            BudgetExceeded: The call may cost more than is left.
        """
        written = self.answer_tokens(self.context()) if max_tokens is None else max_tokens
        if ledger is not None:
            ledger.before(prompt.tokens, written)
        return ModelCall(self, prompt, reply, ledger, max_tokens)

    def request(self, call: ModelCall) -> Request:
        """What is sent; the server may be asked for its context first."""
        most = self.answer_tokens(self.context()) if call.max_tokens is None else call.max_tokens
        return Request(call.prompt.system, call.prompt.user, most)

    def again(self, error: BackendError, call: ModelCall, attempt: int) -> bool:
        """Whether a call is to be repeated, once the pause is over."""
        if isinstance(error, BackendContextTooLong):
            # Whatever limit the server names, this was too much: tokens are only estimated here.
            below = int((0.8 if error.limit else 0.6) * (call.prompt.tokens + self.answer_tokens(self.context())))
            self._learned = min(error.limit or below, below)
            return False
        wait = error.retry_after
        if call.reply.begun or wait is None or attempt > self.model.options.retries or wait > LONGEST_WAIT:
            return False
        if wait:
            self._pause.hold(wait, "the server asks for")
        else:
            self._pause.hold(_FIRST_PAUSE * 2 ** (attempt - 1), f"{error.message.rstrip('.')}; trying again in")
        return True

    def waits(self) -> Iterator[tuple[float, Waiting]]:
        """Pauses to be made before a call, each with a piece that says why."""
        while left := self._pause.left():  # another call may have made it longer
            yield left, Waiting(self._pause.reason(left))


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model; :meth:`pieces` makes it.

    Attributes:
        caller: Calls the model.
        prompt: What is sent.
        reply: Reads what arrives, and keeps the result.
        ledger: Pays for the call.
        max_tokens: How many tokens may be written; ``None`` leaves that to the caller.
    """

    caller: Caller
    prompt: Rendered
    reply: ModelReply
    ledger: BudgetLedger | None
    max_tokens: int | None = None

    def pieces(self) -> Iterator[Piece]:
        """Makes the call, repeats it if it is refused for now, and yields the pieces of the reply and its usage.

        Raises:
            BackendError: The model failed, perhaps after complete pieces.
        """
        attempt, reply = 0, self.reply
        while True:
            for left, waiting in self.caller.waits():
                yield waiting
                time.sleep(left)
                yield Waiting()
            request = self.caller.request(self)
            reply.characters = 0
            try:
                with closing(self.caller.model.deltas(request)) as deltas:  # type: ignore[type-var]
                    for delta in deltas:
                        kept = request.within(delta, reply.characters)
                        yield from self._accounted(reply.add(kept))
                        if kept is not delta:
                            reply.cut()
                            break
                break
            except BackendError as error:
                attempt += 1
                if reply.ended:  # what is missing is no part of the answer
                    break
                if not self.caller.again(error, self, attempt):
                    yield from self._failed(error)
        yield from self._finished()

    async def apieces(self) -> AsyncGenerator[Piece]:
        """The same without blocking the event loop; closing it ends the request."""
        attempt, reply = 0, self.reply
        while True:
            for left, waiting in self.caller.waits():
                yield waiting
                await asyncio.sleep(left)
                yield Waiting()
            request = await asyncio.to_thread(self.caller.request, self)
            reply.characters = 0
            try:
                async with aclosing(self.caller.model.adeltas(request)) as deltas:  # type: ignore[type-var]
                    async for delta in deltas:
                        kept = request.within(delta, reply.characters)
                        for piece in self._accounted(reply.add(kept)):
                            yield piece
                        if kept is not delta:
                            reply.cut()
                            break
                break
            except BackendError as error:
                attempt += 1
                if reply.ended:
                    break
                if not self.caller.again(error, self, attempt):
                    for piece in self._failed(error):
                        yield piece
        for piece in self._finished():
            yield piece

    def _finished(self) -> Iterator[Piece]:
        try:
            yield from self._accounted(self.reply.finish())
        except BackendError:
            self._give_back()
            raise

    def _failed(self, error: BackendError) -> Iterator[Piece]:
        """The complete pieces, then the error."""
        try:
            yield from self._accounted(self.reply.broken(error))
        except BackendError:
            self._give_back()
            raise

    def _give_back(self) -> None:
        """A request that was refused costs nothing."""
        if self.ledger is not None and not self.reply.begun:
            self.ledger.after(Usage(0, 0))

    def _accounted(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            yield self.ledger.after(piece) if isinstance(piece, Usage) and self.ledger is not None else piece


class Pause:
    """A time in which no call is made: a server that had one call too many is left alone by all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0
        self._why = ""

    def hold(self, seconds: float, why: str) -> None:
        """Lets nobody call before these seconds are over; :meth:`reason` puts ``why`` before their number."""
        until = time.monotonic() + seconds
        with self._lock:
            if until > self._until:
                self._until, self._why = until, why

    def reason(self, left: float) -> str:
        """Why nobody calls, and how many seconds are left."""
        return f"{self._why} {math.ceil(left) if left > 0.95 else f'{left:.1f}'} s"

    def left(self) -> float:
        """How many seconds are left of it; 0 when calls may be made."""
        with self._lock:
            return max(0.0, self._until - time.monotonic())
