"""Sentences of two papers that can't both hold: one ranks two things the other way round, or denies what the other
says.

Meant to miss rather than to see what isn't there: the two must speak of the same things in nearly the same words, and
neither under a condition that the other doesn't have. Contradictions in other words are not seen; the reader would see
few of them, and some that aren't there (``python -m benchmarks.conflicts``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from rag_assistant.grounding.clauses import Clause, clauses
from rag_assistant.grounding.opposites import opposed
from rag_assistant.grounding.pieces import pieces
from rag_assistant.grounding.wording import contents
from rag_assistant.stems import uninflected

_RANKS = {
    **dict.fromkeys(map(uninflected, "outperform outperforms surpass surpasses beat beats better superior".split()), 1),
    **dict.fromkeys(map(uninflected, "underperform underperforms worse inferior".split()), -1),
}
"""Words that rank one thing above (1) or below (-1) another."""
_COMPARATIVES = (
    ("faster", "slower"),
    ("larger", "smaller"),
    ("higher", "lower"),
    ("stronger", "weaker"),
    ("cheaper", "costlier"),
    ("easier", "harder"),
)
_KEYS = {uninflected(word): (pair[0], sign) for pair in _COMPARATIVES for word, sign in zip(pair, (1, -1), strict=True)}
_GENERIC = frozenset(
    uninflected(word)
    for word in (
        "method methods approach approaches algorithm algorithms model models baseline baselines technique techniques "
        "existing previous prior current other others various many several standard state-of-the-art sota art state "
        "recent competing competitive strong best proposed new novel conventional traditional alternative alternatives "
        "counterpart counterparts consistently significantly substantially empirically generally often always across "
        "all run runs setting settings performance results experiments tasks task datasets dataset benchmarks "
        "benchmark respectively"
    ).split()
)
"""Words that don't say which thing is meant."""
_BOUNDARY = frozenset("in on by with for when if under at across while as from over and or".split())
_CONDITION = re.compile(
    r"\b(?:when|if|unless|under|assum\w+|provided|given|except|until|once|sometimes|may|might|can|could|some|certain|"
    r"either|depending|depends?|whether|although|despite|even|only)\b|\?",
    re.IGNORECASE,
)
"""What holds under a condition, or only may hold, denies nothing."""
_NEGATION = re.compile(r"\b(?:not|cannot|never|no|neither|nor|without|fails?|unable)\b|n['\u2019]t\b", re.IGNORECASE)
_THAT = re.compile(r"\b(?:and that|that)\b", re.IGNORECASE)
_OF_ITS_OWN = re.compile(r"\b(?:our|ours|this|these|those|its?|their|they|such|former|latter)\b", re.IGNORECASE)
"""What a paper says of what is its own, or refers back: another paper's may be something else."""
_TURNING = frozenset(
    uninflected(word)
    for word in (
        "increase increases decrease decreases reduce reduces raise raises lower lowers improve improves degrade "
        "degrades harm harms impair impairs hurt hurts enhance enhances worsen worsens higher lower better worse more "
        "less always never not no cannot fail fails without with robust vulnerable possible impossible easy hard"
    ).split()
)
"""Words by which two sentences may differ and still speak of the same."""
_ALIKE = 0.5
_SAME = 0.7
_LEAST_SHARED = 3
_LEAST_NAMED = 2
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class _Ranking:
    """That ``above`` has more of something than ``below``; ``where`` are the words on where that is so."""

    key: str
    above: frozenset[str]
    below: frozenset[str]
    where: frozenset[str]


def conflict(one: str, other: str) -> frozenset[str]:
    """What two sentences contradict each other on, without inflection; empty where nothing speaks for that."""
    if len(_crude(one) & _crude(other)) < _LEAST_NAMED:
        return frozenset()
    for here, there in product(_rankings(one), _rankings(other)):
        exchanged = _alike(here.above, there.below) and _alike(here.below, there.above)
        elsewhere = here.where and there.where and not here.where & there.where
        if here.key == there.key and exchanged and not elsewhere:
            return here.above | here.below
    for left, right in product(_claims(one), _claims(other)):
        if shared := _opposite(left, right):
            return shared
    return frozenset()


@lru_cache(maxsize=_REMEMBERED)
def _crude(sentence: str) -> frozenset[str]:
    """Its content words, of which sentences on the same share some; a quick look before a close one."""
    return contents(re.findall(r"[^\W_]{2,}", sentence))


@lru_cache(maxsize=_REMEMBERED)
def _rankings(sentence: str) -> tuple[_Ranking, ...]:
    if _CONDITION.search(sentence) or _NEGATION.search(sentence):
        return ()
    return tuple(ranking for clause in clauses(sentence) for ranking in _ranked_in(clause))


def _ranked_in(clause: Clause) -> Iterator[_Ranking]:
    subject = clause.subject - _GENERIC
    if not subject:
        return
    if clause.verb in _RANKS and not clause.passive and not clause.joined:
        yield from _ranked("good", _RANKS[clause.verb], subject, clause.rest)
    told = (clause.verb, *clause.rest)  # an adjective after "is" is taken for a verb
    for at, token in enumerate(told):
        if token in {"than", "to"} and at and (found := _comparative(told[:at], token)):
            yield from _ranked(*found, subject, told[at + 1 :])


def _comparative(before: tuple[str, ...], link: str) -> tuple[str, int] | None:
    last = before[-1]
    if last in _RANKS and (link == "than" or last in (uninflected("superior"), uninflected("inferior"))):
        return "good", _RANKS[last]
    if link != "than":
        return None
    if last in _KEYS:
        return _KEYS[last]
    if len(before) > 1 and before[-2] in {"more", "less"}:
        return last, 1 if before[-2] == "more" else -1
    return None


def _ranked(key: str, sign: int, subject: frozenset[str], rest: tuple[str, ...]) -> Iterator[_Ranking]:
    end = next((at for at, token in enumerate(rest) if token in _BOUNDARY), len(rest))
    other, where = contents(rest[:end]) - _GENERIC, contents(rest[end:]) - _GENERIC
    if other and not other & subject:
        yield _Ranking(key, *((subject, other) if sign > 0 else (other, subject)), where)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) > _ALIKE * len(one | other)


@lru_cache(maxsize=_REMEMBERED)
def _claims(sentence: str) -> tuple[str, ...]:
    if _CONDITION.search(sentence):
        return ()
    claimed = (part.strip() for piece in pieces(sentence) for part in _THAT.split(piece))
    return tuple(piece for piece in claimed if len(piece.split()) > _LEAST_SHARED and not _OF_ITS_OWN.search(piece))


def _opposite(one: str, other: str) -> frozenset[str]:
    """What two claims share where exactly one of them denies it, or where they turn each other round."""
    here, there = (_told(text) for text in (one, other))
    shared = here & there
    if len(shared) < _LEAST_SHARED or len(shared) < _SAME * len(here | there):
        return frozenset()
    denied = bool(_NEGATION.search(one)) != bool(_NEGATION.search(other))
    says = all(any(clause.subject and clause.verb for clause in clauses(text)) for text in (one, other))
    return shared if says and denied != opposed(one, other) else frozenset()


def _told(text: str) -> frozenset[str]:
    return contents(re.findall(r"[^\W_]+(?:-[^\W_]+)*", text)) - _TURNING - _GENERIC
