"""Whether a statement is supported by what it cites.

A statement that repeats its quote word for word is supported. Otherwise its words in quotation marks, its numbers with
their units, its names, its polarity and who does what to whom must all agree with the quotes. Code decides that:
similarity is never enough for numbers and names. The reader then judges whether the abstract says what the statement
says; without a reader, the quotes must have enough of the statement's content words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rag_assistant.acronyms import is_acronym
from rag_assistant.drafts import Draft
from rag_assistant.grounding.bindings import with_short_names
from rag_assistant.grounding.figures import UNIT_WORDS, missing_numbers
from rag_assistant.grounding.opposites import poles
from rag_assistant.grounding.polarity import contradiction
from rag_assistant.grounding.roles import exchange
from rag_assistant.questions.content import ASKING_WORDS
from rag_assistant.questions.names import with_number
from rag_assistant.reader.base import Stance
from rag_assistant.stems import stem
from rag_assistant.stop_words import STOP_WORDS
from rag_assistant.types import Paper, Support

MIN_WORD_RECALL = 0.65
"""Content-token support from which a statement that passes every other check is supported.

On AttributionBench's dev split (Li et al. 2024, 1,198 claims) all checks together pass 54% of the supported claims and
23% of the others at 0.65; 51% and 19% at 0.7; 60% and 27% at 0.6. Youden's index is flat (0.32 to 0.33) from 0.55 to
0.7: the highest of these at which lightly paraphrased right answers of the suite pass was chosen. Answers that keep to
the words of the abstracts, as the prompts ask, are above it.
``python -m benchmarks.grounding --claims FILE`` prints the curve.
"""

SUPPORTED, SUPPORTED_IN_ITS_WORDS = 0.45, 0.2
"""The reader's probability from which a statement is supported; the lower one applies if the quotes have enough of its
words. Chosen on the 278 statements about papers that the reader wasn't trained on; ``python -m benchmarks.statements``
prints what is lost and caught, compared with judging by words alone."""
SAYS_OTHERWISE = "the cited abstract says otherwise"
SAYS_NOTHING = "the cited words don't say this"

MIN_OWN_RECALL = 0.5
"""The share that the quotes themselves must have: a title may name what a quote calls "it", but a statement that mostly
repeats the title would be supported by any sentence of the paper."""

_STEM = 6
_SHORT = 4
_WORD = re.compile(r"[^\W\d_]{2,}")
_NAME = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"'`)\]]+", re.IGNORECASE)
_ANAPHOR = re.compile(
    r"\b(?:we|our|ours|it|its|they|their|this|these|such|(?:the|that) (?:proposed |new |resulting )?"
    r"(?:method|algorithm|approach|framework|model|technique|scheme|estimator|attack|benchmark|data\s?set|system))\b",
    re.IGNORECASE,
)
_REPORTING = frozenset(
    "hand via based approach method methods named"
    "using overall however moreover furthermore additionally finally notably "
    "specifically therefore hence consequently respectively contrast reach reaches reached attain attains attained "
    "obtain obtains obtained yield yields need needs needed require requires required".split()
)
_MARK_UP = re.compile(r"[*$^_{}`]")
"""Mark-up between the letters of a name set in TeX or Markdown: "**UA**$^2$"."""
_QUOTED = re.compile(r"[\"\u201c\u201d]([^\"\u201c\u201d]+)[\"\u201c\u201d]")
_LEAST_QUOTED = 3
"""The number of words from which text in quotation marks is a quote: fewer may be a name or a word set apart."""
_AUTHOR_YEAR = re.compile(
    r"\(?\b(?P<first>[^\W\d_][\w'\u2019-]+)(?:\s+et\s+al\.?|(?:,? (?:and|&) [^\W\d_][\w'\u2019-]+)*),?\s*"
    r"\(?(?P<year>(?:19|20)\d\d)\)?\)?"
)
_ASKING = re.compile(
    r"\?|\b(?:ask|question|inquir|wonder|investigat|explor|examin|stud[iy]|address|tackl|consider|understand|problem|"
    r"whether|how|why|what|which)",
    re.IGNORECASE,
)
"""A statement with one of these may report what a paper asks."""


@dataclass(frozen=True, slots=True)
class SupportVerdict:
    """The result of a check; ``reason`` is empty if the statement is supported."""

    support: Support
    reason: str = ""


def check_abstract(
    statement: str,
    quotes: Sequence[str],
    papers: Sequence[Paper] = (),
    *,
    least: float = MIN_WORD_RECALL,
    judge: Callable[[str], Stance] | None = None,
) -> SupportVerdict:
    """Checks a statement against the verbatim quotes it cites.

    Args:
        statement: The statement, without markers.
        quotes: The sentences it cites.
        papers: Their papers. A statement may name what a quote calls "it" or "our method": names may also come from
            a paper's title and authors, and from its abstract if a quote refers back.
        least: The share of content words that the quotes or titles must have, if there is no ``judge``.
        judge: Says how likely the cited text supports or contradicts a statement.
    """
    if not quotes:
        return SupportVerdict("unsupported", "no words of the abstract are cited")
    if not _ASKING.search(statement):
        quotes = [quote for quote in quotes if not quote.rstrip("\"'”’)*_ ").endswith("?")]
        if not quotes:
            return SupportVerdict("unsupported", "the cited words only ask")
    if repeats(statement, quotes):
        return SupportVerdict("supported")
    statement = _without_reference(statement, papers)
    altered = _altered(statement, [*quotes, *(text for paper in papers for text in (paper.abstract, paper.title))])
    if altered:
        return SupportVerdict("unsupported", f"not the words of the abstract: {altered}")
    around = " ".join(text for paper in papers for text in (paper.title, *paper.authors))
    if any(_ANAPHOR.search(quote) for quote in quotes):
        around = " ".join((around, *(paper.abstract for paper in papers)))
    numbers = missing_numbers(statement, quotes, around)
    if numbers:
        return SupportVerdict("unsupported", f"not in the cited words: {', '.join(numbers)}")
    names = _missing_names(statement, [*quotes, around])
    if names:
        return SupportVerdict("unsupported", f"not in the cited words: {', '.join(names)}")
    flipped = contradiction(statement, quotes)
    if flipped:
        return SupportVerdict("unsupported", flipped)
    sources = [*quotes, *(paper.abstract for paper in papers)]
    exchanged = exchange(with_short_names(statement, sources), [with_short_names(quote, sources) for quote in quotes])
    if exchanged:
        return SupportVerdict("unsupported", exchanged)
    worded = has_the_words(statement, quotes, papers, least=least)
    if judge is None:
        return SupportVerdict("supported") if worded else SupportVerdict("unsupported", SAYS_NOTHING)
    stance = judge(statement)
    if stance.supported >= (SUPPORTED_IN_ITS_WORDS if worded else SUPPORTED):
        return SupportVerdict("supported")
    denied = stance.contradicted > stance.unsaid
    return SupportVerdict("unsupported", SAYS_OTHERWISE if denied else SAYS_NOTHING)


def repeats(statement: str, quotes: Sequence[str]) -> bool:
    """Whether one of the quotes has the statement word for word."""
    said = _plain(statement)
    return any(said in _plain(quote) for quote in quotes)


def has_the_words(
    statement: str, quotes: Sequence[str], papers: Sequence[Paper], *, least: float = MIN_WORD_RECALL
) -> bool:
    """Whether a statement's quotes and the titles of their papers have enough of its content words, and the quotes
    alone half of them."""
    titles = [paper.title for paper in papers]
    return word_recall(statement, [*quotes, *titles]) >= least and (
        word_recall(statement, quotes) >= min(least, MIN_OWN_RECALL)
    )


def word_recall(statement: str, quotes: Sequence[str]) -> float:
    """The share of a statement's content words that the quotes have, compared by first letters, in [0, 1]."""
    words = {
        word
        for word in _WORD.findall(_plain(statement))
        if word not in STOP_WORDS and word not in ASKING_WORDS and word not in _REPORTING and word not in UNIT_WORDS
    }
    if not words:
        words = {word for word in _WORD.findall(_plain(statement)) if word not in STOP_WORDS}
    found = [_held(quote) for quote in quotes]
    held = frozenset[str]().union(*(roots for roots, _ in found))
    opposites = frozenset[int]().union(*(own for _, own in found))

    def known(word: str) -> bool:
        root = _root(word)
        if root in held or bool(opposites & _poles(word)):
            return True
        return any(root[:size] in held for size in range(_SHORT, len(root)))

    return sum(map(known, words)) / len(words) if words else 1.0


@lru_cache(maxsize=64)
def _held(quote: str) -> tuple[frozenset[str], frozenset[int]]:
    """The first letters of a quote's words, and the poles of opposites that it has."""
    plain = _plain(quote)
    return frozenset(map(_root, _WORD.findall(plain))), poles(plain)


@lru_cache(maxsize=8192)
def _poles(word: str) -> frozenset[int]:
    return poles(word)


def _root(word: str) -> str:
    """The first letters of a word's stem."""
    return stem(word)[:_STEM]


def check_bibliography(draft: Draft, papers: list[Paper]) -> SupportVerdict:
    """Checks that a statement repeats the fields that it names, of every paper that it cites."""
    for paper in papers:
        for name in draft.fields:
            value = getattr(paper, name)
            if name == "authors":
                held = any(author in draft.text for author in paper.authors)
            elif name == "url":
                held = any(url in draft.text for url in (paper.url, *paper.links.values()) if url)
            else:
                held = value is not None and str(value) in draft.text
            if not held:
                return SupportVerdict("unsupported", f"the record's {name} says otherwise")
    return SupportVerdict("supported")


def _missing_names(statement: str, texts: Sequence[str]) -> list[str]:
    """Addresses, acronyms and capitalised words within the statement that none of the texts has, in order."""
    statement = unicodedata.normalize("NFKC", statement)
    plain = " ".join(_names_plain(text) for text in texts)
    known = [_names_held(text) for text in texts]
    held = frozenset[str]().union(*(names for names, _ in known))
    numbered = frozenset[str]().union(*(names for _, names in known))
    missing = [address for address in _ADDRESS.findall(statement) if address.casefold().rstrip(".,;:!?") not in plain]
    prose = _ADDRESS.sub(" ", re.sub(r"\$[^$]*\$|\\[a-zA-Z]+", " ", statement))
    for found in _NAME.finditer(prose):
        opens = not re.search(r"[^\W_]", prose[: found.start()]) or re.search(r"[.!?:]\s+$", prose[: found.start()])
        whole = found[0]
        if _singular(whole) in held or with_number(whole) & numbered:
            continue
        for name in re.split(r"[-.]", whole):
            named = is_acronym(name) or (not opens and name[:1].isupper() and len(name) > 1)
            if named and _singular(name) not in held and name.casefold() not in STOP_WORDS:
                missing.append(whole)
                break
    return list(dict.fromkeys(missing))


@lru_cache(maxsize=64)
def _names_plain(text: str) -> str:
    """A text in which names are looked up: as it is, and once more without mark-up."""
    plain = _plain(unicodedata.normalize("NFKC", text))
    return f"{plain} {re.sub(_MARK_UP, '', plain)}"


@lru_cache(maxsize=64)
def _names_held(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names and words of a text, with their parts; and its names with a number, in a uniform spelling."""
    plain = _names_plain(text)
    numbered = with_number(plain)
    held = {_singular(name) for whole in _NAME.findall(plain) for name in (whole, *re.split(r"[-.]", whole))}
    return frozenset(held | {name.rstrip("0123456789.") for name in numbered}), numbered


def _altered(statement: str, texts: Sequence[str]) -> str:
    """The first words in quotation marks that no text has unchanged; empty if there are none."""
    sources = [_letters(text) for text in texts]
    for match in _QUOTED.finditer(statement):
        for part in re.split(r"\.\.\.|\u2026|\[[^\]]*\]", match[1]):
            letters = _letters(part)
            if len(letters.split()) >= _LEAST_QUOTED and not any(f" {letters} " in f" {text} " for text in sources):
                return part.strip()
    return ""


def _letters(text: str) -> str:
    """Words and numbers only, so that mark-up, TeX and the punctuation before a closing mark make no difference."""
    return " ".join(re.findall(r"[^\W_]+", re.sub(r"\\[a-zA-Z]+", " ", text).casefold()))


def _without_reference(statement: str, papers: Sequence[Paper]) -> str:
    """The statement without references to the papers, such as "(Lovelace et al., 2024)"."""

    def replaced(match: re.Match[str]) -> str:
        named = any(
            str(paper.year) == match["year"] and any(match["first"] in author for author in paper.authors)
            for paper in papers
        )
        return " " if named else match[0]

    return _AUTHOR_YEAR.sub(replaced, statement) if papers else statement


def _singular(word: str) -> str:
    lowered = word.casefold()
    return lowered[:-1] if len(lowered) > 2 and lowered.endswith("s") and not lowered.endswith("ss") else lowered


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()
