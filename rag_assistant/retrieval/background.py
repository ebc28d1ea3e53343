"""How common an English word is, for weighting words where a corpus is too small to show it.

The WordPiece vocabulary lists whole words by falling frequency, so by Zipf's law the chance that a text as long as an
abstract has the word of rank r is about ``20 / r``. A word outside the vocabulary is rarer than all those in it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_FIRST_FREQUENT = 1996  # ids below are control tokens and single characters; "the" comes first
_CHANCE_AT_RANK_ONE = 20.0
_CEILING = 0.9


@cache
def _ranks() -> dict[str, int]:
    vocabulary = (files("rag_assistant") / "data" / "minilm" / "vocab.txt").read_text(encoding="utf-8").split("\n")
    words = (word for word in vocabulary[_FIRST_FREQUENT:] if word and not word.startswith("##"))
    return {word: rank for rank, word in enumerate(words, start=1)}


def document_probability(word: str) -> float:
    """The chance that an English abstract has ``word`` (lower case), in (0, 0.9]."""
    ranks = _ranks()
    return min(_CEILING, _CHANCE_AT_RANK_ONE / ranks.get(word, len(ranks)))


def is_common(word: str) -> bool:
    """Whether ``word`` (lower case) is one of the roughly 20,000 words that the vocabulary lists whole."""
    return word in _ranks()
