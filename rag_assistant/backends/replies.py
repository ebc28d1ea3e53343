"""What comes from a model, and what is made of it: sentences with labels, or a question."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from rag_assistant.backends.base import Prompt
from rag_assistant.backends.chat_errors import empty, filtered, interrupted
from rag_assistant.drafts import Notice, Piece, Rewritten
from rag_assistant.errors import BackendError
from rag_assistant.grounding.reply import Reply
from rag_assistant.types import Usage

CUT = "The model was stopped at the most it may write; max_tokens (RAG_MAX_TOKENS) lets it write more."


_REASONING = re.compile(
    r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)|\A.*?</(?:think|thinking|reasoning)>", re.S | re.I
)


def without_reasoning(reply: str) -> str:
    """A whole reply without what stands in tags such as ``<think>``; the opening one may have been in the prompt."""
    return _REASONING.sub("", reply)


@dataclass(frozen=True, slots=True)
class Delta:
    """What has come of a reply since the last one.

    Attributes:
        text: The next piece; may be empty.
        finish: Why the reply ended: ``stop``, ``length``, ``content_filter``; empty while it goes on.
        usage: Where the provider reports it.
        thought: The next piece of its reasoning, where that comes apart from the text.
    """

    text: str = ""
    finish: str = ""
    usage: Usage | None = None
    thought: str = ""


class ModelReply(ABC):
    """One reply: its deltas become pieces, and its end is looked at.

    Attributes:
        begun: Whether any text has come.
        characters: How many have come in this attempt, those of reasoning included.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._usage = Usage(calls=1)
        self._finish = ""
        self._reasoned = False
        self.begun = False
        self.characters = 0

    @property
    def ended(self) -> bool:
        """Whether the server has said why the reply ended."""
        return self._finish not in ("", "content_filter")

    def cut(self) -> None:
        """The reply goes on beyond what may be written, and isn't read any further."""
        self._finish = "length"

    def add(self, delta: Delta) -> Iterator[Piece]:
        """Takes in what has come.

        Raises:
            BackendFiltered: The provider's filter stopped it.
        """
        self._finish = delta.finish or self._finish
        if delta.usage is not None:
            self._usage = delta.usage
        if self._finish == "content_filter":
            raise filtered(self._server)
        self.characters += len(delta.text) + len(delta.thought)
        self._reasoned = self._reasoned or bool(delta.thought)
        if delta.text:
            self.begun = True
            yield from self._take(delta.text)

    def finish(self) -> Iterator[Piece]:
        """What is left, and what the reply took.

        Raises:
            BackendProtocolError: It was empty.
            BackendInterrupted: It has no end.
        """
        if not self._finish and self.begun:
            yield from self.broken(interrupted(self._server))
        truncated = self._finish == "length"
        pieces = list(self._rest(truncated=truncated))
        if self._empty:
            raise empty(self._server, truncated=truncated, reasoned=self._reasoned)
        yield from pieces
        yield self._usage

    def broken(self, error: BackendError) -> Iterator[Piece]:
        """What is whole of a reply that this error ended.

        Raises:
            BackendError: The one given, at the end.
        """
        raise error

    @abstractmethod
    def _take(self, text: str) -> Iterator[Piece]:
        """The next text."""

    @abstractmethod
    def _rest(self, *, truncated: bool) -> Iterator[Piece]:
        """What is left at the end."""

    @property
    @abstractmethod
    def _empty(self) -> bool:
        """Whether nothing has come."""


class AnswerReply(ModelReply):
    """An answer: sentences with labels."""

    def __init__(self, prompt: Prompt, server: str) -> None:
        super().__init__(server)
        self._reply = Reply(prompt.evidence, prompt.form.text)

    def broken(self, error: BackendError) -> Iterator[Piece]:
        """Its last whole sentence, what the reply took, and the error."""
        if self.begun:
            yield from self._reply.finish(truncated=True, broken=True)
            yield self._usage
        raise error

    def _take(self, text: str) -> Iterator[Piece]:
        return self._reply.add(text)

    def _rest(self, *, truncated: bool) -> Iterator[Piece]:
        yield from self._reply.finish(truncated=truncated)
        if truncated:
            yield Notice(CUT)

    @property
    def _empty(self) -> bool:
        return self._reply.empty


class QuestionReply(ModelReply):
    """A question, as one piece."""

    _text = ""

    def _take(self, text: str) -> Iterator[Piece]:
        self._text += text
        return iter(())

    def _rest(self, *, truncated: bool) -> Iterator[Piece]:
        return iter(() if truncated else (Rewritten(self._text),))

    @property
    def _empty(self) -> bool:
        return not self._text.strip()
