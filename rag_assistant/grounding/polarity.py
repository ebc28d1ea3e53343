"""Whether a statement turns what it cites into its opposite: negations, limits such as "only", and opposed words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_assistant.questions.form import STOP_WORDS

_NEGATION = re.compile(
    r"\b(?:no|not|cannot|never|without|neither|nor|none|nothing|unable|lacks?|lacking|hardly|impossible|"
    r"fail(?:s|ed|ing|ure|ures)?)\b|\b\w+n['\u2019]t\b",
    re.IGNORECASE,
)
_NOT_A_NEGATION = re.compile(
    r"\b(?:not only|no (?:matter|longer than|later than)|whether or not|(?:if|or) not|no\.\s?\d)\b", re.IGNORECASE
)
_LIMIT = re.compile(r"\b(?:only|solely|merely|exclusively)\b", re.IGNORECASE)
_REACH = 4
"""How many content words after a negation it may bear on."""
_STEM = 5

_OPPOSITES = tuple(
    (re.compile(rf"\b(?:{one})\b", re.IGNORECASE), re.compile(rf"\b(?:{other})\b", re.IGNORECASE))
    for one, other in (
        (r"increas\w+|rais\w+|grow\w*", r"decreas\w+|reduc\w+|lower(?:s|ed|ing)|shrink\w*|drop\w*"),
        (r"higher|larger|greater|more", r"lower|smaller|less|fewer"),
        (r"highest|largest|most", r"lowest|smallest|least|fewest"),
        (r"faster|quicker", r"slower"),
        (r"better|superior|outperform\w*|surpass\w*", r"worse|inferior|underperform\w*"),
        (r"improv\w+|enhanc\w+", r"degrad\w+|deteriorat\w+|worsen\w*|harm\w*"),
        (r"always", r"never|sometimes"),
        (r"with", r"without"),
        (r"possible", r"impossible"),
        (r"upper", r"lower"),
        (r"maximi[sz]\w+", r"minimi[sz]\w+"),
        (r"strong(?:er|ly)?", r"weak(?:er|ly)?"),
        (r"convex", r"non-?convex"),
        (r"robust", r"vulnerable|fragile"),
        (r"sufficient", r"insufficient"),
        (r"before", r"after"),
        (r"online", r"offline"),
        (r"first-order", r"second-order"),
    )
)


def contradiction(statement: str, quotes: Sequence[str]) -> str:
    """Why the statement's polarity is not that of the quotes; empty where nothing speaks against it."""
    told = " ".join(quotes)
    said_not, told_not = _negated(statement), _negated(told)
    if said_not and not told_not:
        return "the cited words don't deny this"
    if told_not and not said_not and _bears_on(told_not, statement):
        return "the cited words deny this"
    if _LIMIT.search(_NOT_A_NEGATION.sub(" ", statement)) and not _LIMIT.search(told):
        return "the cited words don't limit this"
    for one, other in _OPPOSITES:
        for here, there in ((one, other), (other, one)):
            if here.search(statement) and not here.search(told) and there.search(told) and not there.search(statement):
                return "the cited words say the opposite"
    return ""


def _negated(text: str) -> list[list[str]]:
    """For each negation, the stems of the content words that follow it."""
    plain = _NOT_A_NEGATION.sub(" ", text)
    found = []
    for match in _NEGATION.finditer(plain):
        clause = re.split(r"[.;:!?,]|\b(?:but|while|whereas|although)\b", plain[match.end() :], maxsplit=1)[0]
        found.append(_stems(clause)[:_REACH])
    return found


def _bears_on(negations: list[list[str]], statement: str) -> bool:
    """Whether the statement says, without a negation, most of what one of the quotes' negations bears on."""
    said = set(_stems(statement))
    return any(scope and sum(stem in said for stem in scope[:2]) == len(scope[:2]) for scope in negations)


def _stems(text: str) -> list[str]:
    return [word[:_STEM] for word in re.findall(r"[^\W\d_]{2,}", text.casefold()) if word not in STOP_WORDS]
