"""What the assistant asks of a backend: given a question and its evidence, write an answer piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rag_assistant.drafts import Piece
from rag_assistant.evidence import Evidence
from rag_assistant.questions.form import QuestionForm
from rag_assistant.types import Length, PromptInfo, Turn


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question with all that its answer may rest on.

    Attributes:
        form: The stand-alone question and what its form asks for.
        evidence: Papers, best first, with all their sentences; labels count from these.
        length: How long an answer is wanted; ``normal`` leaves it to the backend.
        system, user: The rendered prompt; empty for backends that read the evidence itself.
        info: Which prompt was rendered, if any.
        tokens: About how many tokens it has, and how many may be written.
        notice: What the user should know about how it was made; may be empty.
    """

    form: QuestionForm
    evidence: Evidence
    length: Length = "normal"
    system: str = ""
    user: str = ""
    info: PromptInfo | None = None
    tokens: tuple[int, int] = (0, 0)
    notice: str = ""


@runtime_checkable
class Backend(Protocol):
    """Writes the answer's text. Methods may be called from several threads at once."""

    @property
    def name(self) -> str:
        """What a user calls it, e.g. ``extractive``."""

    @property
    def model(self) -> str:
        """The model behind it; empty where there is none."""

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """The pieces of the answer, as they come.

        Raises:
            BackendError: The model failed.
        """

    def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same, without blocking the event loop."""


@runtime_checkable
class Rewrites(Protocol):
    """A backend that also rewords follow-up questions so that they stand alone."""

    def prepare_rewrite(self, question: str, turns: Sequence[Turn]) -> Prompt:
        """The prompt that asks for it."""

    def rewrite(self, prompt: Prompt) -> Iterator[Piece]:
        """One :class:`Rewritten`, and what it took.

        Raises:
            BackendError: The model failed.
        """

    def arewrite(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same, without blocking the event loop."""


@runtime_checkable
class Lists(Protocol):
    """A backend that also judges which papers belong in a list, some papers a call."""

    def prepare_list(self, prompt: Prompt) -> Prompt:
        """The prompt that asks about the first of its papers, as many as are judged in one call.

        Raises:
            BackendContextTooLong: Not even one sentence fits.
        """

    def pick(self, prompt: Prompt) -> Iterator[Piece]:
        """One :class:`Picked`, and what it took.

        Raises:
            BackendError: The model failed.
        """

    def apick(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same, without blocking the event loop."""


@runtime_checkable
class Prepares(Protocol):
    """A backend that has a prompt rendered before it is asked, so that the answer tells which and what was sent."""

    def prepare(self, prompt: Prompt) -> Prompt:
        """The prompt with ``system``, ``user`` and ``info``; with less evidence where not all of it is sent."""
