"""Words that a prefix negates: "non-smooth", "unsupervised". A sentence about the word without it is no answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from rag_assistant.evidence.base import PaperEvidence, QuestionEvidence
from rag_assistant.grounding.polarity import denied_in
from rag_assistant.stems import stem

NEGATING = ("anti", "dis", "il", "im", "in", "ir", "mis", "non", "un")
_SURELY = ("non", "un")
"""With these a resemblance is never by chance, unlike that of "information" and "formation"."""
_LEAST, _LEAST_SURELY = 5, 3
"""The least number of letters in the stem of a negated word."""
_WORD = re.compile(r"[^\W\d_]+")
_JOINED = re.compile(
    r"\b(non(?=[-\u2010\u2011 ])|(?:un|anti)(?=[-\u2010\u2011]))[-\u2010\u2011 ](?=[^\W\d_])", re.IGNORECASE
)


def joined(text: str) -> str:
    """The text with negating prefixes joined to their words: "nonsmooth" for "non-smooth"."""
    return _JOINED.sub(r"\1", text)


def is_negated(word: str) -> bool:
    """Whether a text is one word with a negating prefix, such as "non-smooth"."""
    return joined(word) != word and joined(word).isalpha()


def without_opposites(evidence: QuestionEvidence, question: str) -> QuestionEvidence:
    """The evidence, in which a sentence no longer answers if it has a negated word of the question without the prefix;
    unless the paper has it with such a prefix too, or the sentence negates it in another way.

    Args:
        evidence: What was found and read.
        question: The question that was searched for.
    """
    words = _words(question)
    plain = {rest for word in words for rest in _negated(word)} - words
    if not plain:
        return evidence
    return replace(evidence, papers=tuple(_marked(paper, plain) for paper in evidence.papers))


def _marked(paper: PaperEvidence, plain: set[str]) -> PaperEvidence:
    if paper.reading is None:
        return paper
    held = _words(f"{paper.hit.paper.title} {paper.hit.paper.abstract}")
    opposed = (plain & held) - {rest for word in held for rest in _negated(word)}
    texts = [sentence.passage.text for sentence in paper.sentences]
    places = {at for at, text in enumerate(texts) if opposed & _words(text) - denied_in(text)} if opposed else set()
    return replace(paper, reading=paper.reading.without(places))


def _words(text: str) -> set[str]:
    return {stem(word) for word in _WORD.findall(joined(text))}


def _negated(word: str) -> Iterator[str]:
    for prefix in NEGATING:
        rest = word.removeprefix(prefix)
        if rest != word and len(rest) >= (_LEAST_SURELY if prefix in _SURELY else _LEAST):
            yield rest
