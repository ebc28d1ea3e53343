"""Questions in other words or letters. Formulas stay unchanged."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from rag_assistant.evals.case import Case
from rag_assistant.sentences import protected_spans
from rag_assistant.stop_words import is_stop_word

TYPO_SHARE = 1 / 6
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_TOKEN = re.compile(r"[^\W_]+(?:[-'’./+][^\W_]+)*", re.UNICODE)
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def upper(case: Case, _: random.Random) -> str | None:
    """The question in capitals."""
    return _outside_formulas(case.question, str.upper)


def lower(case: Case, _: random.Random) -> str | None:
    """The question in lower case."""
    return _outside_formulas(case.question, str.lower)


def typos(case: Case, rng: random.Random) -> str | None:
    """The question with typing errors (after Belinkov and Bisk 2018): two letters swapped, one left out, one doubled,
    or the key beside it hit; never the first letter. ``None`` if no word has four letters."""
    words = [match.span() for match in _LONG_WORD.finditer(case.question)]
    formulas = protected_spans(case.question)
    words = [(a, b) for a, b in words if not any(start < b and a < end for start, end in formulas)]
    if not words:
        return None
    chosen = sorted(rng.sample(words, max(1, round(TYPO_SHARE * len(words)))), reverse=True)
    question = case.question
    for start, end in chosen:
        question = question[:start] + _slip(question[start:end], rng) + question[end:]
    return question


def _slip(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    kind = rng.choice(("swap", "drop", "double", "neighbour"))
    if kind == "swap" and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == "double":
        return word[:at] + word[at] + word[at:]
    beside = _beside(word[at]) if kind == "neighbour" else ""
    if beside:
        return word[:at] + rng.choice(beside) + word[at + 1 :]
    return word[:at] + word[at + 1 :]


def _beside(letter: str) -> str:
    for row in _KEYS:
        at = row.find(letter)
        if at >= 0:
            return row[max(0, at - 1) : at] + row[at + 1 : at + 2]
    return ""


def keywords(case: Case, _: random.Random) -> str | None:
    """The question without punctuation and function words, as typed into a search box; English questions only."""
    if case.lang != "en":
        return None
    pieces: list[str] = []
    for text, formula in _pieces(case.question):
        words = [text] if formula else [t for t in _TOKEN.findall(text) if not is_stop_word(t)]
        pieces += words
    return " ".join(pieces) or None


def _outside_formulas(text: str, change: Callable[[str], str]) -> str:
    return "".join(piece if formula else change(piece) for piece, formula in _pieces(text))


def _pieces(text: str) -> list[tuple[str, bool]]:
    """The pieces of a text, each with whether it is a formula, a link or code."""
    pieces: list[tuple[str, bool]] = []
    position = 0
    for start, end in protected_spans(text):
        pieces += [(text[position:start], False), (text[start:end], True)]
        position = end
    return [*pieces, (text[position:], False)]
