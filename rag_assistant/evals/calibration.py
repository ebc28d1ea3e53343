"""Whether confidence means something: how often answers at each level are right, and what the gate decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_assistant.evals.answer_metrics import ANSWERING
from rag_assistant.evals.extras import scipy_stats
from rag_assistant.evals.rows import Row
from rag_assistant.evals.statistics import estimate

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers with a confidence in ``[low, high)``; the last bin includes 1.0.

    Attributes:
        low, high: The bounds of the confidence.
        n: How many answers.
        confidence: Their mean confidence.
        right: The share of them that is right.
        right_low, right_high: The 95% interval of that share (Wilson, by papers).
    """

    low: float
    high: float
    n: int
    confidence: float
    right: float
    right_low: float
    right_high: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """A reliability diagram (DeGroot and Fienberg 1983) of the answers of a run; refusals have no confidence.

    Attributes:
        bins: Those with answers, by rising confidence.
        expected_error: Mean distance between confidence and share right, weighted by answers (ECE; Guo et al. 2017).
        discrimination: How likely a right answer has more confidence than a wrong one (AUROC), which also judges a
            confidence that isn't a probability; ``None`` when all answers are right or all are wrong.
    """

    bins: tuple[Bin, ...]
    expected_error: float
    discrimination: float | None


@dataclass(frozen=True, slots=True)
class Decisions:
    """How many questions the gate answered or refused, answerable or not."""

    answerable_answered: int
    answerable_refused: int
    other_answered: int
    other_refused: int


def calibrate(rows: Sequence[Row]) -> Calibration | None:
    """The calibration of the answers among ``rows``; ``None`` when nothing was answered.

    Raises:
        InputError: scipy isn't installed.
    """
    answered = [row for row in rows if row.status in ANSWERING and "correct" in row.scores]
    if not answered:
        return None
    grouped: dict[int, list[Row]] = {}
    for row in answered:
        grouped.setdefault(min(BINS - 1, max(0, int(row.confidence * BINS))), []).append(row)
    bins = tuple(_bin(place, grouped[place]) for place in sorted(grouped))
    gap = sum(found.n * abs(found.confidence - found.right) for found in bins) / len(answered)
    return Calibration(bins, gap, _discrimination(answered))


def _bin(place: int, rows: Sequence[Row]) -> Bin:
    found = estimate([row.scores["correct"] for row in rows], [row.cluster for row in rows])
    assert found is not None  # noqa: S101 - no bin is empty
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    mean = sum(row.confidence for row in rows) / len(rows)
    return Bin(place / BINS, (place + 1) / BINS, len(rows), mean, found.value, low, high)


def _discrimination(rows: Sequence[Row]) -> float | None:
    right = [row.confidence for row in rows if row.scores["correct"] == 1.0]
    wrong = [row.confidence for row in rows if row.scores["correct"] != 1.0]
    if not right or not wrong:
        return None
    # Mann and Whitney's U over the number of pairs is the area under the ROC curve (Hanley and McNeil 1982).
    return float(scipy_stats().mannwhitneyu(right, wrong).statistic) / (len(right) * len(wrong))


def decisions(rows: Sequence[Row]) -> Decisions:
    """The decisions; rows with errors count as refused, since nobody got an answer."""

    def count(answerable: bool, answered: bool) -> int:
        return sum(row.answerable == answerable and (row.status in ANSWERING) == answered for row in rows)

    return Decisions(count(True, True), count(True, False), count(False, True), count(False, False))
