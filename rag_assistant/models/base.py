"""The interface to a language model: one request, and its reply as it arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from rag_assistant.settings import Settings
from rag_assistant.types import Usage

RETRIES = 2
CHARACTERS_A_TOKEN = 8
"""More than any text has on average: only the server can count its tokens."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is called.

    Attributes:
        max_tokens: At most this many are written, reasoning included.
        temperature: ``None`` leaves it to the server.
        timeout: Seconds to wait for the next piece.
        retries: How often a call that was refused for now is repeated, after the time in ``Retry-After`` or after
            growing pauses.
        context_tokens: How many tokens prompt and answer may have together; ``None`` asks the server.
    """

    max_tokens: int = 1024
    temperature: float | None = 0.0
    timeout: float = 120.0
    retries: int = RETRIES
    context_tokens: int | None = None

    @classmethod
    def of(cls, settings: Settings, *, temperature: float | None = 0.0) -> Options:
        """The options in the settings; ``temperature`` is used if they name none."""
        return cls(
            max_tokens=settings.max_tokens,
            temperature=temperature if settings.temperature is None else settings.temperature,
            timeout=settings.timeout,
            context_tokens=settings.context_tokens,
        )


@dataclass(frozen=True, slots=True)
class Delta:
    """What has arrived of a reply since the last delta.

    Attributes:
        text: The next piece; may be empty.
        finish: Why the reply ended: ``stop``, ``length``, ``content_filter``; empty while it goes on.
        usage: If the provider reports it.
        thought: The next piece of its reasoning, if that is sent separately from the text.
        refusal: The next piece of what the model says instead of an answer, if its provider marks that as a refusal.
    """

    text: str = ""
    finish: str = ""
    usage: Usage | None = None
    thought: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is sent, and how many tokens it may write."""

    system: str
    user: str
    max_tokens: int

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages of a chat, by role and content."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]

    def within(self, delta: Delta, characters: int) -> Delta:
        """The delta that comes after so many characters, cut to the length that a reply of ``max_tokens`` can have: a
        server may not keep to it."""
        left = CHARACTERS_A_TOKEN * self.max_tokens - characters - len(delta.thought) - len(delta.refusal)
        return delta if len(delta.text) <= left else replace(delta, text=delta.text[: max(0, left)])


@runtime_checkable
class ChatModel(Protocol):
    """A model of one provider. Its methods may be called from several threads at once.

    Attributes:
        name: What a user calls the provider, e.g. ``openai-like``.
        model: What a user calls the model.
        server: Who answers, for messages to people.
        options: How the model is called.
    """

    name: str
    model: str
    server: str
    options: Options

    def deltas(self, request: Request) -> Iterator[Delta]:
        """The reply as it arrives, in one try; closing the generator ends the request.

        Raises:
            BackendError: The model failed; ``retry_after`` says whether another try may succeed.
        """

    def adeltas(self, request: Request) -> AsyncIterator[Delta]:
        """The same, without blocking the event loop; an async generator."""

    def context_window(self) -> int | None:
        """How many tokens the model takes, prompt and answer together, if that is known."""
