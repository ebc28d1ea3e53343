"""The authors that a question names, as far as a corpus has them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import pairwise

from rag_assistant.retrieval.spelling import is_word
from rag_assistant.types import Paper

_WORD = re.compile(r"[^\W\d_]+")
_LIKENESS = 0.85
_LONGEST_NAME = 5


def _parts(text: str) -> tuple[str, ...]:
    folded = unicodedata.normalize("NFKD", text.casefold())
    return tuple(_WORD.findall("".join(c for c in folded if not unicodedata.combining(c))))


def nearest_name(name: str, names: Iterable[str]) -> str:
    """The name that is written nearly like another one; ``""`` if none is."""
    close = get_close_matches(name, list(dict.fromkeys(names)), n=1, cutoff=_LIKENESS)
    return close[0] if close else ""


class Authors:
    """The names of the authors of some papers."""

    def __init__(self, papers: Iterable[Paper], occurs: Callable[[str], bool]) -> None:
        self._occurs = occurs
        self._names = tuple(dict.fromkeys(name for paper in papers for name in paper.authors))
        self._full: dict[tuple[str, ...], str] = {}
        self._family: dict[str, set[str]] = {}
        for name in self._names:
            if len(parts := _parts(name)) > 1:
                self._full |= {parts: name, (parts[0], parts[-1]): name}
                self._family.setdefault(parts[-1], set()).add(name)

    def named(self, question: str) -> dict[str, str]:
        """The authors named in a question, by how they are written there: by full name, or by a family name that only
        one has and that is no word."""
        found: dict[str, str] = {}
        words = list(_WORD.finditer(question))
        at = 0
        while at < len(words):
            for size in range(_LONGEST_NAME, 0, -1):
                said = question[words[at].start() : words[min(at + size, len(words)) - 1].end()]
                name = self._full.get(_parts(said)) or (self._of_family(said) if size == 1 and at else None)
                if name:
                    found[said] = name
                    at += size - 1
                    break
            at += 1
        return found

    def _of_family(self, said: str) -> str | None:
        people = self._family.get("".join(_parts(said)), set())
        plain = said[0].isupper() and len(people) == 1 and not is_word(said.lower()) and not self._occurs(said)
        return next(iter(people)) if plain else None

    def misspelt(self, question: str) -> str:
        """Two capitalised words, not both in the papers, that are nearly an author's full name; ``""`` if none are."""
        words = _WORD.findall(question)
        for pair in pairwise(words):
            name = " ".join(pair)
            capitals = all(word[0].isupper() for word in pair)
            if capitals and not all(map(self._occurs, pair)) and nearest_name(name, self._names):
                return name
        return ""
