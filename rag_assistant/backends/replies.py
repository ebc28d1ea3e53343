"""What comes from a model, and what is made of it: sentences with labels, or a question."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from rag_assistant.backends.base import Prompt
from rag_assistant.backends.chat_errors import empty, filtered, interrupted
from rag_assistant.drafts import Notice, Piece, Rewritten
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
        usage: Once, where the provider reports it.
    """

    text: str = ""
    finish: str = ""
    usage: Usage | None = None


class ModelReply(ABC):
    """One reply: its deltas become pieces, and its end is looked at.

    Attributes:
        begun: Whether any text has come.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._usage = Usage(calls=1)
        self._finish = ""
        self.begun = False

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
        if delta.text:
            self.begun = True
            yield from self._take(delta.text)

    def finish(self) -> Iterator[Piece]:
        """What is left, and what the reply took.

        Raises:
            BackendProtocolError: It was empty.
            BackendInterrupted: It has no end.
        """
        truncated = self._finish == "length"
        pieces = list(self._rest(truncated=truncated))
        if self._empty:
            raise empty(self._server, truncated=truncated)
        if not self._finish:
            raise interrupted(self._server)
        yield from pieces
        yield self._usage

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
