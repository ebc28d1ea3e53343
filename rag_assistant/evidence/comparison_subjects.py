"""The sides of a question that names several things: which words are whose, and which sentence tells most of one."""

from __future__ import annotations

import re

from rag_assistant.acronyms import is_acronym
from rag_assistant.evidence.answerability import is_near, matches_by_words
from rag_assistant.evidence.base import CLOSE, PaperEvidence, QuestionEvidence, QuestionWord, coverage
from rag_assistant.evidence.sentence_choice import sentence_score
from rag_assistant.questions.form import QuestionForm

_NAMES = re.compile(r"(?<![\w-])(?P<a>[\w#+-]+)\s+(?:and|or|versus|vs\.?)\s+(?P<b>[\w#+-]+)")


def subjects_of(form: QuestionForm, words: tuple[QuestionWord, ...]) -> list[tuple[int, ...]]:
    """The sides of a comparison, and names that a question joins ("What do DPO and CTMA need?"), as positions of their
    words; none where two sides have the same words."""
    named = form.sides
    if not named:
        joined = (match for match in _NAMES.finditer(form.text) if is_acronym(match["a"]) and is_acronym(match["b"]))
        named = next(((match["a"], match["b"]) for match in joined), ())
    sides = [subject_words(words, side) for side in named]
    return [side for side in sides if side] if len(set(sides)) == len(sides) else []


def names_subject(words: tuple[QuestionWord, ...], paper: PaperEvidence, side: tuple[int, ...]) -> bool:
    """Whether a paper has the words of a side."""
    return subset(words, paper.matches, side) >= CLOSE


def best_for_subject(
    evidence: QuestionEvidence, side: tuple[int, ...], *, on_topic: bool = True
) -> tuple[int, int] | None:
    """The paper and the sentence that tell most of a side, as positions; ``None`` where no paper names it.

    Args:
        evidence: What to look in.
        side: Positions of its words.
        on_topic: Whether only papers count that pass the topic gate for the question as a whole.
    """
    best: tuple[float, int, int] | None = None
    for index, paper in enumerate(evidence.papers):
        if not names_subject(evidence.words, paper, side):
            continue
        if on_topic and not (matches_by_words(paper) or is_near(paper)):
            continue
        for place, sentence in enumerate(paper.sentences):
            score = sentence_score(evidence.words, paper, place) + subset(evidence.words, sentence.matches, side)
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
