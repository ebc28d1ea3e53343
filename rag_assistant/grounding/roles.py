"""Whether a statement exchanges what it speaks of: who does what to whom, and which of two things a fact is told of.

Tests compare a statement's clauses with those it cites: a subject that is the object there and the other way round;
what stands on the two sides of a preposition such as "into" or "than" exchanged; a subject of one clause with the
predicate of its neighbour; something done by one whom the quotes name for something else. What none of them sees
passes: freely worded exchanges often do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, product

from rag_assistant.grounding.clauses import Clause, clauses, contents, pieces, words
from rag_assistant.grounding.stems import stem

_CONTRAST = re.compile(r"\b(?:as opposed to|rather than|instead of)\b", re.IGNORECASE)
_NEIGHBOURS = 3
"""How many content words on each side of "rather than" it sets against each other."""
_SIDES = frozenset("by with into from than over to".split())
_OVER = frozenset(("to", "over"))
"""Both are said of what is preferred to something."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c(*])")
_ANAPHOR = re.compile(r"\b(?:it|its|this|these|they|their)\b", re.IGNORECASE)


def exchange(statement: str, quotes: Sequence[str]) -> str:
    """Why the statement says of one thing what its quotes say of another; empty where nothing speaks for that."""
    sentences = [sentence for quote in quotes for sentence in _SENTENCE.split(quote)]
    told = [clauses(sentence) for sentence in sentences]
    if any(_contrast_turned(statement, sentence) or _crossed(statement, sentence) for sentence in sentences):
        return "the cited words say it the other way round"
    stated = clauses(statement)
    for place, said in enumerate(stated):
        if not said.subject and not said.rest:
            continue
        tail = said.object.union(*(clause.subject | clause.predicate for clause in stated[place + 1 :]))
        as_told = any(
            said.verb == clause.verb and 2 * len(said.subject & clause.subject) > len(said.subject)
            for sentence in told
            for clause in sentence
        )
        for sentence in told:
            for clause in sentence:
                if (not as_told and _inverted(said, clause, tail)) or _sides_exchanged(said, clause):
                    return "the cited words say it the other way round"
            if _bound_to_the_other(said, sentence):
                return "the cited words say this of something else"
        if _of_another_doer(said, quotes):
            return "the cited words say this of something else"
    return ""


def _inverted(said: Clause, told: Clause, tail: frozenset[str]) -> bool:
    """Whether the subject stands in the object's place and the other way round, with the same verb; ``tail`` is what
    the statement says after the verb, to its end."""
    if not said.verb or said.verb != told.verb or said.passive != told.passive or said.joined != told.joined:
        return False
    subject, other = told.subject - told.object, told.object - told.subject
    if said.names and told.names & tail and not said.names & told.subject:
        return True
    if not told.subject and not (
        said.joined or said.passive or said.by
    ):  # "we", who do it to what the statement has do it
        return bool(said.object) and bool(said.subject) and said.subject <= contents(told.rest[: 2 * _NEIGHBOURS])
    # What a relative pronoun stands for is a guess: of it count only the words that the other clause has too.
    doer = said.subject & (told.subject | told.object) if said.relative else said.subject
    return bool(_most(doer, other) and not said.subject & subject and tail & subject and not tail >= other)


def _contrast_turned(statement: str, sentence: str) -> bool:
    """Whether "A rather than B" has become "B rather than A"."""
    for told in _CONTRAST.finditer(sentence):
        for said in _CONTRAST.finditer(statement):
            first, second = _around(sentence, told)
            left, right = _around(statement, said)
            crossed = left & (second - first)
            if right & (first - second) and len(crossed) > len(left & (first - second)):
                return True
    return False


def _around(text: str, match: re.Match[str]) -> tuple[frozenset[str], frozenset[str]]:
    before = words(text[: match.start()])
    after = words(text[match.end() :])
    return contents(before[-_NEIGHBOURS:]), contents(after[:_NEIGHBOURS])


def _crossed(statement: str, sentence: str) -> bool:
    """Whether two neighbouring pieces of a sentence have each a word of the other, but for that their own."""
    for (one, two), (first, second) in product(pairwise(pieces(statement)), pairwise(pieces(sentence))):
        own, other = first - second, second - first
        crossed = (one & other) - two, (two & own) - one
        kept = one & own, two & other
        if all(crossed) and all(kept) and sum(map(len, crossed)) < sum(map(len, kept)):
            return True
    return False


def _sides_exchanged(said: Clause, told: Clause) -> bool:
    """Whether what stands before and after a preposition that both have is exchanged."""
    if not said.verb or said.verb != told.verb:
        return False
    for here, there in product(_SIDES & set(said.rest), _SIDES & set(told.rest)):
        if here != there and not {here, there} <= _OVER:
            continue
        before, after = told.sides(there)
        first, second = before - after, after - before
        left, right = said.sides(here)
        crossed = min(len(left & second), len(right & first))
        if crossed and len(left & second) + len(right & first) > len(left & first) + len(right & second):
            return True
    return False


def _bound_to_the_other(said: Clause, sentence: list[Clause]) -> bool:
    """Whether the subject is that of one clause of a sentence and the predicate that of the next."""
    for one, other in pairwise(sentence):
        for mine, theirs in ((one, other), (other, one)):
            own, foreign = mine.subject - theirs.subject, theirs.subject - mine.subject
            here, there = mine.predicate - theirs.predicate, theirs.predicate - mine.predicate
            if not (own and foreign and there) or one.relative or other.relative:
                continue
            alone = foreign - theirs.predicate
            doer, fact = said.subject - theirs.subject | said.subject & own, said.predicate - mine.predicate
            whose = len(said.subject & own) > len(said.subject & foreign) and _most(doer, own)
            if whose and _most(fact, there) and not said.predicate & (here | alone):
                return True
    return False


def _of_another_doer(said: Clause, quotes: Sequence[str]) -> bool:
    """Whether the quotes that name the doer don't have what is said to be done, while others do."""
    held = {quote: contents(words(quote)) for quote in quotes}
    naming = [quote for quote in quotes if said.subject and said.subject <= held[quote]]
    if not said.by and not any(_done_by(said.subject, quote) for quote in naming):
        return False
    others = frozenset[str]().union(*(held[quote] for quote in quotes if quote not in naming))
    here = frozenset[str]().union(*(held[quote] for quote in naming))
    if not naming or any(_ANAPHOR.search(quote) for quote in naming):
        return False
    return bool(said.object & (others - here)) and not said.object & (here - others)


def _done_by(doer: frozenset[str], quote: str) -> bool:
    return any(stem(match[1]) in doer for match in re.finditer(r"\bby ([^\W\d_]+)", quote))


def _most(words: frozenset[str], among: frozenset[str]) -> bool:
    return 2 * len(words & among) >= len(words) > 0
