"""Which words are the same: not those that a prefix negates, nor others of the same stem."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assistant import Assistant

PAPERS = [
    {
        "id": "smooth",
        "title": "Rates of federated averaging",
        "abstract": "Federated averaging is widely used. We prove that it converges at rate 1/T for smooth losses.",
    },
    {
        "id": "labels",
        "title": "Pretraining with labels",
        "abstract": "Supervised pretraining improves accuracy by 4 points. It takes two days on one machine.",
    },
    {
        "id": "workers",
        "title": "Training with workers that may lie",
        "abstract": "Convergence holds as long as honest workers number at least twelve. Few messages are needed.",
    },
    {
        "id": "both",
        "title": "Kernels with and without symmetry",
        "abstract": "Symmetric kernels take 3 hours. Asymmetric kernels take 5 hours. Non-linear kernels take 9 hours, "
        "linear kernels 1 hour.",
    },
    {
        "id": "universal",
        "title": "Universal approximation",
        "abstract": "We prove universal approximation by convex networks of any depth.",
    },
    {
        "id": "university",
        "title": "Dropping out",
        "abstract": "We predict which students of a university leave early.",
    },
    {
        "id": "organ",
        "title": "Donors",
        "abstract": "We match donated organs with patients in minutes.",
    },
    {
        "id": "organization",
        "title": "Rules at work",
        "abstract": "We study how large organizations write down their rules.",
    },
    {
        "id": "denied",
        "title": "Surrogates outside of their data",
        "abstract": "A surrogate is not reliable far from its data. We give a bound on its error.",
    },
]


@pytest.fixture(scope="module")
def asked(index: Path) -> Iterator[Assistant]:
    with Assistant.open(index) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "plain"),
    [
        ("At which rate does federated averaging converge for non-smooth losses?", "non-smooth"),
        ("At which rate does federated averaging converge for nonsmooth losses?", "nonsmooth"),
        ("At which rate does federated averaging converge for non smooth losses?", "non smooth"),
        ("At which rate does federated averaging converge for Non\u2011smooth losses?", "Non\u2011smooth"),
        ("By how much does unsupervised pretraining improve accuracy?", "unsupervised"),
        ("By how much does un-supervised pretraining improve accuracy?", "un-supervised"),
        ("How many dishonest workers are there at least for convergence?", "dishonest"),
    ],
)
def test_the_opposite_is_no_answer(asked: Assistant, question: str, plain: str) -> None:
    refused = asked.ask(question)
    assert refused.status != "answered", refused.text
    negating = next(part for part in ("non", "un", "dis") if plain.lower().startswith(part))
    asks_for_it = question.replace(plain, plain[len(negating) :].lstrip(" -\u2011"))
    answer = asked.ask(asks_for_it)
    assert answer.status == "answered"
    assert answer.closest is None
    assert refused.closest is not None
    assert refused.closest.quote.text in [quote.text for one in answer.citations for quote in one.quotes]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How long do asymmetric kernels take?", "Asymmetric kernels take 5 hours."),
        ("How long do non-linear kernels take?", "Non-linear kernels take 9 hours"),
        ("How long do nonlinear kernels take?", "Non-linear kernels take 9 hours"),
        ("Where is a surrogate unreliable?", "A surrogate is not reliable far from its data."),
    ],
)
def test_what_the_paper_negates_as_well_is_answered(asked: Assistant, question: str, said: str) -> None:
    answer = asked.ask(question)
    assert answer.status == "answered"
    assert said in answer.text


@pytest.mark.parametrize("word", ["non-smooth", "nonsmooth"])
def test_no_list_has_the_opposite(asked: Assistant, word: str) -> None:
    assert asked.ask(f"Which papers are about {word} losses?").status == "not_in_corpus"
    assert [c.paper.id for c in asked.ask("Which papers are about smooth losses?").citations] == ["smooth"]


@pytest.mark.parametrize(
    ("word", "listed"),
    [
        ("universities", "university"),
        ("universal approximation", "universal"),
        ("organs", "organ"),
        ("organizations", "organization"),
    ],
)
def test_a_list_has_no_other_word_of_the_same_stem(asked: Assistant, word: str, listed: str) -> None:
    assert [c.paper.id for c in asked.ask(f"Which papers talk about {word}?").citations] == [listed]
