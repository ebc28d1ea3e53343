"""What a model's answer to a comparison leaves out: a side of which abstracts tell, or of which none does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_assistant.backends.sides import best_for_side, names_side, side_words, sides_of, subset
from rag_assistant.drafts import Draft, Frame, Label, Missing, Notice, Piece
from rag_assistant.evidence import CLOSE, Evidence, PaperEvidence
from rag_assistant.questions.form import QuestionForm
from rag_assistant.types import Citation, Statement

NOTICE = "The model wrote on one side of the comparison only; a sentence of an abstract was added for the other."
LEAD_IN = "\n\nOn the other side, which is left out above, the abstracts say: "


def left_out(
    form: QuestionForm,
    evidence: Evidence,
    statements: Sequence[Statement],
    citations: Sequence[Citation],
    missing: Sequence[str],
) -> Iterator[Piece]:
    """The best sentence on a side that no statement is about; that the abstracts don't tell of one that none names.

    Nothing where the answer is about no side: then it isn't half an answer.

    Args:
        form: What was asked.
        evidence: What the model was sent.
        statements: What it wrote.
        citations: What these cite.
        missing: What it said that the abstracts don't tell.
    """
    if form.kind != "comparison":
        return
    papers = {paper.hit.paper.id: paper for paper in evidence.papers}
    cited = {citation.number: papers[citation.paper.id] for citation in citations if citation.paper.id in papers}
    supported = [statement for statement in statements if statement.support == "supported"]
    sides = sides_of(form, evidence.words)
    told = [any(_is_about(evidence, statement, cited, side) for statement in supported) for side in sides]
    if not any(told):
        return
    denied = " ".join(missing).lower()
    for side, is_told in zip(sides, told, strict=True):
        if is_told or any(evidence.words[at].text.lower() in denied for at in side):
            continue
        place = best_for_side(form, evidence, side)
        if place is not None:
            paper = evidence.papers[place[0]]
            yield Frame(LEAD_IN)
            yield Draft(paper.sentences[place[1]].passage.text, (Label(*place),))
            yield Notice(NOTICE)
        elif not any(names_side(evidence.words, paper, side) for paper in evidence.papers):
            yield Missing(next(name for name in form.sides if side_words(evidence.words, name) == side))


def _is_about(evidence: Evidence, statement: Statement, cited: dict[int, PaperEvidence], side: tuple[int, ...]) -> bool:
    """Whether a statement names a side, or rests on a sentence or a title that does."""
    text = statement.text.lower()
    if all(evidence.words[at].text.lower() in text for at in side):
        return True
    rows = []
    for ref in statement.quotes:
        if (paper := cited.get(ref.citation)) is not None:
            rows.append(paper.title_matches)
            rows += (sentence.matches for sentence in paper.sentences if sentence.passage.start == ref.start)
    return any(subset(evidence.words, row, side) >= CLOSE for row in rows)
