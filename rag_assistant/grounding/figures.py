"""Numbers in prose and TeX: which numbers of a statement, with their units, are not in what it cites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rag_assistant.numerals import NUMBER_WORDS, SCALES, SMALL
from rag_assistant.stems import stem

_OTHERS = {"half": "0.5", "twice": "2", "double": "2", "doubled": "2", "doubles": "2", "thrice": "3", "triple": "3"}
_WORDS = {**{word: str(value) for word, value in NUMBER_WORDS.items() if value > 1}, **_OTHERS}
"""Words that are always numbers: "one" is more often a pronoun."""

_ITEM = r"[^\s,.;:]+(?:\s[^\s,.;:]+){0,2}?"
_COUNTED_LIST = re.compile(
    rf"\b(?P<count>{'|'.join(SMALL[2:10])}|[2-9])\b(?:\s[^\W\d]+){{0,4}}(?P<mark>:|, namely|,)"
    rf"\s(?P<items>{_ITEM}(?:,\s{_ITEM})*,?\sand\s{_ITEM})(?=\s*(?:[.;]|$))",
    re.IGNORECASE,
)
_UNITS = {
    **{word: word for word in SCALES},
    "%": "%",
    "percent": "%",
    "percents": "%",
    "percentage": "%",
    "k": "thousand",
    "m": "million",
    "b": "billion",
    "x": "times",
    "\u00d7": "times",
    "fold": "times",
    "times": "times",
    "ms": "millisecond",
    "millisecond": "millisecond",
    "s": "second",
    "second": "second",
    "minute": "minute",
    "min": "minute",
    "h": "hour",
    "hour": "hour",
    "day": "day",
    "week": "week",
    "month": "month",
    "year": "year",
    "mb": "megabyte",
    "gb": "gigabyte",
    "tb": "terabyte",
    "db": "decibel",
    "hz": "hertz",
    "khz": "kilohertz",
    "gpu": "gpu",
    "tpu": "tpu",
    "token": "token",
    "parameter": "parameter",
    "epoch": "epoch",
    "point": "point",
}
UNIT_WORDS = frozenset("percent percents percentage fold times".split())
"""Unit words that a sign may replace: they are compared as a number's unit."""
_TIMES = frozenset("twice double doubled doubles thrice triple".split())

_NEAR = 24
_COMPOUND = re.compile(r"[^\W\d_]+-[^\W\d_]{2,}")

_FIGURE = re.compile(
    r"(?<![\w.,])[-\u2212]?(?P<digits>\d[\d,]*(?:\.\d+)?)(?:\s?-?\s?(?P<unit>%|[^\W\d_]+|\u00d7))?"
    r"|(?P<glued>\d[\d,]*(?:\.\d+)?)(?:\s?-?\s?(?P<glued_unit>%|[^\W\d_]+|\u00d7))?"
    rf"|\b(?P<word>{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b(?:[\s-]+(?P<word_unit>%|[^\W\d_]+))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Figure:
    value: str
    unit: str
    spelt: bool
    shown: str
    near: frozenset[str]
    """Units among the words that follow: "64 A100 GPUs"."""
    after: tuple[str, ...] = ()
    """The words that follow."""
    name: str = ""
    """For a number word that begins a compound, the compound."""


def missing_numbers(statement: str, quotes: Sequence[str], names: str = "") -> list[str]:
    """The numbers of a statement that none of the quotes has, as written, sorted.

    TeX, thousands separators, "percent" and number words are normalised. If both texts give a unit, it must agree.
    A numeral may replace a number word of the quotes unless the statement has that word too, and vice versa.
    A number word that is part of a name, "double-momentum", may instead occur in the text ``names``, unchanged.
    """
    said = _figures(statement)
    quoted: dict[str, list[_Figure]] = {}
    for figure in (figure for quote in quotes for figure in _figures(quote)):
        quoted.setdefault(figure.value, []).append(figure)
    spellings = {(figure.value, figure.spelt) for figure in said}
    missing = []
    right, miscounted = _listed(statement)
    for figure in said:
        if figure.shown in right or (figure.name and figure.name in names.casefold()):
            continue
        same = [other for other in quoted.get(figure.value, ()) if _counts_the_same(figure, other)]
        if (figure.value, not figure.spelt) in spellings:
            same = [other for other in same if other.spelt == figure.spelt]
        if not any(not figure.unit or figure.unit == other.unit or figure.unit in other.near for other in same):
            missing.append(figure.shown)
    for value in {figure.value for figure in said if figure.spelt}:  # "three of them in three ways" needs two
        spelt = [figure for figure in said if figure.value == value and figure.spelt]
        if len(spelt) > 1 and len(spelt) > len(quoted.get(value, ())):
            missing.append(spelt[-1].shown)
    return sorted({*missing, *miscounted})


def _counts_the_same(said: _Figure, quoted: _Figure) -> bool:
    """Whether a numeral may replace a number word: "3 levels" may not replace "three algorithms"."""
    return said.spelt or not quoted.spelt or not said.after or not quoted.after or said.after[0] in quoted.after


def _nouns(after: Sequence[str]) -> tuple[str, ...]:
    return tuple(stem(word) for word in after[:4] if len(word) > 3)


def _listed(statement: str) -> tuple[list[str], list[str]]:
    """Counts that the list after their colon confirms, and those that it contradicts: "two of them: A, B and C"."""
    right: list[str] = []
    wrong: list[str] = []
    for match in _COUNTED_LIST.finditer(statement):
        count = match["count"].lower()
        items = [item for item in re.split(r",\s*(?:and\s+)?|\s+and\s+", match["items"]) if item.strip()]
        if match["mark"] == "," and match.start("mark") == match.end("count"):
            continue
        if len(items) > 1:
            if str(len(items)) == _WORDS.get(count, count):
                right.append(match["count"])
            elif match["mark"] != ",":  # what follows a comma may be something else
                wrong.append(match["count"])
    return right, wrong


@lru_cache(maxsize=64)
def _figures(text: str) -> tuple[_Figure, ...]:
    bare = re.sub(r"\\[,;:! ]", " ", text).replace("{,}", ",")
    bare = bare.replace("\\times", "\u00d7")
    bare = re.sub(r"[\\${}]", "", bare)
    found = []
    for match in _FIGURE.finditer(bare):
        digits = match["digits"] or match["glued"]
        unit = _unit(match["unit"] or match["glued_unit"] or match["word_unit"] or "")
        after = re.findall(r"%|[^\W\d_]+", bare[match.end() : match.end() + _NEAR])
        near = frozenset(filter(None, map(_unit, after))) if not unit else frozenset()
        if digits:
            value = digits.replace(",", "").rstrip(".")
            shown = value + ("%" if unit == "%" else f" {unit}" if unit else "")
            found.append(_Figure(value, unit, False, shown, near, _nouns(after)))
        else:
            word = match["word"].lower()
            whole = _COMPOUND.match(bare, match.start("word"))
            name = whole[0].lower() if whole and not unit else ""
            found.append(
                _Figure(
                    _WORDS[word], "times" if word in _TIMES else unit, True, match["word"], near, _nouns(after), name
                )
            )
    return tuple(found)


def _unit(word: str) -> str:
    lowered = word.lower()
    if lowered in _UNITS:
        return _UNITS[lowered]
    return _UNITS.get(lowered.removesuffix("s"), "")
