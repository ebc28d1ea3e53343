from dataclasses import replace
from pathlib import Path

import pytest

from rag_assistant.errors import InputError
from rag_assistant.evals import Dataset, Run, compare_runs, evaluate, load_run, render_diff, write_baseline
from rag_assistant.evals.rows import Row


@pytest.fixture(scope="module")
def full(gold_type, shipped: Dataset, papers) -> Run:
    return evaluate(gold_type(shipped, papers), shipped, probes=False)


def changed(run: Run, ids: set[str], **scores: float) -> Run:
    def change(row: Row) -> Row:
        return replace(row, scores={**row.scores, **scores}) if row.id in ids else row

    return replace(run, rows=tuple(change(row) for row in run.rows))


def first(run: Run, count: int, category: str = "fact") -> set[str]:
    return {row.id for row in [row for row in run.main if row.category == category][:count]}


def test_a_run_is_no_regression_against_itself_or_its_baseline(full: Run, tmp_path: Path) -> None:
    write_baseline(full, tmp_path / "baseline.json")
    for before in (full, load_run(tmp_path / "baseline.json")):
        result = compare_runs(before, full)
        assert not result.regressed
        assert (result.compared, result.left_out, result.newly_wrong) == (len(full.main), (), ())
        assert "# Eval diff: no regression" in render_diff(result)


def test_three_questions_may_flip_but_not_four(full: Run) -> None:
    three = compare_runs(full, changed(full, first(full, 3), correct=0.0))
    assert not three.regressed
    assert len(three.newly_wrong) == 3
    four = compare_runs(full, changed(full, first(full, 4), correct=0.0))
    assert four.regressions == ("4 questions are newly wrong; 3 may be.",)


def test_every_flip_is_listed(full: Run) -> None:
    before = changed(full, first(full, 1), correct=0.0)
    after = changed(full, first(full, 1, "latex"), correct=0.0)
    result = compare_runs(before, after)
    text = render_diff(result)
    assert {flip.id for flip in result.newly_right} == first(full, 1)
    assert {flip.id for flip in result.newly_wrong} == first(full, 1, "latex")
    assert "## Newly wrong: 1" in text
    assert first(full, 1, "latex").pop() in text


def test_a_significant_fall_is_a_regression_even_with_few_flips_allowed(full: Run) -> None:
    worse = changed(full, first(full, 10), correct=0.0)
    result = compare_runs(full, worse, max_newly_wrong=1000)
    assert result.regressed
    assert any("The category fact fell significantly" in reason for reason in result.regressions)
    assert not compare_runs(worse, full).regressed


def test_a_score_for_which_less_is_better_regresses_upwards(full: Run) -> None:
    result = compare_runs(full, changed(full, first(full, 30), false_refusal=1.0))
    assert any("The score false_refusal rose significantly" in reason for reason in result.regressions)
    assert not compare_runs(changed(full, first(full, 30), false_refusal=1.0), full).regressed


def test_one_invalid_quote_or_error_row_or_a_stop_is_a_regression(full: Run) -> None:
    ids = first(full, 1)
    assert "quote_validity is below 1" in compare_runs(full, changed(full, ids, quote_validity=0.5)).regressions[0]
    assert "marker_validity is below 1" in compare_runs(full, changed(full, ids, marker_validity=0.9)).regressions[0]
    rows = tuple(replace(row, errors={"question": "E: x"}) if row.id in ids else row for row in full.rows)
    assert "1 rows have errors" in compare_runs(full, replace(full, rows=rows)).regressions[0]
    stopped = replace(full, rows=full.rows[:50], interrupted=True)
    assert "interrupted after 50" in compare_runs(full, stopped).regressions[0]


def test_questions_that_changed_in_the_set_are_left_out(full: Run) -> None:
    ids = first(full, 5)
    rows = tuple(
        replace(row, case_sha256="other", scores={"correct": 0.0}) if row.id in ids else row for row in full.rows
    )
    result = compare_runs(full, replace(full, rows=rows[:-1]))
    assert not result.regressed
    assert set(result.left_out) == {*ids, full.rows[-1].id}


def test_runs_with_nothing_in_common_can_not_be_compared(full: Run) -> None:
    with pytest.raises(InputError, match="no question in common"):
        compare_runs(replace(full, rows=full.rows[:5]), replace(full, rows=full.rows[5:9]))
