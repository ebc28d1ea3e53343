"""What a reader is: something that judges what an abstract answers and supports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rag_assistant.types import ClaimVerdict


@dataclass(frozen=True, slots=True)
class Abstract:
    """What a reader reads: a title and the sentences of the abstract, in order."""

    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join((self.title, *self.sentences))


@dataclass(frozen=True, slots=True)
class Reading:
    """What an abstract says to a question.

    Attributes:
        answers: How likely it answers, in [0, 1].
        sentences: For each sentence how likely it answers, in [0, 1].
    """

    answers: float
    sentences: tuple[float, ...]

    def without(self, places: Collection[int]) -> Reading:
        """The same without these sentences; if the likeliest was one of them, no surer than the others."""
        left = tuple(0.0 if at in places else chance for at, chance in enumerate(self.sentences))
        lost = max(self.sentences, default=0.0) > max(left, default=0.0)
        return Reading(min(self.answers, max(left, default=0.0)) if lost else self.answers, left)


@dataclass(frozen=True, slots=True)
class Stance:
    """What an abstract says to a statement; the three probabilities add up to 1.

    Attributes:
        supported, contradicted, unsaid: How likely each is.
        sentences: For each sentence how likely it decides, in [0, 1].
    """

    supported: float
    contradicted: float
    unsaid: float
    sentences: tuple[float, ...]

    @property
    def verdict(self) -> ClaimVerdict:
        """The likeliest of the three."""
        chances: dict[ClaimVerdict, float] = {
            "supported": self.supported,
            "contradicted": self.contradicted,
            "unsaid": self.unsaid,
        }
        return max(chances, key=lambda name: chances[name])


@runtime_checkable
class Reader(Protocol):
    """Reads questions and statements against abstracts. Thread-safe, and the same input gives the same output."""

    name: str
    fingerprint: str
    """What identifies the weights, for the headers of evals."""

    def read(self, question: str, abstracts: Sequence[Abstract]) -> list[Reading]:
        """One question against several abstracts, in their order."""
        ...

    def judge(self, statements: Sequence[str], abstract: Abstract) -> list[Stance]:
        """Several statements against one abstract, in their order."""
        ...
