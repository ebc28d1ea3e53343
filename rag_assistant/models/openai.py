"""OpenAI's models, through its official SDK. The question and the abstracts found for it leave the machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rag_assistant.errors import BackendAuthError
from rag_assistant.models.base import Options, Request
from rag_assistant.models.chat_completions import ChatCompletions, ChatEvents
from rag_assistant.models.responses import ResponseEvents, needs_responses, parameters
from rag_assistant.settings import Settings

if TYPE_CHECKING:
    import openai

DEFAULT_MODEL = "gpt-4.1-mini"
_REASONING = re.compile(r"o\d|gpt-5|codex")
"""Models that take no temperature."""


class OpenAIModel(ChatCompletions):
    """A model of OpenAI.

    The key is ``RAG_API_KEY`` or ``OPENAI_API_KEY``; the latter never goes to an address in ``base_url``. The address
    is ``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's; redirects are not followed.

    Raises:
        BackendAuthError: There is no key.
    """

    name = "openai"
    length_parameter = "max_completion_tokens"

    def __init__(self, *, settings: Settings | None = None, options: Options | None = None) -> None:
        chosen = settings or Settings.load()
        model = chosen.model or DEFAULT_MODEL
        default = Options.of(chosen, temperature=None if _REASONING.match(model) else 0.0)
        address = urlsplit(chosen.base_url or "")
        shown = address._replace(netloc=address.netloc.rpartition("@")[2], query="").geturl()
        super().__init__(model, shown or "OpenAI", options or default)
        self._base_url = chosen.base_url
        self.key_variable = "OPENAI_API_KEY" if chosen.base_url is None else "RAG_API_KEY"
        if chosen.api_key is None:
            raise BackendAuthError(
                f"The openai backend needs a key and {self.key_variable} is not set.",
                hint="set it, or use --backend openai-like with a server of your own, or the default that needs none: "
                "--backend extractive",
            )
        self._key = chosen.api_key

    def endpoint(self, client: Any) -> Any:
        """Chat Completions, or Responses if the model is offered by nothing else."""
        return client.responses if needs_responses(self.model) else super().endpoint(client)

    def parameters(self, request: Request) -> dict[str, Any]:
        """The parameters for either."""
        if needs_responses(self.model):
            return parameters(self.model, request) | self.temperature()
        return super().parameters(request)

    def replies(self) -> ChatEvents | ResponseEvents:
        """The reader of the events of either."""
        return ResponseEvents() if needs_responses(self.model) else super().replies()

    def client(self) -> openai.OpenAI:
        """A client for one call."""
        import openai

        from rag_assistant.models.limits import limit_body

        return openai.OpenAI(
            api_key=self.key,
            base_url=self._base_url,
            timeout=self.timeout(),
            max_retries=0,
            http_client=openai.DefaultHttpxClient(follow_redirects=False, event_hooks={"response": [limit_body]}),
        )

    def async_client(self) -> openai.AsyncOpenAI:
        """The same, for async."""
        import openai

        from rag_assistant.models.limits import alimit_body

        return openai.AsyncOpenAI(
            api_key=self.key,
            base_url=self._base_url,
            timeout=self.timeout(),
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [alimit_body]}),
        )
