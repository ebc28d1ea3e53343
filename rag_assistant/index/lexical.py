"""BM25 over papers: title and abstract of each as one text.

Robertson et al. (1995), "Okapi at TREC-3", in Lucene's variant, whose scores are never negative (Kamphuis et al., 2020,
"Which BM25 do you mean?"), computed by bm25s (Lù, 2024). k1 = 0.9 and b = 0.4 are the values of Anserini's baselines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_assistant.index.terms import tokenize
from rag_assistant.types import Paper

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1 = 0.9
B = 0.4


class Lexical:
    """BM25 scores of papers. Thread-safe."""

    def __init__(self, model: Any, papers: int) -> None:
        self._model = model
        self._papers = papers

    @classmethod
    def of(cls, papers: Sequence[Paper]) -> Lexical:
        """Counts the papers' words."""
        import bm25s

        vocabulary: dict[str, int] = {}
        ids = [
            [vocabulary.setdefault(term, len(vocabulary)) for term in tokenize(f"{paper.title}\n{paper.abstract}")]
            for paper in papers
        ]
        if not vocabulary:
            return cls(None, len(papers))
        model = bm25s.BM25(method="lucene", k1=K1, b=B)
        model.index((ids, vocabulary), show_progress=False)
        return cls(model, len(papers))

    def save(self, folder: Path) -> None:
        """Writes it to files in ``folder``, which is made; without any words there is nothing to write."""
        folder.mkdir(parents=True, exist_ok=True)
        if self._model is not None:
            self._model.save(str(folder), show_progress=False)

    @classmethod
    def load(cls, folder: Path, papers: int) -> Lexical:
        """What :meth:`save` wrote. Not mapped into memory: a mapped file that is cut short kills its reader.

        Args:
            folder: Where it was written.
            papers: How many papers it was made of.
        """
        if not folder.is_dir() or not any(folder.iterdir()):
            return cls(None, papers)
        import bm25s

        return cls(bm25s.BM25.load(str(folder)), papers)

    def scores(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """The BM25 score of every paper, in the papers' order; each distinct term counts once."""
        import numpy as np

        vocabulary = {} if self._model is None else self._model.vocab_dict
        known = [term for term in dict.fromkeys(terms) if term and term in vocabulary]
        if not known:
            return np.zeros(self._papers, dtype=np.float32)
        scores: NDArray[np.float32] = self._model.get_scores(known)
        return scores.astype(np.float32, copy=False)

    def frequency(self, term: str) -> int:
        """How many papers hold the term, as :func:`rag_assistant.index.terms.term_of` gives it."""
        token = None if self._model is None or not term else self._model.vocab_dict.get(term)
        if token is None:
            return 0
        starts = self._model.scores["indptr"]
        return int(starts[token + 1]) - int(starts[token])

    def idf(self, term: str) -> float:
        """The most that one term can add to a paper's score."""
        frequency = self.frequency(term)
        return math.log(1 + (self._papers - frequency + 0.5) / (frequency + 0.5))
