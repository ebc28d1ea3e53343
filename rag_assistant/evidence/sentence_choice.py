"""Which sentences answer: those the reader names or, without a reader, those that match the question best."""

from __future__ import annotations

from rag_assistant.evidence.base import PaperEvidence, QuestionWord, coverage

MAX_SENTENCES = 3
COSINE_WEIGHT = 0.3
ANSWERS = 0.35
"""The reader's probability that a further sentence answers, from which that sentence is quoted too."""
MATCHES_WEIGHT = 0.4
"""The weight of word matches beside the reader's probability, to order sentences that it finds alike. Of weights from
0 to 1, this one most often puts a labelled sentence of the held-out papers first."""


def sentence_score(words: tuple[QuestionWord, ...], paper: PaperEvidence, index: int) -> float:
    """How well the sentence at ``index`` answers; higher is better, roughly in [0, 1.7]."""
    sentence = paper.sentences[index]
    matched = coverage(words, sentence.matches) + COSINE_WEIGHT * sentence.cosine
    if paper.reading is None:
        return matched
    return paper.reading.sentences[index] + MATCHES_WEIGHT * matched


def ranked(words: tuple[QuestionWord, ...], paper: PaperEvidence) -> list[tuple[float, int]]:
    """All sentences of a paper as ``(score, position)``, best first."""
    scores = [(sentence_score(words, paper, index), index) for index in range(len(paper.sentences))]
    return sorted(scores, key=lambda pair: (-pair[0], pair[1]))


def smallest_set(
    words: tuple[QuestionWord, ...], paper: PaperEvidence, limit: int = MAX_SENTENCES, least: int = 1
) -> list[int]:
    """Positions of the fewest sentences that answer, in the order of the abstract.

    The best sentence in any case; then those that the reader says answer too, and the next best up to ``least``.
    """
    order = [index for _, index in ranked(words, paper)]
    chosen = order[:1]
    if paper.reading is not None:
        more = (index for index in order[1:] if paper.reading.sentences[index] >= ANSWERS)
        chosen += list(more)[: max(0, limit - 1)]
    chosen += [index for index in order if index not in chosen][: max(0, least - len(chosen))]
    return sorted(chosen)
