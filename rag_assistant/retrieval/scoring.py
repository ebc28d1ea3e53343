"""How well candidates match a question: word matches of all their sentences at once, and one linear score per paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_assistant.embedders.base import Encoded
from rag_assistant.embedders.matching import best_cosines
from rag_assistant.evidence.base import EvidenceSentence, PaperEvidence, QuestionWord
from rag_assistant.index.terms import forms, has_form
from rag_assistant.types import Hit, Paper, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNNAMED_MATCH = 0.7
"""The weight of similar words for a name: only the name itself matches fully."""
ALIKE = 0.6
"""Below this cosine two words with the same stem are different words, unless one is the other with an ending:
"transformer" and "transformation"."""
FOCUS_BONUS = 0.15
_WEIGHTS = (1.0, 0.42, 1.27, 0.58)
_WEIGHTS_WITHOUT_WORDS = (1.0, 0.92, 1.3, 0.0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A paper that may be a hit.

    Attributes:
        window: Its window nearest to the question, with the cosine ``dense``.
        lexical: Its BM25 as a share of the possible maximum; ``None`` if it shares no word with the question.
        texts: Its title and sentences, encoded.
        sentences: Its sentences as passages.
        stems: The stems of its title and of each sentence.
    """

    paper: Paper
    window: Passage
    dense: float
    lexical: float | None
    texts: tuple[Encoded, ...]
    sentences: tuple[Passage, ...]
    stems: tuple[frozenset[str], ...]


class Scores:
    """The scores of all candidates for one question.

    Attributes:
        order: Positions of the candidates, best first.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        words: tuple[QuestionWord, ...],
        word_stems: Sequence[str],
        question: Encoded,
        word_vectors: NDArray[np.float32],
        focus: frozenset[str],
    ) -> None:
        import numpy as np

        self._candidates = candidates
        self._words = words
        self._focus = focus
        texts = [text for candidate in candidates for text in candidate.texts]
        sizes = [len(candidate.texts) for candidate in candidates]
        self._starts = np.cumsum([0, *sizes[:-1]])
        self._cosines = np.stack([text.vector for text in texts]) @ question.vector
        self._matches = self._word_matches(texts, words, word_stems, word_vectors)
        weights = np.array([word.weight for word in words], dtype=np.float32)
        total = float(weights.sum())
        share = weights / total if total else weights
        by_text = self._matches @ share
        # The title isn't a sentence: it counts for the paper's coverage, not for its best sentence.
        by_text[self._starts] = np.where(np.array(sizes) > 1, -1.0, by_text[self._starts])
        self._best = np.maximum.reduceat(by_text, self._starts)
        self._whole = np.maximum.reduceat(self._matches, self._starts, axis=0) @ share
        dense = np.array([candidate.dense for candidate in candidates])
        lexical = np.array([candidate.lexical or 0.0 for candidate in candidates])
        factors = _WEIGHTS if len(word_vectors) or question.words is not None else _WEIGHTS_WITHOUT_WORDS
        parts = np.stack([dense, lexical, self._whole, self._best], axis=1)
        self._scores = parts @ np.array(factors) / sum(factors)
        self._scores += FOCUS_BONUS * np.array([candidate.paper.id in focus for candidate in candidates])
        ids = [candidate.paper.id for candidate in candidates]
        self.order = sorted(range(len(candidates)), key=lambda at: (-float(self._scores[at]), ids[at]))

    def _word_matches(
        self,
        texts: Sequence[Encoded],
        words: tuple[QuestionWord, ...],
        word_stems: Sequence[str],
        word_vectors: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """An array of shape ``(texts, words)``: 1 for the same word, else the best cosine."""
        import numpy as np

        if len(word_vectors):
            close = best_cosines(word_vectors, [text.words for text in texts if text.words is not None])
        else:
            # Without word vectors, the vector of the text stands for each of its words.
            close = np.repeat(np.clip(self._cosines, 0.0, 1.0)[:, None], len(words), axis=1).astype(np.float32)
        self._close = close if len(word_vectors) else None
        close = close * np.array([UNNAMED_MATCH if word.named else 1.0 for word in words], dtype=np.float32)
        held = [stems for candidate in self._candidates for stems in candidate.stems]
        same = np.array([[stem in stems for stem in word_stems] for stems in held], dtype=bool)
        return np.where(same.reshape(close.shape), np.float32(1.0), close)

    def evidence(self, position: int, rank: int, score: float | None = None) -> PaperEvidence:
        """The candidate at ``position`` as evidence, with its rank and, if given, another score."""
        candidate = self._candidates[position]
        start = int(self._starts[position])
        rows = self._matches[start : start + len(candidate.texts)].tolist()
        cosines = self._cosines[start : start + len(candidate.texts)].tolist()
        sentences = tuple(
            EvidenceSentence(passage, cosine, tuple(row))
            for passage, cosine, row in zip(candidate.sentences, cosines[1:], rows[1:], strict=True)
        )
        hit = Hit(
            candidate.paper,
            candidate.window,
            rank,
            float(self._scores[position]) if score is None else score,
            candidate.dense,
            candidate.lexical,
            float(self._whole[position]),
        )
        focused = candidate.paper.id in self._focus
        return PaperEvidence(hit, tuple(rows[0]), sentences, focused, other_words=self._other_words(position))

    def _other_words(self, position: int) -> frozenset[int]:
        """Positions of words that share a stem with one of the paper's, but differ from it in form and vector."""
        if self._close is None:
            return frozenset()
        paper = self._candidates[position].paper
        texts = slice(int(self._starts[position]), int(self._starts[position]) + len(self._candidates[position].texts))
        found = (self._matches[texts].max(axis=0) == 1.0) & (self._close[texts].max(axis=0) < ALIKE)
        if not found.any():
            return frozenset()
        held = forms(f"{paper.title}\n{paper.abstract}")
        return frozenset(at for at, word in enumerate(self._words) if found[at] and not has_form(held, word.text))
