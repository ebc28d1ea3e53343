"""How much of an answer has been streamed while it is being written."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rag_assistant.drafts import Draft, PartialSentence, Piece
from rag_assistant.grounding.ground import Grounder
from rag_assistant.types import Statement, TextEvent


@dataclass(slots=True)
class StreamedText:
    """The text streamed so far, none of which is taken back. Once the answer no longer begins with it, no more is
    streamed, and the final event replaces it.

    Attributes:
        text: All of it.
        first: When the first of it was streamed, by ``time.perf_counter``; ``None`` before that.
    """

    text: str = ""
    first: float | None = None

    def after(self, piece: Piece, grounder: Grounder) -> TextEvent | None:
        """The event to send once the grounder has added a piece; for a partial sentence, before its draft is added."""
        if isinstance(piece, PartialSentence):
            return self.upto(grounder.with_partial(piece))
        if not isinstance(piece, Draft):
            return self.upto(grounder.text)
        statement = grounder.statements[-1]
        event = self.upto(grounder.text, statement)
        return event and TextEvent(event.text, statement, grounder.cited_by(statement))

    def upto(self, text: str, statement: Statement | None = None) -> TextEvent | None:
        """The part of a text that hasn't been streamed yet; may be empty if a statement goes with it."""
        if not text.startswith(self.text) or (text == self.text and statement is None):
            return None
        rest, self.text = text[len(self.text) :], text
        if rest and self.first is None:
            self.first = time.perf_counter()
        return TextEvent(rest, statement)
