"""One reply of a model: how it is read as it arrives, and whether it has a proper end."""

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
    """Reads one reply as a whole, at its end. Subclasses may yield pieces while it arrives.

    Attributes:
        text: What has arrived of it, without reasoning that was sent separately.
        begun: Whether any text has arrived.
        truncated: Whether it was stopped at the most tokens it may have.
        characters: How many have arrived in this attempt, reasoning included.
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
        """Marks that the reply runs past what may be written and isn't read any further."""
        self._finish = "length"

    def add(self, delta: Delta) -> Iterator[Piece]:
        """Adds what has arrived.

        Raises:
            BackendFiltered: The provider's filter stopped the reply, or the model refused.
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
        """The last pieces, and the usage.

        Raises:
            BackendFiltered: The reply was a refusal.
            BackendProtocolError: The reply was empty.
            BackendInterrupted: The reply has no end.
        """
        if self._refusal:
            raise filtered(self.server, self._refusal)
        if not self._finish and self.begun:
            yield from self.broken(interrupted(self.server))
        pieces = list(self._rest())
        if self._empty:
            raise empty(self.server, truncated=self.truncated, reasoned=self._reasoned)
        yield from pieces
        if self.truncated and self._notes_cut:
            yield Notice(CUT)
        yield self._usage

    def broken(self, error: BackendError) -> Iterator[Piece]:
        """The complete pieces of a reply that this error ended.

        Raises:
            BackendError: The given one, at the end.
        """
        raise error

    _notes_cut = False
    """Whether a notice says that the reply was stopped at the most tokens it may have."""

    def _take(self, text: str) -> Iterator[Piece]:
        """The pieces that the next text completes."""
        del text
        return iter(())

    def _rest(self) -> Iterator[Piece]:
        """The pieces left at the end."""
        return iter(())

    @property
    def _empty(self) -> bool:
        """Whether nothing has arrived."""
        return not self.text.strip()
