"""Runs the reader on what search found: how likely each paper answers, and the order that follows from that.

The weights are fitted by ``training/calibrate.py`` on questions about papers that the reader wasn't trained on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from rag_assistant.evidence.answerability import confidence, logit
from rag_assistant.evidence.base import PaperEvidence
from rag_assistant.questions.names import spelt_as
from rag_assistant.reader.base import Abstract, Reader, Reading

READ = 6
"""How many papers are read for a question; as many again if none of them surely answers."""
SURE = 0.5
MOST_READ = 40
"""How many papers are read for a list, the most promising first."""
WEIGHTS = (0.397, 0.294, 3.679, 3.084, 10.75, 4.356)
"""The weights by which papers are ordered: of the reader's logits for the paper and its best sentence, that sentence's
cosine, the search score, the cosine of the paper's window, and that of its nearest sentence."""


def candidates(papers: Sequence[PaperEvidence], most: int) -> list[PaperEvidence]:
    """The papers to read, in their order: in turns the best by score and the one with the nearest sentence, since a
    paper that answers in other words has few of the question's."""
    near = sorted(papers, key=lambda paper: -max((sentence.cosine for sentence in paper.sentences), default=-1.0))
    chosen: dict[str, PaperEvidence] = {}
    for pair in zip(papers, near, strict=True):
        for paper in pair:
            if len(chosen) < most:
                chosen.setdefault(paper.hit.paper.id, paper)
    return [paper for paper in papers if paper.hit.paper.id in chosen]


def read(reader: Reader, question: str, papers: Sequence[PaperEvidence]) -> list[PaperEvidence]:
    """The papers in their order, each with the reader's verdict on the question in the paper's spelling of names."""
    abstracts = [
        Abstract(paper.hit.paper.title, tuple(sentence.passage.text for sentence in paper.sentences))
        for paper in papers
    ]
    by_wording: dict[str, list[int]] = {}
    for at, abstract in enumerate(abstracts):
        by_wording.setdefault(spelt_as(question, abstract.text), []).append(at)
    readings: dict[int, Reading] = {}
    for wording, places in by_wording.items():
        readings |= zip(places, reader.read(wording, [abstracts[at] for at in places]), strict=True)
    return [replace(paper, reading=readings[at]) for at, paper in enumerate(papers)]


def read_by_sides(reader: Reader, sides: Sequence[str], papers: Sequence[PaperEvidence]) -> list[PaperEvidence]:
    """The papers, each sentence with how likely it tells of each side of a comparison, asked for by itself."""
    asked = [[each.reading.sentences for each in read(reader, side, papers) if each.reading] for side in sides]
    return [
        replace(
            paper,
            sentences=tuple(
                replace(sentence, sides=tuple(chances))
                for sentence, *chances in zip(paper.sentences, *readings, strict=True)
            ),
        )
        for paper, *readings in zip(papers, *asked, strict=True)
    ]


def read_and_ranked(
    reader: Reader, question: str, papers: Sequence[PaperEvidence], k: int
) -> tuple[PaperEvidence, ...]:
    """The ``k`` best papers by search and reader together; a paper that wasn't read counts as not answering."""
    first = min(max(k, READ), MOST_READ)
    done = {paper.hit.paper.id: paper for paper in read(reader, question, candidates(papers, first))}
    if k <= READ and not any((confidence(paper) or 0.0) >= SURE for paper in done.values()):
        more = [paper for paper in candidates(papers, first + READ) if paper.hit.paper.id not in done]
        done |= {paper.hit.paper.id: paper for paper in read(reader, question, more)}
    ranked = sorted((done.get(paper.hit.paper.id, paper) for paper in papers), key=lambda paper: -ranking_score(paper))
    return tuple(_placed(paper, rank) for rank, paper in enumerate(ranked[:k], start=1))


def _placed(paper: PaperEvidence, rank: int) -> PaperEvidence:
    hit = replace(paper.hit, rank=rank, score=1 / (1 + math.exp((8 - ranking_score(paper)) / 4)))  # in (0, 1)
    return replace(paper, hit=hit, searched=paper.hit.score)


def ranking_score(paper: PaperEvidence) -> float:
    """The number by which papers are ordered; a paper that wasn't read counts as not answering."""
    return sum(weight * value for weight, value in zip(WEIGHTS, signals(paper), strict=True))


def signals(paper: PaperEvidence) -> tuple[float, float, float, float, float, float]:
    """The signals by which papers are ordered; see ``WEIGHTS``."""
    dense = paper.hit.dense or 0.0
    chances = paper.reading.sentences if paper.reading else ()
    if paper.reading is None or not chances:
        return logit(0.0), logit(0.0), 0.0, paper.search_score, dense, 0.0
    best = chances.index(max(chances))
    nearest = max(sentence.cosine for sentence in paper.sentences)
    cosine = paper.sentences[best].cosine
    return logit(paper.reading.answers), logit(chances[best]), cosine, paper.search_score, dense, nearest
