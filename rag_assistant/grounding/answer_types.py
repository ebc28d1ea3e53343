"""Whether a sentence holds the type of thing a question asks for: a number, a share, a count of just that.

The types are the numeric ones of Li and Roth (2002, "Learning Question Classifiers"), read off the sentence's form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_assistant.questions.form import AnswerType

_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundreds?|thousands?|millions?|billions?|half|"
    "twice|double|doubles|triple|third|quarter|several|dozens?"
)
_NUMBER = re.compile(
    rf"\d|\b(?:{_WORDS})\b|(?-i:\bO)\s*(?:\\left\s*)?\(|\\mathcal\{{?O|\\tilde",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"\d\W{0,3}(?:%|percent|per cent|points?\b)|\bhalf\b|\bthird\b|\bquarter\b|\bfraction\b|\b0?\.\d", re.IGNORECASE
)
_DEGREE = re.compile(
    r"\b(?:only|part|partly|partially|most|mostly|much|little|slightly|significant\w*|substantial\w*|fully|entirely|all|"
    r"none|up to|at most|at least|exponential\w*|linear\w*|sublinear\w*|polynomial\w*|logarithmic\w*|fast|faster|slow|"
    r"slower|optimal)\b",
    re.IGNORECASE,
)
_COUNT_BEFORE = rf"(?:\d[\d,.]*\s*[kKmMbB]?|\b(?:{_WORDS}))\b\W*(?:[\w-]+\W+){{0,8}}?"
_COUNT_AFTER = r"\W+(?:(?:of|is|are|was|were|to|at|near|about|around|only|just|by|as|than)\W+){0,3}\D{0,3}\d"


def has_number(sentence: str) -> bool:
    """Whether a sentence holds a number, a number word or a rate like ``O(1/T)``."""
    return bool(_NUMBER.search(sentence))


def holds(sentence: str, answer_type: AnswerType) -> bool:
    """Whether a sentence holds something of the type; anything does for ``any`` and ``reason``."""
    if answer_type in ("number", "count"):
        return has_number(sentence)
    if answer_type == "share":
        return bool(_SHARE.search(sentence))
    if answer_type == "degree":
        return has_number(sentence) or bool(_DEGREE.search(sentence))
    return True


def counts(sentence: str, things: Sequence[str]) -> bool:
    """Whether a number stands with one of the things in a sentence: ``300,000 pairwise preferences``."""
    return any(
        re.search(rf"{_COUNT_BEFORE}{stem}\w{{0,3}}\b|\b{stem}\w{{0,3}}{_COUNT_AFTER}", sentence, re.IGNORECASE)
        for stem in (re.escape(thing.lower().removesuffix("s")) for thing in things)
    )


def names(sentence: str, thing: str) -> bool:
    """Whether a sentence speaks of a thing by the same word, in the singular or plural."""
    return bool(re.search(rf"\b{re.escape(thing.lower().removesuffix('s'))}\w{{0,3}}\b", sentence, re.IGNORECASE))
