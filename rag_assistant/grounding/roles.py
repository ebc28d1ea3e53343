"""Whether a statement exchanges what it speaks of: who does what to whom, and which of two things a fact is told of.

Clauses are cut at their verb by rules over function words and common verbs; nothing here knows a topic. Tests compare
a statement's clauses with those it cites: a subject that is the object there and the other way round; what stands on
the two sides of a preposition such as "into" or "than" exchanged; a subject of one clause with the predicate of its
neighbour; something done "by" one whom the quotes name for something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from rag_assistant.grounding.stems import stem
from rag_assistant.questions.form import STOP_WORDS

_VERBS = frozenset(
    stem(word)
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
_BE = frozenset("is are was were be been being".split())
_AUXILIARY = _BE | frozenset("can could may might will would shall should must does do did has have had".split())
_RELATIVE = frozenset("that which who".split())
_PREPOSITIONS = frozenset("by with into to from than over as on in for under when if because due through at".split())
_ADVERBS = frozenset("even also then still often always never not just now".split())
_CONTRAST = re.compile(r"\b(?:as opposed to|rather than|instead of)\b", re.IGNORECASE)
_NEIGHBOURS = 3
"""How many content words on each side of "rather than" it sets against each other."""
_SIDES = frozenset("by with into from than over to".split())
_OVER = frozenset(("to", "over"))
"""Both are said of what is preferred to something."""
_CUT = re.compile(
    r"[.;:!?,\u2014](?!\d)|\s-\s|\b(?:while|whereas|but|although|though|whether|how|when|if|because|since|unless|once|"
    r"until|as soon as)\b"
    r"|\b(?:opposed to|rather than|instead of)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\((?=[^()]*[\s,.])[^()]*\)")
"""What stands in brackets, but for a single word, which is a name of what stands before."""
_UNLIKE = re.compile(
    r",?\s*\b(?:unlike|in contrast to|in contrast with|compared (?:with|to))\b[^,.;]*,|,\s*(?:by|in) contrast,",
    re.IGNORECASE,
)
"""What a clause is set against: it would part the subject from its verb."""
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:[-'\u2019]?[^\W_]+)*")
_NAME = re.compile(r"[A-Z].*[A-Z]|\d")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c(*])")
_ANAPHOR = re.compile(r"\b(?:it|its|this|these|they|their)\b", re.IGNORECASE)
_ANTECEDENT = 4


@dataclass(frozen=True, slots=True)
class _Clause:
    subject: frozenset[str]
    verb: str
    rest: tuple[str, ...]
    """The tokens after the verb, function words among them as they are."""
    passive: bool
    joined: str
    """The preposition right after the verb, if any: then the verb has no object."""
    relative: bool = False
    """Whether the subject is taken from the words before, and so isn't sure."""
    by: bool = False
    """Whether the subject stood after "by"."""
    names: frozenset[str] = frozenset()
    """The names in the subject: acronyms and what is written with digits."""

    @property
    def object(self) -> frozenset[str]:
        return _contents(self.rest)

    @property
    def predicate(self) -> frozenset[str]:
        return self.object | ({self.verb} if self.verb else frozenset())

    def sides(self, preposition: str) -> tuple[frozenset[str], frozenset[str]]:
        at = self.rest.index(preposition)
        before = _contents(self.rest[:at]) | (self.subject if self.passive else frozenset())
        return before, _contents(self.rest[at + 1 :])


def exchange(statement: str, quotes: Sequence[str]) -> str:
    """Why the statement says of one thing what its quotes say of another; empty where nothing speaks for that."""
    sentences = [sentence for quote in quotes for sentence in _SENTENCE.split(quote)]
    told = [_clauses(sentence) for sentence in sentences]
    if any(_contrast_turned(statement, sentence) or _crossed(statement, sentence) for sentence in sentences):
        return "the cited words say it the other way round"
    for said in _clauses(statement):
        if not said.subject and not said.rest:
            continue
        as_told = any(
            said.verb == clause.verb and 2 * len(said.subject & clause.subject) > len(said.subject)
            for sentence in told
            for clause in sentence
        )
        for sentence in told:
            for clause in sentence:
                if (not as_told and _inverted(said, clause)) or _sides_exchanged(said, clause):
                    return "the cited words say it the other way round"
            if _bound_to_the_other(said, sentence):
                return "the cited words say this of something else"
        if _of_another_doer(said, quotes):
            return "the cited words say this of something else"
    return ""


def _inverted(said: _Clause, told: _Clause) -> bool:
    """Whether the subject stands in the object's place and the other way round, with the same verb."""
    if not said.verb or said.verb != told.verb or said.passive != told.passive or said.joined != told.joined:
        return False
    if said.joined and said.joined == told.joined == "to" and not said.object:
        return False
    subject, other = told.subject - told.object, told.object - told.subject
    if said.names and told.names & said.object and not said.names & told.subject:
        return True
    if not told.subject and not (
        said.joined or said.passive or said.by
    ):  # "we", who do it to what the statement has do it
        return bool(said.object) and bool(said.subject) and said.subject <= _contents(told.rest[: 2 * _NEIGHBOURS])
    # What a relative pronoun stands for is a guess: of it count only the words that the other clause has too.
    doer = said.subject & (told.subject | told.object) if said.relative else said.subject
    return bool(
        _most(doer, other) and not said.subject & subject and said.object & subject and not said.object >= other
    )


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
    before = [token for token in _TOKEN.findall(text[: match.start()]) if _is_content(token)]
    after = [token for token in _TOKEN.findall(text[match.end() :]) if _is_content(token)]
    return _contents(before[-_NEIGHBOURS:]), _contents(after[:_NEIGHBOURS])


def _crossed(statement: str, sentence: str) -> bool:
    """Whether two neighbouring pieces of a sentence have each a word of the other, but for that their own."""
    for (one, two), (first, second) in product(pairwise(_pieces(statement)), pairwise(_pieces(sentence))):
        own, other = first - second, second - first
        crossed = (one & other) - two, (two & own) - one
        kept = one & own, two & other
        if all(crossed) and all(kept) and sum(map(len, crossed)) < sum(map(len, kept)):
            return True
    return False


def _pieces(text: str) -> list[frozenset[str]]:
    # A bracket of several words is a piece of its own here.
    pieces = [_contents(_TOKEN.findall(piece)) for piece in _CUT.split(_bare(re.sub(r"\((?=[^()]*\s)|\)", ", ", text)))]
    return [piece for piece in pieces if len(piece) > 1]


def _sides_exchanged(said: _Clause, told: _Clause) -> bool:
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


def _bound_to_the_other(said: _Clause, sentence: list[_Clause]) -> bool:
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


def _of_another_doer(said: _Clause, quotes: Sequence[str]) -> bool:
    """Whether the quotes that name the doer don't have what is said to be done, while others do."""
    words = {quote: _contents(_TOKEN.findall(quote)) for quote in quotes}
    naming = [quote for quote in quotes if said.subject and said.subject <= words[quote]]
    if not said.by and not any(_done_by(said.subject, quote) for quote in naming):
        return False
    others = frozenset[str]().union(*(words[quote] for quote in quotes if quote not in naming))
    here = frozenset[str]().union(*(words[quote] for quote in naming))
    if not naming or any(_ANAPHOR.search(quote) for quote in naming):
        return False
    return bool(said.object & (others - here)) and not said.object & (here - others)


def _done_by(doer: frozenset[str], quote: str) -> bool:
    return any(stem(match[1]) in doer for match in re.finditer(r"\bby ([^\W\d_]+)", quote))


def _most(words: frozenset[str], among: frozenset[str]) -> bool:
    return 2 * len(words & among) >= len(words) > 0


def _clauses(sentence: str) -> list[_Clause]:
    found: list[_Clause] = []
    before: list[str] = []
    for piece in _CUT.split(_bare(sentence)):
        for part in _parts(_TOKEN.findall(piece)):
            clause = _clause(part, before)
            if clause is not None:
                found += [clause, *_within(clause)]
            elif found:
                last = found[-1]
                found[-1] = replace(last, rest=(*last.rest, *_reduced(part)))
            before = (before + [token for token in part if _is_content(token)])[-_ANTECEDENT:]
    return found


def _bare(text: str) -> str:
    """Without TeX, mark-up and asides."""
    return re.sub(r"\\[a-zA-Z]+|[$\\{}*`^_]", " ", _UNLIKE.sub(" ", _ASIDE.sub(" ", text)))


def _parts(tokens: list[str]) -> list[list[str]]:
    """A piece, cut before a relative pronoun, after "that" of reported speech, and at an "and" that joins clauses."""
    parts: list[list[str]] = [[]]
    for at, token in enumerate(tokens):
        lowered = token.lower()
        if lowered in _RELATIVE and parts[-1]:
            parts.append([])
        elif lowered == "and" and _verb_at(parts[-1]) is not None and (_verb_at(_until_and(tokens[at + 1 :])) or 0) > 0:
            parts.append([])
            continue
        parts[-1].append(token)
    return parts


def _until_and(tokens: list[str]) -> list[str]:
    return tokens[: tokens.index("and")] if "and" in tokens else tokens


def _clause(tokens: list[str], before: list[str]) -> _Clause | None:
    relative = bool(tokens) and tokens[0].lower() in _RELATIVE
    words = tokens[1:] if relative else tokens
    at = _verb_at(words, from_start=relative)
    if at is None:
        return None
    subject = _contents(words[:at]) or (_contents(before) if relative else frozenset())
    auxiliary = False
    while at < len(words) and (words[at].lower() in _AUXILIARY | _ADVERBS or words[at].lower().endswith("ly")):
        auxiliary = auxiliary or words[at].lower() in _BE
        at += 1
    verb = stem(words[at]) if at < len(words) and (_is_content(words[at]) or stem(words[at]) in _VERBS) else ""
    rest = _reduced(words[at + 1 :] if verb else words[at:])
    passive = auxiliary and at < len(words) and bool(re.search(r"(?:ed|en|wn|ilt|und|ained)$", words[at]))
    names = frozenset(stem(word) for word in words[: _verb_at(words, from_start=relative)] if _NAME.search(word))
    if passive and rest[:1] == ("by",):  # said of the doer, as an active clause would
        end = next((at for at, word in enumerate(rest) if at and word in _PREPOSITIONS), len(rest))
        return _Clause(_contents(rest[1:end]), verb, (*sorted(subject), *rest[end:]), False, "", relative, True)
    joined = rest[0] if rest and rest[0] in _PREPOSITIONS else ""
    return _Clause(subject, verb, rest, passive, joined, relative, names=names)


def _within(clause: _Clause) -> list[_Clause]:
    """The clauses of infinitives and gerunds: "... is to replace A by B", "by balancing A with B"."""
    found = []
    for at, token in enumerate(clause.rest[:-1]):
        verb = clause.rest[at + 1]
        if token in {"to", "by", "of", "for"} and verb in _VERBS:
            rest = clause.rest[at + 2 :]
            joined = rest[0] if rest and rest[0] in _PREPOSITIONS else ""
            found.append(_Clause(frozenset(), verb, rest, False, joined))
    return found


def _reduced(tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(stem(token) if _is_content(token) else token.lower() for token in tokens)


def _verb_at(tokens: list[str], *, from_start: bool = False) -> int | None:
    """Where the verb or its auxiliary stands."""
    for at, token in enumerate(tokens):
        lowered = token.lower()
        if lowered in _AUXILIARY and (at or from_start):
            return at
        follows = at > 0 or from_start
        # A participle before a noun is no verb: "increased instability", "learning error".
        if follows and not lowered.endswith("ing") and stem(token) in _VERBS and not _in_noun_phrase(tokens, at):
            return at
    return None


def _in_noun_phrase(tokens: list[str], at: int) -> bool:
    return at > 0 and tokens[at - 1].lower() in {"a", "an", "the", "of", "their", "its", "our", "this", "these", "more"}


def _contents(tokens: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(token) for token in tokens if _is_content(token))


def _is_content(token: str) -> bool:
    lowered = token.lower()
    return lowered not in STOP_WORDS and lowered not in _AUXILIARY and lowered not in _PREPOSITIONS
