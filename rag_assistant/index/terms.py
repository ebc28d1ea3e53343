"""Words as BM25 counts them: stemmed, and kind to how papers write names, numbers and formulas.

``D-SGD`` is counted as ``dsgd`` and ``sgd``; ``CIFAR-10`` and ``CIFAR10`` as ``cifar``, ``10`` and ``cifar10``; ``α``
and ``\\alpha`` as ``alpha``; ``$\\mathsf{FedAvg}$`` as ``fedavg``; ``$\\ell_{\\infty}$`` and ``l-infinity`` as
``infinity`` and ``linfinity``; ``300,000`` as ``300000``.
"""

from __future__ import annotations

import re
import unicodedata

from rag_assistant.acronyms import PLURAL
from rag_assistant.grounding.negated_words import joined
from rag_assistant.stems import stem, uninflected
from rag_assistant.stop_words import STOP_WORDS

TERMS_VERSION = 3
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
_POSSESSIVE = re.compile(r"'s?\b")
_JOINED_PARTS = 3
_SEAM = "\x00"


def tokenize(text: str) -> list[str]:
    """The terms of a text, in order, stemmed."""
    return [stem(word) for word in _words(_plain(text))]


def tokenize_question(text: str) -> list[str]:
    """The terms of a question, in order, stemmed, without stop words."""
    return [stem(word) for word in _words(_plain(text)) if word not in STOP_WORDS]


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


def term_of(word: str) -> str:
    """The term that one word is counted as: for ``D-SGD`` the joined form, ``dsgd``."""
    terms = tokenize(word)
    return terms[-1] if terms else word.lower()


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
    text = PLURAL.sub(r"\1", text).lower()
    decomposed = unicodedata.normalize("NFKD", text)
    text = "".join(character for character in decomposed if not unicodedata.combining(character))
    for letter in set(text) & _GREEK.keys():
        text = text.replace(letter, f" {_GREEK[letter]} ")
    text = _DOTTED.sub(lambda found: found[0].replace(".", ""), text)
    text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    return _POSSESSIVE.sub("", text)


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
