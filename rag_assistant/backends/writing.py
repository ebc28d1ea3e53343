"""What all backends share that call a model: prompt, packing, retries, and reading the reply. Each says how to call.

What needs no model (the bibliography's facts, lists over all papers) is answered as by the extractive backend, from the
records: a model could only get it wrong.
"""

from __future__ import annotations

import asyncio
import re
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rag_assistant.backends.base import Prompt
from rag_assistant.backends.chat_errors import no_room
from rag_assistant.backends.extractive import ExtractiveBackend
from rag_assistant.backends.packing import count_tokens, fitting
from rag_assistant.backends.replies import AnswerReply, Delta, ModelReply, QuestionReply
from rag_assistant.drafts import Piece
from rag_assistant.errors import BackendContextTooLong, BackendError
from rag_assistant.evidence import Evidence
from rag_assistant.prompts import Rendered, render_answer, render_rewrite
from rag_assistant.questions.form import analyse
from rag_assistant.settings import Settings
from rag_assistant.types import Turn

RETRIES = 2
LONGEST_WAIT = 60.0
"""A server that asks for a longer pause than this is not waited for."""
COMPACT_UP_TO = 4096
"""A model that takes no more tokens than this gets the compact prompt."""
SMALL_MODEL = 4.0
"""So does one whose name tells that it has no more than so many billion parameters."""
SMALL_PROMPT = 1100
"""Tokens of a prompt for such a model: the more sentences it is given, the more often it picks one that doesn't
answer."""
_SIZE = re.compile(r"(?<![^\W_])(?<!\.)(?P<number>\d{1,3}(?:\.\d+)?)(?P<unit>[bm])(?![^\W_])", re.IGNORECASE)
_FIRST_PAUSE = 0.5
_ANSWER_SHARE = 4
"""The answer gets at most this part of a context: a quarter."""
_WITHOUT_MODEL = ("bibliography", "list")


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


class WritingBackend(ABC):
    """Writes with a model. Subclasses make :class:`Delta` of a :class:`Request`, in two ways.

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

    def prepare(self, prompt: Prompt) -> Prompt:
        """Renders the prompt, with as much of the evidence as fits; as it is where no model is needed.

        Raises:
            BackendContextTooLong: Not even one sentence fits.
        """
        if prompt.form.kind in _WITHOUT_MODEL:
            return prompt
        limit = self.context()
        render = partial(self._render, prompt, compact=self._compact(limit))
        found = fitting(prompt.form, prompt.evidence, self._room(limit), render)
        if found is None:
            raise no_room(self.server, limit or 0)
        evidence, rendered = found
        sent, all_of_them = (sum(len(paper.sentences) for paper in e.papers) for e in (evidence, prompt.evidence))
        why = "so small a model reads more of them badly"
        if limit is not None and self._room(limit) < SMALL_PROMPT:
            why = f"its context of {limit:,} tokens holds no more"
        notice = f"The model read {sent} of {all_of_them} sentences found, the most useful ones: {why}."
        return replace(
            prompt,
            evidence=evidence,
            system=rendered.system,
            user=rendered.user,
            info=rendered.info,
            tokens=(count_tokens(rendered.system) + count_tokens(rendered.user), self._answer_tokens(limit)),
            notice=notice if sent < all_of_them else "",
        )

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """Sentence by sentence, with usage at the end; closing it ends the request."""
        prompt = prompt if prompt.user else self.prepare(prompt)
        if not prompt.user:
            yield from ExtractiveBackend().stream(prompt)
            return
        yield from self.read(prompt, AnswerReply(prompt, self.server))

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same, without blocking."""
        prompt = prompt if prompt.user else await asyncio.to_thread(self.prepare, prompt)
        if not prompt.user:
            for piece in ExtractiveBackend().stream(prompt):
                yield piece
            return
        async with aclosing(self.aread(prompt, AnswerReply(prompt, self.server))) as pieces:
            async for piece in pieces:
                yield piece

    def prepare_rewrite(self, question: str, turns: Sequence[Turn]) -> Prompt:
        """The prompt that asks for a follow-up as a question that stands alone."""
        return self.prompt_of(render_rewrite(question, turns, folder=self.options.prompts), question)

    def prompt_of(self, rendered: Rendered, about: str) -> Prompt:
        """A rendered prompt that asks for no answer, as one that can be sent; ``about`` is the text it is about."""
        tokens = count_tokens(rendered.system) + count_tokens(rendered.user)
        return Prompt(
            analyse(about),
            Evidence((), (), 0),
            system=rendered.system,
            user=rendered.user,
            info=rendered.info,
            tokens=(tokens, self._answer_tokens(self.context())),
        )

    def rewrite(self, prompt: Prompt) -> Iterator[Piece]:
        """The question, and what it took."""
        yield from self.read(prompt, QuestionReply(self.server))

    async def arewrite(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same, without blocking."""
        async with aclosing(self.aread(prompt, QuestionReply(self.server))) as pieces:
            async for piece in pieces:
                yield piece

    def read(self, prompt: Prompt, reading: ModelReply) -> Iterator[Piece]:
        """Sends a rendered prompt, again where that is refused for now, and yields what the reply is read as.

        Raises:
            BackendError: The model failed.
        """
        attempt = 0
        while True:
            while left := self._pause.left():  # another call may have made it longer
                time.sleep(left)
            try:
                with closing(self.deltas(self._request(prompt))) as deltas:  # type: ignore[type-var]
                    for delta in deltas:
                        yield from reading.add(delta)
                break
            except BackendError as error:
                attempt += 1
                self._failed(error, prompt, attempt, begun=reading.begun)
        yield from reading.finish()

    async def aread(self, prompt: Prompt, reading: ModelReply) -> AsyncGenerator[Piece]:
        """The same, without blocking the event loop."""
        attempt = 0
        while True:
            while left := self._pause.left():
                await asyncio.sleep(left)
            try:
                async with aclosing(self.adeltas(self._request(prompt))) as deltas:  # type: ignore[type-var]
                    async for delta in deltas:
                        for piece in reading.add(delta):
                            yield piece
                break
            except BackendError as error:
                attempt += 1
                self._failed(error, prompt, attempt, begun=reading.begun)
        for piece in reading.finish():
            yield piece

    def _render(self, prompt: Prompt, evidence: Evidence, *, compact: bool) -> Rendered:
        folder = self.options.prompts
        return render_answer(prompt.form.text, evidence, length=prompt.length, compact=compact, folder=folder)

    def _room(self, limit: int | None) -> int:
        """How many tokens a prompt may have."""
        room = sys.maxsize if limit is None else limit - self._answer_tokens(limit)
        return min(room, SMALL_PROMPT) if is_small(self.model) else room

    def _compact(self, limit: int | None) -> bool:
        return (limit is not None and limit <= COMPACT_UP_TO) or is_small(self.model)

    def _request(self, prompt: Prompt) -> Request:
        return Request(prompt.system, prompt.user, self._answer_tokens(self.context()))

    def _answer_tokens(self, limit: int | None) -> int:
        return self.options.max_tokens if limit is None else min(self.options.max_tokens, limit // _ANSWER_SHARE)

    def _failed(self, error: BackendError, prompt: Prompt, attempt: int, *, begun: bool) -> None:
        """Returns if the call is to be repeated, after what is left of the pause; raises the error otherwise."""
        if isinstance(error, BackendContextTooLong):
            # The limit is below what was sent, whatever the server calls it: tokens are an estimate here.
            below = int((0.8 if error.limit else 0.6) * sum(prompt.tokens))
            self._learned = min(error.limit or below, below)
            raise error
        if begun or error.retry_after is None or attempt > self.options.retries or error.retry_after > LONGEST_WAIT:
            raise error
        self._pause.hold(error.retry_after or _FIRST_PAUSE * 2 ** (attempt - 1))


def is_small(model: str) -> bool:
    """Whether a model's name tells that it is a small one: ``qwen2.5-1.5b-instruct``, ``llama3.2:3b``; the first size
    counts."""
    size = _SIZE.search(model)
    return size is not None and (size["unit"] in "mM" or float(size["number"]) <= SMALL_MODEL)


class Pause:
    """A time in which no call is made: what a server asks for after one call too many holds back all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0

    def hold(self, seconds: float) -> None:
        """Lets nobody call before these seconds are over."""
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    def left(self) -> float:
        """How many seconds are left of it; 0 when calls may be made."""
        with self._lock:
            return max(0.0, self._until - time.monotonic())
