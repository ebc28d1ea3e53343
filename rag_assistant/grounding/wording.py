"""The words that clauses are made of: uninflected content words, names, and the verbs of a text, whatever the topic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rag_assistant.stems import uninflected
from rag_assistant.stop_words import is_stop_word

VERBS = frozenset(
    uninflected(word)
    for word in (
        "accept account achieve address affect aim align allow alter analyse apply approximate argue attack "
        "attain augment avoid balance beat become build capture cause change collect combine compare "
        "compress compute confirm connect consume contain contribute control converge cost cover create cut "
        "decrease define degrade delay demonstrate depend derive determine develop diminish discover dominate "
        "double drive drop employ enable encode enforce enhance ensure escalate establish estimate evaluate "
        "exceed exhibit exploit extend face fail fall find finetune fit follow force gain generate give grow "
        "guarantee handle harm help hinder hold impair imply improve incorporate increase incur induce "
        "influence inherit inhibit investigate keep lack lead learn leverage limit lose lower make match "
        "maximise minimise mitigate motivate need obtain offer optimise outperform overcome perform plateau "
        "precede predict prefer prevent prioritise produce prompt propose protect prove raise reach recover "
        "reduce relate remain remove replace represent require rest result retain reveal rise run save serve "
        "share shift show simplify slow solve speed spend stabilise state steer suffer suggest supersede "
        "supply support suppress surpass sustain take tolerate train transform trigger turn underperform "
        "unify upgrade use validate vary win worsen yield"
    ).split()
)
REPORTING = frozenset(
    uninflected(word)
    for word in "show prove argue state find observe discover predict demonstrate reveal suggest indicate "
    "estimate believe report conclude note".split()
)
REPORTED = REPORTING | frozenset("shown said known found thought".split())
"""Verbs that add nothing: "is shown to do" says no more than "does"."""
_SUBJECTS = frozenset("we they i".split())
_ARTICLES = frozenset("a an the of this these their its our".split())
MODAL = frozenset("can could may might will would shall should must".split())
BE = frozenset("is are was were be been being".split())
AUXILIARY = BE | frozenset("can could may might will would shall should must does do did has have had".split())
PREPOSITIONS = frozenset("by with into to from than over as on in for under when if because due through at".split())
ADVERBS = frozenset("even also then still often always never not just now".split())
_ASIDE = re.compile(r"\((?=[^()]*[\s,.])[^()]*\)")
"""Text in brackets, except for a single word, which is a name for the words before it."""
_UNLIKE = re.compile(
    r",?\s*\b(?:unlike|in contrast to|in contrast with|compared (?:with|to))\b[^,.;]*,|,\s*(?:by|in) contrast,",
    re.IGNORECASE,
)
"""A phrase with which a clause is contrasted: it would separate the subject from its verb."""
TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:[-'\u2019]?[^\W_]+)*")
_COMPOUND = re.compile(r"(?<=[a-z])-(?=[a-z])")
_PREFIXED = re.compile(r"\b(fine|pre|re|co|over|under)-(?=[a-z])", re.IGNORECASE)
_LEADING = frozenset("of on for in to from with into against between across".split())
_ENDING = PREPOSITIONS | _LEADING | AUXILIARY | frozenset(", ; : . ( ) and or that which who while whereas but".split())
_EXAMPLE = re.compile(r",?\s*\b(?:such as|for example|for instance|including|e\.g\.),?", re.IGNORECASE)
_WHOLE = "\u2011"
"""The hyphen in a name that is one word and isn't split."""


def verbs_of(texts: Sequence[str]) -> frozenset[str]:
    """The texts' verbs besides the common ones, uninflected, recognised by use: after "we" or "can", or as a participle
    in one place and otherwise inflected in another, and never after an article."""
    forms: dict[str, set[str]] = {}
    surely: set[str] = set()
    nouns: set[str] = set()
    for text in texts:
        tokens = [token.lower() for token in TOKEN.findall(bare(text))]
        for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
            if is_stop_word(token):
                continue
            if after in _ARTICLES - {"of"} and not is_stop_word(before) and token.endswith(("s", "ed")):
                surely.add(uninflected(token))
            forms.setdefault(uninflected(token), set()).add(token)
            if (after.endswith("ly") or after == "from") and before.endswith("s") and not token.endswith(("s", "ly")):
                surely.add(uninflected(token))
            if before in _SUBJECTS or (before in MODAL and token not in ADVERBS):
                surely.add(uninflected(token))
            elif before in _ARTICLES and not token.endswith(("ed", "ing")):
                nouns.add(uninflected(token))
    inflected = {found for found, seen in forms.items() if len(seen) > 1 and any(one.endswith("ed") for one in seen)}
    return frozenset((surely | inflected) - nouns)


def bare(text: str) -> str:
    """The text without TeX, mark-up and asides."""
    plain = re.sub(r"\\[a-zA-Z]+|[$\\{}*`^_]", " ", _UNLIKE.sub(" ", _ASIDE.sub(" ", text)))
    return _PREFIXED.sub(r"\1", plain)


def reduced(tokens: Sequence[str]) -> tuple[str, ...]:
    """The content words in order, uninflected, with function words unchanged."""
    return tuple(
        word.lower() if is_stop_word(word) else uninflected(word) for token in tokens for word in _split(token)
    )


def head(tokens: Sequence[str]) -> str:
    """The last content word before the first preposition: "choice" for "the choice of graph"."""
    found = ""
    for token in tokens:
        lowered = token.lower()
        if found and (lowered in PREPOSITIONS or lowered == "of"):
            break
        if not is_stop_word(token):
            found = _split(token)[-1]
    return found


def _split(token: str) -> list[str]:
    """The words of a compound of common words; a compound that is a name stays whole, even in lower case."""
    return _COMPOUND.split(token) if _COMPOUND.search(token) else [token.replace("-", _WHOLE)]


def contents(tokens: Sequence[str]) -> frozenset[str]:
    """The content words, uninflected."""
    return frozenset(uninflected(word) for token in tokens for word in _split(token) if not is_stop_word(word))


def complements(text: str) -> dict[tuple[str, str], frozenset[str]]:
    """The words after a word and a preposition, as in "loss of knowledge", by these two; no pair that occurs twice."""
    tokens = re.findall(rf"{TOKEN.pattern}|[,;:.()]", _EXAMPLE.sub(" ", bare(text)))
    found: dict[tuple[str, str], frozenset[str]] = {}
    twice: set[tuple[str, str]] = set()
    for at, (word, preposition) in enumerate(pairwise(tokens)):
        if is_stop_word(word) or preposition.lower() not in _LEADING:
            continue
        place = (uninflected(word), preposition.lower())
        twice |= {place} & set(found)
        end = at + 2
        while end < len(tokens) and tokens[end].lower() not in _ENDING:
            end += 1
        found[place] = contents(tokens[at + 2 : end])
    return {place: words for place, words in found.items() if place not in twice and words}


def words(text: str) -> list[str]:
    """The content words of a text, as written."""
    return [token for token in TOKEN.findall(text) if not is_stop_word(token)]
