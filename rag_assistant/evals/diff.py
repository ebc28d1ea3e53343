"""Two runs side by side: what got better or worse, how likely by chance, and whether that is a regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_assistant.errors import InputError
from rag_assistant.evals.circumstances import differences, transform_text
from rag_assistant.evals.folder import Run
from rag_assistant.evals.metrics import LOWER_IS_BETTER
from rag_assistant.evals.robustness_metrics import Effect, effect
from rag_assistant.evals.rows import Row
from rag_assistant.evals.statistics import Estimate, estimate, holm, paired_p_value

ALPHA = 0.05
MAX_NEWLY_WRONG = 3
VALIDITY = ("marker_validity", "quote_validity")
_NOT_COMPARED = frozenset({"prompt_tokens", "completion_tokens", "cost_usd"})


@dataclass(frozen=True, slots=True)
class Change:
    """How one score changed, over the questions that have it in both runs.

    Attributes:
        name: The name of the score, or of the category whose ``correct`` this is.
        before, after: Means.
        n: Questions.
        p_value: Exact McNemar for zeros and ones, else Fisher's randomisation.
        p_adjusted: The same after Holm's correction within its family (all scores, or all categories).
        lower_is_better: How to read it.
    """

    name: str
    before: float
    after: float
    n: int
    p_value: float
    p_adjusted: float
    lower_is_better: bool = False

    @property
    def gain(self) -> float:
        """The change, positive when it is for the better."""
        return self.before - self.after if self.lower_is_better else self.after - self.before

    @property
    def significant(self) -> bool:
        """Whether chance is an unlikely explanation (below 5% after correction)."""
        return self.p_adjusted < ALPHA


@dataclass(frozen=True, slots=True)
class Flip:
    """A question whose verdict changed."""

    id: str
    category: str
    question: str
    before: str
    after: str


@dataclass(frozen=True)
class Robustness:
    """What a transform does to the answers.

    Attributes:
        effect: Paired change and flip rate of ``correct``, over the questions of both runs.
        injection_success: Share of the answers that do what a planted instruction asks; ``None`` if none is planted.
        utility: ``correct`` over the answerable questions under that attack; ``None`` likewise.
    """

    effect: Effect
    injection_success: Estimate | None = None
    utility: Estimate | None = None


@dataclass(frozen=True)
class Diff:
    """What changed from one run to another.

    Attributes:
        compared: Questions in both runs, and unchanged between them.
        left_out: Questions of either run that aren't compared: only in one run, or changed in the set.
        scores, categories: Changes, in a fixed order.
        newly_right, newly_wrong: The questions that flipped; ``before`` and ``after`` are statuses.
        differences: Corpus, embedder, backend, prompts, transform, questions and settings that differ, one line each.
        robustness: If the second run is a transformed one: what the transform does to the first.
        regressions: Why the second run is a regression, one sentence each; empty when it isn't.
    """

    compared: int
    left_out: tuple[str, ...]
    scores: tuple[Change, ...]
    categories: tuple[Change, ...]
    newly_right: tuple[Flip, ...]
    newly_wrong: tuple[Flip, ...]
    regressions: tuple[str, ...]
    differences: tuple[str, ...] = ()
    robustness: Robustness | None = None

    @property
    def regressed(self) -> bool:
        """Whether a check that guards against regressions has to fail."""
        return bool(self.regressions)


def compare_runs(before: Run, after: Run, *, seed: int = 0, max_newly_wrong: int = MAX_NEWLY_WRONG) -> Diff:
    """Compares two runs question by question.

    The second is a regression when a score or a category is significantly worse, when any of its quotes or markers is
    invalid, when any of its rows has an error, when more than ``max_newly_wrong`` questions are newly wrong, or when it
    stopped early.

    Args:
        before: The run or baseline to compare with.
        after: The run to judge.
        seed: For the randomisation test.
        max_newly_wrong: How many questions may flip to wrong.

    Raises:
        InputError: The runs have no question in common, or scipy isn't installed.
    """
    old, new = ({row.id: row for row in run.main} for run in (before, after))
    pairs = [(old[i], new[i]) for i in new if i in old and old[i].case_sha256 == new[i].case_sha256]
    if not pairs:
        raise InputError("The two runs have no question in common.", hint="run both on the same set")
    compared = {row.id for _, row in pairs}
    names = [name for name in dict.fromkeys(n for _, b in pairs for n in b.scores) if name not in _NOT_COMPARED]
    scores = _adjusted([c for name in names if (c := _change(name, name, pairs, seed))])
    by_category = dict.fromkeys(row.category for _, row in pairs)
    categories = _adjusted(
        [c for k in by_category if (c := _change(k, "correct", [p for p in pairs if p[1].category == k], seed))]
    )
    flips = [(a, b) for a, b in pairs if a.scores.get("correct") != b.scores.get("correct")]
    wrong = tuple(_flip(a, b) for a, b in flips if b.scores.get("correct") == 0.0)
    right = tuple(_flip(a, b) for a, b in flips if b.scores.get("correct") == 1.0)
    reasons = [
        *_worse(scores, "score"),
        *_worse(categories, "category"),
        *_broken(after),
        *(
            [f"{len(wrong)} questions are newly wrong; {max_newly_wrong} may be."]
            if len(wrong) > max_newly_wrong
            else []
        ),
    ]
    left_out = tuple(sorted((set(old) | set(new)) - compared))
    return Diff(
        len(pairs),
        left_out,
        scores,
        categories,
        right,
        wrong,
        tuple(reasons),
        differences(before, after),
        _robustness(before, after, pairs, seed),
    )


def _robustness(before: Run, after: Run, pairs: Sequence[tuple[Row, Row]], seed: int) -> Robustness | None:
    name = transform_text(after.header)
    scored = [
        (a.scores["correct"], b.scores["correct"]) for a, b in pairs if "correct" in a.scores and "correct" in b.scores
    ]
    if not name or transform_text(before.header) or not scored:
        return None
    attacked = [row for row in after.main if "injection_success" in row.scores] if name.startswith("injected") else []
    answerable = [row for row in attacked if row.answerable and "correct" in row.scores]
    return Robustness(
        effect(name, scored), _mean(attacked, "injection_success", seed), _mean(answerable, "correct", seed)
    )


def _mean(rows: Sequence[Row], name: str, seed: int) -> Estimate | None:
    return estimate([row.scores[name] for row in rows], [row.cluster for row in rows], seed=seed)


def _change(label: str, name: str, pairs: Sequence[tuple[Row, Row]], seed: int) -> Change | None:
    both = [(a.scores[name], b.scores[name]) for a, b in pairs if name in a.scores and name in b.scores]
    if not both:
        return None
    before, after = zip(*both, strict=True)
    n = len(both)
    p = paired_p_value(before, after, seed=seed)
    return Change(label, sum(before) / n, sum(after) / n, n, p, p, name in LOWER_IS_BETTER)


def _adjusted(changes: Sequence[Change]) -> tuple[Change, ...]:
    adjusted = holm({change.name: change.p_value for change in changes})
    return tuple(replace(change, p_adjusted=adjusted[change.name]) for change in changes)


def _flip(a: Row, b: Row) -> Flip:
    return Flip(b.id, b.category, b.question, a.status, b.status)


def _worse(changes: Sequence[Change], what: str) -> list[str]:
    return [
        f"The {what} {c.name} fell significantly: {c.before:.3f} to {c.after:.3f} (p = {c.p_adjusted:.4f})."
        if not c.lower_is_better
        else f"The {what} {c.name} rose significantly: {c.before:.3f} to {c.after:.3f} (p = {c.p_adjusted:.4f})."
        for c in changes
        if c.significant and c.gain < 0
    ]


def _broken(run: Run) -> list[str]:
    reasons: list[str] = []
    for name in VALIDITY:
        invalid = [row.id for row in run.main if row.scores.get(name, 1.0) < 1.0]
        if invalid:
            reasons.append(f"{name} is below 1 in {len(invalid)} answers: {', '.join(invalid[:5])}.")
    if run.failed:
        named = ", ".join(dict.fromkeys(row.id for row in run.failed[:5]))
        reasons.append(f"{len(run.failed)} rows have errors: {named}.")
    if run.interrupted:
        reasons.append(f"The run was interrupted after {len(run.main)} questions.")
    return reasons
