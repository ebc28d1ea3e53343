"""Any LLM written for LlamaIndex: Anthropic, Gemini, Mistral, Bedrock and others have their own packages.

Where the text goes, and which key is read, is up to the LLM.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rag_assistant.errors import BackendError, PluginError, SettingsError
from rag_assistant.models.base import Delta, Options, Request
from rag_assistant.models.chat_errors import provider_error, typed_errors
from rag_assistant.models.events import finish_of, text_of, usage_of
from rag_assistant.plugins import load_plugin
from rag_assistant.settings import FROM_OPENAI, Settings

if TYPE_CHECKING:
    from llama_index.core.llms import LLM, ChatMessage, ChatResponse

_KEY = "the key that its package reads"


class LlamaIndexModel:
    """A LlamaIndex ``LLM``.

    Args:
        llm: An LLM, used as it is, or a class, created with the setting ``model``. If neither is given, that setting
            names the class and, after a slash, the model: ``llama_index.llms.mistralai:MistralAI/open-mistral-7b``.
        settings: A class is given those it has fields for: tokens, temperature, timeout, address, ``RAG_API_KEY``.
        options: Instead of those in the settings.

    Raises:
        SettingsError: No class is named.
        PluginError: The class can't be found, or its LLM can't be created.
    """

    name = "llamaindex"

    def __init__(
        self, llm: LLM | type[LLM] | None = None, *, settings: Settings | None = None, options: Options | None = None
    ) -> None:
        chosen = settings or Settings.load()
        called = options or Options.of(chosen)
        if llm is None or isinstance(llm, type):
            llm = _made(llm, chosen, called)
        self._llm: Any = llm
        self.model = str(getattr(llm, "model", "") or getattr(llm, "model_name", "") or "")
        self.server = type(llm).__name__
        self.options = called

    def context_window(self) -> int | None:
        """The number in the LLM's metadata, if these know the model."""
        try:
            return int(self._llm.metadata.context_window) or None
        except (ValueError, AttributeError, TypeError):  # classes raise for models they don't know
            return None

    def deltas(self, request: Request) -> Iterator[Delta]:
        """One call; a class that can't stream answers in one piece."""
        ending = _Ending()
        with self._errors():
            try:
                responses = self._llm.stream_chat(_messages(request))
            except NotImplementedError:
                yield Delta(text_of(self._llm.chat(_messages(request)).message.content))
            else:
                for response in responses:
                    yield ending.read(response)
        yield ending.last()

    async def adeltas(self, request: Request) -> AsyncIterator[Delta]:
        """One call, without blocking, provided that the class doesn't block."""
        ending = _Ending()
        with self._errors():
            try:
                responses = await self._llm.astream_chat(_messages(request))
            except NotImplementedError:
                whole = await self._llm.achat(_messages(request))
                yield Delta(text_of(whole.message.content))
            else:
                async for response in responses:
                    yield ending.read(response)
        yield ending.last()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        key = getattr(self._llm, "api_key", None) or ""
        call = (self.server, self.model, _KEY, str(key.get_secret_value() if hasattr(key, "get_secret_value") else key))
        try:
            with typed_errors(*call):
                yield
        except BackendError:
            raise
        except Exception as error:  # each provider has its own errors
            raise provider_error(error, *call) from error


class _Ending:
    """Why a reply ended. Only classes that pass on OpenAI's chunks say so; other replies just end."""

    def __init__(self) -> None:
        self._finish = ""
        self._tells = False

    def read(self, response: ChatResponse) -> Delta:
        choices, refusal = _get(response.raw, "choices"), ""
        for choice in choices[:1] if isinstance(choices, list) else ():
            self._tells = True
            refusal = text_of(_get(_get(choice, "delta"), "refusal"))
            self._finish = finish_of(_get(choice, "finish_reason")) or self._finish
        return Delta(text_of(response.delta), self._finish, usage_of(response.additional_kwargs), refusal=refusal)

    def last(self) -> Delta:
        return Delta(finish="" if self._tells else "stop")


def _get(raw: object, name: str) -> Any:
    """An attribute of an object, or a value of a mapping: classes pass on either."""
    return raw.get(name) if isinstance(raw, dict) else getattr(raw, name, None)


def _messages(request: Request) -> list[ChatMessage]:
    from llama_index.core.llms import ChatMessage, MessageRole

    return [
        ChatMessage(role=MessageRole.SYSTEM, content=request.system),
        ChatMessage(role=MessageRole.USER, content=request.user),
    ]


def _made(named: type[LLM] | None, settings: Settings, options: Options) -> LLM:
    if named is None:
        match = re.fullmatch(r"(?P<name>[^/:]+:[^/:]+)(?:/(?P<model>.+))?", settings.model or "")
        if match is None:
            raise SettingsError(
                "The llamaindex backend needs the class of an LLM.",
                hint="--model module:Class/MODEL, such as llama_index.llms.mistralai:MistralAI/open-mistral-7b",
            )
        factory, model = load_plugin("backend", match["name"]), match["model"]
    else:
        factory, model = named, settings.model
    own_key = settings.api_key is not None and settings.sources.get("api_key") != FROM_OPENAI
    # Classes look for OPENAI_API_KEY by themselves, but it must only go to the provider's own server.
    no_key = None if settings.base_url is None else "none"
    fields = getattr(factory, "model_fields", {})
    offered: dict[str, object] = {
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
        "timeout": options.timeout,
        "request_timeout": options.timeout,
        "max_retries": 0,
        "api_base": settings.base_url,
        "base_url": settings.base_url,
        "api_key": settings.api_key.get_secret_value() if own_key and settings.api_key else no_key,
        "context_window": settings.context_tokens,
        "is_chat_model": True,
        "reuse_client": False,  # a kept client is bound to one event loop and outlives an abandoned stream
    }
    given = {name: value for name, value in offered.items() if name in fields and value is not None}
    if model is not None:
        given["model"] = model
    try:
        made: LLM = factory(**given)
    except Exception as error:  # a third party's class may raise anything
        raise PluginError(
            f"The LLM {factory.__name__} can't be made: {type(error).__name__}: {' '.join(str(error).split())[:200]}.",
            hint="check its key, its model's name and the documentation of its package",
        ) from error
    if not hasattr(made, "stream_chat"):
        raise PluginError(f"{factory.__name__} is no LlamaIndex LLM.", hint="name a class that has stream_chat()")
    return made
