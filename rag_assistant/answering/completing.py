"""What an answer leaves out: one side of a comparison, or that another paper says the opposite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_assistant.drafts import Draft, Frame, Label, Missing, Notice, Piece
from rag_assistant.evidence.answerability import is_near, matches_by_words
from rag_assistant.evidence.base import CLOSE, QuestionEvidence
from rag_assistant.evidence.comparison_subjects import (
    Subject,
    best_for_subject,
    names_subject,
    subjects_of,
    subset,
)
from rag_assistant.grounding.conflicts import conflict
from rag_assistant.grounding.wording import contents, words
from rag_assistant.questions.form import QuestionForm
from rag_assistant.types import Citation, Statement

NOTICE = "The model wrote on one side of the comparison only; a sentence of an abstract was added for the other."
LEAD_IN = "\n\nOn the other side, which is left out above, the abstracts say: "
DISAGREE = "\n\nThe papers disagree on this. Another says: "
DISAGREE_CITED = "\n\nThe papers disagree on this: {} and {}."


@dataclass(frozen=True, slots=True)
class Written:
    """What was written on a question.

    Attributes:
        form: What was asked.
        evidence: What it was written from.
        statements: What was written.
        citations: What these cite.
        missing: What was said not to be told by the abstracts.
    """

    form: QuestionForm
    evidence: QuestionEvidence
    statements: Sequence[Statement]
    citations: Sequence[Citation]
    missing: Sequence[str]

    @property
    def supported(self) -> list[Statement]:
        """The statements that hold."""
        return [statement for statement in self.statements if statement.support == "supported"]

    @property
    def cited(self) -> dict[int, int]:
        """The place in the evidence of each paper that is cited, by its number."""
        places = {paper.hit.paper.id: place for place, paper in enumerate(self.evidence.papers)}
        return {c.number: places[c.paper.id] for c in self.citations if c.paper.id in places}

    def rests_on(self, statement: Statement) -> Iterator[Label]:
        """The sentences of a statement."""
        cited = self.cited
        for ref in statement.quotes:
            if (place := cited.get(ref.citation)) is not None:
                for at, sentence in enumerate(self.evidence.papers[place].sentences):
                    if sentence.passage.start == ref.start:
                        yield Label(place, at)


def left_out(written: Written) -> Iterator[Piece]:
    """For a comparison the best sentence on a side that no statement is about; that the abstracts don't tell of one
    that none names. Nothing where the answer is about no side: then it isn't half an answer."""
    form, evidence = written.form, written.evidence
    if form.kind != "comparison":
        return
    sides = subjects_of(form, evidence.words)
    told = [any(_is_about(written, statement, side) for statement in written.supported) for side in sides]
    if not any(told):
        return
    denied = " ".join(written.missing).lower()
    for side, is_told in zip(sides, told, strict=True):
        if is_told or any(evidence.words[at].text.lower() in denied for at in side.words):
            continue
        place = best_for_subject(evidence, side)
        if place is not None:
            paper = evidence.papers[place[0]]
            yield Frame(LEAD_IN)
            yield Draft(paper.sentences[place[1]].passage.text, (Label(*place),))
            yield Notice(NOTICE)
        elif not any(names_subject(evidence.words, paper, side) for paper in evidence.papers):
            yield Missing(side.name)


def contradicted(written: Written) -> Iterator[Piece]:
    """That papers disagree on what is asked, and the sentence of the other paper where it isn't cited yet.

    What is looked for is a sentence that contradicts one which the answer rests on, in a paper on the topic.
    """
    form, evidence = written.form, written.evidence
    if form.kind in ("list", "bibliography"):
        return
    asked = contents(words(form.text))
    told = list(dict.fromkeys(label for statement in written.supported for label in written.rests_on(statement)))
    for label in told:
        for other in _others(evidence, label):
            on = conflict(_text(evidence, label), _text(evidence, other))
            if not on & asked:
                continue
            if other in told:
                titles = (f"“{evidence.papers[at.paper].hit.paper.title}”" for at in (label, other))
                yield Frame(DISAGREE_CITED.format(*titles))
            else:
                yield Frame(DISAGREE)
                yield Draft(_text(evidence, other), (other,))
            return


def _others(evidence: QuestionEvidence, label: Label) -> Iterator[Label]:
    for place, paper in enumerate(evidence.papers):
        if place != label.paper and (matches_by_words(paper) or is_near(paper)):
            yield from (Label(place, at) for at, sentence in enumerate(paper.sentences) if not sentence.orders)


def _text(evidence: QuestionEvidence, label: Label) -> str:
    return evidence.papers[label.paper].sentences[label.sentence or 0].passage.text


def _is_about(written: Written, statement: Statement, side: Subject) -> bool:
    """Whether a statement names a side, or rests on a sentence or a title that does."""
    words = written.evidence.words
    text = statement.text.lower()
    if all(words[at].text.lower() in text for at in side.words):
        return True
    rows = []
    for label in written.rests_on(statement):
        paper = written.evidence.papers[label.paper]
        rows += [paper.title_matches, paper.sentences[label.sentence or 0].matches]
    return any(subset(words, row, side.words) >= CLOSE for row in rows)
