"""Whether a statement exchanges roles: who does what to whom, and which of two things a fact is about.

Some tests compare a statement's clauses with the cited ones, by verb, active and passive alike. They find subject and
object exchanged; the words before and after a preposition such as "into", or those contrasted by "than" or "unlike";
the objects of two verbs; the subject of one clause with the predicate of its neighbour; and something said of one that
the quotes name for something else. Others look at pieces without any grammar (:mod:`.bindings`) and at lists
(:mod:`.lists`). What no test sees passes: freely worded exchanges sometimes do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, pairwise, product

from rag_assistant.grounding.bindings import crossed, of_another_name
from rag_assistant.grounding.clauses import Clause, clauses
from rag_assistant.grounding.lists import exchanged_in_list, spelt_out
from rag_assistant.grounding.pieces import pieces
from rag_assistant.grounding.wording import bare, complements, contents, head, verbs_of, words
from rag_assistant.sentences import sentence_spans
from rag_assistant.stems import uninflected

_REVERSED = "the cited words say it the other way round"
_OTHER = "the cited words say this of something else"
_AGAINST = re.compile(
    r"\b(?:unlike|in contrast (?:to|with)|compared (?:to|with)|as opposed to|rather than|instead of)\b", re.IGNORECASE
)
_THAN = re.compile(r"\b(?P<how>[^\W\d_]+)(?: [^\W\d_]+)? than\b", re.IGNORECASE)
_LINKING = frozenset("by with into from than over to through".split())
_PARTING = _LINKING | frozenset("at for on in under".split())
_REDUCED = re.compile(
    r"\b(?P<noun>[^\W\d_]+) (?P<verb>[^\W\d_]+ed)\s+(?P<how>for|by|on|in|from|to|with) "
    r"(?P<by>[^\W\d_]+(?:\s+[^\W\d_]+)?)"
)
"""A noun followed by a participle."""
_OVER = frozenset(("to", "over"))
"""Both may follow "preferred"."""
_OPENING = re.compile(
    r"^(?i:in|on|by|for|under|across|according to)\s+(?:[a-z-]+\s+){0,3}?"
    r"(?!(?:of|for|and|or|with|by|on|to|from|the|an?|both)\b)[a-z-]+(?=\s+(?:both\b|neither\b|each\b|[A-Z]))"
)
"""A phrase before the subject, without a comma between them: "In human evaluations both A and B are ..."."""
_ANAPHOR = re.compile(r"\b(?:it|its|this|these|they|their)\b", re.IGNORECASE)


def exchange(statement: str, quotes: Sequence[str]) -> str:
    """Why the statement seems to say of one thing what its quotes say of another; empty if it doesn't."""
    statement = _OPENING.sub(r"\g<0>,", statement)
    quotes = [_OPENING.sub(r"\g<0>,", spelt_out(quote)) for quote in quotes]
    sentences = [quote[start:end] for quote in quotes for start, end in sentence_spans(quote)]
    if crossed(statement, quotes) or exchanged_in_list(statement, quotes):
        return _OTHER
    if any(_set_against(statement, sentence) for sentence in sentences):
        return _REVERSED
    if of_another_name(statement, quotes):
        return _OTHER
    if any(_participle_moved(statement, quote) for quote in quotes):
        return _OTHER
    verbs = verbs_of([statement, *sentences])
    stated, cited = clauses(statement, verbs), [clauses(sentence, verbs) for sentence in sentences]
    if _objects_exchanged(stated, cited):
        return _OTHER
    for place, said in enumerate(stated):
        if not said.subject and not said.rest:
            continue
        tail = said.object.union(*(clause.subject | clause.predicate for clause in stated[place + 1 :]))
        found = _against(said, tail, cited) or (_OTHER if _of_another_doer(said, quotes) else "")
        if found:
            return found
    return _OTHER if any(_complement_moved(statement, quote) for quote in quotes) else ""


def _against(said: Clause, tail: frozenset[str], cited: Sequence[Sequence[Clause]]) -> str:
    """Why the cited clauses contradict one of the statement's; ``tail``: all content words after its verb."""
    as_cited = any(
        said.verb == clause.verb and 2 * len(said.subject & clause.subject) > len(said.subject)
        for sentence in cited
        for clause in sentence
    )
    for sentence in cited:
        for clause in sentence:
            if said.verb != clause.verb and not (said.copula and clause.copula):
                continue  # there is nothing to compare
            if not as_cited and (_inverted(said, clause, tail) or _turned(said, clause)):
                return _REVERSED
            if any(test(said, clause) for test in (_phrases_exchanged, _heads_exchanged, _copula_turned)):
                return _REVERSED
            if not as_cited and _renamed(said, clause):
                return _OTHER
        if _bound_to_the_other(said, sentence):
            return _OTHER
    return ""


def _inverted(said: Clause, cited: Clause, tail: frozenset[str]) -> bool:
    """Whether subject and object have changed places, with the same verb; ``tail``: all content words of the statement
    after the verb."""
    if not said.verb or said.verb != cited.verb or said.passive != cited.passive or said.joined != cited.joined:
        return False
    subject, other = cited.subject - cited.object, cited.object - cited.subject
    if said.names and cited.names & tail and not said.names & cited.subject:
        return True
    # In the quote "we" do it to what, in the statement, does it.
    if not cited.subject and not (said.joined or said.passive or said.by or said.relative):
        return (
            bool(said.object) and bool(said.subject) and said.subject <= contents(cited.rest[: _instrument(cited.rest)])
        )
    # The antecedent of a relative pronoun is a guess: only the words that the other clause has too count.
    doer = said.subject & (cited.subject | cited.object) if said.relative else said.subject
    return bool(_most(doer, other) and not said.subject & subject and tail & subject and not tail >= other)


def _instrument(rest: Sequence[str]) -> int:
    """The position of the word that introduces the means."""
    return next((at for at, word in enumerate(rest) if word in {"by", "with", "through"}), len(rest))


def _turned(said: Clause, cited: Clause) -> bool:
    """Whether the heads of agent and patient have changed places, with the same verb, whichever clause is passive."""
    if not said.verb or said.verb != cited.verb or (said.joined and not said.passive):
        return False
    if not (said.agent or cited.agent) and said.target in cited.object - cited.patient:  # "raising A for B", B for A
        return cited.target in (said.object - said.patient) & cited.patient and said.target in said.patient
    others = not cited.agent or (bool(said.agent) and said.doer not in cited.agent and cited.doer not in said.agent)
    if said.agent and said.doer in cited.patient - cited.agent and others:
        return bool(said.target) and said.target not in cited.patient
    if said.target and said.target in cited.agent - cited.patient and said.agent and said.doer not in cited.agent:
        return not cited.target or cited.target not in said.patient
    return False


def _heads_exchanged(said: Clause, cited: Clause) -> bool:
    """Whether the heads of the phrases before and after a preposition have changed places."""
    if not said.verb or said.verb != cited.verb:
        return False
    left_cited, right_cited = _around_preposition(cited)
    left_said, right_said = _around_preposition(said)
    for preposition in set(left_cited) & set(left_said):
        one, other = left_said[preposition], left_cited[preposition]
        here, there = contents(right_said[preposition]), contents(right_cited[preposition])
        kept, held = contents(one), contents(other)
        if head(one) in there - held and head(other) in here - kept:
            return True
    return False


def _around_preposition(clause: Clause) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """The words before each preposition, from the verb's object on, and those after it."""
    left: dict[str, tuple[str, ...]] = {}
    right: dict[str, tuple[str, ...]] = {}
    for at, word in enumerate(clause.rest):
        if word in _PARTING and word not in left:
            left[word] = (*((clause.doer,) if clause.passive else ()), *clause.rest[:at])
            right[word] = clause.rest[at + 1 :]
    if clause.by:  # "A is replaced by B" may say who replaces it or with what
        left["by"], right["by"] = (clause.given,), tuple(clause.subject)
    return left, right


def _objects_exchanged(stated: Sequence[Clause], cited: Sequence[Sequence[Clause]]) -> bool:
    """Whether each of two verbs has the other's object."""
    patients: dict[str, frozenset[str]] = {}
    for clause in (clause for sentence in cited for clause in sentence if clause.verb):
        patients[clause.verb] = patients.get(clause.verb, frozenset()) | clause.patient
    for one, two in combinations([clause for clause in stated if clause.verb and clause.target], 2):
        if one.verb == two.verb:
            continue
        first, second = patients.get(one.verb, frozenset()), patients.get(two.verb, frozenset())
        if one.target in second - first and two.target in first - second:
            return True
    return False


def _participle_moved(statement: str, quote: str) -> bool:
    """Whether "X made for" has become "Y made for", or "by one X" "by another X", where both texts name both."""
    here, there = _contents(statement), _contents(quote)
    for cited, said in product(_REDUCED.finditer(bare(quote)), _REDUCED.finditer(bare(statement))):
        if uninflected(cited["verb"]) != uninflected(said["verb"]) or cited["how"] != said["how"]:
            continue
        one, other = uninflected(said["noun"]), uninflected(cited["noun"])
        if one != other and one in there and other in here:
            return True
        mine, theirs = contents(said["by"].split()), contents(cited["by"].split())
        another = mine & theirs and mine - theirs and theirs - mine
        if said["how"] == "by" and another and mine - theirs <= there and not theirs - mine & here:
            return True
    return False


def _complement_moved(statement: str, quote: str) -> bool:
    """Whether "the loss of X" has become "the loss of Y", where both texts name both."""
    here, there = _contents(statement), _contents(quote)
    cited = complements(quote)
    return any(
        not said & theirs and said & there and theirs & here
        for place, said in complements(statement).items()
        if (theirs := cited.get(place))
    )


def _copula_turned(said: Clause, cited: Clause) -> bool:
    """Whether "X is the N of Y" has become "Y is the N of X"."""
    if not (said.copula and cited.copula):
        return False
    kept, mine, theirs = said.object & cited.object, said.subject - cited.subject, cited.subject - said.subject
    return head(said.rest) in kept and _most(mine, cited.object - kept) and _most(theirs, said.object - kept)


def _renamed(said: Clause, cited: Clause) -> bool:
    """Whether what the clause says of one name the cited clause says of another."""
    if not said.verb or said.verb != cited.verb or not said.names or not cited.names or said.passive != cited.passive:
        return False
    return not said.names & (cited.subject | cited.object) and _most(said.object, cited.object)


def _set_against(statement: str, sentence: str) -> bool:
    """Whether the two things contrasted in the sentence have changed places in the statement."""
    for pattern in (_AGAINST, _THAN):
        for cited, said in product(pattern.finditer(sentence), pattern.finditer(statement)):
            if pattern is _THAN and uninflected(cited["how"]) != uninflected(said["how"]):
                continue
            there, main = _complement(sentence, cited)
            here, spoken = _complement(statement, said)
            if (here - there) & (main - there) and (there - here) & (spoken - here):
                return True
    return False


def _complement(text: str, match: re.Match[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The content words after a marker, up to the end of its piece, and all others."""
    after, *rest = pieces(text[match.end() :])
    return contents(words(after)), contents(words(" ".join([text[: match.start()], *rest])))


def _phrases_exchanged(said: Clause, cited: Clause) -> bool:
    """Whether the words before and after a preposition that both clauses have are exchanged."""
    if not said.verb or said.verb != cited.verb:
        return False
    for here, there in product(_LINKING & set(said.rest), _LINKING & set(cited.rest)):
        if here != there and not {here, there} <= _OVER:
            continue
        before, after = cited.split_at(there)
        first, second = before - after, after - before
        left, right = said.split_at(here)
        crossed = min(len(left & second), len(right & first))
        if crossed and len(left & second) + len(right & first) > len(left & first) + len(right & second):
            return True
    return False


def _bound_to_the_other(said: Clause, sentence: Sequence[Clause]) -> bool:
    """Whether the subject is that of one clause of a sentence, and the predicate that of its neighbour."""
    for one, other in pairwise(sentence):
        for mine, theirs in ((one, other), (other, one)):
            if said.subject.isdisjoint(mine.subject):
                continue
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
    """Whether the quotes that name the doer don't say what it does, while other quotes do."""
    held = {quote: _contents(quote) for quote in quotes}
    naming = [quote for quote in quotes if said.subject and said.subject <= held[quote]]
    if not said.by and not any(_done_by(said.subject, quote) for quote in naming):
        return False
    others = frozenset[str]().union(*(held[quote] for quote in quotes if quote not in naming))
    here = frozenset[str]().union(*(held[quote] for quote in naming))
    if not naming or any(_ANAPHOR.search(quote) for quote in naming):
        return False
    return bool(said.object & (others - here)) and not said.object & (here - others)


@lru_cache(maxsize=64)
def _contents(text: str) -> frozenset[str]:
    return contents(words(text))


def _done_by(doer: frozenset[str], quote: str) -> bool:
    return any(uninflected(match[1]) in doer for match in re.finditer(r"\bby ([^\W\d_]+)", quote))


def _most(words: frozenset[str], among: frozenset[str]) -> bool:
    return 2 * len(words & among) >= len(words) > 0
