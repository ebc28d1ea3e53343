"""What is LlamaIndex's own: objects and classes as backends, classes that can't stream, errors of any provider."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage

from rag_assistant import Assistant
from rag_assistant import errors as e
from rag_assistant.models.base import Options
from rag_assistant.models.llamaindex import LlamaIndexModel
from rag_assistant.settings import Settings
from rag_assistant.types import Usage

from .chat_server import Reply, Script
from .http_llm import HttpLLM, WholeLLM

QUESTION = "Does DPO keep its advantage when the true reward is not realizable?"
ANSWER = "DPO retains its asymptotically decaying gap by just tuning the temperature accordingly."


@pytest.mark.parametrize("kind", [HttpLLM, WholeLLM])
def test_an_object_answers(assistant: Assistant, server: Script, kind: type[HttpLLM]) -> None:
    server.say(ANSWER)
    llm = kind(model="mine", api_base=server.url, api_key="theirs")
    with Assistant.open(assistant.settings.index_path, backend=llm) as asked:
        answer = asked.ask(QUESTION)
        assert asyncio.run(asked.aask(QUESTION)).text == answer.text
    assert answer.text == f"{ANSWER} [1]"
    assert (answer.backend, answer.model) == ("llamaindex", "mine")
    assert server.seen[0][1]["authorization"] == "Bearer theirs"


def test_counts_that_cannot_be_are_not_known(assistant: Assistant, server: Script) -> None:
    chunk = {"choices": [{"delta": {"content": ANSWER}, "finish_reason": "stop"}], "usage": {"prompt_tokens": "many"}}
    server.say(Reply(raw=f"data: {json.dumps(chunk)}\n", kind="text/event-stream"))
    llm = HttpLLM(api_base=server.url)
    with Assistant.open(assistant.settings.index_path, backend=llm) as asked:
        answer = asked.ask(QUESTION)
    assert (answer.text, answer.usage) == (f"{ANSWER} [1]", Usage(calls=1))


def test_a_class_is_made_with_the_settings(
    assistant: Assistant, server: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.say(ANSWER)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    settings = Settings.load(
        index=assistant.settings.index_path,
        backend="tests.backends.http_llm:HttpLLM",
        model="small",
        base_url=server.url,
        max_tokens=77,
        context_tokens=900,
    )
    with Assistant.open(settings=settings) as asked:
        answer = asked.ask(QUESTION)
    assert answer.text == f"{ANSWER} [1]"
    assert "its context of 900 tokens" in answer.notices[0]
    assert server.seen[0][1]["authorization"] == "Bearer none"
    body = server.seen[0][2]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("small", 77, 0.0)


class Failing(HttpLLM):
    """Raises what its provider's package would."""

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        raise FAILURES[self.model][0]


class RateLimitError(Exception):
    status_code = 429


class AuthenticationError(Exception):
    pass


class PermissionDeniedError(Exception):
    status_code = 403


class ReadTimeoutError(Exception):
    pass


FAILURES: dict[str, tuple[Exception, type[e.BackendError], str]] = {
    "rate": (RateLimitError("slow down"), e.BackendRateLimited, "429"),
    "key": (AuthenticationError("who are you?"), e.BackendAuthError, "refused the key"),
    "denied": (PermissionDeniedError("sk-theirs may not"), e.BackendAuthError, "(403): (the key) may not."),
    "time": (ReadTimeoutError("zzz"), e.BackendTimeout, "in time"),
    "long": (ValueError("prompt exceeds the context window of this model"), e.BackendContextTooLong, "too long"),
    "else": (KeyError("choices"), e.BackendError, "KeyError"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_of_any_provider_are_typed(assistant: Assistant, name: str) -> None:
    backend = LlamaIndexModel(Failing(model=name, api_key="sk-theirs"), settings=Settings(context_tokens=8000))
    with Assistant.open(assistant.settings.index_path, backend=backend) as asked, pytest.raises(e.BackendError) as got:
        asked.ask(QUESTION)
    _, kind, said = FAILURES[name]
    assert type(got.value) is kind
    assert said in got.value.message
    assert got.value.hint


class KeyInAddressLLM(HttpLLM):
    """Asks as some providers want it."""

    def _request(self, messages: Sequence[ChatMessage]) -> dict[str, Any]:
        return super()._request(messages) | {"url": f"{self.api_base}/chat?key={self.api_key}"}


@pytest.mark.parametrize("raw", ["<html></html>", "", '{"error": {"message": "sk-theirs is not enough"}}'])
@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_key_is_shown_to_nobody(assistant: Assistant, server: Script, status: int, raw: str) -> None:
    server.say(Reply(status=status, raw=raw))
    llm = KeyInAddressLLM(api_base=server.url.replace("//", "//us:secret@"), api_key="sk-theirs")
    backend = LlamaIndexModel(llm, options=Options(retries=0, context_tokens=8000))
    with Assistant.open(assistant.settings.index_path, backend=backend) as asked, pytest.raises(e.BackendError) as got:
        asked.ask(QUESTION)
    assert not re.search("sk-theirs|secret", got.value.message)
    assert ("(the key) is not enough" if "not enough" in raw else f"{server.url}/chat'") in got.value.message


@pytest.mark.parametrize(
    ("model", "kind", "said"),
    [
        (None, e.SettingsError, "needs the class of an LLM"),
        ("gpt-4", e.SettingsError, "needs the class of an LLM"),
        ("tests.backends.http_llm:HtpLLM/m", e.PluginError, "has no 'HtpLLM'"),
        ("rag_assistant.settings:Settings", e.PluginError, "is no LlamaIndex LLM"),
        ("tests.backends.http_llm:_read/m", e.PluginError, "can't be made"),
    ],
)
def test_what_is_no_llm_is_told(model: str | None, kind: type[e.RagError], said: str) -> None:
    with pytest.raises(kind, match=said) as raised:
        LlamaIndexModel(settings=Settings(model=model))
    assert raised.value.hint
