"""An embedder without a model, fast and the same everywhere, and papers to go with it."""

from __future__ import annotations

import hashlib
import re

import numpy as np
from numpy.typing import NDArray

from rag_assistant.embedders.base import Encoded, WordVectors
from rag_assistant.types import Paper

_WORD = re.compile(r"\w+")
_TOPICS = "pruning alignment fairness diffusion bandits privacy causality kernels robotics sparsity".split()
_OBJECTS = "transformers graphs policies rewards gradients embeddings datasets agents proteins markets".split()
_VERBS = "accelerates explains bounds compares regularises predicts simulates calibrates distils audits".split()


class HashingEmbedder:
    """Each word has a random direction of its own; a text is the sum of its words' directions."""

    def __init__(
        self, *, name: str = "hashing", dimension: int = 48, seed: int = 0, max_tokens: int = 60, words: bool = True
    ) -> None:
        self.name = name
        self.dimension = dimension
        self.fingerprint = f"{name}:{dimension}:{seed}"
        self.max_tokens = max_tokens
        self.has_words = words
        self.calls: list[str] = []
        self._seed = seed

    def count_tokens(self, text: str) -> int:
        return len(_WORD.findall(text))

    def encode_passages(self, texts: list[str]) -> list[Encoded]:
        self.calls += texts
        return [self.encode_question(text) for text in texts]

    def encode_question(self, text: str) -> Encoded:
        found = list(_WORD.finditer(text))
        rows = [self._direction(match[0].lower()) for match in found]
        vectors = np.stack(rows) if rows else np.zeros((0, self.dimension), np.float32)
        total = vectors[: self.max_tokens].sum(axis=0) if rows else self._direction("")
        vector = (total / max(float(np.linalg.norm(total)), 1e-9)).astype(np.float32)
        truncated = len(found) > self.max_tokens
        if not self.has_words:
            return Encoded(vector, None, truncated)
        spans = np.array([match.span() for match in found], np.int32).reshape(-1, 2)
        return Encoded(vector, WordVectors(spans, np.rint(vectors * 127).astype(np.int8)), truncated)

    def _direction(self, word: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256(f"{self._seed}:{word}".encode()).digest()[:8], "little")
        drawn = np.random.default_rng(seed).normal(size=self.dimension).astype(np.float32)
        return drawn / np.linalg.norm(drawn)


def paper(number: int, version: str = "") -> Paper:
    """A paper like no other: three sentences that bear its number."""
    topic, thing, verb = _TOPICS[number % 10], _OBJECTS[number // 10 % 10], _VERBS[number // 7 % 10]
    abstract = (
        f"We study how {topic} of {thing} {verb} learning in setting{number}. "
        f"Our method, Tool{number}{version}, improves on the baseline by {number + 3} percent. "
        f"Code for {topic}{number} is available, e.g. for {thing}."
    )
    return Paper(
        id=f"paper{number}",
        title=f"{topic.title()} of {thing}: the case of Tool{number}",
        abstract=abstract,
        authors=(f"Ada Author{number}", "Åsa Ölund"),
        year=2020 + number % 5,
        venue="ICML",
        url=f"https://example.org/{number}",
        links={"pdf": f"https://example.org/{number}.pdf"},
    )


def papers(count: int, start: int = 0, version: str = "") -> list[Paper]:
    """``count`` papers, numbered from ``start``."""
    return [paper(number, version) for number in range(start, start + count)]
