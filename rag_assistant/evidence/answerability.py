"""Whether the papers that were found can answer: is one on the topic, and does its abstract say what is asked.

Whether it says it is the reader's judgement (see ``reader``), made a probability by a logistic model of what the reader
and the search make of the paper; the commands in ``training/`` fit and print it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rag_assistant.evidence.base import FAR, PaperEvidence, QuestionWord, coverage

TOPIC_SCORE = 0.37
"""A paper with this retrieval score is on the topic: questions of other fields stay below it."""
TOPIC_COSINE = 0.32
SENTENCE_COSINE = 0.39
"""So is one whose window and best sentence are this close to a question in other words."""

INTERCEPT = -1.086
COEFFICIENTS = (0.859, -0.111, 2.501)
"""Of the reader's logits for the paper and for its best sentence, and that sentence's cosine."""
THRESHOLD = 0.34
"""From this confidence on an abstract is taken to say what is asked; 12% of the answerable questions of the fit are
below it."""


@dataclass(frozen=True, slots=True)
class Answerability:
    """What the gate found for one paper.

    Attributes:
        on_topic: Whether the paper is about what the question is about.
        says: Whether its abstract says what is asked; without a reader, whether it is on the topic.
        missing: The question's own words that nothing in the paper comes close to, heaviest first.
        coverage: Of the question's own words by the whole paper, in [0, 1].
        confidence: The chance that the abstract says what is asked, in (0, 1); ``None`` where no reader judged.
    """

    on_topic: bool
    says: bool
    missing: tuple[str, ...]
    coverage: float
    confidence: float | None


def judge(words: tuple[QuestionWord, ...], paper: PaperEvidence) -> Answerability:
    """Judges whether one paper answers a question.

    Args:
        words: The question's content words.
        paper: The paper, with how closely it matches them, and as the reader read it.
    """
    own = [(word, match) for word, match in zip(words, paper.matches, strict=True) if not word.carried]
    missing = sorted((pair for pair in own if pair[1] < FAR), key=lambda pair: -pair[0].weight)
    sure = confidence(paper)
    says = on_topic(paper) if sure is None else sure >= THRESHOLD
    covered = coverage(tuple(word for word, _ in own), tuple(match for _, match in own))
    return Answerability(says or on_topic(paper), says, tuple(word.text for word, _ in missing), covered, sure)


def confidence(paper: PaperEvidence) -> float | None:
    """The chance that the abstract says what is asked, in (0, 1); ``None`` where no reader judged it."""
    if paper.reading is None:
        return None
    chances = paper.reading.sentences
    if not chances:
        return 0.0
    best = chances.index(max(chances))
    values = (
        logit(paper.reading.answers),
        logit(chances[best]),
        paper.sentences[best].cosine,
    )
    return _logistic(INTERCEPT + sum(factor * value for factor, value in zip(COEFFICIENTS, values, strict=True)))


def on_topic(paper: PaperEvidence) -> bool:
    """Whether a paper is on the topic: by the words of the question, by its vectors, or because it is referred to."""
    return matches_by_words(paper) or is_near(paper)


def matches_by_words(paper: PaperEvidence) -> bool:
    """Whether a paper is on the topic by the words of the question, or because the question refers to it."""
    return paper.focused or paper.search_score >= TOPIC_SCORE


def is_near(paper: PaperEvidence) -> bool:
    """Whether a paper is on the topic by its vectors: it says what is asked for in other words."""
    nearest = max((sentence.cosine for sentence in paper.sentences), default=0.0)
    return (paper.hit.dense or 0.0) >= TOPIC_COSINE and nearest >= SENTENCE_COSINE


def logit(chance: float) -> float:
    """The log-odds of a probability, which is kept a millionth away from 0 and 1."""
    kept = min(max(chance, 1e-6), 1 - 1e-6)
    return math.log(kept / (1 - kept))


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))
