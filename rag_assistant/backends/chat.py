"""What all backends share that speak OpenAI's Chat Completions: prompt, call, stream and errors.

What needs no model (the bibliography's facts, lists over all papers) is answered as by the extractive backend, from the
records: a model could only get it wrong.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rag_assistant.backends.base import Prompt
from rag_assistant.backends.chat_errors import empty, filtered, interrupted, not_a_stream, typed_errors
from rag_assistant.backends.extractive import ExtractiveBackend
from rag_assistant.drafts import Piece
from rag_assistant.grounding.reply import Reply
from rag_assistant.prompts import render_answer
from rag_assistant.types import Usage

if TYPE_CHECKING:
    import openai

MAX_TOKENS = 1024
TIMEOUT = 120.0
RETRIES = 2
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
    """

    max_tokens: int = MAX_TOKENS
    temperature: float | None = 0.0
    timeout: float = TIMEOUT
    retries: int = RETRIES


class ChatBackend:
    """Writes with a chat model. Subclasses say how its clients are made; one is made for each answer."""

    name = "chat"
    key_variable = "RAG_API_KEY"
    length_parameter = "max_tokens"

    def __init__(self, model: str, server: str, options: Options) -> None:
        self.model = model
        self._server = server
        self._options = options

    def client(self) -> openai.OpenAI:
        """A client for one call."""
        raise NotImplementedError

    def async_client(self) -> openai.AsyncOpenAI:
        """The same, for async."""
        raise NotImplementedError

    def prepare(self, prompt: Prompt) -> Prompt:
        """Renders the prompt, unless no model is needed."""
        if prompt.form.kind in _WITHOUT_MODEL:
            return prompt
        rendered = render_answer(prompt.form.text, prompt.evidence)
        return replace(prompt, system=rendered.system, user=rendered.user, info=rendered.info)

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """Sentence by sentence, with usage at the end; closing it ends the request."""
        prompt = prompt if prompt.user else self.prepare(prompt)
        if not prompt.user:
            yield from ExtractiveBackend().stream(prompt)
            return
        reading = _Reading(prompt, self._server)
        with (
            typed_errors(self._server, self.model, self.key_variable),
            self.client() as client,
            client.chat.completions.create(**self._request(prompt)) as chunks,
        ):
            reading.check_kind(chunks.response.headers.get("content-type", ""))
            for chunk in chunks:
                yield from reading.add(chunk)
        yield from reading.finish()

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same, without blocking."""
        prompt = prompt if prompt.user else self.prepare(prompt)
        if not prompt.user:
            for piece in ExtractiveBackend().stream(prompt):
                yield piece
            return
        reading = _Reading(prompt, self._server)
        with typed_errors(self._server, self.model, self.key_variable):
            async with (
                self.async_client() as client,
                await client.chat.completions.create(**self._request(prompt)) as chunks,
            ):
                reading.check_kind(chunks.response.headers.get("content-type", ""))
                async for chunk in chunks:
                    for piece in reading.add(chunk):
                        yield piece
        for piece in reading.finish():
            yield piece

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "stream": True,
            "stream_options": {"include_usage": True},
            self.length_parameter: self._options.max_tokens,
        }
        if self._options.temperature is not None:
            request["temperature"] = self._options.temperature
        return request


class _Reading:
    """One reply: its chunks become pieces, and its end is looked at."""

    def __init__(self, prompt: Prompt, server: str) -> None:
        self._reply = Reply(prompt.evidence, prompt.form.text)
        self._server = server
        self._usage = Usage(calls=1)
        self._finish = ""

    def check_kind(self, content_type: str) -> None:
        kind = content_type.partition(";")[0].strip().lower()
        if kind in ("text/html", "application/json"):
            raise not_a_stream(self._server, "a web page" if kind == "text/html" else "a JSON document")

    def add(self, chunk: Any) -> Iterator[Piece]:
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self._usage = Usage(usage.prompt_tokens, usage.completion_tokens, calls=1)
        for choice in (getattr(chunk, "choices", None) or ())[:1]:
            self._finish = choice.finish_reason or self._finish
            content = getattr(choice.delta, "content", None)
            if getattr(choice.delta, "refusal", None) or self._finish == "content_filter":
                raise filtered(self._server)
            if content:
                yield from self._reply.add(str(content))

    def finish(self) -> Iterator[Piece]:
        pieces = list(self._reply.finish(truncated=self._finish == "length"))
        if self._reply.empty:
            raise empty(self._server)
        if not self._finish:
            raise interrupted(self._server)
        yield from pieces
        yield self._usage
