"""When two records are one paper, and the one record made of both."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher

from rag_assistant.loaders.identity import arxiv_id, known_page, normalised
from rag_assistant.types import Paper

_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,100}>|\\[A-Za-z]+|&#?\w{1,20};")
_WORD = re.compile(r"[^\W_]+")
_FIRST_WORDS = 25
_FEWEST_WORDS = 8
"""That tell an abstract from others without its title."""
_ALIKE = 0.7
_SAME_TITLE = 20
"""How many papers of one title are looked at: more of them have none that says anything."""
_LONGER = 1.25
_TITLE_ALONE = 4
"""Words of a title that tell a paper where a record has no abstract; "Editorial" and "Preface" don't."""


class Known:
    """Papers by what they can be known by."""

    def __init__(self) -> None:
        self._by_key: dict[str, str] = {}
        self._by_title: defaultdict[str, list[str]] = defaultdict(list)
        self._by_words: dict[str, str] = {}
        self._papers: dict[str, Paper] = {}
        self._untitled = False

    def add(self, paper: Paper) -> None:
        """Adds a paper, or puts it in place of that with its id."""
        self._papers[paper.id] = paper
        self._untitled |= paper.title_derived
        for key in _keys(paper):
            self._by_key.setdefault(key, paper.id)
        title, words = _title(paper), _first_words(paper)
        if title and paper.id not in self._by_title[title]:
            self._by_title[title].append(paper.id)
        if len(words) >= _FEWEST_WORDS:
            self._by_words.setdefault(_phrase(words), paper.id)

    def find(self, paper: Paper) -> tuple[Paper, str] | None:
        """The paper that this one is, and by what it is known; ``None`` for another paper."""
        for key in _keys(paper):
            if key in self._by_key:
                return self._papers[self._by_key[key]], f"same {key.partition(':')[0]}"
        for paper_id in self._by_title.get(_title(paper), [])[:_SAME_TITLE]:
            if _same_by_title(self._papers[paper_id], paper):
                return self._papers[paper_id], "same title"
        if paper.title_derived or self._untitled:
            words = _first_words(paper)
            if len(words) >= _FEWEST_WORDS and _phrase(words) in self._by_words:
                found = self._papers[self._by_words[_phrase(words)]]
                if found.title_derived or paper.title_derived:
                    return found, "same first words"
        return None


def same_under_one_id(one: Paper, other: Paper) -> bool:
    """Whether two records that have one id are one paper: by their titles, or by all of their abstracts."""
    if one.title_derived or other.title_derived:
        return normalised(one.abstract) == normalised(other.abstract) or _alike(_first_words(one), _first_words(other))
    return _title(one) == _title(other) or bool(one.abstract and normalised(one.abstract) == normalised(other.abstract))


def merged(first: Paper, second: Paper) -> Paper:
    """One record of both, under the id of the first: the fullest, with what the other has besides."""
    fullest, other = (second, first) if _fullness(second) > _fullness(first) else (first, second)
    titled = other if fullest.title_derived and not other.title_derived else fullest
    abstract = other.abstract if len(other.abstract) > _LONGER * len(fullest.abstract) else fullest.abstract
    sources = dict.fromkeys(part for paper in (first, second) for part in paper.source.split("; ") if part)
    return replace(
        fullest,
        id=first.id,
        title=titled.title,
        title_derived=titled.title_derived,
        abstract=abstract,
        authors=fullest.authors or other.authors,
        year=fullest.year or other.year,
        venue=fullest.venue or other.venue,
        url=fullest.url or other.url,
        doi=fullest.doi or other.doi,
        links={**other.links, **fullest.links},
        source="; ".join(sources),
    )


def _fullness(paper: Paper) -> tuple[int, int]:
    fields = (paper.abstract, not paper.title_derived, paper.authors, paper.year, paper.venue, paper.url, paper.doi)
    return sum(map(bool, fields)) + len(paper.links), len(paper.abstract)


def _keys(paper: Paper) -> Iterator[str]:
    """What only this paper has, whatever source names it."""
    if paper.doi:
        yield f"DOI:{paper.doi.lower()}"
    texts = [paper.id, paper.doi, paper.url, *paper.links.values()]
    preprint = arxiv_id(*texts)
    if preprint:
        yield f"arXiv id:{preprint.lower()}"
    if paper.id.startswith("pmid:"):
        yield f"PubMed id:{paper.id[5:]}"
    for url in (paper.url, *paper.links.values()):
        if url and "openreview.net" in url:
            yield f"OpenReview id:{known_page(url)[1] or url}"


def _same_by_title(one: Paper, other: Paper) -> bool:
    if one.abstract and other.abstract:
        return _alike(_first_words(one), _first_words(other))
    if one.doi and other.doi:
        return False  # where two DOIs differ, only abstracts could tell that they are of a preprint and its paper
    if one.year and other.year and abs(one.year - other.year) > 1:
        return False
    families = [{name.split()[-1].casefold() for name in paper.authors if name.split()} for paper in (one, other)]
    if all(families):
        return bool(families[0] & families[1])
    return len(_WORD.findall(one.title)) >= _TITLE_ALONE


def _alike(one: list[str], other: list[str]) -> bool:
    if not one or not other:
        return False
    size = min(len(one), len(other))
    return SequenceMatcher(None, one[:size], other[:size], autojunk=False).ratio() >= _ALIKE


def _title(paper: Paper) -> str:
    """The title in letters and digits, without markup; empty for one that was made of the abstract."""
    return "" if paper.title_derived else "".join(_words(paper.title[:500]))


def _first_words(paper: Paper) -> list[str]:
    return _words(paper.abstract[: 20 * _FIRST_WORDS])[:_FIRST_WORDS]


def _words(text: str) -> list[str]:
    if any(mark in text for mark in "<\\&"):
        text = _MARKUP.sub(" ", text)
    return _WORD.findall(text.casefold() if text.isascii() else normalised(text))


def _phrase(words: list[str]) -> str:
    return " ".join(words[:_FEWEST_WORDS])
