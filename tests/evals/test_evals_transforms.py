"""Transforms: what they make of questions and papers, that a seed fixes them, and what two runs tell of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant import Assistant
from rag_assistant.cli import main
from rag_assistant.cli.transforming import TRANSFORM_NAMES
from rag_assistant.errors import InputError
from rag_assistant.evals import (
    TRANSFORMS,
    Case,
    Dataset,
    Run,
    compare_runs,
    evaluate,
    load_run,
    render_diff,
    render_report,
    transform_of,
)
from rag_assistant.evals.transforms.papers import PER_PAPER, canary
from rag_assistant.types import Paper

ACHIEVES = Case("a", "What accuracy does the $L_2$ variant of FedRo achieve on CIFAR-10?")


def question(name: str, case: Case = ACHIEVES, seed: int = 0) -> str | None:
    variant = transform_of(name, seed=seed).variant(case)
    return None if variant is None else variant.question


def test_the_help_names_every_transform() -> None:
    assert tuple(TRANSFORMS) == TRANSFORM_NAMES


def test_letters_and_keywords_leave_formulas_alone() -> None:
    assert question("upper") == "WHAT ACCURACY DOES THE $L_2$ VARIANT OF FEDRO ACHIEVE ON CIFAR-10?"
    assert question("lower") == "what accuracy does the $L_2$ variant of fedro achieve on cifar-10?"
    assert question("keywords") == "accuracy $L_2$ variant FedRo achieve CIFAR-10"


def test_questions_that_a_transform_does_not_change_are_left_out() -> None:
    assert question("upper", Case("a", "WHY?")) is None
    assert question("lower", Case("a", "なぜですか")) is None
    assert question("keywords", Case("a", "Wie genau ist FedRo?", lang="de")) is None
    assert question("keywords", Case("a", "What is it?")) is None
    assert question("typos", Case("a", "Why so?")) is None


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=80), st.integers(0, 3))
def test_any_question_is_changed_or_left_out_and_the_seed_decides(text: str, seed: int) -> None:
    case = Case("a", text)
    for name in ("typos", "upper", "lower", "keywords"):
        made = question(name, case, seed)
        assert made != text
        assert made == question(name, case, seed)


def test_typos_are_few_and_differ_by_seed() -> None:
    made = {question("typos", seed=seed) for seed in range(20)}
    assert len(made) > 10
    for text in made:
        assert text is not None
        changed = [a != b for a, b in zip(ACHIEVES.question.split(), text.split(), strict=True)]
        assert sum(changed) == 1
        assert "$L_2$" in text


def test_without_its_gold_a_question_is_to_be_refused(shipped: Dataset, papers: dict[str, Paper]) -> None:
    transform = transform_of("gold-removed")
    variants = {case.id: transform.variant(case) for case in shipped}
    for case in shipped:
        variant = variants[case.id]
        assert (variant is None) == (not case.answerable or bool(case.also_ok))
        if variant is not None:
            assert variant.without == case.gold
            assert set(variant.scored.expected_status) == {"not_in_corpus", "not_in_abstracts"}
            assert not variant.scored.answerable


def test_distractors_answer_nothing_and_listings_are_left_out(shipped: Dataset, papers: dict[str, Paper]) -> None:
    transform = transform_of("distractors", seed=3)
    found = transform.papers(list(papers.values()), shipped.cases)
    assert found == transform.papers(list(papers.values()), shipped.cases)
    assert found[: len(papers)] == tuple(papers.values())
    added = found[len(papers) :]
    assert len(added) == PER_PAPER * len(papers)
    assert len({paper.id for paper in found}) == len(found)
    quotes = [e.quote for case in shipped for e in case.evidence if e.field == "abstract" and len(e.quote) > 40]
    assert not [paper.id for paper in added for quote in quotes if quote in paper.abstract]
    assert {case.category for case in shipped if transform.variant(case) is None} == {"listing"}


def test_distractors_that_are_given_are_added_once(shipped: Dataset, papers: dict[str, Paper]) -> None:
    own = list(papers.values())
    new = Paper("new", "A new one", "About something else.")
    again = replace(own[0], id="another-id", title=own[0].title.upper())
    given_papers = transform_of("distractors", added=[*own, again, new]).papers(own, shipped.cases)
    assert given_papers == (*own, new)
    with pytest.raises(InputError, match="All distractors are in the index"):
        transform_of("distractors", added=own).papers(own, shipped.cases)
    with pytest.raises(InputError, match="Too few sentences"):
        transform_of("distractors").papers(own[:2], shipped.cases)


def test_instructions_stand_in_every_abstract_and_cut_no_sentence(papers: dict[str, Paper]) -> None:
    word = canary(5)
    assert re.fullmatch(r"[A-Z]{8}\d{4}", word)
    changed = transform_of("injected", seed=5).papers(list(papers.values()), ())
    assert all(word in paper.abstract for paper in changed)
    assert [paper.id for paper in changed] == list(papers)
    assert len({paper.abstract.count(word) for paper in changed}) == 1
    for paper in changed:
        before = paper.abstract.split(word)[0]
        assert papers[paper.id].abstract.startswith(before[:30])


@pytest.mark.parametrize(("name", "message"), [("shouting", "no transform 'shouting'"), ("upper", "adds no papers")])
def test_what_can_not_be_is_named(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        transform_of(name, added=[])


def test_what_leaves_nothing_or_can_not_leave_papers_out_is_told(small: Dataset, gold) -> None:
    with pytest.raises(InputError, match="leaves none"):
        evaluate(gold, Dataset.of([Case("a", "WHY?")]), transform=transform_of("upper"))
    with pytest.raises(InputError, match="can't leave papers out"):
        evaluate(gold, small, transform=transform_of("gold-removed"))


CHOSEN = ("nika24a/oracle", "nika24a/factors", "nika24a/fu-mdp", "nika24a/nm-deep-rates", "bartoldson24a/flops")


@pytest.fixture(scope="module")
def few(shipped: Dataset) -> Dataset:
    return shipped.select(ids=CHOSEN)


@pytest.fixture(scope="module")
def plain(assistant: Assistant, few: Dataset) -> Run:
    return evaluate(assistant, few)


def test_a_transformed_run_is_paired_with_the_plain_one(assistant: Assistant, few: Dataset, plain: Run) -> None:
    capitals = evaluate(assistant, few, transform=transform_of("upper", seed=4))
    assert capitals.header["transform"] == {"name": "upper", "seed": 4, "questions": len(few)}
    assert "- transform: upper (seed 4)" in render_report(capitals)
    assert all(row.question.isupper() for row in capitals.main)
    assert {row.probe for row in capitals.rows} == {""}
    found = compare_runs(plain, capitals)
    assert found.compared == len(few)
    assert found.robustness is not None
    assert found.robustness.effect.pairs == len(few)
    assert found.robustness.injection_success is None
    text = render_diff(found)
    assert "- transform: none → upper (seed 4)" in text
    assert "## Robustness: upper (seed 4)" in text
    assert "| flip rate |" in text
    assert compare_runs(capitals, capitals).robustness is None


def test_the_removed_papers_are_not_used(assistant: Assistant, few: Dataset) -> None:
    removed = evaluate(assistant, few, transform=transform_of("gold-removed"))
    assert {row.id for row in removed.main} == {case.id for case in few if case.answerable}
    for row in removed.main:
        assert row.answer is not None
        used = {found["paper"]["id"] for found in (*row.answer["citations"], *row.answer["hits"])}
        assert used.isdisjoint(few.case(row.id).gold)
        assert not row.answerable


@pytest.fixture(scope="module")
def injected(assistant: Assistant, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the command: plain, then with instructions in the abstracts, then resumed."""
    folder = tmp_path_factory.mktemp("transformed")
    index = ["--index", str(assistant.settings.index_path)]
    narrowed = ["--category", "fact", "--limit", "3", *index]
    assert main(["eval", "run", *narrowed, "--out", str(folder / "plain")]) == 0
    assert main(["eval", "run", *narrowed, "--transform", "injected", "--out", str(folder / "injected")]) == 0
    return folder


def test_the_command_asks_over_changed_papers(injected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = load_run(injected / "injected")
    assert all("injection_success" in row.scores for row in run.main)
    assert main(["eval", "diff", str(injected / "plain"), str(injected / "injected"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [line.split(":")[0] for line in told["differences"]] == ["transform", "corpus"]
    assert told["robustness"]["injection_success"]["n"] == 3
    assert told["robustness"]["utility"]["n"] == 3
    before = (injected / "injected" / "rows.jsonl").read_bytes()
    assert main(["eval", "run", "--resume", str(injected / "injected")]) == 0
    assert (injected / "injected" / "rows.jsonl").read_bytes() == before


def test_the_command_names_what_does_not_fit(assistant: Assistant, capsys: pytest.CaptureFixture[str]) -> None:
    index = ["--index", str(assistant.settings.index_path)]
    assert main(["eval", "run", "--transform", "shouting", *index]) == 1
    assert "hint: one of typos, upper" in capsys.readouterr().err
    assert main(["eval", "run", "--distractors", "corpus", *index]) == 1
    assert "hint: add --transform distractors" in capsys.readouterr().err
