"""The interface of a writer: given a question and its evidence, it writes an answer piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rag_assistant.drafts import Piece
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.questions.form import QuestionForm
from rag_assistant.types import Length


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question with everything that its answer may rest on.

    Attributes:
        form: The self-contained question, and what its form asks for.
        evidence: Papers, best first, with all their sentences; labels are positions in it.
        length: How long the answer should be; ``normal`` leaves it to the writer.
    """

    form: QuestionForm
    evidence: QuestionEvidence
    length: Length = "normal"


@runtime_checkable
class Backend(Protocol):
    """Writes the answer's text. Methods may be called from several threads at once."""

    @property
    def name(self) -> str:
        """What a user calls it, e.g. ``extractive``."""

    @property
    def model(self) -> str:
        """The model behind it; empty if there is none."""

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """The pieces of the answer, as they are written.

        Raises:
            BackendError: The model failed.
        """

    def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same without blocking the event loop."""
