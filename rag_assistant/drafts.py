"""What a backend writes, before checks: frame text, drafted sentences with labels, and refusals."""

from __future__ import annotations

from dataclasses import dataclass

from rag_assistant.types import Basis, Status, Usage


@dataclass(frozen=True, slots=True)
class Label:
    """The source that a drafted sentence names.

    Attributes:
        paper: Position in the evidence, from 0.
        sentence: Position of the sentence in the abstract, from 0; ``None`` for the paper as a whole.
    """

    paper: int
    sentence: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """Text that code puts around the statements, with its own white space: lead-ins, counts, list marks."""

    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """One sentence with its labels.

    Attributes:
        text: The sentence, without markers and outer white space.
        labels: What it rests on.
        basis: ``bibliography`` for facts from the paper's record.
        fields: For ``bibliography``, which fields of the paper the sentence repeats.
    """

    text: str
    labels: tuple[Label, ...] = ()
    basis: Basis = "abstract"
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartialSentence:
    """The beginning of a sentence, shown before it is complete and checked. It adds nothing to the answer.

    Attributes:
        text: All of it so far: the :class:`Draft` that completes the sentence begins with this.
        frame: The frame text that will precede that draft, as a separate piece.
    """

    text: str
    frame: str = ""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Nothing that has arrived was part of the answer: it was a model's reasoning without an opening tag."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A named part of the question that stays unanswered: the answer becomes ``partial``."""

    part: str


@dataclass(frozen=True, slots=True)
class Matched:
    """For lists, how many papers matched."""

    count: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """No answer, and why: the status, the words that were looked for, and a sentence for people if the standard one
    doesn't fit."""

    status: Status
    looked_for: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The call for the answer has to wait, and why; ``why`` is empty once it goes on."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """What the user should know about how the answer came about."""

    text: str


Writing = PartialSentence | Draft | Frame | Matched | Missing | Refusal | Withdrawn
Piece = Writing | Notice | Usage | Waiting
"""What writers yield, in order."""
