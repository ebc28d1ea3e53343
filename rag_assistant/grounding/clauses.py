"""The clauses of a sentence: who or what, the verb, and what is said of it. Cut at function words and common verbs by
rules that know no topic; all words are stems, so that clauses of two sentences can be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
_REPORTING = frozenset(
    stem(word)
    for word in "show prove argue state find observe discover predict demonstrate reveal suggest indicate "
    "estimate believe report conclude note".split()
)
_BE = frozenset("is are was were be been being".split())
_AUXILIARY = _BE | frozenset("can could may might will would shall should must does do did has have had".split())
_RELATIVE = frozenset("that which who".split())
_PREPOSITIONS = frozenset("by with into to from than over as on in for under when if because due through at".split())
_ADVERBS = frozenset("even also then still often always never not just now".split())
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
_ANTECEDENT = 4


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause cut at its verb, which is empty where only an auxiliary was found."""

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
        """The content words after the verb."""
        return contents(self.rest)

    @property
    def predicate(self) -> frozenset[str]:
        """The verb and the content words after it."""
        return self.object | ({self.verb} if self.verb else frozenset())

    def sides(self, preposition: str) -> tuple[frozenset[str], frozenset[str]]:
        """The content words before and after a preposition that stands after the verb."""
        at = self.rest.index(preposition)
        before = contents(self.rest[:at]) | (self.subject if self.passive else frozenset())
        return before, contents(self.rest[at + 1 :])


def clauses(sentence: str) -> list[Clause]:
    """The clauses of a sentence in order, those of infinitives and gerunds after the one they stand in."""
    found: list[Clause] = []
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
        if lowered == "that" and parts[-1] and stem(parts[-1][-1]) in _REPORTING:
            parts.append([])
            continue
        if lowered in _RELATIVE and parts[-1]:
            parts.append([])
        elif lowered == "and" and _verb_at(parts[-1]) is not None and (_verb_at(_until_and(tokens[at + 1 :])) or 0) > 0:
            parts.append([])
            continue
        parts[-1].append(token)
    return parts


def _until_and(tokens: list[str]) -> list[str]:
    return tokens[: tokens.index("and")] if "and" in tokens else tokens


def _clause(tokens: list[str], before: list[str]) -> Clause | None:
    relative = bool(tokens) and tokens[0].lower() in _RELATIVE
    words = tokens[1:] if relative else tokens
    at = _verb_at(words, from_start=relative)
    if at is None:
        return None
    subject = contents(words[:at]) or (contents(before) if relative else frozenset())
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
        return Clause(contents(rest[1:end]), verb, (*sorted(subject), *rest[end:]), False, "", relative, True)
    joined = rest[0] if rest and rest[0] in _PREPOSITIONS else ""
    return Clause(subject, verb, rest, passive, joined, relative, names=names)


def _within(clause: Clause) -> list[Clause]:
    """The clauses of infinitives and gerunds: "... is to replace A by B", "by balancing A with B"."""
    found = []
    for at, token in enumerate(clause.rest[:-1]):
        verb = clause.rest[at + 1]
        if token in {"to", "by", "of", "for"} and verb in _VERBS:
            rest = clause.rest[at + 2 :]
            joined = rest[0] if rest and rest[0] in _PREPOSITIONS else ""
            found.append(Clause(frozenset(), verb, rest, False, joined))
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


def contents(tokens: Sequence[str]) -> frozenset[str]:
    """The stems of content words."""
    return frozenset(stem(token) for token in tokens if _is_content(token))


def _is_content(token: str) -> bool:
    lowered = token.lower()
    return lowered not in STOP_WORDS and lowered not in _AUXILIARY and lowered not in _PREPOSITIONS


def pieces(text: str) -> list[frozenset[str]]:
    """The content words between punctuation and conjunctions, without pieces of one word."""
    # A bracket of several words is a piece of its own here.
    cut = [contents(_TOKEN.findall(piece)) for piece in _CUT.split(_bare(re.sub(r"\((?=[^()]*\s)|\)", ", ", text)))]
    return [piece for piece in cut if len(piece) > 1]


def words(text: str) -> list[str]:
    """The content words of a text as they stand there."""
    return [token for token in _TOKEN.findall(text) if _is_content(token)]
