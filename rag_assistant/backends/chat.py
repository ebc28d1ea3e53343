"""Backends that speak OpenAI's Chat Completions. Subclasses say how their clients are made."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from rag_assistant.backends.calling import Request
from rag_assistant.backends.chat_errors import not_a_stream, typed_errors
from rag_assistant.backends.replies import Delta
from rag_assistant.backends.writing import WritingBackend
from rag_assistant.types import Usage

if TYPE_CHECKING:
    import openai


_FETCH_SECONDS = 5.0


class ChatBackend(WritingBackend):
    """Writes with a chat model; a client is made for each answer."""

    key_variable = "RAG_API_KEY"
    length_parameter = "max_tokens"

    @abstractmethod
    def client(self) -> openai.OpenAI:
        """A client for one call, which tries once."""

    @abstractmethod
    def async_client(self) -> openai.AsyncOpenAI:
        """The same, for async."""

    def deltas(self, request: Request) -> Iterator[Delta]:
        """One call."""
        with (
            typed_errors(self.server, self.model, self.key_variable),
            self.client() as client,
            client.chat.completions.create(**self._parameters(request)) as chunks,
        ):
            self.check_kind(chunks.response.headers.get("content-type", ""))
            for chunk in chunks:
                yield _delta(chunk)

    async def adeltas(self, request: Request) -> AsyncIterator[Delta]:
        """One call, without blocking."""
        with typed_errors(self.server, self.model, self.key_variable):
            async with (
                self.async_client() as client,
                await client.chat.completions.create(**self._parameters(request)) as chunks,
            ):
                self.check_kind(chunks.response.headers.get("content-type", ""))
                async for chunk in chunks:
                    yield _delta(chunk)

    def fetch(self, address: str) -> object:
        """What stands at an address of the server, as JSON, in a few seconds. The model isn't asked anything.

        Raises:
            BackendError: The server isn't there, refuses the key, or has no JSON at this address.
        """
        import httpx

        with typed_errors(self.server, self.model, self.key_variable), self.client() as client:
            quick = client.with_options(timeout=min(_FETCH_SECONDS, self.options.timeout))
            found: object = quick.get(address, cast_to=httpx.Response).json()
            return found

    def _parameters(self, request: Request) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}],
            "stream": True,
            "stream_options": {"include_usage": True},
            self.length_parameter: request.max_tokens,
        }
        if self.options.temperature is not None:
            parameters["temperature"] = self.options.temperature
        return parameters

    def check_kind(self, content_type: str) -> None:
        """Refuses what is no stream of events.

        Raises:
            BackendProtocolError: A web page or a JSON document came.
        """
        kind = content_type.partition(";")[0].strip().lower()
        if kind in ("text/html", "application/json"):
            raise not_a_stream(self.server, "a web page" if kind == "text/html" else "a JSON document")


def _delta(chunk: Any) -> Delta:
    """Servers leave out what they like: nothing is taken to be there."""
    reported = getattr(chunk, "usage", None)
    usage = None
    if reported is not None:
        cost = getattr(reported, "cost", None)  # OpenRouter tells it, in US dollars
        told = float(cost) if isinstance(cost, int | float) and cost >= 0 else None
        usage = Usage(reported.prompt_tokens, reported.completion_tokens, told, calls=1)
    for choice in (getattr(chunk, "choices", None) or ())[:1]:
        refused = getattr(choice.delta, "refusal", None)
        finish = "content_filter" if refused else choice.finish_reason or ""
        return Delta(str(getattr(choice.delta, "content", None) or ""), finish, usage)
    return Delta(usage=usage)
