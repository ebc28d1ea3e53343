"""How sure a number is: intervals for one run, tests for two.

Questions about one paper aren't independent, so uncertainty is over papers (clusters), not over questions. The
statistics are scipy's; this module only applies them to clusters, and adds what scipy lacks (Holm's step-down).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from rag_assistant.evals.extras import scipy_stats

RESAMPLES = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval.

    Attributes:
        value: The mean over questions.
        low, high: Bounds of the 95% interval; ``None`` if there are too few clusters for one.
        n: How many questions.
        clusters: How many papers these are about (a question without a gold paper counts as one).
        effective_n: How many independent questions would give the same uncertainty; ``n`` for means that aren't rates.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    effective_n: float

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def estimate(values: Sequence[float], clusters: Sequence[str], *, seed: int = 0) -> Estimate | None:
    """The mean of ``values`` with an interval: Wilson's for rates (only zeros and ones), else a cluster bootstrap.

    Args:
        values: One per question.
        clusters: The group of each question.
        seed: For the bootstrap.

    Returns:
        ``None`` when there are no values.

    Raises:
        InputError: scipy isn't installed.
    """
    if not values:
        return None
    if all(value in (0.0, 1.0) for value in values):
        return _rate(values, clusters)
    return _mean(values, clusters, seed)


def _rate(values: Sequence[float], clusters: Sequence[str]) -> Estimate:
    n = len(values)
    effective = effective_n(values, clusters)
    low, high = wilson(sum(values) / n, effective)
    return Estimate(sum(values) / n, low, high, n, len(set(clusters)), effective)


def wilson(rate: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval (Wilson 1927) for a rate out of ``n``, which as an effective number may be a fraction.

    scipy has the same for whole counts only (``binomtest(...).proportion_ci(method="wilson")``), with which the tests
    compare this one.
    """
    z = float(scipy_stats().norm.ppf(0.5 + confidence / 2))
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return max(0.0, min(centre - half, rate)), min(1.0, max(centre + half, rate))


def effective_n(values: Sequence[float], clusters: Sequence[str]) -> float:
    """How many independent questions a clustered rate is worth (Kish 1965: n over the design effect).

    The design effect is the ratio of the variance between clusters to that of independent draws, and at least 1. A rate
    of exactly 0 or 1 shows no variance to judge by; then every cluster counts once, the most cautious choice.
    """
    n = len(values)
    rate = sum(values) / n
    residuals: dict[str, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster] += value - rate
    groups = len(residuals)
    if rate in (0.0, 1.0) or groups == 1:
        return float(groups)
    variance = groups / (groups - 1) * sum(r * r for r in residuals.values()) / n**2
    design = variance / (rate * (1 - rate) / n)
    return min(float(n), max(1.0, n / max(1.0, design)))


def _mean(values: Sequence[float], clusters: Sequence[str], seed: int) -> Estimate:
    sums: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value
        counts[cluster] += 1
    mean = sum(values) / len(values)
    low, high = cluster_bootstrap(list(sums.values()), list(counts.values()), seed=seed)
    return Estimate(mean, low, high, len(values), len(sums), float(len(values)))


def cluster_bootstrap(
    sums: Sequence[float], counts: Sequence[int], *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float | None, float | None]:
    """Percentile interval of a mean, resampling whole clusters (Field and Welsh 2007) by ``scipy.stats.bootstrap``.

    Args:
        sums: The sum of each cluster's values.
        counts: The number of each cluster's values.
        seed: The same seed gives the same bounds.
        resamples: How many resamples.

    Returns:
        The bounds; ``None`` for both when there are fewer than two clusters.
    """
    if len(sums) < 2:
        return None, None
    import numpy as np

    total, size = np.asarray(sums, dtype=float), np.asarray(counts, dtype=float)
    means = total / size
    if float(means.max() - means.min()) == 0.0:
        return float(means[0]), float(means[0])
    interval = (
        scipy_stats()
        .bootstrap(
            (total, size),
            lambda s, c, axis: s.sum(axis=axis) / c.sum(axis=axis),
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=resamples,
            confidence_level=CONFIDENCE,
            rng=np.random.default_rng(seed),
        )
        .confidence_interval
    )
    return float(interval.low), float(interval.high)


def paired_p_value(before: Sequence[float], after: Sequence[float], *, seed: int = 0) -> float:
    """How likely a difference this large arises by chance, two-sided.

    Zeros and ones: the exact McNemar test (McNemar 1947), a binomial test on the questions that flipped. Anything else:
    Fisher's paired randomisation test (as in Smucker, Allan and Carterette 2007) with 10,000 permutations.

    Raises:
        InputError: scipy isn't installed.
    """
    changes = [b - a for a, b in zip(before, after, strict=True)]
    if not any(changes):
        return 1.0
    if all(value in (0.0, 1.0) for value in (*before, *after)):
        won = sum(change > 0 for change in changes)
        flipped = sum(change != 0 for change in changes)
        return float(scipy_stats().binomtest(won, flipped, 0.5).pvalue)
    import numpy as np

    result = scipy_stats().permutation_test(
        (np.asarray(after, dtype=float), np.asarray(before, dtype=float)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """P-values adjusted for their number (Holm 1979), under the same names."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: (item[1], item[0]))):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least ``percent`` percent of the values don't exceed (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, -(-int(percent * len(ordered)) // 100))
    return ordered[min(rank, len(ordered)) - 1]
