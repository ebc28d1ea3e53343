"""From a question to ranked papers with their evidence: dense search and BM25 for candidates, then one linear score.

The score is ``cosine + 0.42 lexical + 1.27 coverage + 0.58 best sentence``, scaled to at most 1. All four are on
absolute scales (a cosine; BM25 as a share of its possible maximum; idf-weighted word matches of the paper and of its
best sentence), so that a score doesn't depend on which other papers are in the corpus. The weights were fitted by a
listwise softmax on the claims of SciFact train.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rag_assistant.acronyms import is_name
from rag_assistant.embedders.base import Embedder, Encoded
from rag_assistant.evidence.base import PaperEvidence, QuestionEvidence, QuestionWord
from rag_assistant.grounding.negated_words import is_negated
from rag_assistant.index.manifest import Manifest
from rag_assistant.index.opened import OpenIndex
from rag_assistant.index.terms import term_of, tokenize_question
from rag_assistant.questions.content import is_content
from rag_assistant.reader.base import Reader
from rag_assistant.retrieval.authors import Authors
from rag_assistant.retrieval.background import document_probability
from rag_assistant.retrieval.reading import read, read_and_ranked
from rag_assistant.retrieval.scoring import Candidate, Scores
from rag_assistant.retrieval.spelling import Spelling
from rag_assistant.types import Filters, Hit, Paper, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CANDIDATES = 50
"""How many papers dense search and BM25 each nominate for scoring."""
SCAN_ALL_UP_TO = 60
"""In a corpus of at most this many papers all are scored."""
CARRIED_WEIGHT = 0.3
_PRIOR_DOCUMENTS = 500


@dataclass(frozen=True, slots=True)
class Query:
    """What to search for.

    Attributes:
        text: The self-contained question.
        carried: Its words from earlier turns; they help to find papers, but don't decide what a sentence must say.
        focus: Ids of papers that the question refers to, which are preferred.
        carried_weight: The weight of a carried word, relative to the question's own.
        judged: Whether the reader is to judge what is found.
        ignored: Words that name the field of a record asked for ("wrote", "link"), in lower case; they match nothing.
    """

    text: str
    carried: frozenset[str] = frozenset()
    focus: frozenset[str] = frozenset()
    carried_weight: float = CARRIED_WEIGHT
    judged: bool = True
    ignored: frozenset[str] = frozenset()


class Retriever:
    """Searches one open index. Thread-safe; apart from the index it keeps nothing from one question to the next."""

    def __init__(
        self, index: OpenIndex, embedder: Embedder, *, rerank: Any = None, reader: Reader | None = None
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._rerank = rerank
        self._reader = reader
        self._spelling = Spelling(index.papers.values())

    def retrieve(self, query: Query, *, k: int, filters: Filters | None = None, scan: bool = False) -> QuestionEvidence:
        """The ``k`` best papers for the question, with all their sentences.

        Args:
            query: What to search for.
            k: How many papers, if there are as many.
            filters: Which papers to search.
            scan: For lists: score every paper in reach, but at most the 500 best by dense search and BM25.
        """
        allowed = self._allowed(filters)
        considered = len(self._index.papers) if allowed is None else len(allowed)
        corrections = self._spelling.corrections(query.text, self.occurs)
        if corrections.made:
            pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, corrections.made))})\b")
            query = replace(query, text=pattern.sub(lambda match: corrections.made[match[0]], query.text))
        encoded = self._embedder.encode_question(query.text)
        words, vectors = self._question_words(query, encoded)
        candidates = self._candidates(query, encoded.vector, allowed, 500 if scan else CANDIDATES)
        if not candidates:
            return QuestionEvidence(words, (), considered)

        scores = Scores(candidates, words, [term_of(word.text) for word in words], encoded, vectors, query.focus)
        return QuestionEvidence(words, self._top(query, scores, k), considered, corrections)

    @property
    def reader(self) -> Reader | None:
        """Judges what is found, and what is said about it."""
        return self._reader

    def _top(self, query: Query, scores: Scores, k: int) -> tuple[PaperEvidence, ...]:
        reader = self._reader if query.judged else None
        if self._rerank is None:
            most = k if reader is None else None
            found = [scores.evidence(at, rank) for rank, at in enumerate(scores.order[:most], start=1)]
            return tuple(found) if reader is None else read_and_ranked(reader, query.text, found, k)
        from rag_assistant.retrieval.rerank import reranked

        best = [(at, scores.evidence(at, rank)) for rank, at in enumerate(scores.order[:CANDIDATES], start=1)]
        positions = {found.hit.paper.id: at for at, found in best}
        order = reranked(self._rerank, query.text, [found.hit for _, found in best])[:k]
        found = [scores.evidence(positions[name], rank, score) for rank, (name, score) in enumerate(order, start=1)]
        return tuple(found if reader is None else read(reader, query.text, found))

    def _allowed(self, filters: Filters | None) -> frozenset[str] | None:
        if not filters:
            return None
        return frozenset(paper_id for paper_id, folded in self._folded.items() if folded.passes(filters))

    @cached_property
    def _folded(self) -> dict[str, _Folded]:
        return {paper.id: _Folded.of(paper) for paper in self._index.papers.values()}

    @property
    def all_papers(self) -> tuple[Paper, ...]:
        """Every paper of the index, in the order of the corpus."""
        return tuple(self._index.papers.values())

    @property
    def manifest(self) -> Manifest | None:
        """What the index was built with."""
        return self._index.manifest

    @cached_property
    def authors(self) -> Authors:
        """The names of the papers' authors."""
        return Authors(self._index.papers.values(), self.occurs)

    def records(self, filters: Filters | None = None) -> QuestionEvidence:
        """All papers, without their sentences, for questions that only the bibliography can answer."""
        papers = self.papers(filters)
        nowhere = [Passage(f"{paper.id}:0-0", paper.id, 0, 0, "") for paper in papers]
        hits = [
            Hit(paper, at, rank, 0.0) for rank, (paper, at) in enumerate(zip(papers, nowhere, strict=True), start=1)
        ]
        return QuestionEvidence((), tuple(PaperEvidence(hit, (), ()) for hit in hits), len(papers))

    def papers(self, filters: Filters | None = None) -> tuple[Paper, ...]:
        """The papers that the filters let through, in the order of the corpus."""
        allowed = self._allowed(filters)
        return tuple(p for p in self._index.papers.values() if allowed is None or p.id in allowed)

    def _question_words(self, query: Query, encoded: Encoded) -> tuple[tuple[QuestionWord, ...], NDArray[np.float32]]:
        import numpy as np

        if encoded.words is None:
            found: list[tuple[str, int | None]] = [
                (word, None) for word in dict.fromkeys(tokenize_question(query.text))
            ]
        else:
            found = _words_of(query.text, encoded.words.spans)
        words: dict[str, tuple[QuestionWord, int | None]] = {}
        phrases = _phrases(query.text, [text for text, _ in found])
        for (text, row), phrase in zip(found, phrases, strict=True):
            if is_content(text) and text.lower() not in words and text.lower() not in query.ignored:
                carried = text.lower() in query.carried
                weight = self.weight(text) * (query.carried_weight if carried else 1.0)
                named = is_name(text) or is_negated(text)
                words[text.lower()] = (QuestionWord(text, weight, carried, named, phrase), row)
        kept = tuple(word for word, _ in words.values())
        if encoded.words is None:
            return kept, np.zeros((0, 0), np.float32)
        rows = [row for _, row in words.values() if row is not None]
        return kept, encoded.words.vectors[rows].astype(np.float32) / 127.0

    def occurs(self, word: str) -> bool:
        """Whether a word, in any inflection, occurs in a paper."""
        return self._index.document_frequency(term_of(word)) > 0

    def weight(self, word: str) -> float:
        """A word's inverse document frequency over the corpus, smoothed with its frequency in English."""
        prior = _PRIOR_DOCUMENTS * document_probability(word.lower())
        frequency = self._index.document_frequency(term_of(word)) + prior
        documents = len(self._index.papers) + _PRIOR_DOCUMENTS
        return math.log(1 + (documents - min(frequency, documents) + 0.5) / (frequency + 0.5))

    def _candidates(
        self, query: Query, vector: NDArray[np.float32], allowed: frozenset[str] | None, limit: int
    ) -> list[Candidate]:
        import numpy as np

        reach = self._index.papers.keys() if allowed is None else allowed
        windows: dict[str, tuple[Passage, float]] = {}
        wanted = limit if len(reach) > max(SCAN_ALL_UP_TO, limit) else len(reach)
        for passage, cosine in self._index.search_vectors(vector, self._index.windows_for(wanted), allowed):
            if passage.paper_id not in windows:
                windows[passage.paper_id] = (passage, cosine)
        tokens = tokenize_question(query.text)
        bm25 = self._index.lexical.scores(tokens) if tokens else np.zeros(len(self._index.papers), np.float32)
        most = sum(self._index.lexical.idf(token) for token in set(tokens))
        by_words = {
            paper_id: float(score / most)
            for paper_id, score in zip(self._index.papers, bm25, strict=True)
            if score > 0 and (allowed is None or paper_id in allowed)
        }
        best_by_words = sorted(by_words, key=lambda paper_id: -by_words[paper_id])[:limit]
        chosen = dict.fromkeys([*list(windows)[:wanted], *best_by_words, *(query.focus & set(reach))])
        missing = [paper_id for paper_id in chosen if paper_id not in windows]
        if missing:
            for passage, cosine in self._index.exact_cosines(vector, missing):
                if passage.paper_id not in windows or cosine > windows[passage.paper_id][1]:
                    windows[passage.paper_id] = (passage, cosine)
        encoded = self._index.encoded_texts([paper_id for paper_id in chosen if paper_id in windows])
        return [
            self._candidate(paper_id, windows[paper_id], by_words.get(paper_id), *encoded[paper_id])
            for paper_id in encoded
        ]

    def _candidate(
        self,
        paper_id: str,
        window: tuple[Passage, float],
        lexical: float | None,
        title: Encoded,
        sentences: tuple[Encoded, ...],
    ) -> Candidate:
        paper, passages = self._index.papers[paper_id], self._index.sentences(paper_id)
        stems = tuple(self._index.stems(text) for text in (paper.title, *(passage.text for passage in passages)))
        return Candidate(paper, *window, lexical, (title, *sentences), passages, stems)


def _words_of(question: str, spans: Iterable[Sequence[int]]) -> list[tuple[str, int | None]]:
    """The words of a question with their rows; a word with a negating prefix ("non-smooth") counts as one."""
    found: list[tuple[str, int | None]] = []
    begin = 0
    for row, (start, end) in enumerate(spans):
        if found and is_negated(question[begin:end]):
            found[-1] = (question[begin:end], row)
        else:
            begin = start
            found.append((question[start:end], row))
    return found


def _phrases(question: str, words: Sequence[str]) -> list[int]:
    """The number of each word's phrase: content words with nothing but white space or hyphens between them."""
    numbers: list[int] = []
    phrase, end = 0, 0
    lowered = question.lower()
    for word in words:
        start = lowered.find(word.lower(), end)
        if start < 0 or not is_content(word) or question[end:start].strip(" -‐‑–"):
            phrase += 1
        numbers.append(phrase)
        if start >= 0:
            end = start + len(word)
    return numbers


def fold(text: str) -> str:
    """Lower case without accents, for comparing names."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


@dataclass(frozen=True, slots=True)
class _Folded:
    paper_id: str
    year: int | None
    venue: str
    authors: tuple[str, ...]

    @classmethod
    def of(cls, paper: Paper) -> _Folded:
        return cls(paper.id, paper.year, fold(paper.venue or ""), tuple(fold(author) for author in paper.authors))

    def passes(self, filters: Filters) -> bool:
        if filters.years is not None:
            low, high = filters.years
            if self.year is None or (low is not None and self.year < low) or (high is not None and self.year > high):
                return False
        return (
            (not filters.ids or self.paper_id in filters.ids)
            and (not filters.venues or any(fold(venue) in self.venue for venue in filters.venues))
            and (
                not filters.authors or any(fold(name) in author for name in filters.authors for author in self.authors)
            )
        )


def hits_of(evidence: QuestionEvidence) -> tuple[Hit, ...]:
    """Only the hits, best first."""
    return tuple(paper.hit for paper in evidence.papers)
