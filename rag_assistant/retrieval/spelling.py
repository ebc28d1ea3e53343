"""Mends misspelt words of a question with the words that the papers use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from rag_assistant.retrieval.background import is_common
from rag_assistant.types import Paper

_WORD = re.compile(r"[^\W\d_]{4,}")
_LIKENESS = 0.8
_MAX_WORDS = 12
"""How many unknown words are looked up; a text with more isn't misspelt but in another language."""


class Spelling:
    """The words of some papers, gathered when they are first needed."""

    def __init__(self, papers: Iterable[Paper]) -> None:
        self._papers = papers
        self._words: list[str] | None = None

    def corrections(self, text: str, occurs: Callable[[str], bool]) -> dict[str, str]:
        """Words of ``text`` that are most likely misspelt, with what they are read as.

        A word is looked up if it is no common English word, no name (capitals beyond the first letter) and occurs in no
        paper; it is replaced only by a word that is nearly the same.

        Args:
            text: The question.
            occurs: Whether a word, in any inflection, occurs in a paper.
        """
        unknown = [
            word
            for word in dict.fromkeys(_WORD.findall(text))
            if word[1:].islower() and word.isascii() and not is_common(word.lower()) and not occurs(word)
        ]
        if not unknown or len(unknown) > _MAX_WORDS:
            return {}
        found = {word: get_close_matches(word.lower(), self._vocabulary(), n=1, cutoff=_LIKENESS) for word in unknown}
        return {word: close[0] for word, close in found.items() if close}

    def _vocabulary(self) -> list[str]:
        if self._words is None:
            words = {
                word.lower() for paper in self._papers for word in _WORD.findall(f"{paper.title} {paper.abstract}")
            }
            self._words = sorted(word for word in words if word.isascii())
        return self._words
