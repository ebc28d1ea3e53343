"""Lists whose items are paired one by one: "A and B for X and Y, respectively", "more (less) of A (B)"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_assistant.grounding.wording import contents
from rag_assistant.stop_words import STOP_WORDS

_WORD = r"[^\s(),;]+"
_DOUBLED = re.compile(
    rf"(?P<one>{_WORD}) \((?P<two>{_WORD})\)(?P<between>(?: {_WORD}){{1,4}}?) \((?P<other>{_WORD})\)"
    rf"(?P<after> {_WORD})?"
)
_RESPECTIVELY = re.compile(r",?\s*\brespectively\b", re.IGNORECASE)
_LINK = "for|by|on|in|with|to|at|of|into|from"
_ITEMS = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")


def spelt_out(text: str) -> str:
    """The text with "20% (70%) fewer training (inference) FLOPs" as two: "20% fewer training FLOPs and 70% ..."."""

    def both(match: re.Match[str]) -> str:
        after = match["after"] or ""
        *between, first = match["between"].split()
        shared = " ".join(between)
        return f"{match['one']} {shared} {first}{after} and {match['two']} {shared} {match['other']}{after}"

    plain = re.sub(r"\$([^$\s]*)\$", r"\1", text)
    return _DOUBLED.sub(both, plain) if _DOUBLED.search(plain) else text


def exchanged_in_list(statement: str, quotes: Sequence[str]) -> bool:
    """Whether two lists paired by "respectively" are paired in another order than in a quote."""
    for match in _RESPECTIVELY.finditer(statement):
        lists = _last_lists(re.split(r"[.;:]\s", statement[: match.start()])[-1])
        if lists is None:
            continue
        for quote in quotes:
            places = [_order(items, quote) for items in lists]
            if all(places) and places[0] != places[1]:
                return True
    return False


def paired(text: str) -> list[frozenset[str]]:
    """The content words of the pairs that "respectively" forms in a text; empty if it forms none."""
    match = _RESPECTIVELY.search(text)
    lists = _last_lists(re.split(r"[.;:]\s", text[: match.start()])[-1]) if match else None
    return [contents([*one, *other]) for one, other in zip(*lists, strict=True)] if lists else []


def _last_lists(text: str) -> tuple[list[frozenset[str]], list[frozenset[str]]] | None:
    """The content words of the items of the last two lists of equal length, without words that items share."""
    found = _ITEMS.split(text)
    for length in range(min(len(found), 6), 1, -1):
        if len(found) != 2 * length - 1:
            continue
        # One part has both the last item of the first list and the first of the second: "SVMR are studied for one".
        middle = _tokens(found[length - 1])
        opening = _tokens(re.split(rf"\b(?:{_LINK})\b", found[length - 1])[-1])
        opening = opening if len(opening) < len(middle) else middle[-1:]  # "decoders take 12"
        first = [frozenset(_tokens(item)) for item in found[: length - 1]] + [frozenset(middle[:1])]
        second = [frozenset(opening)] + [frozenset(_tokens(item)) for item in found[length:]]
        if len(middle) > len(opening) > 0 and all(first) and all(second):
            return _own(first), _own(second)
    return None


def _own(items: list[frozenset[str]]) -> list[frozenset[str]]:
    shared = frozenset[str]().union(*(one & other for at, one in enumerate(items) for other in items[:at]))
    return [item - shared for item in items]


def _order(items: list[frozenset[str]], quote: str) -> list[int]:
    """The positions of the items in the order in which the quote has them; empty if it lacks one."""
    held = _tokens(quote)
    places = [min((held.index(word) for word in item if word in held), default=-1) for item in items]
    if -1 in places or len(set(places)) < len(places):
        return []
    return sorted(range(len(items)), key=lambda at: places[at])


def _tokens(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP_WORDS]
