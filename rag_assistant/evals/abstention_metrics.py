"""Whether the assistant knows when it doesn't know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rag_assistant.evals.answer_metrics import is_refusal
from rag_assistant.evals.case import Case
from rag_assistant.types import Answer


def abstention(case: Case, answer: Answer) -> dict[str, float]:
    """The scores of one answer's decision to answer.

    - ``refusal_near``, ``refusal_far``: 1 when a near miss, or a question far from the papers, is refused.
    - ``refusal_other``: the same for other questions that can't be answered, such as follow-ups.
    - ``false_refusal``: 1 when an answerable question is refused; lower is better.
    - ``status``: 1 when the status is one of the expected ones.
    - ``premise``: 1 when a false premise is refused or corrected; see ``correct``.
    """
    refused = float(is_refusal(answer))
    scores = {"status": float(answer.status in case.expected_status)}
    if case.answerable:
        scores["false_refusal"] = refused
    elif case.category == "false_premise":
        fine = not case.breaks(answer.text) and (bool(refused) or (bool(case.nuggets) and case.accepts(answer.text)))
        scores["premise"] = float(fine)
    else:
        kind = {"near_miss": "near", "far": "far"}.get(case.category, "other")
        scores[f"refusal_{kind}"] = refused
    return scores


def confidence(answer: Answer) -> float:
    """How sure an answer is: the gate's confidence, 1 if the answer comes from the records, 0 for a refusal."""
    if is_refusal(answer):
        return 0.0
    return 1.0 if answer.confidence is None else answer.confidence


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """The risk–coverage curve of a run (El-Yaniv and Wiener 2010).

    Attributes:
        points: Pairs of coverage (share of all questions answered) and risk (share of these answered wrongly), by
            falling confidence; questions of equal confidence share a point.
        area: The area under the curve, over the coverage it reaches (AURC; Geifman, Uziel and El-Yaniv 2019); lower is
            better.
    """

    points: tuple[tuple[float, float], ...]
    area: float


def risk_coverage(confidences: Sequence[float], wrong: Sequence[bool], answered: Sequence[bool]) -> RiskCoverage | None:
    """The curve over the answered questions of a run, out of all its questions.

    Args:
        confidences: One per question.
        wrong: Whether it is answered wrongly; any answer to an unanswerable question is wrong.
        answered: Whether it is answered at all; refusals only lower the coverage.

    Returns:
        ``None`` when nothing is answered.
    """
    kept = sorted(
        ((c, w) for c, w, a in zip(confidences, wrong, answered, strict=True) if a), key=lambda pair: -pair[0]
    )
    if not kept:
        return None
    points: list[tuple[float, float]] = []
    area = 0.0
    taken = errors = 0
    for _, group in groupby(kept, key=lambda pair: pair[0]):
        flags = [is_wrong for _, is_wrong in group]
        taken += len(flags)
        errors += sum(flags)
        points.append((taken / len(wrong), errors / taken))
        area += len(flags) * errors / taken
    return RiskCoverage(tuple(points), area / taken)
