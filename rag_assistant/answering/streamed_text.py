"""What of an answer has been passed on while it is written."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rag_assistant.drafts import Draft, PartialSentence, Piece
from rag_assistant.grounding.ground import Grounder
from rag_assistant.types import Statement, TextEvent


@dataclass(slots=True)
class StreamedText:
    """The text that was passed on; nothing is taken back of it. Once the answer no longer begins with it, no more is
    told, and the final event replaces it.

    Attributes:
        text: All of it so far.
        first: When the first of it was told, by ``time.perf_counter``; ``None`` before that.
    """

    text: str = ""
    first: float | None = None

    def after(self, piece: Piece, grounder: Grounder) -> TextEvent | None:
        """What there is to tell after a piece has been taken in by the grounder; of a beginning, before it is."""
        if isinstance(piece, PartialSentence):
            return self.upto(grounder.with_partial(piece))
        if not isinstance(piece, Draft):
            return self.upto(grounder.text)
        statement = grounder.statements[-1]
        told = self.upto(grounder.text, statement)
        return told and TextEvent(told.text, statement, grounder.cited_by(statement))

    def upto(self, text: str, statement: Statement | None = None) -> TextEvent | None:
        """What a text has more than was told; also nothing, where a statement is to be told with it."""
        if not text.startswith(self.text) or (text == self.text and statement is None):
            return None
        rest, self.text = text[len(self.text) :], text
        if rest and self.first is None:
            self.first = time.perf_counter()
        return TextEvent(rest, statement)
