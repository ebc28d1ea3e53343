"""The numbers of a run, with intervals, from its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rag_assistant.evals.abstention_metrics import RiskCoverage, risk_coverage
from rag_assistant.evals.answer_metrics import ANSWERING
from rag_assistant.evals.case import CATEGORIES
from rag_assistant.evals.folder import Run
from rag_assistant.evals.robustness_metrics import Effect, FollowUp, follow_up, transforms
from rag_assistant.evals.rows import MAIN, RAW, STANDALONE, Row
from rag_assistant.evals.statistics import Estimate, estimate, percentile

SPLITS = ("dev", "test", "all")
FOLLOW_UP_SCORES = ("correct", "recall@5")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost: milliseconds by stage as ``(median, 95th percentile)``, and totals of tokens and dollars."""

    latency_ms: Mapping[str, tuple[float, float]]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float


@dataclass(frozen=True)
class Summary:
    """A run in numbers.

    Attributes:
        estimates: By score and split.
        categories: ``correct`` by category and split.
        attack_utility: ``correct`` over the answerable questions with an attack in them, by split.
        transforms: Effects of rewording, over the whole run.
        follow_ups: Gaps closed, over the whole run.
        risk: The risk–coverage curve by split.
        cost: Latency and usage, over the whole run.
        errors: Rows in which something failed.
    """

    estimates: Mapping[str, Mapping[str, Estimate]]
    categories: Mapping[str, Mapping[str, Estimate]]
    attack_utility: Mapping[str, Estimate]
    transforms: tuple[Effect, ...]
    follow_ups: tuple[FollowUp, ...]
    risk: Mapping[str, RiskCoverage]
    cost: Cost
    errors: tuple[Row, ...]


def summarize(run: Run) -> Summary:
    """The numbers of a run, with intervals computed from the seed in its header.

    Raises:
        InputError: scipy isn't installed.
    """
    rows = run.main
    seed = int(run.header.get("seed", 0))
    names = dict.fromkeys(name for row in rows for name in row.scores)
    categories = [category for category in CATEGORIES if any(row.category == category for row in rows)]
    categories += sorted({row.category for row in rows} - set(CATEGORIES))

    def by_split(chosen: Callable[[Row], bool], name: str) -> dict[str, Estimate]:
        return _by_split([row for row in rows if chosen(row)], name, seed)

    estimates = {name: by_split(lambda _: True, name) for name in names}
    if twins := _twins(rows):
        estimates["twin_pairs"] = _by_split(twins, "twin_pairs", seed)
    return Summary(
        estimates=estimates,
        categories={c: by_split(lambda row, c=c: row.category == c, "correct") for c in categories},  # type: ignore[misc]
        attack_utility=by_split(lambda row: row.category == "injection" and row.answerable, "correct"),
        transforms=transforms(rows, {row.id: row.scores["correct"] for row in rows if "correct" in row.scores}),
        follow_ups=tuple(_follow_ups(run.rows)),
        risk={split: curve for split in SPLITS if (curve := _risk(in_split(rows, split)))},
        cost=_cost(rows),
        errors=run.failed,
    )


def _twins(rows: Sequence[Row]) -> list[Row]:
    """The near misses whose answerable twin was asked too, scored 1 if both are right: refusing everything, or nothing,
    would get one of them right (contrast sets, Gardner et al. 2020)."""
    correct = {row.id: row.scores["correct"] for row in rows if "correct" in row.scores}
    return [
        replace(row, scores={"twin_pairs": float(correct[row.id] == correct[row.twin] == 1.0)})
        for row in rows
        if not row.answerable and row.id in correct and row.twin in correct
    ]


def in_split(rows: Iterable[Row], split: str) -> list[Row]:
    """The rows of a split; ``all`` for all."""
    return [row for row in rows if split in ("all", row.split)]


def _by_split(rows: Sequence[Row], name: str, seed: int) -> dict[str, Estimate]:
    found: dict[str, Estimate] = {}
    for split in SPLITS:
        scored = [row for row in in_split(rows, split) if name in row.scores]
        value = estimate([row.scores[name] for row in scored], [row.cluster for row in scored], seed=seed)
        if value is not None:
            found[split] = value
    return found


def _follow_ups(rows: Sequence[Row]) -> Iterable[FollowUp]:
    by_key = {row.key: row for row in rows}
    ids = [row.id for row in rows if row.probe == RAW]
    for name in FOLLOW_UP_SCORES:
        triples = []
        for case_id in ids:
            found = [by_key.get((case_id, probe)) for probe in (RAW, MAIN, STANDALONE)]
            scores = [row.scores[name] for row in found if row is not None and name in row.scores]
            if len(scores) == 3:
                triples.append((scores[0], scores[1], scores[2]))
        result = follow_up(name, triples)
        if result is not None:
            yield result


def _risk(rows: Sequence[Row]) -> RiskCoverage | None:
    scored = [row for row in rows if "correct" in row.scores]
    return risk_coverage(
        [row.confidence for row in scored],
        [row.scores["correct"] < 1 for row in scored],
        [row.status in ANSWERING for row in scored],
    )


def _cost(rows: Sequence[Row]) -> Cost:
    stages: dict[str, list[float]] = {}
    for row in rows:
        for stage, value in row.timings_ms.items():
            stages.setdefault(stage, []).append(value)

    def total(name: str) -> float:
        return sum(row.scores.get(name, 0.0) for row in rows)

    return Cost(
        {stage: (percentile(values, 50), percentile(values, 95)) for stage, values in sorted(stages.items())},
        int(total("prompt_tokens")),
        int(total("completion_tokens")),
        total("cost_usd"),
    )
