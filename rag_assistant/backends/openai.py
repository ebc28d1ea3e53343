"""OpenAI's models, through its official SDK. The question and the abstracts found leave the machine."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from rag_assistant.backends.calling import Options, Request
from rag_assistant.backends.chat import ChatBackend
from rag_assistant.backends.chat_errors import typed_errors
from rag_assistant.backends.replies import Delta
from rag_assistant.backends.responses import delta, needs_responses, parameters
from rag_assistant.errors import BackendAuthError
from rag_assistant.settings import Settings

if TYPE_CHECKING:
    import openai

DEFAULT_MODEL = "gpt-4.1-mini"
_REASONING = re.compile(r"o\d|gpt-5|codex")
"""Models that take no temperature."""


class OpenAIBackend(ChatBackend):
    """A model of OpenAI.

    The key is ``RAG_API_KEY`` or ``OPENAI_API_KEY``; the latter never goes to an address in ``base_url``. The address
    is ``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's.

    Raises:
        BackendAuthError: There is no key.
    """

    name = "openai"
    length_parameter = "max_completion_tokens"

    def __init__(self, *, settings: Settings | None = None, options: Options | None = None) -> None:
        chosen = settings or Settings.load()
        model = chosen.model or DEFAULT_MODEL
        default = Options.of(chosen, temperature=None if _REASONING.match(model) else 0.0)
        super().__init__(model, "OpenAI" if chosen.base_url is None else chosen.base_url, options or default)
        self._base_url = chosen.base_url
        self.key_variable = "OPENAI_API_KEY" if chosen.base_url is None else "RAG_API_KEY"
        if chosen.api_key is None:
            raise BackendAuthError(
                f"The openai backend needs a key and {self.key_variable} is not set.",
                hint="set it, or use --backend openai-like with a server of your own, or the default that needs none: "
                "--backend extractive",
            )
        self._key = chosen.api_key

    def deltas(self, request: Request) -> Iterator[Delta]:
        """One call, of Chat Completions, or of Responses where the model has nothing else."""
        if not needs_responses(self.model):
            yield from super().deltas(request)
            return
        with (
            typed_errors(self.server, self.model, self.key_variable),
            self.client() as client,
            client.responses.create(**parameters(self.model, request, self.options)) as events,
        ):
            self.check_kind(events.response.headers.get("content-type", ""))
            for event in events:
                yield delta(event, self.server)

    async def adeltas(self, request: Request) -> AsyncIterator[Delta]:
        """One call, without blocking."""
        if not needs_responses(self.model):
            async with aclosing(super().adeltas(request)) as deltas:  # type: ignore[type-var]
                async for one in deltas:
                    yield one
            return
        with typed_errors(self.server, self.model, self.key_variable):
            async with (
                self.async_client() as client,
                await client.responses.create(**parameters(self.model, request, self.options)) as events,
            ):
                self.check_kind(events.response.headers.get("content-type", ""))
                async for event in events:
                    yield delta(event, self.server)

    def client(self) -> openai.OpenAI:
        """A client for one call."""
        import httpx
        import openai

        return openai.OpenAI(
            api_key=self._key.get_secret_value(),
            base_url=self._base_url,
            timeout=httpx.Timeout(self.options.timeout, connect=min(10.0, self.options.timeout)),
            max_retries=0,
        )

    def async_client(self) -> openai.AsyncOpenAI:
        """The same, for async."""
        import httpx
        import openai

        return openai.AsyncOpenAI(
            api_key=self._key.get_secret_value(),
            base_url=self._base_url,
            timeout=httpx.Timeout(self.options.timeout, connect=min(10.0, self.options.timeout)),
            max_retries=0,
        )
