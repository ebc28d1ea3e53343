"""What went wrong, question by question, beside what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_assistant.evals.answer_metrics import ANSWERING
from rag_assistant.evals.case import Case
from rag_assistant.evals.folder import Run
from rag_assistant.evals.rows import Row

KINDS: Mapping[str, str] = {
    "error": "an error",
    "refused": "refused, though the papers say",
    "answered": "answered, though the papers don't say",
    "incomplete": "something vital is missing",
    "papers": "other papers than the gold ones",
    "forbidden": "says what it must not",
    "premise": "a false premise was not put right",
    "refusal": "another refusal was expected",
    "wrong": "wrong",
}
"""Kinds of failure, with their labels; ``wrong`` if the question's gold isn't at hand to say more."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A paper that an answer cites, with the words quoted."""

    number: int
    paper: str
    title: str
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """Something that a right answer says, and whether this one does; ``vital`` if it can't be right without it."""

    what: str
    vital: bool
    found: bool


@dataclass(frozen=True)
class RunAnswer:
    """One run's answer to a question.

    Attributes:
        run: The position of the run, from 0.
        kind: One of :data:`KINDS`, or empty if the answer is right.
        asked: The question as this run put it.
        status, confidence, text, cited, errors: The answer's; ``text`` is ``None`` if the run keeps no answers.
        points: The gold, checked off against this answer.
    """

    run: int
    kind: str
    asked: str
    status: str
    confidence: float
    text: str | None
    cited: tuple[Cited, ...]
    errors: tuple[str, ...]
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Failure:
    """A question that at least one run got wrong, with the answer of every run.

    Attributes:
        id, category, split, question, history: The question's.
        outcomes: By run; runs without the question are left out.
        expected: Statuses that are right.
        papers: Gold papers by id, with their titles if any answer shows them.
        evidence: Papers and words from which the answer follows.
        example: A right answer.
        known: Whether the gold is at hand.
    """

    id: str
    category: str
    split: str
    question: str
    history: tuple[tuple[str, str], ...]
    outcomes: tuple[RunAnswer, ...]
    expected: tuple[str, ...]
    papers: tuple[tuple[str, str], ...]
    evidence: tuple[tuple[str, str], ...]
    example: str
    known: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of failure among the runs that got it wrong."""
        return tuple(dict.fromkeys(outcome.kind for outcome in self.outcomes if outcome.kind))


def failures(runs: Sequence[Run], cases: Iterable[Case]) -> tuple[Failure, ...]:
    """Every question that any of the runs got wrong, in the order of the first run that has it.

    Args:
        runs: The runs to search.
        cases: The gold, if at hand; a case that has changed since a run isn't used for that run.
    """
    gold = {case.sha256: case for case in cases}
    titles = _titles(runs)
    by_id: dict[str, list[tuple[int, Row]]] = {}
    for place, run in enumerate(runs):
        for row in run.main:
            by_id.setdefault(row.id, []).append((place, row))
    found = []
    for rows in by_id.values():
        if any(_failed(row) for _, row in rows):
            found.append(_failure(rows, gold, titles))
    return tuple(found)


def _failed(row: Row) -> bool:
    return row.failed or row.scores.get("correct") == 0.0


def _failure(rows: Sequence[tuple[int, Row]], gold: Mapping[str, Case], titles: Mapping[str, str]) -> Failure:
    first = next(row for _, row in rows if _failed(row))
    case = gold.get(first.case_sha256)
    outcomes = tuple(_outcome(place, row, gold.get(row.case_sha256)) for place, row in rows)
    if case is None:
        return Failure(first.id, first.category, first.split, first.question, (), outcomes, (), (), (), "", False)
    turned = case.answerable and not first.answerable
    return Failure(
        case.id,
        case.category,
        first.split,
        case.question,
        case.history,
        outcomes,
        ("not_in_corpus", "not_in_abstracts") if turned else case.expected_status,
        tuple((paper, titles.get(paper, "")) for paper in case.gold),
        () if turned else tuple((evidence.paper, evidence.quote) for evidence in case.evidence),
        "" if turned else case.paraphrase,
        True,
    )


def _outcome(place: int, row: Row, case: Case | None) -> RunAnswer:
    answer: Mapping[str, Any] = row.answer or {}
    text = None if row.answer is None else str(answer.get("text", ""))
    points: tuple[Point, ...] = ()
    if case is not None and text is not None and row.answerable == case.answerable:
        said = text if row.status in ANSWERING else ""
        points = (
            *(Point(" or ".join(n.patterns), n.vital, n.found(said)) for n in case.nuggets),
            *(Point(f"{n.value:g}{n.unit and f' {n.unit}'}", True, n.found(said)) for n in case.numbers),
            *(Point(f"not: {p}", True, False) for p in case.must_not if case.breaks(text) and _breaks(p, text)),
        )
    return RunAnswer(
        place,
        _kind(row, case, text) if _failed(row) else "",
        row.question,
        row.status,
        row.confidence,
        text,
        tuple(_cited(citation) for citation in answer.get("citations", ())),
        tuple(f"{where}: {said}" for where, said in row.errors.items()),
        points,
    )


def _breaks(pattern: str, text: str) -> bool:
    from rag_assistant.evals.case import pattern_found

    return pattern_found(pattern, text)


def _cited(citation: Mapping[str, Any]) -> Cited:
    paper = citation["paper"]
    quotes = tuple(str(quote["text"]) for quote in citation["quotes"])
    return Cited(int(citation["number"]), str(paper["id"]), str(paper["title"]), quotes)


def _kind(row: Row, case: Case | None, text: str | None) -> str:
    refused = row.status not in ANSWERING
    if row.failed:
        return "error"
    if row.answerable and refused:
        return "refused"
    if case is None or text is None:
        return "answered" if not row.answerable and not refused else "wrong"
    if case.breaks(text):
        return "forbidden"
    if not row.answerable:
        return "refusal" if refused else "premise" if case.category == "false_premise" else "answered"
    return "papers" if case.is_listing or case.accepts(text) else "incomplete"


def _titles(runs: Sequence[Run]) -> dict[str, str]:
    titles: dict[str, str] = {}
    for run in runs:
        for row in run.main:
            answer = row.answer or {}
            for found in (*answer.get("citations", ()), *answer.get("hits", ())):
                titles.setdefault(str(found["paper"]["id"]), str(found["paper"]["title"]))
    return titles
