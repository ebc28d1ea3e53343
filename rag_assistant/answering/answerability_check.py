"""The last check of a model's answer, as a whole: whether it answers, and whether it answers what was asked.

Each statement may be true to its quotes and the answer still miss the question: models seldom refuse a near miss. The
gate that decides about answers without a model decides here once the model has written, where it can: on papers that
match the words of the question. A question in other words, or in another language, is left to the model.

The reader isn't asked whether a statement answers, as if it were an abstract: between 21 right answers and 21 that are
beside the point, written about the bundled papers, its AUROC is 0.61, and 0.68 with the abstract before the statement.
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
"""The gate's confidence from which the fallback overrules a model that finds no answer. Chosen on the eval set's
``dev`` split, where most near misses lie below it and most answerable questions above."""
_MARKER = re.compile(r"\[\d+\]")


def says_nothing(form: QuestionForm, statements: Sequence[Statement]) -> bool:
    """Whether no statement both holds and adds to the question: "Guarantees are given in the analysis" doesn't say
    which. An answer that may be put in the question's own words (yes, or one of two things compared) may repeat it."""
    held = [statement for statement in statements if statement.support == "supported"]
    if form.kind in ("yesno", "comparison"):
        return not held
    asked = content_stems(form.text)
    return all(content_stems(_MARKER.sub("", statement.text)) <= asked for statement in held)


def answering_sentences(evidence: QuestionEvidence, cited: Collection[str], written: str) -> Iterator[Draft]:
    """The sentences of the first cited paper that answer, as the backend without a model would choose them, except
    those that ``written`` already has."""
    for place, paper in enumerate(evidence.papers):
        if paper.hit.paper.id in cited:
            for number in smallest_set(evidence.words, paper):
                text = paper.sentences[number].passage.text
                if text not in written:
                    yield Draft(text, (Label(place, number),))
            return


def withheld(form: QuestionForm, evidence: QuestionEvidence, cited: Collection[str]) -> Refusal | None:
    """The refusal that replaces a model's answer; ``None`` if the answer stands.

    Args:
        form: What was asked. Questions about several papers aren't judged, since no one paper says it all, nor are
            questions in another language, whose words no abstract has.
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
