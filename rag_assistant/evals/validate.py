"""Whether questions agree with the papers that they are about, which a schema can't check.

A wrong set measures nothing, so each question brings its own proof: its patterns match the evidence and a right answer
in other words, but neither the question itself nor wrong answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rag_assistant.evals.case import Case, CaseProblem, pattern_found
from rag_assistant.evals.records import Fault
from rag_assistant.evals.text import content_stems, plain
from rag_assistant.types import Paper

MAX_PARAPHRASE_OVERLAP = 0.2
"""Share of a paraphrase question's content stems that may occur in the abstract; one word is always allowed."""

_CaseCheck = Callable[[Case, "_World"], Iterator[Fault]]


class _World:
    """What a question is checked against."""

    def __init__(self, cases: Sequence[Case], papers: Sequence[Paper]) -> None:
        self.papers: Mapping[str, Paper] = {paper.id: paper for paper in papers}
        self.cases: Mapping[str, Case] = {case.id: case for case in cases}
        self.first_asked: dict[tuple[object, ...], str] = {}
        self.split_of: dict[str, tuple[str, str]] = {}
        for case in cases:
            self.first_asked.setdefault((plain(case.question).casefold(), case.history), case.id)
            if len(case.papers) == 1:
                self.split_of.setdefault(next(iter(case.papers)), (case.split, case.id))


def problems_of(cases: Sequence[Case], papers: Sequence[Paper], *, file: str = "") -> tuple[CaseProblem, ...]:
    """Every problem of every question, in the order of the questions.

    Args:
        cases: The whole set; twins and variants are looked up in it.
        papers: All papers that the set is about.
        file: Named in the problems.
    """
    world = _World(cases, papers)
    return tuple(
        CaseProblem(file, case.line, field, message, case.id)
        for case in cases
        for check in _CHECKS
        for field, message in check(case, world)
    )


def _papers(case: Case, world: _World) -> Iterator[Fault]:
    for paper in (*case.papers, *case.also_ok):
        if paper not in world.papers:
            yield "papers" if paper in case.papers else "also_ok", f"there is no paper {paper!r}"
    for paper in case.also_ok:
        if paper in case.papers:
            yield "also_ok", f"{paper!r} is a gold paper already"
    if case.answerable and 2 not in case.papers.values():
        yield "papers", "an answerable question needs a paper of grade 2"
    if not case.answerable and case.category != "false_premise" and 2 in case.papers.values():
        yield "papers", "a question that can't be answered has no paper of grade 2"


def _evidence(case: Case, world: _World) -> Iterator[Fault]:
    for n, evidence in enumerate(case.evidence):
        paper = world.papers.get(evidence.paper)
        if evidence.paper not in case.papers:
            yield f"evidence[{n}].paper", f"{evidence.paper!r} is not among the gold papers"
        if paper is not None and evidence.quote not in field_text(paper, evidence.field):
            yield f"evidence[{n}].quote", f"not verbatim in the {evidence.field} of {evidence.paper!r}"
    if case.answerable or case.category == "false_premise":
        quoted = {evidence.paper for evidence in case.evidence}
        for paper_id, grade in case.papers.items():
            if grade == 2 and paper_id not in quoted:
                yield "evidence", f"nothing is quoted from {paper_id!r}"
    elif case.evidence or case.nuggets or case.numbers:
        yield "evidence", "a question that can't be answered has no evidence, nuggets or numbers"


def field_text(paper: Paper, field: str) -> str:
    """A paper's field as text: authors joined by ``"; "``, links one per line together with the paper's own page."""
    if field == "authors":
        return "; ".join(paper.authors)
    if field == "links":
        return "\n".join([*paper.links.values(), paper.url or ""])
    return str(getattr(paper, field) or "")


def _status(case: Case, _: _World) -> Iterator[Fault]:
    answering = {"answered", "partial"} & set(case.expected_status)
    if case.answerable and not answering:
        yield "expected_status", "an answerable question must expect an answer"
    if not case.answerable and case.category != "false_premise" and answering:
        yield "expected_status", "a question that can't be answered must not expect an answer"
    if case.category in {"near_miss", "far", "false_premise"} and case.answerable:
        yield "answerable", f"must be false for the category {case.category}"
    if case.category == "follow_up" and not case.history and "clarify" not in case.expected_status:
        yield "history", "a follow-up needs one, or must expect a question back"
    if not case.standalone_question.strip():
        yield "standalone_question", "missing"


def _nuggets(case: Case, _: _World) -> Iterator[Fault]:
    quotes = [evidence.quote for evidence in case.evidence]
    for n, nugget in enumerate(case.nuggets):
        if quotes and not any(nugget.found(quote) for quote in quotes):
            yield f"nuggets[{n}]", "matches no quote of the evidence"
        if not nugget.found(case.paraphrase):
            yield f"nuggets[{n}]", "doesn't match the paraphrase"
        if nugget.found(case.question):
            yield f"nuggets[{n}]", "matches the question itself"
    if case.nuggets and not any(nugget.vital for nugget in case.nuggets):
        yield "nuggets", "none of them is vital"
    if case.answerable and not case.is_listing and not case.nuggets and not case.numbers:
        yield "nuggets", "an answerable question needs nuggets or numbers, or must be a listing"


def _numbers(case: Case, _: _World) -> Iterator[Fault]:
    for n, number in enumerate(case.numbers):
        if not any(number.found(evidence.quote) for evidence in case.evidence):
            yield f"numbers[{n}]", "in no quote of the evidence"
        if not number.found(case.paraphrase):
            yield f"numbers[{n}]", "not in the paraphrase"
        if number.found(case.question):
            yield f"numbers[{n}]", "in the question itself"


def _answers(case: Case, _: _World) -> Iterator[Fault]:
    scored = case.answerable or bool(case.nuggets)
    if scored and not case.paraphrase.strip():
        yield "paraphrase", "missing"
    if scored and not case.wrong:
        yield "wrong", "needs at least one wrong answer"
    if case.paraphrase and case.breaks(case.paraphrase):
        yield "must_not", "matches the paraphrase"
    if any(case.breaks(evidence.quote) for evidence in case.evidence):
        yield "must_not", "matches the evidence"
    for n, pattern in enumerate(case.must_not):
        if not any(pattern_found(pattern, wrong) for wrong in case.wrong):
            yield f"must_not[{n}]", "matches none of the wrong answers"
    for n, wrong in enumerate(case.wrong):
        if (case.nuggets or case.numbers or case.must_not) and case.accepts(wrong):
            yield f"wrong[{n}]", "would be taken for right"


def _wording(case: Case, world: _World) -> Iterator[Fault]:
    first = world.first_asked[(plain(case.question).casefold(), case.history)]
    if first != case.id:
        yield "question", f"asked already as {first!r}"
    if case.category != "paraphrase":
        return
    stems = content_stems(case.question)
    for paper_id in case.gold:
        if paper_id in world.papers:
            shared = stems & content_stems(world.papers[paper_id].abstract)
            if len(shared) > max(1, int(MAX_PARAPHRASE_OVERLAP * len(stems))):
                yield "question", f"shares {', '.join(sorted(shared))} with the abstract of {paper_id!r}"


def _links(case: Case, world: _World) -> Iterator[Fault]:
    if case.category == "near_miss" and not case.twin:
        yield "twin", "a near miss needs an answerable twin"
    if case.twin:
        twin = world.cases.get(case.twin)
        if twin is None:
            yield "twin", f"there is no question {case.twin!r}"
        elif twin.twin != case.id:
            yield "twin", f"{case.twin!r} doesn't name this one as its twin"
        elif twin.answerable == case.answerable or set(twin.papers) != set(case.papers):
            yield "twin", "twins are an answerable and an unanswerable question on the same papers"
        elif twin.split != case.split:
            yield "twin", "twins belong in one split"
    if case.variant_of:
        base = world.cases.get(case.variant_of)
        if base is None or base.id == case.id:
            yield "variant_of", f"there is no other question {case.variant_of!r}"
        elif base.variant_of:
            yield "variant_of", f"{case.variant_of!r} is itself a variant"
        elif base.split != case.split or set(base.papers) != set(case.papers):
            yield "variant_of", "a variant has the papers and the split of its original"


def _splits(case: Case, world: _World) -> Iterator[Fault]:
    """Questions about one paper must all be in one split; those about several may have to cross splits."""
    if len(case.papers) == 1:
        split, other = world.split_of[next(iter(case.papers))]
        if split != case.split:
            yield "split", f"{other!r} on the same paper is in {split}"


_CHECKS: tuple[_CaseCheck, ...] = (
    _papers,
    _evidence,
    _status,
    _nuggets,
    _numbers,
    _answers,
    _wording,
    _links,
    _splits,
)
