"""Making a prompt fit a model's context: the sentences that help least are left out first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.evidence.comparison_subjects import best_for_subject, subjects_of
from rag_assistant.evidence.sentence_choice import sentence_score
from rag_assistant.questions.form import QuestionForm

_RANK_MALUS = 0.1


TokenCount = Callable[[QuestionEvidence], int]
"""How many tokens a prompt with this evidence has."""


def fitting(form: QuestionForm, evidence: QuestionEvidence, room: int, size: TokenCount) -> QuestionEvidence | None:
    """The evidence with as many of the most useful sentences as a prompt of ``room`` tokens holds.

    Papers without any of these sentences are left out. ``None`` if not even one sentence fits.
    """
    if size(evidence) <= room:
        return evidence
    order = _by_use(form, evidence)
    low, high = 0, len(order) - 1
    best = None
    while low < high:
        count = (low + high + 1) // 2
        kept = _kept(evidence, set(order[:count]))
        if size(kept) <= room:
            low, best = count, kept
        else:
            high = count - 1
    return best


def first_papers(
    form: QuestionForm, evidence: QuestionEvidence, room: int, size: TokenCount, *, most: int
) -> QuestionEvidence | None:
    """The evidence with as many of its first papers as a prompt of ``room`` tokens holds, at most ``most``.

    Papers are kept whole, but if the first one alone is too long, its most useful sentences are kept. ``None`` if not
    even one sentence fits.
    """
    for count in range(min(most, len(evidence.papers)), 0, -1):
        part = replace(evidence, papers=evidence.papers[:count])
        if size(part) <= room:
            return part
    return fitting(form, replace(evidence, papers=evidence.papers[:1]), room, size)


def _by_use(form: QuestionForm, evidence: QuestionEvidence) -> list[tuple[int, int]]:
    """Sentences as (paper, place), the most useful first: if the question names several things, the best one on each;
    if it is about several papers, then the best one of each."""
    by_subject = [best_for_subject(evidence, subject, on_topic=False) for subject in subjects_of(form, evidence.words)]
    scored = []
    for place, paper in enumerate(evidence.papers):
        scores = [sentence_score(evidence.words, paper, index) for index in range(len(paper.sentences))]
        best = max(scores, default=0.0)
        for index, score in enumerate(scores):
            first = form.multi and score == best
            position = (place, index)
            scored.append((position not in by_subject, not first, _RANK_MALUS * place - score, position))
    return [position for *_, position in sorted(scored)]


def _kept(evidence: QuestionEvidence, chosen: set[tuple[int, int]]) -> QuestionEvidence:
    papers = []
    for place, paper in enumerate(evidence.papers):
        kept = [index for index in range(len(paper.sentences)) if (place, index) in chosen]
        if kept:
            reading = paper.reading and replace(
                paper.reading, sentences=tuple(paper.reading.sentences[index] for index in kept)
            )
            papers.append(replace(paper, sentences=tuple(paper.sentences[i] for i in kept), reading=reading))
    return replace(evidence, papers=tuple(papers))
