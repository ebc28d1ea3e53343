"""Whether a statement says the opposite of what it cites: negations, limits such as "only", and opposite words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag_assistant.grounding.opposites import opposed
from rag_assistant.grounding.pieces import pieces
from rag_assistant.stems import stem
from rag_assistant.stop_words import STOP_WORDS

_NEGATION = re.compile(
    r"\b(?:no|not|cannot|never|without|neither|nor|none|nothing|unable|lacks?|lacking|hardly|impossible|"
    r"fail(?:s|ed|ing)?)\b|\b\w+n['\u2019]t\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\b(?:little|few|barely|rarely|seldom|scarce\w*|absen\w+|deficien\w+|failures?|insufficient\w*|ignor\w+|"
    r"neglect\w*|avoid\w*|prevent\w*|remov\w+|un(?:able|aware|clear|known))\b",
    re.IGNORECASE,
)
"""Words of a quote that a statement may render as a negation."""
_UNDONE = re.compile(r"\b(?:few|little|barely|rarely|seldom|scarcely|ignor\w+|neglect\w*|overlook\w*)\b", re.IGNORECASE)
"""Words that deny without a negation: a statement of what they deny must have a negation, or a word like these."""
_LESS = re.compile(
    r"\b(?:overlook\w*|miss(?:es|ed|ing)?|lack\w*|disregard\w*|limited|unexplored|under-?\w+|gaps?|small|less|lower|low)\b",
    re.IGNORECASE,
)
_NOT_A_NEGATION = re.compile(
    r"\bno (?=\w+er\b[^.;]*\bthan\b)|"
    r"\b(?:not only|no (?:matter|longer than|later than)|whether or not|(?:if|or) not|no\.\s?\d)\b",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\b(?:only|solely|merely|exclusively)\b(?! (?:an? )?(?:low|small|few|minimal|modest|slight|little|part)\b)",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\b(?:and|that|which)\b", re.IGNORECASE)
_NOR = re.compile(r"\b(?:neither|nor)\b", re.IGNORECASE)
_REACH = 4
"""How many content words on each side a negation may bear on."""


@dataclass(frozen=True, slots=True)
class _Negation:
    """The stems of content words around a negation: those it denies, those before it, and those it bears on."""

    denied: tuple[str, ...]
    before: frozenset[str]
    around: frozenset[str]
    doer: str
    """The last word before it."""


def contradiction(statement: str, quotes: Sequence[str]) -> str:
    """Why the statement's polarity differs from that of the quotes; empty if nothing suggests that it does."""
    quoted = " ".join(quotes)
    said_not, quoted_not = _negations(statement), _negations(quoted)
    said_words, quoted_words = _words(statement), _words(quoted)
    weak = [match[0] for match in _WEAK.finditer(quoted) if stem(match[0]) not in said_words]
    weakly = _negations(quoted, _WEAK) if weak else []
    used: list[_Negation] = []
    for negation in said_not:
        found = [other for other in quoted_not if _same(negation, other)] or [
            other
            for other in weakly
            if _same(negation, other) and (other.around | other.before) & {*negation.denied[:1], negation.doer}
        ]
        if not found or (all(other in used for other in found) and not _NOR.search(statement)):
            return "the cited words don't deny this"
        used += found[:1] if found[0] not in used else [other for other in found if other not in used][:1]
    for negation in quoted_not:
        if _dropped(negation, said_not, statement) and not _affirmed(negation, quoted_words, quoted_not):
            return "the cited words deny this"
    if not _denies(statement):
        undone = _negations(quoted, _UNDONE)
        for negation in undone:
            if _dropped(negation, [], statement) and not _affirmed(negation, quoted_words, undone):
                return "the cited words deny this"
    if _LIMIT.search(_NOT_A_NEGATION.sub(" ", statement)) and not (_LIMIT.search(quoted) or _UNDONE.search(quoted)):
        return "the cited words don't limit this"
    return "the cited words say the opposite" if opposed(statement, quoted) else ""


def denied_in(text: str) -> frozenset[str]:
    """The stems of the words that a negation in the text, or something close to one, bears on."""
    found = (negation for pattern in (_NEGATION, _WEAK, _UNDONE, _LESS) for negation in _negations(text, pattern))
    return frozenset(word for negation in found for word in (*negation.denied, *negation.around, *negation.before))


def _denies(statement: str) -> bool:
    return any(pattern.search(statement) for pattern in (_NEGATION, _WEAK, _UNDONE, _LESS))


def _negations(text: str, pattern: re.Pattern[str] = _NEGATION) -> list[_Negation]:
    plain = _NOT_A_NEGATION.sub(" ", text)
    found = []
    for match in pattern.finditer(plain):
        after = pieces(plain[match.end() :])[0]
        before = pieces(plain[: match.start()])[-1]
        follows, precedes = _stems(after), _stems(before)
        denied = _stems(_JOINED.split(after, maxsplit=1)[0])[:_REACH]
        around = frozenset((*follows[:_REACH], *(precedes[-_REACH:] if len(follows) < 2 else precedes[-1:])))
        found.append(_Negation(tuple(denied), frozenset(precedes[-_REACH:]), around, precedes[-1] if precedes else ""))
    return found


def _same(said: _Negation, quoted: _Negation) -> bool:
    """Whether the two deny the same: the first word that the statement denies, or two of its words."""
    shared = said.around & quoted.around
    return len(shared) > 1 or bool(shared & set(said.denied[:1])) or (bool(shared) and not said.denied)


def _dropped(negation: _Negation, said_not: list[_Negation], statement: str) -> bool:
    """Whether the statement says what the quotes deny, with no negation of its own nearby: most of it, or some of it in
    a clause about the same thing."""
    denied = set(negation.denied[:2])
    said = set(_words(statement))
    near = any(denied & (set(other.denied) | other.around) for other in said_not)
    if denied and denied <= said and not near:
        return True
    return any(
        (
            negation.denied[:1]
            and negation.denied[0] in words
            and 2 * len(words & negation.before) >= len(negation.before) > 0
        )
        or (negation.doer in words and len(words & set(negation.denied)) > 1)
        for words in (
            set(_stems(piece)) for piece in pieces(_NOT_A_NEGATION.sub(" ", statement)) if not _NEGATION.search(piece)
        )
    )


def _affirmed(negation: _Negation, quoted: list[str], quoted_not: list[_Negation]) -> bool:
    """Whether the quotes also have what is denied outside of any negation."""
    return all(
        quoted.count(word) > sum(word in other.denied or word in other.around for other in quoted_not)
        for word in negation.denied[:2]
    )


def _words(text: str) -> list[str]:
    return _stems(_NOT_A_NEGATION.sub(" ", text))


def _stems(text: str) -> list[str]:
    return [stem(word) for word in re.findall(r"[^\W\d_]{2,}", text.casefold()) if word not in STOP_WORDS]
