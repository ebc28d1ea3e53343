"""Papers, the shipped set, and systems whose answers are known in advance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from rag_assistant.bundled import bundled
from rag_assistant.evals import Case, Dataset
from rag_assistant.loaders import load_papers
from rag_assistant.types import Answer, Citation, Hit, Paper, Passage, Quote, Statement, Turn

Ask = Callable[..., Answer]


@pytest.fixture(scope="session")
def papers() -> dict[str, Paper]:
    return {paper.id: paper for paper in load_papers(bundled("corpus")).papers}


@pytest.fixture(scope="session")
def shipped() -> Dataset:
    return Dataset.load()


def hit(paper: Paper, rank: int) -> Hit:
    passage = Passage(f"{paper.id}:0", paper.id, 0, len(paper.abstract), paper.abstract)
    return Hit(paper, passage, rank, 1 / rank, dense=1 / rank)


def refusal(question: str, status: str = "not_in_abstracts", hits: Sequence[Hit] = ()) -> Answer:
    return Answer(question, question, status, "The papers don't say.", hits=tuple(hits), timings_ms={"total": 1.0})  # type: ignore[arg-type]


def answered(question: str, said: Sequence[tuple[Paper, str]], hits: Sequence[Hit] = ()) -> Answer:
    """An answer whose sentences are the given words of the given papers, each cited with its place."""
    numbers: dict[str, int] = {}
    quotes: dict[str, list[Quote]] = {}
    by_id = {paper.id: paper for paper, _ in said}
    text = ""
    statements = []
    for paper, words in said:
        number = numbers.setdefault(paper.id, len(numbers) + 1)
        at = paper.abstract.find(words)
        if at >= 0:
            quotes.setdefault(paper.id, []).append(Quote(words, at, at + len(words)))
        start = len(text)
        text += f"{words} [{number}]"
        basis = "abstract" if at >= 0 else "bibliography"
        statements.append(Statement(text[start:], start, len(text), (number,), basis=basis))  # type: ignore[arg-type]
        text += " "
    citations = tuple(Citation(n, by_id[paper], tuple(quotes.get(paper, ()))) for paper, n in numbers.items())
    return Answer(
        question,
        question,
        "answered",
        text.strip(),
        tuple(statements),
        citations,
        tuple(hits) or tuple(hit(by_id[paper], rank) for rank, paper in enumerate(numbers, 1)),
        backend="gold",
        timings_ms={"total": 2.0},
    )


class Gold:
    """Answers each question of a set with its evidence, and refuses what can't be answered."""

    def __init__(self, dataset: Dataset, papers: dict[str, Paper]) -> None:
        self.papers = papers
        self.cases = {(case.question, case.history): case for case in dataset}
        self.cases |= {(case.standalone, ()): case for case in dataset if case.history}
        self.asked: list[str] = []

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        self.asked.append(question)
        case = self.cases.get((question, tuple(history)))
        return refusal(question) if case is None else self.of(case)

    def of(self, case: Case) -> Answer:
        if not case.answerable:
            return refusal(case.question, case.expected_status[0])
        return answered(case.question, [(self.papers[e.paper], e.quote) for e in case.evidence])

    def describe(self) -> dict[str, object]:
        return {"settings": {"k": 6, "openai_api_key": "sk-very-secret", "max_tokens": 400}, "index": {"papers": 19}}


@pytest.fixture(scope="session")
def gold_type() -> type[Gold]:
    return Gold


@pytest.fixture
def gold(shipped: Dataset, papers: dict[str, Paper]) -> Gold:
    return Gold(shipped, papers)


@pytest.fixture(scope="session")
def answer_of() -> Callable[..., Answer]:
    return answered


@pytest.fixture(scope="session")
def refuse() -> Callable[..., Answer]:
    return refusal


@pytest.fixture(scope="session")
def hits_of() -> Callable[[Sequence[Paper]], tuple[Hit, ...]]:
    return lambda found: tuple(hit(paper, rank) for rank, paper in enumerate(found, 1))


@pytest.fixture
def small(shipped: Dataset) -> Dataset:
    """A handful of questions of every kind, of one split and quick to run."""
    ids = (
        "nika24a/oracle",
        "nika24a/i-banana",
        "nika24a/fu-mdp",
        "nika24a/approx-rates",
        "nika24a/n-rates",
        "nika24a/nm-deep-rates",
        "nika24a/fp-dpo-error",
        "nika24a/authors",
        "bartoldson24a/flops",
        "multi/l-preferences",
        "far/capital",
    )
    return replace(shipped, cases=tuple(case for case in shipped if case.id in ids))
