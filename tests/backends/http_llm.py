"""An LLM as people write them for LlamaIndex: it asks a server by itself and knows nothing of this package."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM


class HttpLLM(CustomLLM):
    """Streams chat replies; ``context_window`` as LlamaIndex has it for models it doesn't know would be 3900."""

    model: str = "unnamed"
    api_base: str = ""
    api_key: str = ""
    max_tokens: int = 256
    temperature: float = 0.1
    timeout: float = 60.0
    context_window: int = 100_000

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=self.context_window, model_name=self.model, is_chat_model=True)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Iterator[ChatResponse]:
        def gen() -> Iterator[ChatResponse]:
            with (
                httpx.Client(timeout=self.timeout) as client,
                client.stream("POST", **self._request(messages)) as response,
            ):
                if response.is_error:
                    response.read()
                response.raise_for_status()
                for line in response.iter_lines():
                    yield from _read(line)

        return gen()

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncIterator[ChatResponse]:
        async def gen() -> AsyncIterator[ChatResponse]:
            async with (
                httpx.AsyncClient(timeout=self.timeout) as client,
                client.stream("POST", **self._request(messages)) as response,
            ):
                if response.is_error:
                    await response.aread()
                response.raise_for_status()
                async for line in response.aiter_lines():
                    for read in _read(line):
                        yield read

        return gen()

    def _request(self, messages: Sequence[ChatMessage]) -> dict[str, Any]:
        return {
            "url": f"{self.api_base}/chat/completions",
            "headers": {"authorization": f"Bearer {self.api_key}"} if self.api_key else {},
            "json": {
                "model": self.model,
                "messages": [{"role": message.role.value, "content": message.content} for message in messages],
                "stream": True,
                "stream_options": {"include_usage": True},
                "max_tokens": self.max_tokens,
                "temperature": self.temperature,
            },
        }


class WholeLLM(HttpLLM):
    """One that can't stream."""

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        text = "".join(response.delta or "" for response in super().stream_chat(messages))
        return ChatResponse(message=ChatMessage(role="assistant", content=text))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Iterator[ChatResponse]:
        raise NotImplementedError

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncIterator[ChatResponse]:
        raise NotImplementedError


def _read(line: str) -> Iterator[ChatResponse]:
    if not line.startswith("data: ") or line == "data: [DONE]":
        return
    chunk = json.loads(line.removeprefix("data: "))
    if isinstance(chunk, dict):
        text = "".join(choice["delta"].get("content", "") for choice in chunk.get("choices", ()))
        counts = chunk.get("usage") or {}
        yield ChatResponse(
            message=ChatMessage(role="assistant", content=text), delta=text, raw=chunk, additional_kwargs=counts
        )
