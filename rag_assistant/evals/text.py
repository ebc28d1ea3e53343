"""One plain form of text for all comparisons: of answers, abstracts with TeX, hand-written patterns.

Without it "CIFAR-$10$" would not be "CIFAR-10", "300,000" not "300k", and "$30\\%$" not "30 percent".
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from rag_assistant.numerals import NUMBER_WORDS, SCALES
from rag_assistant.stems import stem
from rag_assistant.stop_words import is_stop_word

_PLAIN = str.maketrans("‘’‚‛“”„‐‑‒–—−∼≈ℓ∞", "''''\"\"\"------~~l\u221e")
_MARKER = re.compile(r"\s?\[\d+(?:\s*[,;]\s*\d+)*\](?!\()")
_URL = re.compile(r"(?:https?://|www\.)\S+|\b[\w-]+(?:\.[\w-]+)+/\S+|\b10\.\d{4,}/\S+")
_TEX = (
    (
        re.compile(
            r"\\(?:mathsf|mathcal|mathbf|mathbb|mathrm|mathit|text|textbf|textit|emph|operatorname)\s*\{([^{}]*)\}"
        ),
        r"\1",
    ),
    (re.compile(r"\\(?:left|right|big|Big|bigl|bigr)(?![a-zA-Z])"), ""),
    (re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"\1/\2"),
    (re.compile(r"\\sqrt\s*\{([^{}]*)\}"), r"sqrt(\1)"),
    (re.compile(r"\\(log|ln|exp)\s*\{([^{}]*)\}"), r"\1 \2"),
    (re.compile(r"\\geq?(?![a-zA-Z])"), ">="),
    (re.compile(r"\\leq?(?![a-zA-Z])"), "<="),
    (re.compile(r"\\(?:sim|approx)(?![a-zA-Z])"), "~"),
    (re.compile(r"\\ell(?![a-zA-Z])"), "l"),
    (re.compile(r"\\infty(?![a-zA-Z])"), "\u221e"),
    (re.compile(r"\\([%$&#_{}])"), r"\1"),
    (re.compile(r"\\([a-zA-Z]+)"), r"\1"),
    (re.compile(r"\\[,;:! ]"), " "),
    (re.compile(r"[${}`]"), ""),
    (re.compile(r"\*"), ""),
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PERCENT = re.compile(r"(?<=\d)\s*(?:%|percent\b|per cent\b|percentage points?\b)", re.IGNORECASE)
_SPACE = re.compile(r"\s+")

_SCALES = {**SCALES, "k": 1e3, "m": 1e6, "bn": 1e9}
# A number joined to letters, as in CIFAR10, CIFAR-10 or UA2, is part of a name and states no quantity.
_NUMBER = re.compile(
    r"(?<![\w.^])(?<![A-Za-z]-)(?P<digits>\d+(?:\.\d+)?)(?P<percent>%)?"
    rf"(?:(?P<glued>k|m|bn)|\s?(?P<scale>{'|'.join(SCALES)}))?(?![\w])(?!\.\d)",
    re.IGNORECASE,
)
_NUMBER_WORD = re.compile(
    rf"\b(?P<word>{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b"
    r"(?P<percent>\s*(?:%|percent\b|per cent\b))?",
    re.IGNORECASE,
)

_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class FoundNumber:
    """A number in a text: its value with any scale applied ("300k" is 300000), and whether it is a percentage."""

    value: float
    percent: bool


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """``text`` with TeX, emphasis, citation markers, typographic signs and thousands separators normalised.

    Case is kept. The result is for comparing, not for showing.
    """
    text = unicodedata.normalize("NFKC", text.translate(_PLAIN)).translate(_PLAIN)
    text = _MARKER.sub("", text)
    for pattern, replacement in _TEX:
        text = pattern.sub(replacement, text)
    text = _THOUSANDS.sub("", text)
    text = _PERCENT.sub("%", text)
    return _SPACE.sub(" ", text).strip()


def numbers(text: str, *, words: bool = False) -> tuple[FoundNumber, ...]:
    """The numbers that ``text`` states, in order; signs are dropped, and links and names such as CIFAR-10 skipped.

    Args:
        text: Any text; it is converted to its plain form first.
        words: Also read "three" and "ninety percent", up to ninety.
    """
    flat = _URL.sub(" ", plain(_URL.sub(" ", text)))
    found: list[tuple[int, FoundNumber]] = []
    for match in _NUMBER.finditer(flat):
        scale = (match["glued"] or match["scale"] or "").lower()
        found.append(
            (match.start(), FoundNumber(float(match["digits"]) * _SCALES.get(scale, 1.0), bool(match["percent"])))
        )
    if words:
        for match in _NUMBER_WORD.finditer(flat):
            found.append(
                (match.start(), FoundNumber(float(NUMBER_WORDS[match["word"].lower()]), bool(match["percent"])))
            )
    return tuple(number for _, number in sorted(found, key=lambda pair: pair[0]))


def content_stems(text: str) -> frozenset[str]:
    """The stems of the content words of ``text``: no stop words, digits or formulas."""
    return frozenset(stem(word) for word in _WORD.findall(plain(text)) if not is_stop_word(word))
