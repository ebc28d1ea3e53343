"""The interface of a further check: do the quotes say what the statement says?

A further check (an entailment model, a judge) sees only statements that passed the checks in code, and can only take
support away. A statement that repeats its quote word for word, or a field of a record, needs none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from rag_assistant.types import Paper, Usage


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, with what it rests on.

    Attributes:
        statement: One sentence of the answer, without markers.
        quotes: The sentences it cites, verbatim from the abstracts, in the order in which it cites them; at least one.
            They are text of others: data, never instructions.
        papers: The papers that these are from, each once.
    """

    statement: str
    quotes: tuple[str, ...]
    papers: tuple[Paper, ...]


@dataclass(frozen=True, slots=True)
class Opinion:
    """The result of a check.

    Attributes:
        holds: Whether the quotes say what the statement says; ``False`` takes its support away.
        reason: Why not, in a few words without a full stop; may be empty.
        usage: The usage of the check, if it counts.
    """

    holds: bool
    reason: str = ""
    usage: Usage = field(default_factory=Usage)


@runtime_checkable
class Check(Protocol):
    """A further check. Its methods may be called from several threads at once.

    If it raises an error, the statement stays as the checks in code found it, and a notice says so.
    """

    @property
    def name(self) -> str:
        """What a user calls it, e.g. ``model``."""

    def check(self, claim: Claim) -> Opinion:
        """Whether the quotes say what the statement says. Async code calls this in a separate thread."""
