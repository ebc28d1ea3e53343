"""Corrects misspelt words of a question to the words that the papers use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher, get_close_matches
from functools import cache

from rag_assistant.evidence.base import Corrections
from rag_assistant.grounding.negated_words import NEGATING
from rag_assistant.questions.language import is_english
from rag_assistant.retrieval.background import is_common
from rag_assistant.types import Paper

_WORD = re.compile(r"[^\W\d_]{4,}")
_LIKENESS = 0.8
_SURE = 0.88
_MAX_WORDS = 12
"""At most this many unknown words are looked up: a text with more isn't misspelt, but in another language."""
_PREFIXES = (*NEGATING, "de", "hyper", "inter", "meta", "multi", "over", "post", "pre", "re", "sub", "super", "under")


@cache
def is_word(word: str) -> bool:
    """Whether a word in lower case is English, with or without a prefix."""
    if is_common(word) or word in _dictionary():
        return True
    rests = (word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix))
    return any(len(rest) > 3 and (is_common(rest) or rest in _dictionary()) for rest in rests)


@cache
def _dictionary() -> frozenset[str]:
    from spellchecker import SpellChecker  # takes a moment to load

    return frozenset(SpellChecker().word_frequency.words())


def _negated(word: str, other: str) -> bool:
    """Whether one of two words is the other, or nearly so, with a negating prefix."""
    return any(
        long.startswith(prefix)
        and not short.startswith(prefix)
        and SequenceMatcher(None, long.removeprefix(prefix), short).ratio() >= _LIKENESS
        for long, short in ((word, other), (other, word))
        for prefix in NEGATING
    )


class Spelling:
    """The words of some papers, collected when first needed."""

    def __init__(self, papers: Iterable[Paper]) -> None:
        self._papers = papers
        self._words: list[str] | None = None

    def corrections(self, text: str, occurs: Callable[[str], bool]) -> Corrections:
        """Words of ``text`` that are most likely misspelt, with what the papers have instead.

        A word is looked up if it isn't English, isn't a name (capitals beyond the first letter) and occurs in no paper.
        It is replaced by a word that begins like it and is nearly the same; a word that is only similar is offered.
        Neither adds or drops a negating prefix.

        Args:
            text: The question.
            occurs: Whether a word, in any inflection, occurs in a paper.
        """
        if not is_english(text):  # its words aren't misspelt English
            return Corrections()
        unknown = [
            word
            for word in dict.fromkeys(_WORD.findall(text))
            if word[1:].islower() and word.isascii() and not is_common(word.lower()) and not occurs(word)
        ]
        made: dict[str, str] = {}
        offered: dict[str, str] = {}
        if len(unknown) > _MAX_WORDS:
            return Corrections(made, offered)
        for word in unknown:
            written = word.lower()
            close = get_close_matches(written, self._vocabulary(), n=1, cutoff=_LIKENESS)
            if not close or close[0] == written or is_word(written) or _negated(written, close[0]):
                continue
            sure = written[0] == close[0][0] and SequenceMatcher(None, close[0], written).ratio() >= _SURE
            (made if sure else offered)[word] = close[0]
        return Corrections(made, offered)

    def _vocabulary(self) -> list[str]:
        if self._words is None:
            words = {
                word.lower() for paper in self._papers for word in _WORD.findall(f"{paper.title} {paper.abstract}")
            }
            self._words = sorted(word for word in words if word.isascii())
        return self._words
