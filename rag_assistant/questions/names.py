"""Names in a question that no paper has, recognised by their spelling: ``MusicGen``, ``Falcon 2``."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache

from rag_assistant.acronyms import PLURAL
from rag_assistant.questions.content import is_content

_MIXED = re.compile(r"(?<![\w$\\{])(?=\w*[a-z])[A-Za-z]+[a-z]*[A-Z][A-Za-z]*(?:-?\d+(?:\.\d+)*)?(?!\w)")
_NUMBERED = re.compile(r"(?<![\w$\\{])[A-Z][A-Za-z]+(?:[ -]?(?!(?:19|20)\d\d\b)\d+(?:\.\d+)*)(?![\w%])")
_WITH_NUMBER = re.compile(
    r"(?<![\w$\\{])(?P<name>[^\W\d_]{2,})(?P<seam>[-\u2010\u2011 ]?)(?P<number>\d+(?:\.\d+)*)(?!\w)"
)
_SET_WITH_NUMBER = re.compile(_WITH_NUMBER.pattern.replace("(?P<number>", r"\$?(?P<number>"))
"""Also "CIFAR-$10$"."""
_LIKENESS = 0.6


def names(text: str) -> list[str]:
    """Words with a capital inside, and capitalised words with a number, as written; years don't count as such numbers,
    nor does the capital of the first word."""
    found = [match[0] for match in _NUMBERED.finditer(text) if match.start() > 0]
    whole = " ".join(found)
    found += [match[0] for match in _MIXED.finditer(text) if match[0] not in whole and not PLURAL.fullmatch(match[0])]
    return list(dict.fromkeys(found))


def with_number(text: str) -> frozenset[str]:
    """The names with a number in a text, in one form however they are joined: ``cifar10`` for "CIFAR-10"."""
    return frozenset(f"{match['name']}{match['number']}".casefold() for match in _WITH_NUMBER.finditer(text))


def spelt_as(question: str, text: str) -> str:
    """The question, with names and their numbers joined as in the text: "CIFAR-10" for "CIFAR10"."""

    def respelt(match: re.Match[str]) -> str:
        spellings = _spellings(text).get(f"{match['name']}{match['number']}".casefold(), {})
        return match[0] if not spellings or match["seam"] in spellings else next(iter(spellings.values()))

    return _WITH_NUMBER.sub(respelt, question)


@lru_cache(maxsize=512)
def _spellings(text: str) -> dict[str, dict[str, str]]:
    """For each name with a number in a text, in one form, how it is written there, by what joins it."""
    found: dict[str, dict[str, str]] = {}
    for match in _SET_WITH_NUMBER.finditer(text):
        joined = f"{match['name']}{match['seam']}{match['number']}"
        found.setdefault(f"{match['name']}{match['number']}".casefold(), {}).setdefault(match["seam"], joined)
    return found


def unknown_names(question: str, texts: Iterable[str], occurs: Callable[[str], bool]) -> dict[str, str]:
    """The names that a question is about and no paper has, each with the nearest name in the texts, or ``""`` if none
    is near. Empty if one of the names is known, or if the question asks for something particular: the reader decides.

    Args:
        question: What is asked.
        texts: What was found for it; a name counts as known however it is spaced, hyphenated or capitalised there.
        occurs: Whether a name occurs in any other text, as one word.
    """
    asked = names(question)
    rest = question
    for name in asked:
        rest = rest.replace(name, " ")
    if not asked or any(map(is_content, re.findall(r"\w+", rest))):
        return {}
    texts = list(texts)
    held = {gram for text in texts for gram in _grams(text)}
    if any(_joined(name) in held or occurs(_joined(name)) for name in asked):
        return {}
    known = {name.casefold(): name for text in texts for name in sorted(names(f" {text}"))}
    near = {name: get_close_matches(name.casefold(), known, n=1, cutoff=_LIKENESS) for name in asked}
    return {name: known[close[0]] if close else _without_number(name, held) for name, close in near.items()}


def _grams(text: str) -> Iterator[str]:
    """One to three consecutive words, joined."""
    words = re.findall(r"[^\W_]+", text.casefold())
    for size in (1, 2, 3):
        for at in range(len(words) - size + 1):
            yield "".join(words[at : at + size])


def _joined(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _without_number(name: str, held: Container[str]) -> str:
    plain = re.sub(r"[ -]?\d+(?:\.\d+)*$", "", name)
    return plain if plain != name and _joined(plain) in held else ""
