"""Questions to begin with, made from the papers at hand, and offered only if they are answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rag_assistant.questions.content import ASKING_WORDS
from rag_assistant.stop_words import STOP_WORDS
from rag_assistant.types import Paper

if TYPE_CHECKING:
    from rag_assistant.assistant import Assistant

WANTED = 4
_MOST_TRIED = 12
_MOST_READ = 2000
_LONGEST_TITLE = 75
_NAMED = re.compile(r"(?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*){0,2}): ")
_ARTICLE = re.compile(r"^(?:on|towards?|the|an?)\s+", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][a-z-]{3,}")
_PLAIN = (STOP_WORDS | ASKING_WORDS).union(
    "approach data existing first large learning method methods model models novel performance problem recent results "
    "training".split()
)


def about_corpus(papers: Sequence[Paper]) -> str:
    """How many papers there are, from which years and, if it is only one, from which venue."""
    count = f"{len(papers):,} paper{'' if len(papers) == 1 else 's'}"
    venues = {paper.venue for paper in papers}
    years = sorted({paper.year for paper in papers if paper.year is not None})
    if len(venues) == 1 and None not in venues:
        return f"{count} of {venues.pop()}."
    if years:
        return f"{count}, {years[0]}." if years[0] == years[-1] else f"{count}, {years[0]}–{years[-1]}."
    return f"{count}."


async def examples(assistant: Assistant) -> tuple[str, ...]:
    """Up to four questions of different kinds; if no model has to be waited for, only questions that are answered."""
    free = assistant.settings.backend == "extractive"
    kept: dict[str, str] = {}
    for tried, (kind, question) in enumerate(candidates(assistant.papers()[:_MOST_READ])):
        if tried >= _MOST_TRIED or len(kept) >= WANTED:
            break
        if kind not in kept and (not free or (await assistant.aask(question)).status == "answered"):
            kept[kind] = question
    return tuple(kept.values())


def candidates(papers: Sequence[Paper]) -> Iterator[tuple[str, str]]:
    """Questions with their kinds, the kinds in turn."""
    named = [(found["name"], paper) for paper in papers if (found := _NAMED.match(paper.title))]
    named += [
        (found["name"], paper)
        for paper in papers
        if (found := re.search(r"\((?P<name>[A-Z][A-Za-z-]+)\)", paper.title))
    ]
    yield from (("what", f"What is {name}?") for name, _ in named[:2])
    topics = list(_topics(papers))
    yield from (("which", f"Which papers are about {topic}?") for topic in topics[:3])
    short = [paper.title for paper in papers if "?" not in paper.title and len(paper.title) <= _LONGEST_TITLE]
    for title in short[len(short) // 2 :][:3]:
        yield "how", f"What does the paper on {_inside_sentence(title)} show?"
    yield from (("who", f"Who wrote “{title}”?") for title in short[-2:])
    yield from (("more", f"What is {name}?") for name, _ in named[2:5])


def _inside_sentence(title: str) -> str:
    """A title as part of a sentence: words with only an initial capital become lower case."""
    title = _ARTICLE.sub("", title)
    return re.sub(r"\b[A-Z][a-z]+\b", lambda word: word[0].lower(), title)


def _topics(papers: Sequence[Paper]) -> Iterator[str]:
    """Pairs of words that the most papers share."""
    shared: Counter[str] = Counter()
    for paper in papers:
        words = [word.lower() for word in _WORD.findall(f"{paper.title}. {paper.abstract}")]
        text = f"{paper.title} {paper.abstract}".lower()
        pairs = {f"{a} {b}" for a, b in pairwise(words)}
        shared.update(pair for pair in pairs if pair in text and not _PLAIN & {pair.split()[0]})
    yield from (pair for pair, count in shared.most_common(20) if 2 <= count <= max(2, len(papers) // 2))
