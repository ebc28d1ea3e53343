"""Questions and abstracts as the reader's network takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from rag_assistant.wordpiece import wordpiece

QUESTION_TOKENS = 64
ABSTRACT_TOKENS = 448
_TITLE_TOKENS = 40
_OVERLAP = 2  # sentences that two windows share, so that none is read without what stands before it


@dataclass(frozen=True)
class Window:
    """As much of an abstract as is read at once: ``ids`` of ``[CLS] title [SEP] sentence [SEP] sentence [SEP] ...``.

    ``spans[k]`` are the tokens of the sentence ``numbers[k]``.
    """

    ids: tuple[int, ...]
    numbers: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


def question_ids(text: str) -> list[int]:
    """``[CLS] text [SEP]``, at most QUESTION_TOKENS long; of a longer text the beginning and the end are kept."""
    ids = wordpiece().encode(text).ids
    if len(ids) > QUESTION_TOKENS:
        half = QUESTION_TOKENS // 2
        ids = [*ids[:half], *ids[-half:]]
    return ids


def windows(title: str, sentences: Sequence[str]) -> list[Window]:
    """The windows over an abstract, in order; at least one sentence each, and each sentence in at least one.

    A sentence of its own that is longer than a window is cut at its end.
    """
    cls, sep = _marks()
    head = [cls, *_ids(title)[:_TITLE_TOKENS], sep]
    texts = [_ids(sentence) for sentence in sentences]
    found: list[Window] = []
    start = 0
    while start < len(texts):
        ids, numbers, spans = list(head), list[int](), list[tuple[int, int]]()
        for number in range(start, len(texts)):
            room = ABSTRACT_TOKENS - len(ids) - 1
            text = texts[number]
            if numbers and len(text) > room:
                break
            text = text[:room]
            spans.append((len(ids), len(ids) + len(text) + 1))
            numbers.append(number)
            ids += [*text, sep]
        found.append(Window(tuple(ids), tuple(numbers), tuple(spans)))
        if numbers[-1] == len(texts) - 1:
            break
        start = max(numbers[-1] + 1 - _OVERLAP, start + 1)
    return found


def _ids(text: str) -> list[int]:
    ids: list[int] = wordpiece().encode(text, add_special_tokens=False).ids
    return ids


@cache
def _marks() -> tuple[int, int]:
    cls, sep = wordpiece().encode("").ids
    return cls, sep
