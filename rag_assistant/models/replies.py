"""One reply of a model: what is made of it as it comes, and whether it has a proper end."""

from __future__ import annotations

from collections.abc import Iterator

from rag_assistant.drafts import Notice, Piece
from rag_assistant.errors import BackendError
from rag_assistant.models.base import Delta
from rag_assistant.models.chat_errors import empty, filtered, interrupted
from rag_assistant.models.reasoning import without_reasoning
from rag_assistant.types import Usage

CUT = "The model was stopped at the most it may write; max_tokens (RAG_MAX_TOKENS) lets it write more."


class ModelReply:
    """Reads one reply at its end, as a whole. Subclasses may make pieces of it while it comes.

    Attributes:
        text: What has come of it, without reasoning that came apart.
        begun: Whether any text has come.
        truncated: Whether it was stopped at the most it may have.
        characters: How many have come in this attempt, those of reasoning included.
    """

    def __init__(self, server: str) -> None:
        self.server = server
        self.text = ""
        self.begun = False
        self.characters = 0
        self._usage = Usage(calls=1)
        self._finish = ""
        self._reasoned = False
        self._refusal = ""

    @property
    def ended(self) -> bool:
        """Whether the server has said why the reply ended."""
        return self._finish not in ("", "content_filter") and not self._refusal

    @property
    def truncated(self) -> bool:
        """Whether the reply was stopped before its end."""
        return self._finish == "length"

    @property
    def answer(self) -> str:
        """The reply without reasoning."""
        return without_reasoning(self.text)

    def cut(self) -> None:
        """The reply goes on beyond what may be written, and isn't read any further."""
        self._finish = "length"

    def add(self, delta: Delta) -> Iterator[Piece]:
        """Takes in what has come.

        Raises:
            BackendFiltered: The provider's filter stopped it, or the model refused.
        """
        self._finish = delta.finish or self._finish
        self._refusal += delta.refusal
        if delta.usage is not None:
            self._usage = delta.usage
        if self._finish == "content_filter" or (self._finish and self._refusal):
            raise filtered(self.server, self._refusal)
        self.characters += len(delta.text) + len(delta.thought) + len(delta.refusal)
        self._reasoned = self._reasoned or bool(delta.thought)
        if delta.text:
            self.begun = True
            self.text += delta.text
            yield from self._take(delta.text)

    def finish(self) -> Iterator[Piece]:
        """What is left, and what the reply took.

        Raises:
            BackendFiltered: It was a refusal.
            BackendProtocolError: It was empty.
            BackendInterrupted: It has no end.
        """
        if self._refusal:
            raise filtered(self.server, self._refusal)
        if not self._finish and self.begun:
            yield from self.broken(interrupted(self.server))
        pieces = list(self._rest())
        if self._empty:
            raise empty(self.server, truncated=self.truncated, reasoned=self._reasoned)
        yield from pieces
        if self.truncated and self._tells_cut:
            yield Notice(CUT)
        yield self._usage

    def broken(self, error: BackendError) -> Iterator[Piece]:
        """What is whole of a reply that this error ended.

        Raises:
            BackendError: The one given, at the end.
        """
        raise error

    _tells_cut = False
    """Whether a user is told that a reply was stopped at its most."""

    def _take(self, text: str) -> Iterator[Piece]:
        """What the next text brings."""
        del text
        return iter(())

    def _rest(self) -> Iterator[Piece]:
        """What is left at the end."""
        return iter(())

    @property
    def _empty(self) -> bool:
        """Whether nothing has come."""
        return not self.text.strip()
