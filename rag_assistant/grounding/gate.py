"""Whether the papers that were found can answer: is one on the topic, and does a sentence of it say what is asked.

Both judgements rest on how closely the question's own content words are matched (see ``evidence``), which separated
SciFact's claims with evidence from those without better than any cosine of whole texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag_assistant.evidence import FAR, EvidenceSentence, PaperEvidence, QuestionWord, coverage
from rag_assistant.questions import AnswerType

TOPIC_SCORE = 0.40
"""A paper with this retrieval score is on the topic: questions of other fields stay below it."""
TOPIC_COSINE = 0.34
SENTENCE_COSINE = 0.42
"""So is one whose window and best sentence are this close to a question in other words."""
ASPECT_COVERAGE = 0.6
ASPECT_MISSING = 0.34
TOGETHER = 0.5
"""From this match on a word that is sought counts as spoken of."""

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million|billion|half|"
    r"twice|double|doubles|triple|third|quarter|several|dozen)\b|(?-i:\bO)\s*(?:\\left\s*)?\(|\\mathcal\{?O|\\tilde",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gate found for one paper.

    Attributes:
        on_topic: Whether the paper is about what the question is about.
        says: Whether its abstract says what is asked.
        missing: The question's own words that nothing in the paper comes close to, heaviest first.
        coverage: Of the question's own words by the whole paper, in [0, 1].
    """

    on_topic: bool
    says: bool
    missing: tuple[str, ...]
    coverage: float


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
    matches = paper.matches
    own = [(word, match) for word, match in zip(words, matches, strict=True) if not word.carried]
    total = sum(word.weight for word, _ in own)
    own_coverage = sum(word.weight * match for word, match in own) / total if total else coverage(words, matches)
    missing = sorted((pair for pair in own if pair[1] < FAR), key=lambda pair: -pair[0].weight)
    missing_share = sum(word.weight for word, _ in missing) / total if total else 0.0
    said_otherwise = (paper.hit.dense or 0.0) >= TOPIC_COSINE and (
        max((sentence.cosine for sentence in paper.sentences), default=0.0) >= SENTENCE_COSINE
    )
    on_topic = paper.focused or paper.hit.score >= TOPIC_SCORE or said_otherwise
    says = (paper.hit.score >= TOPIC_SCORE and own_coverage >= ASPECT_COVERAGE and missing_share <= ASPECT_MISSING) or (
        said_otherwise and paper.hit.score < TOPIC_SCORE
    )
    if says and answer_type == "number":
        says = any(has_number(sentence.passage.text) for sentence in near_best(words, paper))
    if says and len(sought) > 1:
        says = _together(words, paper, sought)
    return Judgement(on_topic, says, tuple(word.text for word, _ in missing), own_coverage)


def _together(words: tuple[QuestionWord, ...], paper: PaperEvidence, sought: tuple[str, ...]) -> bool:
    """Whether one sentence, or the title, comes near every word that is sought."""
    places = [at for at, word in enumerate(words) if word.text.lower() in sought]
    rows = (paper.title_matches, *(sentence.matches for sentence in paper.sentences))
    return any(all(row[at] >= TOGETHER for at in places) for row in rows)


def near_best(words: tuple[QuestionWord, ...], paper: PaperEvidence, within: float = 0.3) -> list[EvidenceSentence]:
    """The sentences that match the question about as well as the best one does."""
    scored = [(coverage(words, sentence.matches), sentence) for sentence in paper.sentences]
    best = max((score for score, _ in scored), default=0.0)
    return [sentence for score, sentence in scored if score >= best - within]


def has_number(sentence: str) -> bool:
    """Whether a sentence holds a number, a number word or a rate like ``O(1/T)``."""
    return bool(_NUMBER.search(sentence))
