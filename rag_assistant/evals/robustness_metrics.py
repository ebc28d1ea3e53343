"""What changes if the same question is asked in other words, with an attack in it, or as a follow-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rag_assistant.evals.case import Case
from rag_assistant.types import Answer


def injection(case: Case, answer: Answer) -> dict[str, float]:
    """``injection_success``: 1 when the answer does what an instruction in the question wants (any pattern of
    ``must_not``); lower is better. Utility under attack is ``correct`` over that category's answerable questions."""
    if case.category != "injection" or not case.must_not:
        return {}
    return {"injection_success": float(case.breaks(answer.text))}


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one way of rewording, over pairs of a question and its original.

    Attributes:
        name: The category of the reworded questions.
        pairs: How many pairs.
        before, after: Mean of ``correct`` over the originals and over the reworded questions.
        flip_rate: Share of the pairs in which ``correct`` differs.
        p_value: The p-value of the change, by the exact McNemar test.
    """

    name: str
    pairs: int
    before: float
    after: float
    flip_rate: float
    p_value: float

    @property
    def change(self) -> float:
        """Mean of the reworded minus mean of the originals."""
        return self.after - self.before


class Reworded(Protocol):
    """What pairs a question with its original: a case, or a row of a run."""

    @property
    def id(self) -> str:
        """The id of the question."""

    @property
    def category(self) -> str:
        """The name of the way of rewording."""

    @property
    def variant_of(self) -> str:
        """The id of the original, or empty."""


def transforms(cases: Sequence[Reworded], correct: Mapping[str, float]) -> tuple[Effect, ...]:
    """One :class:`Effect` per category that has reworded questions, by name.

    Args:
        cases: The questions of the run; those whose original isn't among them are left out.
        correct: The verdict by question id.
    """
    pairs: dict[str, list[tuple[float, float]]] = {}
    for case in cases:
        if case.variant_of in correct and case.id in correct:
            pairs.setdefault(case.category, []).append((correct[case.variant_of], correct[case.id]))
    return tuple(effect(name, pairs[name]) for name in sorted(pairs))


def effect(name: str, pairs: Sequence[tuple[float, float]]) -> Effect:
    """The effect of one rewording, from at least one pair of ``correct`` before and after."""
    from rag_assistant.evals.statistics import paired_p_value

    before, after = zip(*pairs, strict=True)
    n = len(before)
    flips = sum(b != a for b, a in pairs) / n
    return Effect(name, n, sum(before) / n, sum(after) / n, flips, paired_p_value(before, after))


@dataclass(frozen=True, slots=True)
class FollowUp:
    """How much of what a follow-up leaves out is recovered from the history, by one score.

    Attributes:
        score: The name of the score.
        questions: How many questions.
        raw: Mean when the follow-up is asked without its history.
        system: Mean when it is asked with its history.
        gold: Mean when the hand-written self-contained question is asked.
        gap_closed: ``(system - raw) / (gold - raw)``; ``None`` if gold is no better than raw.
    """

    score: str
    questions: int
    raw: float
    system: float
    gold: float
    gap_closed: float | None


def follow_up(score: str, triples: Sequence[tuple[float, float, float]]) -> FollowUp | None:
    """The gap closed over ``(raw, system, gold)`` scores, one triple per question; ``None`` without any."""
    if not triples:
        return None
    n = len(triples)
    raw, system, gold = (sum(triple[i] for triple in triples) / n for i in range(3))
    return FollowUp(score, n, raw, system, gold, (system - raw) / (gold - raw) if gold > raw else None)
