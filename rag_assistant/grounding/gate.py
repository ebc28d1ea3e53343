"""Whether the papers that were found can answer: is one on the topic, and does its abstract say what is asked.

Both judgements rest on how closely the question's own content words are matched (see ``evidence``), which separated
SciFact's claims with evidence from those without better than any cosine of whole texts.
"""

from __future__ import annotations

from dataclasses import dataclass

from rag_assistant.evidence import FAR, PaperEvidence, QuestionWord
from rag_assistant.grounding.confidence import THRESHOLD, confidence, signals
from rag_assistant.questions.form import AnswerType

TOPIC_SCORE = 0.40
"""A paper with this retrieval score is on the topic: questions of other fields stay below it."""
TOPIC_COSINE = 0.34
SENTENCE_COSINE = 0.42
"""So is one whose window and best sentence are this close to a question in other words."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gate found for one paper.

    Attributes:
        on_topic: Whether the paper is about what the question is about.
        says: Whether its abstract says what is asked.
        missing: The question's own words that nothing in the paper comes close to, heaviest first.
        coverage: Of the question's own words by the whole paper, in [0, 1].
        confidence: The chance that the abstract says what is asked, in (0, 1).
    """

    on_topic: bool
    says: bool
    missing: tuple[str, ...]
    coverage: float
    confidence: float


def judge(
    words: tuple[QuestionWord, ...],
    paper: PaperEvidence,
    answer_type: AnswerType = "any",
    sought: tuple[str, ...] = (),
) -> Judgement:
    """Judges whether one paper answers a question.

    Args:
        words: The question's content words.
        paper: The paper, with how closely it matches them.
        answer_type: What a sentence that answers must hold.
        sought: Words of the question that a sentence which answers must match together.
    """
    own = [(word, match) for word, match in zip(words, paper.matches, strict=True) if not word.carried]
    missing = sorted((pair for pair in own if pair[1] < FAR), key=lambda pair: -pair[0].weight)
    found = signals(words, paper, answer_type, sought)
    by_words = matches_by_words(paper)
    on_topic = by_words or is_near(paper)
    sure = confidence(found)
    # A question in other words matches no word closely: there nearness alone decides.
    says = sure >= THRESHOLD if by_words else on_topic
    return Judgement(on_topic, says, tuple(word.text for word, _ in missing), found.coverage, sure)


def matches_by_words(paper: PaperEvidence) -> bool:
    """Whether a paper is on the topic by the words of the question, or because the question refers to it."""
    return paper.focused or paper.hit.score >= TOPIC_SCORE


def is_near(paper: PaperEvidence) -> bool:
    """Whether a paper is on the topic by its vectors: it says what is asked for in other words."""
    nearest = max((sentence.cosine for sentence in paper.sentences), default=0.0)
    return (paper.hit.dense or 0.0) >= TOPIC_COSINE and nearest >= SENTENCE_COSINE
