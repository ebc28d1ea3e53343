"""Any server that speaks OpenAI's protocol: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter and others.

Only the address that the user named is contacted: redirects are not followed. The SDK reads ``OPENAI_*`` variables by
itself; none of them is sent, because every request's headers are cut down to a list, and its key is set here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rag_assistant.errors import BackendError, BackendTimeout, BackendUnreachable, SettingsError
from rag_assistant.models.base import Delta, Options, Request
from rag_assistant.models.chat_completions import ChatCompletions
from rag_assistant.models.server_context import context_in, probe_of, probed
from rag_assistant.settings import FROM_OPENAI, Settings

if TYPE_CHECKING:
    import httpx
    import openai

_HEADERS = frozenset("host connection content-length content-type transfer-encoding accept accept-encoding".split())


class OpenAILikeModel(ChatCompletions):
    """A model behind ``base_url``. Only ``RAG_API_KEY`` is used as the key, and none is needed.

    Raises:
        SettingsError: ``base_url`` or ``model`` is not set.
    """

    name = "openai-like"

    def __init__(self, *, settings: Settings | None = None, options: Options | None = None) -> None:
        chosen = settings or Settings.load()
        if chosen.base_url is None:
            raise SettingsError(
                "The openai-like backend needs the address of a server.",
                hint="--base-url or RAG_BASE_URL, for example http://127.0.0.1:11434/v1 for Ollama",
            )
        if chosen.model is None:
            raise SettingsError(
                "The openai-like backend needs the name of a model.",
                hint="--model or RAG_MODEL, as the server names it",
            )
        address = urlsplit(chosen.base_url)
        super().__init__(
            chosen.model, f"{address.scheme}://{address.netloc.rpartition('@')[2]}", options or Options.of(chosen)
        )
        self._base_url = chosen.base_url
        self._window: int | None = None
        self._until_called: int | None = None
        theirs = chosen.sources.get("api_key") == FROM_OPENAI
        self._key = None if theirs else chosen.api_key
        # A proxy is for servers outside: it can't know those on this machine.
        self._proxies = not chosen.server_is_local
        # Reading the certificates takes longer than the rest of a call, and plain http has none to check.
        self._encrypted = address.scheme.lower() != "http"

    def client(self) -> openai.OpenAI:
        """A client for one call."""
        import httpx
        import openai

        from rag_assistant.models.limits import limit_body

        return openai.OpenAI(
            api_key="none",  # replaced or removed by _own_headers
            base_url=self._base_url,
            timeout=self.timeout(),
            max_retries=0,
            http_client=httpx.Client(
                follow_redirects=False,
                verify=self._encrypted,
                trust_env=self._proxies,
                event_hooks={"request": [self._own_headers], "response": [limit_body]},
            ),
        )

    def async_client(self) -> openai.AsyncOpenAI:
        """The same, for async."""
        import httpx
        import openai

        from rag_assistant.models.limits import alimit_body

        async def own_headers(request: httpx.Request) -> None:
            self._own_headers(request)

        return openai.AsyncOpenAI(
            api_key="none",
            base_url=self._base_url,
            timeout=self.timeout(),
            max_retries=0,
            http_client=httpx.AsyncClient(
                follow_redirects=False,
                verify=self._encrypted,
                trust_env=self._proxies,
                event_hooks={"request": [own_headers], "response": [alimit_body]},
            ),
        )

    def context_window(self) -> int | None:
        """From the server's list of models, else from where this kind of server reports it; asked for once."""
        if self._window is None and self._until_called is None:
            try:
                listed = self._get("/models")
                known = context_in(listed, self.model)
                path = None if known else probe_of(listed, self.model)
                if path is not None:
                    root = self._base_url.rstrip("/").removesuffix("/v1")
                    known, for_good = probed(path, self._get(f"{root}{path}"), self.model)
                    if not for_good:
                        self._until_called = known
                        return known
            except (BackendUnreachable, BackendTimeout):
                self._until_called = 0  # the call itself will show
                return None
            self._window = known
        return self._window or self._until_called or None

    def deltas(self, request: Request) -> Iterator[Delta]:
        """One streamed request."""
        self._until_called = None  # it loads the model, and then the server knows more about it
        return super().deltas(request)

    def adeltas(self, request: Request) -> AsyncIterator[Delta]:
        """The same, without blocking."""
        self._until_called = None
        return super().adeltas(request)

    def _get(self, address: str) -> object:
        """The JSON at an address of the server; ``None`` if there is nothing: many have no such list.

        Raises:
            BackendUnreachable, BackendTimeout: The server isn't there.
        """
        try:
            return self.fetch(address)
        except (BackendUnreachable, BackendTimeout):
            raise
        except BackendError:
            return None

    def _own_headers(self, request: httpx.Request) -> None:
        for name in list(request.headers):
            if name.lower() not in _HEADERS:
                del request.headers[name]
        request.headers["user-agent"] = "rag-assistant"
        if self.key:
            request.headers["authorization"] = f"Bearer {self.key}"
