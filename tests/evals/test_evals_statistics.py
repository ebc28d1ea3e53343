"""Intervals and tests against scipy, textbook values, and simulation."""

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rag_assistant.errors import InputError
from rag_assistant.evals.statistics import (
    cluster_bootstrap,
    effective_n,
    estimate,
    holm,
    paired_p_value,
    percentile,
    wilson,
)


@settings(deadline=None)
@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys_for_whole_counts(counts: tuple[int, int]) -> None:
    k, n = counts
    wanted = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k / n, n) == pytest.approx((wanted.low, wanted.high), abs=1e-9)


def test_clusters_that_agree_within_are_worth_less() -> None:
    alike = [1.0] * 10 + [0.0] * 10
    clusters = ["a"] * 10 + ["b"] * 10
    assert effective_n(alike, clusters) == pytest.approx(1.0, abs=0.2)
    apart = [str(n) for n in range(20)]
    assert effective_n(alike, apart) == pytest.approx(20, abs=1.01)
    assert effective_n([1.0] * 20, clusters) == 2.0


def test_an_interval_is_wide_where_few_papers_stand_behind_it() -> None:
    values = [1.0] * 18 + [0.0] * 2
    few = estimate(values, [str(n // 10) for n in range(20)])
    many = estimate(values, [str(n) for n in range(20)])
    assert few is not None
    assert many is not None
    assert few.value == many.value == 0.9
    assert few.low is not None
    assert many.low is not None
    assert few.low < many.low
    assert (few.n, few.clusters) == (20, 2)


def test_means_are_bootstrapped_by_cluster_and_repeat_with_a_seed() -> None:
    rng = random.Random(1)
    values = [rng.random() for _ in range(60)]
    clusters = [str(n // 3) for n in range(60)]
    one, again, other = (estimate(values, clusters, seed=seed) for seed in (3, 3, 4))
    assert one is not None
    assert one == again
    assert one != other
    assert one.low is not None
    assert one.high is not None
    assert one.low < one.value < one.high
    means = [sum(values[n : n + 3]) / 3 for n in range(0, 60, 3)]
    normal = 1.96 * stats.tstd(means) / len(means) ** 0.5
    assert one.high - one.low == pytest.approx(2 * normal, rel=0.2)


def test_there_is_no_interval_from_one_cluster() -> None:
    assert cluster_bootstrap([1.5], [3]) == (None, None)
    assert cluster_bootstrap([1.0, 2.0], [2, 4]) == (0.5, 0.5)
    found = estimate([0.25, 0.75], ["a", "a"])
    assert found is not None
    assert str(found) == "0.500"
    assert estimate([], []) is None


def test_flips_are_tested_by_mcnemar() -> None:
    before = [1.0] * 10 + [0.0] * 10
    after = [0.0] * 9 + [1.0] + [1.0] + [0.0] * 9
    assert paired_p_value(before, after) == pytest.approx(stats.binomtest(1, 10).pvalue)
    assert paired_p_value(before, before) == 1.0


def test_means_are_tested_by_randomisation() -> None:
    rng = random.Random(2)
    before = [rng.random() for _ in range(40)]
    noise = [value + rng.uniform(-0.1, 0.1) for value in before]
    assert paired_p_value(before, noise) == pytest.approx(stats.ttest_rel(before, noise).pvalue, abs=0.01)
    assert paired_p_value(before, [value + 0.2 for value in noise]) < 0.001
    assert paired_p_value(before, noise, seed=1) == paired_p_value(before, noise, seed=1)


def test_holm_steps_down() -> None:
    # Holm (1979): 0.01 * 4, 0.02 * 3, 0.03 * 2, 0.04 * 1, none below the one before.
    adjusted = holm({"d": 0.04, "a": 0.01, "c": 0.03, "b": 0.02})
    assert adjusted == pytest.approx({"d": 0.06, "a": 0.04, "c": 0.06, "b": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


def test_percentiles_are_values_that_occurred() -> None:
    values = [5.0, 1.0, 3.0, 2.0, 4.0]
    assert (percentile(values, 50), percentile(values, 95), percentile([7.0], 50)) == (3.0, 5.0, 7.0)


def test_without_scipy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(InputError, match=r"pip install .rag-assistant\[eval\]"):
        estimate([1.0, 0.0], ["a", "b"])
