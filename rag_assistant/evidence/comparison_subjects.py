"""The sides of a question that names several things: which words are whose, and which sentence tells most of one.

With a reader that is the sentence, of a paper that names the side and answers, which likeliest answers the question and
the side asked for by itself ("DPO"); without one, the sentence with most of the words of both.
``python -m benchmarks.sides`` prints what either finds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag_assistant.acronyms import is_acronym
from rag_assistant.evidence.answerability import is_near, matches_by_words
from rag_assistant.evidence.base import CLOSE, PaperEvidence, QuestionEvidence, QuestionWord, coverage
from rag_assistant.evidence.sentence_choice import sentence_score
from rag_assistant.questions.form import QuestionForm

_NAMES = re.compile(r"(?<![\w-])(?P<a>[\w#+-]+)\s+(?:and|or|versus|vs\.?)\s+(?P<b>[\w#+-]+)")
WORDS_WEIGHT = 0.1
"""What the words of the question and of the side count beside the reader, which is unsure of sentences that it finds
about as good; from 0.15 on, sides of ``benchmarks.sides`` are lost."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One of the things that a question names.

    Attributes:
        name: As it stands in the question.
        words: Positions of its words.
        place: Which of ``EvidenceSentence.sides`` is for it.
    """

    name: str
    words: tuple[int, ...]
    place: int


def subjects_of(form: QuestionForm, words: tuple[QuestionWord, ...]) -> list[Subject]:
    """The sides of a comparison, and names that a question joins ("What do DPO and CTMA need?"); none where two sides
    have the same words."""
    named = form.sides
    if not named:
        joined = (match for match in _NAMES.finditer(form.text) if is_acronym(match["a"]) and is_acronym(match["b"]))
        named = next(((match["a"], match["b"]) for match in joined), ())
    having = [(name, subject_words(words, name)) for name in named]
    if len({at for _, at in having}) < len(having):
        return []
    return [Subject(name, at, place) for place, (name, at) in enumerate(pair for pair in having if pair[1])]


def names_subject(words: tuple[QuestionWord, ...], paper: PaperEvidence, subject: Subject) -> bool:
    """Whether a paper has the words of a side."""
    return subset(words, paper.matches, subject.words) >= CLOSE


def best_for_subject(evidence: QuestionEvidence, subject: Subject, *, on_topic: bool = True) -> tuple[int, int] | None:
    """The paper and the sentence that tell most of a side, as positions; ``None`` where no paper names it.

    Args:
        evidence: What to look in.
        subject: The side.
        on_topic: Whether only papers count that pass the topic gate for the question as a whole.
    """
    best: tuple[float, int, int] | None = None
    for index, paper in enumerate(evidence.papers):
        if not names_subject(evidence.words, paper, subject):
            continue
        if on_topic and not (matches_by_words(paper) or is_near(paper)):
            continue
        for place in range(len(paper.sentences)):
            score = _score(evidence.words, paper, place, subject)
            if best is None or score > best[0]:
                best = (score, index, place)
    return None if best is None else best[1:]


def subject_words(words: tuple[QuestionWord, ...], side: str) -> tuple[int, ...]:
    """Positions of the words that stand in one side of a comparison, or in one of several alternatives."""
    lowered = side.lower()
    return tuple(index for index, word in enumerate(words) if word.text.lower() in lowered)


def subset(words: tuple[QuestionWord, ...], matches: tuple[float, ...], indices: tuple[int, ...]) -> float:
    """The coverage of the words at ``indices`` alone."""
    return coverage(tuple(words[i] for i in indices), tuple(matches[i] for i in indices))


def _score(words: tuple[QuestionWord, ...], paper: PaperEvidence, place: int, subject: Subject) -> float:
    sentence = paper.sentences[place]
    named = subset(words, sentence.matches, subject.words)
    if paper.reading is not None and sentence.sides:
        told = paper.reading.sentences[place] + sentence.sides[subject.place]
        return paper.reading.answers * told + WORDS_WEIGHT * (coverage(words, sentence.matches) + named)
    return sentence_score(words, paper, place) + named
