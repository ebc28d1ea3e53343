"""What the forms of an English word have in common, in British and American spelling alike.

Stems show whether two texts are about the same thing. Uninflected words show who does what to whom: by its stem
"performance" would be the verb "perform", and "compression" would be "compress".
"""

from __future__ import annotations

import re
import threading
from functools import cache, lru_cache
from typing import Any

from rag_assistant.acronyms import PLURAL

_VOWELLESS = re.compile(r"([bcdfghjklmnpqrtvwxz\d]{2,}|[cgt]pu)s")
"""Plurals in lower case that Snowball leaves unchanged."""
_INFLECTION = re.compile(r"(?:ies|ied|ing|(?<!e)ed|es|s|e)$")


class _Stemmers(threading.local):
    """One stemmer per thread: PyStemmer's must not be shared."""

    def __init__(self) -> None:
        import Stemmer

        self.english: Any = Stemmer.Stemmer("english")


@cache
def _stemmers() -> _Stemmers:
    return _Stemmers()


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Snowball's stem: the same for "reduces" and "reduced", "optimise" and "optimization", "LLM" and "LLMs"."""
    if plural := PLURAL.fullmatch(word) or _VOWELLESS.fullmatch(word):
        return plural[1].lower()
    stemmed: str = _stemmers().english.stemWord(_spelt(word))
    return stemmed


@lru_cache(maxsize=8192)
def uninflected(word: str) -> str:
    """The word without its inflection: the same for "reduces" and "reduced", another one for "reduction"."""
    lowered = _spelt(word).removesuffix("'s")
    if len(lowered) <= 3 or lowered.endswith("ss"):
        return lowered
    cut = _INFLECTION.sub("", lowered)
    if len(cut) < 3:
        return lowered
    if len(cut) > 4 and cut[-1] == cut[-2] and cut[-1] not in "aeiousl":
        cut = cut[:-1]  # "dropped", "dropping"
    return cut.removesuffix("y") if len(cut) > 3 else cut


def _spelt(word: str) -> str:
    return word.lower().replace("\u2019", "'").replace("yz", "ys").replace("iz", "is")
