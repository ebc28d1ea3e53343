"""Whether a statement is supported by what it cites, decided in code.

A statement that repeats its quote word for word is supported. Otherwise its numbers must all stand in the quotes, and
enough of its content words. Numbers never pass on likeness.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag_assistant.drafts import Draft
from rag_assistant.questions import STOP_WORDS
from rag_assistant.types import Paper, Support

MIN_WORD_RECALL = 0.7


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found; ``reason`` is empty for what is supported."""

    support: Support
    reason: str = ""


def check_abstract(statement: str, quotes: list[str]) -> Verdict:
    """Checks a statement against the verbatim quotes it cites."""
    if not quotes:
        return Verdict("unsupported", "no words of the abstract are cited")
    said, told = _plain(statement), [_plain(quote) for quote in quotes]
    if any(said in quote for quote in told):
        return Verdict("supported")
    numbers = _numbers(statement) - {number for quote in quotes for number in _numbers(quote)}
    if numbers:
        return Verdict("unsupported", f"not in the cited words: {', '.join(sorted(numbers))}")
    words = {word for word in re.findall(r"[^\W\d_]{2,}", said) if word not in STOP_WORDS}
    held = {word[:6] for quote in told for word in re.findall(r"[^\W\d_]{2,}", quote)}
    missing = [word for word in words if word[:6] not in held]
    if words and 1 - len(missing) / len(words) < MIN_WORD_RECALL:
        return Verdict("unsupported", "the cited words don't say this")
    return Verdict("supported")


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


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def _numbers(text: str) -> set[str]:
    bare = re.sub(r"[\\${}]", "", text)
    return {number.replace(",", "").rstrip(".") for number in re.findall(r"\d[\d,]*(?:\.\d+)?", bare)}
