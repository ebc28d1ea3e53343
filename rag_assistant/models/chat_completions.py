"""Models behind OpenAI's Chat Completions API. Subclasses say how their clients are made.

The SDK sends the request; the reply is read here, since the SDK drops a whole answer at the first malformed event.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from rag_assistant.models.base import Delta, Options, Request
from rag_assistant.models.chat_errors import error_by_words, not_a_stream, not_json, out_of_time, typed_errors
from rag_assistant.models.events import (
    MOST_BYTES,
    EventReader,
    failure_in,
    finish_of,
    message_in,
    text_of,
    thought_of,
    usage_of,
)

if TYPE_CHECKING:
    import httpx
    import openai
    from pydantic import SecretStr

    from rag_assistant.models.responses import ResponseEvents

_LENGTHS = ("max_tokens", "max_completion_tokens")
_LEFT_OUT = {
    "stream_options": re.compile(r"\bstream_options\b"),
    **{name: re.compile(rf"\b{name}\b") for name in (*_LENGTHS, "temperature")},
    "system": re.compile(r"\bsystem\b.*\brole|\brole.*\bsystem\b", re.DOTALL),
    "stream": re.compile(r"\bstream(?:ing)?\b"),
}
"""Parameters that a request can do without if the server refuses them, and how refusals name them."""
_UNWANTED = (400, 405, 406, 415, 422, 501)


_FETCH_SECONDS = 5.0
"""At most, and no more than a quarter of the answer's own timeout: this is not what the user waits for."""


class ChatCompletions(ABC):
    """A chat model; a client is made for each call."""

    name: str

    key_variable = "RAG_API_KEY"
    length_parameter = "max_tokens"
    _key: SecretStr | None = None
    _without: frozenset[str] = frozenset()

    def __init__(self, model: str, server: str, options: Options) -> None:
        self.model = model
        self.server = server
        self.options = options

    def context_window(self) -> int | None:
        """How many tokens the model takes, if its server says so."""
        return None

    @abstractmethod
    def client(self) -> openai.OpenAI:
        """A client for one call, which tries once."""

    @abstractmethod
    def async_client(self) -> openai.AsyncOpenAI:
        """The same, for async."""

    def endpoint(self, client: Any) -> Any:
        """The part of a client that makes the call."""
        return client.chat.completions

    def deltas(self, request: Request) -> Iterator[Delta]:
        """One call, repeated without the parameters that the server refuses."""
        import httpx
        import openai

        with self.failures(), self.client() as client:
            while True:
                sent = self.parameters(request)
                try:
                    stream = self.endpoint(client).create(**sent)
                    break
                except openai.APIStatusError as error:
                    if not self._does_without(error, request, sent):
                        raise
            with stream:
                incoming, cut = _Incoming(self), None
                try:
                    for data in stream.response.iter_bytes():
                        yield from incoming.add(data)
                        if incoming.over:
                            return
                except httpx.RequestError as error:
                    cut = error
                yield from incoming.rest(cut)

    async def adeltas(self, request: Request) -> AsyncIterator[Delta]:
        """The same, without blocking."""
        import httpx
        import openai

        with self.failures():
            async with self.async_client() as client:
                while True:
                    sent = self.parameters(request)
                    try:
                        stream = await self.endpoint(client).create(**sent)
                        break
                    except openai.APIStatusError as error:
                        if not self._does_without(error, request, sent):
                            raise
                async with stream:
                    incoming, cut = _Incoming(self), None
                    try:
                        async for data in stream.response.aiter_bytes():
                            for delta in incoming.add(data):
                                yield delta
                            if incoming.over:
                                return
                    except httpx.RequestError as error:
                        cut = error
                    for delta in incoming.rest(cut):
                        yield delta

    def fetch(self, address: str) -> object:
        """The JSON at an address of the server, within a few seconds. The model isn't called.

        Raises:
            BackendError: The server isn't there, refuses the key, or has no JSON at this address.
        """
        import httpx

        with self.failures(), self.client() as client:
            quick = client.with_options(timeout=min(_FETCH_SECONDS, self.options.timeout / 4))
            reply = quick.get(address, cast_to=httpx.Response)
            try:
                found: object = reply.json()
            except (ValueError, RecursionError) as error:
                raise not_json(self.server) from error
            return found

    def parameters(self, request: Request) -> dict[str, Any]:
        """What is sent, without what the server has refused."""
        messages = request.messages
        if "system" in self._without:
            messages = [{"role": "user", "content": f"{request.system}\n\n{request.user}"}]
        parameters: dict[str, Any] = {"model": self.model, "messages": messages, "stream": True}
        if "stream" in self._without:
            parameters["extra_body"] = {"stream": False}  # the SDK still sees a stream
        elif "stream_options" not in self._without:
            parameters["stream_options"] = {"include_usage": True}
        for length in (self.length_parameter, *_LENGTHS):
            if length not in self._without:
                parameters[length] = request.max_tokens
                break
        return parameters | self.temperature()

    def temperature(self) -> dict[str, float]:
        """The temperature, if one is sent. One that the user chose is sent even if the server refuses it, so that the
        user learns of the refusal."""
        chosen = self.options.temperature
        return {} if chosen is None or (chosen == 0 and "temperature" in self._without) else {"temperature": chosen}

    def replies(self) -> ChatEvents | ResponseEvents:
        """The reader of one reply's events."""
        return ChatEvents()

    def timeout(self) -> httpx.Timeout:
        """How long a client waits. It is given to the SDK itself, which ignores a timeout of its HTTP client that
        equals httpx's default."""
        import httpx

        return httpx.Timeout(self.options.timeout, connect=min(10.0, self.options.timeout))

    def failures(self) -> AbstractContextManager[None]:
        """Turns a call's errors into this package's."""
        return typed_errors(self.server, self.model, self.key_variable, self.key)

    @property
    def key(self) -> str:
        """The key; empty if there is none."""
        return "" if self._key is None else self._key.get_secret_value()

    def _does_without(self, error: openai.APIStatusError, request: Request, sent: dict[str, Any]) -> bool:
        """Whether the request can do without what the server refused, which later requests then leave out too."""
        words = f"{message_in(error.response.text)} {error.param or ''}".lower()
        if error_by_words(words, self.server) is None:
            # llama.cpp sends 500 if a template raises; from others it may be a passing fault.
            names = _LEFT_OUT if error.status_code in _UNWANTED else ("system",) if error.status_code == 500 else ()
            for name in names:
                if _LEFT_OUT[name].search(words):
                    before, self._without = self._without, self._without | {name}
                    if self.parameters(request) != sent:
                        return True
                    self._without = before  # named for another reason, e.g. as what to send instead
        return False


class ChatEvents:
    """Turns the events of a reply into deltas."""

    def __init__(self) -> None:
        self._streams = False

    def delta(self, event: dict[str, Any]) -> Delta:
        """The delta in an event.

        Raises:
            Failed: The event says that the answer failed.
        """
        if failure := failure_in(event):
            raise failure
        usage = usage_of(event.get("usage"))
        choices = event.get("choices")
        choice = next(
            (one for one in (choices if isinstance(choices, list) else [choices]) if isinstance(one, dict)), {}
        )
        if choice.get("error") and (failure := failure_in(choice)):
            raise failure
        content = choice.get("delta")
        if content is None and not self._streams:  # a whole reply; after a stream it only repeats it
            content = choice.get("message") or choice.get("text")
        text = text_of(content)
        self._streams = self._streams or bool(text and choice.get("delta"))
        inner = content.get("content") if isinstance(content, dict) else None
        parts = (content, *(inner if isinstance(inner, list) else ()))
        refusal = "".join(text_of(part.get("refusal")) for part in parts if isinstance(part, dict))
        return Delta(text, finish_of(choice.get("finish_reason")), usage, thought_of(content), refusal)


class _Incoming:
    """A reply being received: bytes in, deltas out.

    Attributes:
        over: Whether the server said that this was all.
    """

    def __init__(self, backend: ChatCompletions) -> None:
        self._server = backend.server
        self._patience = backend.options.timeout
        self._reader = backend.replies()
        self._events = EventReader()
        self._heard = time.monotonic()
        self._read = self._begun = self._finished = self._counted = False
        self.over = False

    def add(self, data: bytes) -> Iterator[Delta]:
        """Adds the next bytes.

        Raises:
            BackendTimeout: No words have arrived for too long, whatever else did.
            BackendProtocolError: Something in the middle can't be read.
            Failed: The server says that it failed.
        """
        heard = False
        for delta in self._deltas(self._events.add(data)):
            heard = heard or bool(delta.text or delta.thought or delta.refusal or delta.finish)
            yield delta
        if self._events.done:
            yield from self._end()
            self.over = True
        elif heard:
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > self._patience:
            raise out_of_time(self._server)
        elif self._events.held > MOST_BYTES:
            raise not_a_stream(self._server, f"more than {MOST_BYTES // 2**20} MB without an end")

    def rest(self, cut: Exception | None) -> Iterator[Delta]:
        """What is left when the connection has ended; ``cut`` is the error that ended it, if any.

        Raises:
            BackendProtocolError: No event arrived at all.
        """
        yield from self._deltas(event for event in self._events.end() if event is not None)
        whole = cut is None and not (self._events.framed or self._events.unread)  # a document, or lines of JSON
        if self._read and (self._counted or whole):  # token counts come last
            yield from self._end()
        if cut is not None:
            raise cut
        if not self._read and self._events.page:
            raise not_a_stream(self._server, "a web page")
        if not self._read and self._events.unread:
            raise not_json(self._server)

    def _end(self) -> Iterator[Delta]:
        if not self._finished:
            yield Delta(finish="stop")

    def _deltas(self, events: Iterator[dict[str, Any] | None]) -> Iterator[Delta]:
        for event in events:
            if event is not None:
                delta = self._reader.delta(event)
                self._read = True
                self._begun = self._begun or bool(delta.text)
                self._finished = self._finished or bool(delta.finish)
                self._counted = self._counted or (delta.usage is not None and not event.get("choices"))
                yield delta
            elif self._begun and not self._finished:
                raise not_json(self._server)  # after a gap the text may mean something else
