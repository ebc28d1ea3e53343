"""Words as BM25 counts them: stemmed, and kind to how papers write names, numbers and formulas.

``D-SGD`` is counted as ``dsgd`` and ``sgd``; ``CIFAR-10`` and ``CIFAR10`` as ``cifar``, ``10`` and ``cifar10``; ``α``
and ``\\alpha`` as ``alpha``; ``$\\mathsf{FedAvg}$`` as ``fedavg``; ``$\\ell_{\\infty}$`` and ``l-infinity`` as
``infinity`` and ``linfinity``; ``300,000`` as ``300000``.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from typing import Any

from rag_assistant.grounding.negated_words import joined
from rag_assistant.grounding.stems import stem as uninflected

TERMS_VERSION = 2
"""Raised whenever the same text would give other terms."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_GREEK = {
    letter: unicodedata.name(letter).split()[3 if "FINAL" in unicodedata.name(letter) else -1].lower()
    for letter in "αβγδεζηθικλμνξοπρστυφχψω"
} | {"λ": "lambda", "ς": "sigma", "∇": "nabla", "∂": "partial"}
_SILENT_MACROS = _set(
    """mathsf mathbf mathrm mathcal mathbb mathit mathfrak mathscr boldsymbol bm bf rm it sf tt text textbf
    textit textrm texttt textsc textsf emph operatorname mbox hbox left right big Big bigg Bigg displaystyle
    widetilde tilde hat widehat bar overline underline vec dot ensuremath mathop limits nolimits xspace quad
    qquad"""
)
_WORDLESS_MACROS = _set(
    """sim approx leq geq le ge cdot times in to rightarrow leftarrow frac dfrac tfrac begin end item ldots cdots
    dots"""
)
_SPELT_MACROS = {"ell": "l", "infty": "infinity", "varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi"}
_MACRO = re.compile(r"\\([A-Za-z]+)\*?[ ]?")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)")
_TOKEN = re.compile(r"\d+\.\d+|[^\W_]+(?:-[^\W_]+)*")
_NUMBERED = re.compile(r"(?<![^\W_])([^\W\d_]{2,})(\d+)(?![^\W_])")  # "cifar10", not "k2" or "word2vec"
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–−", "-") | {"’": "'", "\u00ad": ""})
_SCRIPT = re.compile(r"\x00*(?<=[\w\x00])[_^]+\x00*(?=\w)")
_ACRONYMS = re.compile(r"\b([A-Z][A-Za-z\d]*[A-Z\d])s\b")
_VOWELLESS = re.compile(r"\b((?:[bcdfghjklmnpqrtvwxz\d]{2,}|[cgt]pu))s\b")  # a plural that Snowball leaves alone: llms
_POSSESSIVE = re.compile(r"'s?\b")
_JOINED_PARTS = 3
_SEAM = "\x00"

STOP_WORDS = _set(
    """a about above after again against all also am among an and any are as at be because been before being
    below between both but by can could did do does doing down during each few for from further had has have
    having he her here hers him his how i if in into is it its itself just let many me might more most much
    must my no nor not of off on once one only or other our out over own paper papers per please same shall
    she should show shown shows so some such tell than that the their them then there these they this those
    through to too under until up upon us use used uses using very was we were what when where which while who
    whom whose why will with within without would you your abstract abstracts"""
)
"""Words that say nothing of a question's topic."""


def tokenize(text: str) -> list[str]:
    """The terms of a text, in order, stemmed."""
    return _stemmed(_words(_plain(text)))


def tokenize_question(text: str) -> list[str]:
    """The terms of a question, in order, stemmed, without stop words."""
    return _stemmed([word for word in _words(_plain(text)) if word not in STOP_WORDS])


def forms(text: str) -> frozenset[str]:
    """The words of a text without their inflection: "transformers" is "transformer" and not "transformation". What
    "non-" negates is a word of its own, "nonsmooth"."""
    return frozenset(map(uninflected, _words(joined(_plain(text)))))


def has_form(held: frozenset[str], word: str) -> bool:
    """Whether a word is among the forms of a text, itself or with or without an ending ("align", "alignment")."""
    asked = forms(word)
    return any(
        short and long.startswith(short) and 2 * len(short) >= len(long)
        for one in held
        for other in asked
        for short, long in (sorted((one, other), key=len),)
    )


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The term that one word is counted as: for ``D-SGD`` the joined form, ``dsgd``."""
    terms = _words(_plain(word))
    return _stemmed([terms[-1]])[0] if terms else word.lower()


def _plain(text: str) -> str:
    """Lower case, without TeX, Markdown and accents; formulas as words."""
    text = unicodedata.normalize("NFKC", text).translate(_DASHES)
    if "\\" in text:
        text = _MACRO.sub(_spelt, text).replace("\\%", "%").replace("\\", " ")
    if "{" in text or "}" in text:
        text = text.replace("{", "").replace("}", "")
    for mark in ("$", "**", "*", "`"):
        text = text.replace(mark, "")
    text = text.replace("∞", f"{_SEAM}infinity{_SEAM}")
    text = _SCRIPT.sub("-", text).replace(_SEAM, " ")
    text = _ACRONYMS.sub(r"\1", text).lower()
    decomposed = unicodedata.normalize("NFKD", text)
    text = "".join(character for character in decomposed if not unicodedata.combining(character))
    for letter in set(text) & _GREEK.keys():
        text = text.replace(letter, f" {_GREEK[letter]} ")
    text = _DOTTED.sub(lambda found: found[0].replace(".", ""), text)
    text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    return _VOWELLESS.sub(r"\1", _POSSESSIVE.sub("", text))


def _spelt(macro: re.Match[str]) -> str:
    name = macro[1]
    if name in _SILENT_MACROS:
        return ""
    if name in _WORDLESS_MACROS:
        return " "
    return f"{_SEAM}{_SPELT_MACROS.get(name, name)}{_SEAM}"


def _words(text: str) -> list[str]:
    """A compound gives its parts and, when it has few, the parts joined; the joined form comes last."""
    words: list[str] = []
    for token in _TOKEN.findall(text):
        parts = _NUMBERED.sub(r"\1-\2", token).split("-")
        if len(parts) == 1:
            words.append(token)
            continue
        words.extend(part for part in parts if len(part) > 1 or (part.isdigit() and len(parts[0]) > 1))
        if len(parts) <= _JOINED_PARTS:
            words.append("".join(parts))
    return words


class _Stemmers(threading.local):
    """A stemmer a thread: PyStemmer's are not to be shared."""

    def __init__(self) -> None:
        import Stemmer

        self.english: Any = Stemmer.Stemmer("english")


_stemmers: _Stemmers | None = None


def _stemmed(words: list[str]) -> list[str]:
    global _stemmers
    if _stemmers is None:
        _stemmers = _Stemmers()
    stemmed: list[str] = _stemmers.english.stemWords(words)
    return stemmed
