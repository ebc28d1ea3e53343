"""The default backend: answers with verbatim sentences of the abstracts, chosen without any model that writes.

Every sentence it yields is a whole sentence of an abstract with its label: its answers are supported by construction.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass

from rag_assistant.drafts import Draft, Label, Missing, Piece, Refusal
from rag_assistant.evidence.answerability import Answerability, judge
from rag_assistant.evidence.base import PaperEvidence, QuestionEvidence, heaviest
from rag_assistant.evidence.comparison_subjects import Subject, best_for_subject, subjects_of
from rag_assistant.evidence.sentence_choice import ranked, smallest_set
from rag_assistant.questions.form import QuestionForm
from rag_assistant.types import Length
from rag_assistant.writers.base import Prompt
from rag_assistant.writers.bibliography import answer_bibliography
from rag_assistant.writers.lists import matched_by_words

MAX_PAPERS = 3
ALSO_ASKED, ALSO_SURE = 0.36, 0.8
"""From this confidence on another paper is told beside the best: where several are asked for, and where not."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is told, at most; ``least`` is told of a paper even where fewer sentences cover the question.

    Attributes:
        alone, least: Sentences of a paper that answers alone.
        first, others: Sentences of the better and of the other of two papers, or of one side of a comparison.
        listed: Papers of a list.
    """

    alone: int
    least: int
    first: int
    others: int
    listed: int


SIZES: Mapping[Length, Size] = {
    "short": Size(alone=1, least=1, first=1, others=1, listed=5),
    "normal": Size(alone=3, least=1, first=2, others=1, listed=20),
    "long": Size(alone=6, least=5, first=3, others=2, listed=60),
}


class ExtractiveWriter:
    """Picks the smallest set of verbatim sentences that answers; refuses where no sentence does."""

    name = "extractive"
    model = ""

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """One piece a sentence; a refusal where the papers don't answer."""
        form, evidence, size = prompt.form, prompt.evidence, SIZES[prompt.length]
        if form.kind == "bibliography":
            return answer_bibliography(form, evidence)
        if form.kind == "list":
            return matched_by_words(form, evidence, form.at_most(size.listed))
        if form.kind == "comparison" and (subjects := subjects_of(form, evidence.words)):
            return _comparison(subjects, evidence, size)
        return _sentences(form, evidence, size, brief=prompt.length == "short")

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same pieces; choosing takes no time that is worth yielding for."""
        for piece in self.stream(prompt):
            yield piece


def _draft(position: int, paper: PaperEvidence, sentence: int) -> Draft:
    return Draft(paper.sentences[sentence].passage.text, (Label(position, sentence),))


def _judgements(evidence: QuestionEvidence) -> list[Answerability]:
    return [judge(evidence.words, paper) for paper in evidence.papers]


def _refusal(evidence: QuestionEvidence, judgements: list[Answerability]) -> Refusal:
    on_topic = [j for j in judgements if j.on_topic]
    if not on_topic:
        return Refusal("not_in_corpus", heaviest(evidence))
    return Refusal("not_in_abstracts", on_topic[0].missing or heaviest(evidence))


def _sentences(form: QuestionForm, evidence: QuestionEvidence, size: Size, *, brief: bool) -> Iterator[Piece]:
    """One fact, a figure, a reason, a yes/no: from the best paper, and from further ones that answer too where several
    are asked for or the reader is about as sure of them. A brief answer takes another only where several are asked for.
    """
    judgements = _judgements(evidence)
    able = [index for index, judgement in enumerate(judgements) if judgement.says]
    if not able:
        yield _refusal(evidence, judgements)
        return
    told = [able[0]]
    for index in () if brief and not form.multi else able[1:]:
        chance = judgements[index].confidence
        if chance is not None and chance >= (ALSO_ASKED if form.multi else ALSO_SURE):
            told.append(index)
    told = told[:MAX_PAPERS]
    for place, index in enumerate(told):
        limit = size.alone if len(told) == 1 else (size.first if place == 0 and len(told) == 2 else size.others)
        least = min(limit, size.least)
        for sentence in smallest_set(evidence.words, evidence.papers[index], limit, least):
            yield _draft(index, evidence.papers[index], sentence)


def _comparison(subjects: list[Subject], evidence: QuestionEvidence, size: Size) -> Iterator[Piece]:
    """The best sentence on each side, which may be one for both."""
    judgements = _judgements(evidence)
    if not any(judgement.on_topic for judgement in judgements):
        yield Refusal("not_in_corpus", heaviest(evidence))
        return
    found = [best_for_subject(evidence, subject) for subject in subjects]
    if not any(found):
        yield _refusal(evidence, judgements)
        return
    told: set[tuple[int, int]] = set()
    for subject, place in zip(subjects, found, strict=True):
        if place is None:
            yield Missing(subject.name)
        elif place not in told:
            index, sentence = place
            taken = {*told, *found}  # the sentences of the other sides are told in their turn
            paper = evidence.papers[index]
            best, most = [at for _, at in ranked(evidence.words, paper)], size.others
            if found.count(place) > 1:  # the best on both sides; what is best on the question may be another
                best, most = best[: size.least], size.first
            more = [at for at in best if (index, at) not in taken][: most - 1]
            for at in sorted((sentence, *more)):
                told.add((index, at))
                yield _draft(index, evidence.papers[index], at)
