"""How an abstract is cut: windows to search by, sentences to answer from.

A window is whole sentences: the whole abstract where the embedder can read it with the title. A longer abstract becomes
windows that overlap by about a third, so that none of its text is silently left out. Nothing ever cuts a sentence.
"""

from __future__ import annotations

from collections.abc import Callable

from rag_assistant.embedders.base import Embedder
from rag_assistant.sentences import Span, sentence_spans
from rag_assistant.types import Paper, Passage

PASSAGES_VERSION = 1
"""Raised whenever the same paper would give other windows or another text to embed."""
_OVERLAP = 1 / 3
_TITLE_CHARACTERS = 300


def sentences(paper: Paper) -> tuple[Passage, ...]:
    """The sentences of the paper's abstract, in order."""
    return tuple(passage(paper, *span) for span in sentence_spans(paper.abstract))


def windows(paper: Paper, embedder: Embedder) -> tuple[Passage, ...]:
    """The windows of the paper's abstract, in order; together they hold all its sentences.

    A single sentence that is longer than the embedder reads is a window of its own; its end is then not in the vector,
    and the embedder says so by ``truncated``.
    """
    spans = sentence_spans(paper.abstract)
    if not spans:
        return ()

    def fits(first: int, last: int) -> bool:
        whole = passage(paper, spans[first][0], spans[last][1])
        return embedder.count_tokens(embedding_text(paper, whole)) <= embedder.max_tokens

    if fits(0, len(spans) - 1):
        return (passage(paper, spans[0][0], spans[-1][1]),)
    return tuple(passage(paper, spans[first][0], spans[last][1]) for first, last in _greedy(spans, fits))


def _greedy(spans: list[Span], fits: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """First and last sentence of each window."""
    found: list[tuple[int, int]] = []
    first = 0
    while True:
        last = first
        while last + 1 < len(spans) and fits(first, last + 1):
            last += 1
        found.append((first, last))
        if last == len(spans) - 1:
            return found
        # The next window begins with the sentences that make up the last third of this one, and must get further.
        overlap_from = spans[last][1] - (spans[last][1] - spans[first][0]) * _OVERLAP
        following = last + 1
        while following - 1 > first and spans[following - 1][0] >= overlap_from and fits(following - 1, last + 1):
            following -= 1
        first = following


def passage(paper: Paper, start: int, end: int) -> Passage:
    """The span as a passage; its id is the same in every index that holds the paper."""
    return Passage(f"{paper.id}:{start}-{end}", paper.id, start, end, paper.abstract[start:end])


def embedding_text(paper: Paper, window: Passage) -> str:
    """What is embedded for a window: the paper's title, where it has one of its own, and the window's text."""
    if paper.title_derived or not paper.title:
        return window.text
    title = paper.title
    if len(title) > _TITLE_CHARACTERS:
        title = title[:_TITLE_CHARACTERS].rsplit(" ", 1)[0]
    return f"{title}. {window.text}"


def span_of(passage_id: str) -> tuple[str, int, int]:
    """Paper id, start and end from a passage's id.

    Raises:
        ValueError: It isn't a passage's id.
    """
    paper_id, colon, span = passage_id.rpartition(":")
    start, dash, end = span.partition("-")
    if not (colon and dash and start.isdecimal() and end.isdecimal()):
        raise ValueError(f"{passage_id!r} is no passage id")
    return paper_id, int(start), int(end)
