"""The clauses of a sentence: subject, verb, and what follows. They are cut at function words and common verbs, by rules
that know no topic; all words are uninflected, so that clauses of two sentences can be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from rag_assistant.acronyms import is_name
from rag_assistant.grounding.pieces import pieces
from rag_assistant.grounding.wording import (
    ADVERBS,
    AUXILIARY,
    BE,
    MODAL,
    PREPOSITIONS,
    REPORTED,
    REPORTING,
    TOKEN,
    VERBS,
    bare,
    contents,
    head,
    reduced,
)
from rag_assistant.stems import uninflected
from rag_assistant.stop_words import STOP_WORDS, is_stop_word

_RELATIVE = frozenset("that which who".split())
_ANTECEDENT = 4


@dataclass(frozen=True)
class Clause:
    """A clause cut at its verb, which is empty if only an auxiliary was found. Derived values are cached: each clause
    of a statement is compared with each one that it cites."""

    subject: frozenset[str]
    verb: str
    rest: tuple[str, ...]
    """The tokens after the verb, function words included."""
    passive: bool
    joined: str
    """The preposition right after the verb, if any: then the verb has no object."""
    relative: bool = False
    """Whether the subject was taken from the words before, and so is uncertain."""
    by: bool = False
    """Whether the subject stood after "by"."""
    names: frozenset[str] = frozenset()
    """The names in the subject: acronyms and words with digits."""
    doer: str = ""
    """The subject's head: its last word before any preposition."""
    copula: bool = False
    """Whether the verb is a form of "be" alone."""
    given: str = ""
    """For a passive clause with "by", the head of the words before the verb."""

    @cached_property
    def object(self) -> frozenset[str]:
        """The content words after the verb."""
        return contents(self.rest)

    @property
    def agent(self) -> frozenset[str]:
        """Who does it; empty if that isn't said."""
        return frozenset() if self.passive else self.subject

    @cached_property
    def patient(self) -> frozenset[str]:
        """What it is done to; empty if that isn't said."""
        if self.passive:
            return self.subject
        return frozenset() if self.joined else contents(self.rest[: self._first_preposition()])

    @cached_property
    def target(self) -> str:
        """The head of what it is done to."""
        return self.doer if self.passive else self.given if self.by else head(self.rest)

    @cached_property
    def predicate(self) -> frozenset[str]:
        """The verb and the content words after it."""
        return self.object | ({self.verb} if self.verb else frozenset())

    def _first_preposition(self) -> int:
        return next((at for at, word in enumerate(self.rest) if word in PREPOSITIONS), len(self.rest))

    def split_at(self, preposition: str) -> tuple[frozenset[str], frozenset[str]]:
        """The content words before and after a preposition that follows the verb."""
        at = self.rest.index(preposition)
        before = contents(self.rest[:at]) | (self.subject if self.passive else frozenset())
        return before, contents(self.rest[at + 1 :])


def clauses(sentence: str, verbs: frozenset[str] = frozenset()) -> list[Clause]:
    """The clauses of a sentence in order; those of infinitives and gerunds follow the clause that contains them.

    Args:
        sentence: The sentence, as written.
        verbs: Words that are verbs here, besides the common ones; see :func:`verbs_of`.
    """
    known = VERBS | verbs
    found: list[Clause] = []
    before: list[str] = []
    for piece in pieces(bare(sentence)):
        for part in _parts(TOKEN.findall(piece), known):
            clause = None if found and _participial(part, known) else _clause(part, before, known)
            if clause is not None:
                if not found and _participial(part, known):  # "Increasing A helps B"
                    found.append(_doing(part))
                found += [clause, *_within(reduced(part), known)]
            elif found:
                last = found[-1]
                found[-1] = replace(last, rest=(*last.rest, *reduced(part)))
                if _participial(part, known):  # ", enabling A"
                    found.append(replace(_doing(part), subject=last.subject, names=last.names, doer=last.doer))
            else:
                found += _within(reduced(part), known)
            before = (before + [token for token in part if not is_stop_word(token)])[-_ANTECEDENT:]
    return found


def _participial(tokens: list[str], verbs: frozenset[str]) -> bool:
    """Whether a part begins with a participle."""
    words = [token.lower() for token in tokens if not token.isdigit()]
    return bool(words) and words[0].endswith("ing") and uninflected(words[0]) in verbs and not AUXILIARY & set(words)


def _doing(tokens: list[str]) -> Clause:
    """The clause of a part that begins with a participle and names no subject."""
    words = [token for token in tokens if not token.isdigit()]
    rest = reduced(words[1:])
    joined = rest[0] if rest and rest[0] in PREPOSITIONS else ""
    return Clause(frozenset(), uninflected(words[0]), rest, False, joined, relative=True)


def _parts(tokens: list[str], verbs: frozenset[str]) -> list[list[str]]:
    """A piece, cut before relative pronouns, after the "that" of reported speech, and at "and" between clauses."""
    parts: list[list[str]] = [[]]
    for at, token in enumerate(tokens):
        lowered = token.lower()
        if lowered == "that" and parts[-1] and uninflected(parts[-1][-1]) in REPORTING:
            parts.append([])
            continue
        if lowered in _RELATIVE and parts[-1]:
            parts.append([])
        elif lowered == "and" and _verb_at(parts[-1], verbs) and _verb_at(_until_and(tokens[at + 1 :]), verbs):
            parts.append([])
            continue
        parts[-1].append(token)
    return parts


def _until_and(tokens: list[str]) -> list[str]:
    return tokens[: tokens.index("and")] if "and" in tokens else tokens


def _clause(tokens: list[str], before: list[str], verbs: frozenset[str]) -> Clause | None:
    relative = bool(tokens) and tokens[0].lower() in _RELATIVE
    words = tokens[1:] if relative else tokens
    at = first = _verb_at(words, verbs, from_start=relative)
    if at is None:
        at = first = _maybe_verb_at(words)
    if at is None or first is None:
        return None
    subject = contents(words[:at]) or (contents(before) if relative else frozenset())
    auxiliary = False
    while at < len(words) and (words[at].lower() in AUXILIARY | ADVERBS or _is_adverb(words[at], verbs)):
        auxiliary = auxiliary or words[at].lower() in BE
        at += 1
    if 0 < at < len(words) - 2 and words[at - 1].lower() in MODAL and words[at].lower() in PREPOSITIONS:
        at += 2 if uninflected(words[at + 2]) in verbs else 0  # "can in fact improve"
    if auxiliary and at < len(words) - 1 and uninflected(words[at]) in REPORTED and words[at + 1].lower() == "to":
        at, auxiliary = at + 2, False  # "is shown to be done" is "is done"
        while at < len(words) and words[at].lower() in AUXILIARY | ADVERBS:
            auxiliary = auxiliary or words[at].lower() in BE
            at += 1
    verb = uninflected(words[at]) if at < len(words) else ""
    if verb and verb not in verbs and is_stop_word(words[at]):
        verb = ""
    rest = reduced(words[at + 1 :] if verb else words[at:])
    passive = auxiliary and at < len(words) and bool(re.search(r"(?:ed|en|wn|ilt|und|ained)$", words[at]))
    names = frozenset(uninflected(word) for word in words[:first] if is_name(word))
    doer = uninflected(head(words[:first]))
    copula = not verb and 0 < at <= len(words) and words[at - 1].lower() in BE
    by_doing = words[at + 2 : at + 3] and words[at + 2].lower().endswith("ing") and uninflected(words[at + 2]) in verbs
    if passive and rest[:1] == ("by",) and not by_doing:  # turned into the active clause about the doer
        end = next((at for at, word in enumerate(rest) if at and word in PREPOSITIONS), len(rest))
        agent = rest[1:end]
        return Clause(
            contents(agent),
            verb,
            (*sorted(subject), *rest[end:]),
            False,
            "",
            relative,
            True,
            frozenset(uninflected(word) for word in words[at + 2 : at + 1 + end] if is_name(word)),
            head(agent),
            given=doer,
        )
    joined = rest[0] if rest and rest[0] in PREPOSITIONS else ""
    return Clause(subject, verb, rest, passive, joined, relative, names=names, doer=doer, copula=copula)


def _within(tokens: tuple[str, ...], verbs: frozenset[str]) -> list[Clause]:
    """The clauses of infinitives and gerunds: "... is to replace A by B", "by balancing A with B"."""
    found = []
    for at, word in enumerate(tokens[:-1]):
        verb = tokens[at + 1]
        if word == "to" and verb in ("be", "being") and tokens[at + 3 : at + 4] == ("by",):  # "A to be done by B"
            found.append(_done_by(tokens[:at], tokens[at + 2], tokens[at + 4 :]))
        elif word in {"to", "by", "of", "for", "in", "from"} and verb in verbs:
            rest = tokens[at + 2 :]
            joined = rest[0] if rest and rest[0] in PREPOSITIONS else ""
            found.append(Clause(frozenset(), verb, rest, False, joined))
    return found


def _is_adverb(word: str, verbs: frozenset[str]) -> bool:
    return word.lower().endswith("ly") and uninflected(word) not in verbs


def _done_by(before: tuple[str, ...], verb: str, after: tuple[str, ...]) -> Clause:
    auxiliary = next((place for place, one in enumerate(before) if one in AUXILIARY), len(before))
    patient = before[max(0, auxiliary - _ANTECEDENT) : auxiliary]
    end = next((place for place, one in enumerate(after) if one in PREPOSITIONS), len(after))
    rest = (*sorted(contents(patient)), *after[end:])
    return Clause(contents(after[:end]), verb, rest, False, "", by=True, doer=head(after), given=head(patient))


def _verb_at(tokens: list[str], verbs: frozenset[str], *, from_start: bool = False) -> int | None:
    """The position of the verb or its auxiliary."""
    for at, token in enumerate(tokens):
        lowered = token.lower()
        if lowered in AUXILIARY and (at or from_start):
            return at
        follows = (at > 0 or from_start) and not (at + 1 < len(tokens) and tokens[at + 1].lower() in BE)
        # A participle before a noun is no verb: "increased instability", "learning error".
        if follows and not lowered.endswith("ing") and uninflected(token) in verbs and not _in_noun_phrase(tokens, at):
            return at
    return None


def _maybe_verb_at(tokens: list[str]) -> int | None:
    """The position of a word that may be a third-person verb, in a clause without a known verb."""
    for at in range(1, len(tokens) - 1):
        token, before = tokens[at].lower(), tokens[at - 1].lower()
        if re.search(r"[^sui]s$", token) and not before.endswith("s") and not STOP_WORDS & {token, before}:
            return at
    return None


def _in_noun_phrase(tokens: list[str], at: int) -> bool:
    return at > 0 and tokens[at - 1].lower() in {"a", "an", "the", "of", "their", "its", "our", "this", "these", "more"}
