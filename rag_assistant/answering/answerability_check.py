"""The last check of what a model wrote, on the answer as a whole: whether it answers, and what was asked.

Statements may each be true to their quotes and yet answer another question than the one asked: models seldom refuse a
near miss. The gate that decides for answers without a model decides here after the model wrote, where it can: on papers
that match the question by its words. A question in other words or in another language is the model's to answer.

The reader isn't asked whether a statement answers, as if it were an abstract: between 21 right answers and 21 that
are beside the point, written on the bundled papers, its AUROC is 0.61, and 0.68 with the abstract before the
statement. What it makes of the sentence that has most of an answer's words says more, but unevenly: below the least
of a right answer of one half lie 1 of 10 and 6 of 11 beside the point, and 0 of 10 and 1 of 10 right ones, of the
other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from rag_assistant.drafts import Draft, Label, Refusal
from rag_assistant.evidence.answerability import judge, matches_by_words
from rag_assistant.evidence.base import QuestionEvidence, heaviest
from rag_assistant.evidence.sentence_choice import smallest_set
from rag_assistant.questions.content import content_stems
from rag_assistant.questions.form import QuestionForm
from rag_assistant.questions.language import is_english
from rag_assistant.types import Statement

WITHHELD = (
    "The model's answer was withheld: the abstracts that it cites don't seem to say what is asked. "
    "trust_model (RAG_TRUST_MODEL) lets such answers through."
)
NOTHING_HELD = "The model gave no answer that holds"
SURE = 0.75
"""A model that finds no answer is overruled by the fallback only from this confidence of the gate on. Chosen on the
eval set's ``dev`` split, where most near misses lie below and most questions that can be answered above."""
_MARKER = re.compile(r"\[\d+\]")


def says_nothing(form: QuestionForm, statements: Sequence[Statement]) -> bool:
    """Whether nothing of an answer both holds and adds to the question: "Guarantees are given in the analysis" doesn't
    tell which. What can be answered in the question's own words, by yes or by one of its sides, may repeat them."""
    held = [statement for statement in statements if statement.support == "supported"]
    if form.kind in ("yesno", "comparison"):
        return not held
    asked = content_stems(form.text)
    return all(content_stems(_MARKER.sub("", statement.text)) <= asked for statement in held)


def answering_sentences(evidence: QuestionEvidence, cited: Collection[str], told: str) -> Iterator[Draft]:
    """The sentences of the first cited paper that answer, as the backend without a model would choose them, without
    those that are told already."""
    for place, paper in enumerate(evidence.papers):
        if paper.hit.paper.id in cited:
            for number in smallest_set(evidence.words, paper):
                text = paper.sentences[number].passage.text
                if text not in told:
                    yield Draft(text, (Label(place, number),))
            return


def withheld(form: QuestionForm, evidence: QuestionEvidence, cited: Collection[str]) -> Refusal | None:
    """The refusal that takes the place of a model's answer; ``None`` where the answer stands.

    Args:
        form: What was asked. Questions over several papers aren't judged, since no paper says all of it, nor those
            in another language, whose words no abstract has.
        evidence: All that was found for it.
        cited: The ids of the papers that the answer cites.
    """
    if form.multi or form.kind == "comparison" or not is_english(form.text):
        return None
    decisive = [
        paper
        for place, paper in enumerate(evidence.papers)
        if (place == 0 or paper.hit.paper.id in cited) and matches_by_words(paper)
    ]
    judged = [judge(evidence.words, paper) for paper in decisive]
    if not judged or any(judgement.says for judgement in judged):
        return None
    return Refusal("not_in_abstracts", judged[0].missing or heaviest(evidence))
