"""Whether a statement is supported by what it cites, decided in code.

A statement that repeats its quote word for word is supported. Otherwise its numbers with their units, its names and its
polarity must all be those of the quotes, and enough of its content words must stand there. Numbers and names never
pass on likeness.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag_assistant.drafts import Draft
from rag_assistant.grounding.figures import missing_numbers
from rag_assistant.grounding.polarity import contradiction
from rag_assistant.questions.form import ASKING_WORDS, STOP_WORDS, is_acronym
from rag_assistant.types import Paper, Support

MIN_WORD_RECALL = 0.7

_STEM = 6
_WORD = re.compile(r"[^\W\d_]{2,}")
_NAME = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"'`)\]]+", re.IGNORECASE)
_ANAPHOR = re.compile(
    r"\b(?:we|our|ours|it|its|they|their|this|these|such|(?:the|that) (?:proposed |new |resulting )?"
    r"(?:method|algorithm|approach|framework|model|technique|scheme|estimator|attack|benchmark|data\s?set|system))\b",
    re.IGNORECASE,
)
_REPORTING = frozenset("via based approach method methods named using".split())


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found; ``reason`` is empty for what is supported."""

    support: Support
    reason: str = ""


def check_abstract(statement: str, quotes: Sequence[str], papers: Sequence[Paper] = ()) -> Verdict:
    """Checks a statement against the verbatim quotes it cites.

    Args:
        statement: Without markers.
        quotes: The sentences it cites.
        papers: The papers these stand in. What a quote calls "it" or "our method" a statement may call by its name:
            names may also come from a paper's title, and from its abstract where a quote refers back.
    """
    if not quotes:
        return Verdict("unsupported", "no words of the abstract are cited")
    said, told = _plain(statement), [_plain(quote) for quote in quotes]
    if any(said in quote for quote in told):
        return Verdict("supported")
    numbers = missing_numbers(statement, quotes)
    if numbers:
        return Verdict("unsupported", f"not in the cited words: {', '.join(numbers)}")
    around = " ".join(paper.title for paper in papers)
    if any(_ANAPHOR.search(quote) for quote in quotes):
        around = " ".join((around, *(paper.abstract for paper in papers)))
    names = _missing_names(statement, [*quotes, around])
    if names:
        return Verdict("unsupported", f"not in the cited words: {', '.join(names)}")
    flipped = contradiction(statement, quotes)
    if flipped:
        return Verdict("unsupported", flipped)
    if word_recall(statement, [*quotes, *(paper.title for paper in papers)]) < MIN_WORD_RECALL:
        return Verdict("unsupported", "the cited words don't say this")
    return Verdict("supported")


def word_recall(statement: str, quotes: Sequence[str]) -> float:
    """The share of a statement's content words that stand in the quotes, by their first letters, in [0, 1]."""
    words = {
        word
        for word in _WORD.findall(_plain(statement))
        if word not in STOP_WORDS and word not in ASKING_WORDS and word not in _REPORTING
    }
    if not words:
        words = {word for word in _WORD.findall(_plain(statement)) if word not in STOP_WORDS}
    held = {word[:_STEM] for quote in quotes for word in _WORD.findall(_plain(quote))}
    return sum(word[:_STEM] in held for word in words) / len(words) if words else 1.0


def check_bibliography(draft: Draft, papers: list[Paper]) -> Verdict:
    """Checks that a statement repeats the fields it names of every paper it cites."""
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
                return Verdict("unsupported", f"the record's {name} says otherwise")
    return Verdict("supported")


def _missing_names(statement: str, texts: Sequence[str]) -> list[str]:
    """Addresses, acronyms and capitalised words within the statement that none of the texts has, in order."""
    told = _plain(" ".join(texts))
    held = {_singular(name) for whole in _NAME.findall(told) for name in (whole, *re.split(r"[-.]", whole))}
    missing = [address for address in _ADDRESS.findall(statement) if address.casefold().rstrip(".,;:!?") not in told]
    prose = _ADDRESS.sub(" ", re.sub(r"\$[^$]*\$|\\[a-zA-Z]+", " ", statement))
    for found in _NAME.finditer(prose):
        opens = not re.search(r"[^\W_]", prose[: found.start()]) or re.search(r"[.!?:]\s+$", prose[: found.start()])
        whole = found[0]
        if _singular(whole) in held:
            continue
        for name in re.split(r"[-.]", whole):
            named = is_acronym(name) or (not opens and name[:1].isupper() and len(name) > 1)
            if named and _singular(name) not in held and name.casefold() not in STOP_WORDS:
                missing.append(whole)
                break
    return list(dict.fromkeys(missing))


def _singular(word: str) -> str:
    lowered = word.casefold()
    return lowered[:-1] if len(lowered) > 2 and lowered.endswith("s") and not lowered.endswith("ss") else lowered


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()
