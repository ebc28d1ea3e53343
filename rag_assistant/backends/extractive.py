"""The default backend: answers with verbatim sentences of the abstracts, chosen without any model that writes.

Every sentence it yields is a whole sentence of an abstract with its label: its answers are supported by construction.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass

from rag_assistant.backends.base import Prompt
from rag_assistant.backends.bibliography import answer_bibliography
from rag_assistant.backends.lists import matched_by_words
from rag_assistant.backends.selection import ranked, smallest_set
from rag_assistant.backends.sides import best_for_side, side_words, subset
from rag_assistant.drafts import Draft, Label, Missing, Piece, Refusal
from rag_assistant.evidence import CLOSE, Evidence, PaperEvidence, heaviest
from rag_assistant.grounding.gate import Judgement, judge
from rag_assistant.questions.form import QuestionForm
from rag_assistant.types import Length

SECOND_PAPER_MARGIN = 0.04
MULTI_PAPER_MARGIN = 0.16
STAND_IN_MARGIN = 0.18
MAX_PAPERS = 3
OPEN_SHARE = 0.2
"""Another paper is drawn on for what the first leaves open if that is this share of the question's words, by weight."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is told, at most; ``least`` is told of a paper even where fewer sentences cover the question.

    Attributes:
        alone, least: Sentences of a paper that answers alone.
        first, others: Sentences of the better and of the other of two papers, or of one side of a comparison.
        together: Sentences that serve all sides of a comparison.
        listed: Papers of a list.
    """

    alone: int
    least: int
    first: int
    others: int
    together: int
    listed: int


SIZES: Mapping[Length, Size] = {
    "short": Size(alone=1, least=1, first=1, others=1, together=1, listed=5),
    "normal": Size(alone=3, least=1, first=2, others=1, together=2, listed=20),
    "long": Size(alone=6, least=5, first=3, others=2, together=5, listed=60),
}


class ExtractiveBackend:
    """Picks the smallest set of verbatim sentences that answers; refuses where no sentence does."""

    name = "extractive"
    model = ""

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """One piece a sentence; a refusal where the papers don't answer."""
        form, evidence, size = prompt.form, prompt.evidence, SIZES[prompt.length]
        if form.kind == "bibliography":
            return answer_bibliography(form, evidence)
        if form.kind == "list":
            return matched_by_words(form, evidence, size.listed)
        if form.kind == "comparison":
            return _comparison(form, evidence, size)
        return _sentences(form, evidence, size, brief=prompt.length == "short")

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same pieces; choosing takes no time that is worth yielding for."""
        for piece in self.stream(prompt):
            yield piece


def _draft(position: int, paper: PaperEvidence, sentence: int) -> Draft:
    return Draft(paper.sentences[sentence].passage.text, (Label(position, sentence),))


def _judgements(form: QuestionForm, evidence: Evidence) -> list[Judgement]:
    return [judge(evidence.words, paper, form.answer_type, form.sought) for paper in evidence.papers]


def _refusal(evidence: Evidence, judgements: list[Judgement]) -> Refusal:
    on_topic = [j for j in judgements if j.on_topic]
    if not on_topic:
        return Refusal("not_in_corpus", heaviest(evidence))
    return Refusal("not_in_abstracts", on_topic[0].missing or heaviest(evidence))


def _sentences(form: QuestionForm, evidence: Evidence, size: Size, *, brief: bool) -> Iterator[Piece]:
    """One fact, a figure, a reason, a yes/no: from the best paper, and from further ones that match about as well or
    that match what the best one leaves open. A brief answer takes another only where several are asked for."""
    judgements = _judgements(form, evidence)
    able = _able(form, evidence, judgements)
    if not able:
        yield _refusal(evidence, judgements)
        return
    best_score = evidence.papers[able[0]].hit.score
    margin = MULTI_PAPER_MARGIN if form.multi else SECOND_PAPER_MARGIN
    chosen = [index for index in able if evidence.papers[index].hit.score >= best_score - margin][:MAX_PAPERS]
    best_sentence = ranked(form, evidence.words, evidence.papers[chosen[0]])[0][0]
    told = [chosen[0]]
    for index in () if brief and not form.multi else chosen[1:]:
        if form.multi or ranked(form, evidence.words, evidence.papers[index])[0][0] >= best_sentence - margin:
            told.append(index)
    complement = _complement(evidence, judgements, told) if _asks_for_several(form) else None
    for place, index in enumerate(told):
        limit = size.alone if len(told) == 1 else (size.first if place == 0 and len(told) == 2 else size.others)
        least = min(limit, size.least)
        for sentence in smallest_set(form, evidence.words, evidence.papers[index], limit, least):
            yield _draft(index, evidence.papers[index], sentence)
    if complement is not None:
        index, words = complement
        paper = evidence.papers[index]
        best = max(
            range(len(paper.sentences)), key=lambda at: subset(evidence.words, paper.sentences[at].matches, words)
        )
        yield _draft(index, paper, best)


def _able(form: QuestionForm, evidence: Evidence, judgements: list[Judgement]) -> list[int]:
    """Papers that say it. Where the best match doesn't, one that matches far less doesn't answer in its place."""
    on_topic = (evidence.papers[index].hit.score for index, judgement in enumerate(judgements) if judgement.on_topic)
    least = 0.0 if form.multi else max(on_topic, default=0.0) - STAND_IN_MARGIN
    return [index for index, j in enumerate(judgements) if j.says and evidence.papers[index].hit.score >= least]


def _asks_for_several(form: QuestionForm) -> bool:
    return form.multi or " and " in form.text


def _complement(evidence: Evidence, judgements: list[Judgement], told: list[int]) -> tuple[int, tuple[int, ...]] | None:
    """Another paper that matches the words which the papers already told leave open, and those words' positions."""
    columns = zip(*(evidence.papers[index].matches for index in told), strict=True)
    open_words = tuple(
        at for at, column in enumerate(columns) if max(column) < CLOSE and not evidence.words[at].carried
    )
    total = sum(word.weight for word in evidence.words)
    if not total or sum(evidence.words[at].weight for at in open_words) < OPEN_SHARE * total:
        return None
    for index, paper in enumerate(evidence.papers):
        if index in told or not judgements[index].on_topic:
            continue
        if any(subset(evidence.words, sentence.matches, open_words) >= CLOSE for sentence in paper.sentences):
            return index, open_words
    return None


def _comparison(form: QuestionForm, evidence: Evidence, size: Size) -> Iterator[Piece]:
    """Evidence for each side; one sentence serves both where it names both."""
    judgements = _judgements(form, evidence)
    if not any(judgement.on_topic for judgement in judgements):
        yield Refusal("not_in_corpus", heaviest(evidence))
        return
    sides = [side_words(evidence.words, side) for side in form.sides]
    found: list[tuple[int, int] | None] = []
    for side in sides:
        found.append(best_for_side(form, evidence, side) if side else None)
    if not any(found):
        yield _refusal(evidence, judgements)
        return
    together = _names_all(evidence, judgements, [side for side in sides if side])
    if together is not None:
        for sentence in smallest_set(form, evidence.words, evidence.papers[together], size.together, size.least):
            yield _draft(together, evidence.papers[together], sentence)
        return
    told: set[tuple[int, int]] = set()
    for name, place in zip(form.sides, found, strict=True):
        if place is None:
            yield Missing(name)
        elif place not in told:
            index, sentence = place
            taken = {*told, *found}  # the sentences of the other sides are told in their turn
            order = ranked(form, evidence.words, evidence.papers[index])
            more = [at for _, at in order if (index, at) not in taken][: size.others - 1]
            for at in sorted((sentence, *more)):
                told.add((index, at))
                yield _draft(index, evidence.papers[index], at)


def _names_all(evidence: Evidence, judgements: list[Judgement], sides: list[tuple[int, ...]]) -> int | None:
    """The best paper with a sentence that names every side, if there is one."""
    for index, paper in enumerate(evidence.papers):
        if judgements[index].on_topic and any(
            all(subset(evidence.words, sentence.matches, side) >= CLOSE for side in sides)
            for sentence in paper.sentences
        ):
            return index
    return None
