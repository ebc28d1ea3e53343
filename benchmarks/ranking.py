"""Fits the four weights of the retrieval score, cross-validated over queries, and compares them with those shipped.

    python benchmarks/ranking.py --corpus F --queries F --qrels F --index DIR

The set is in BEIR's form; ``rag-assistant eval retrieval --index DIR`` leaves the index. A fold's weights are those
that put its training queries' relevant papers first under a softmax over candidates (ListNet's top-one loss, Cao et
al. 2007). Every query is ranked by weights that never saw it.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rag_assistant.embedders.minilm import MiniLM
from rag_assistant.evals.beir import load_beir
from rag_assistant.evals.retrieval_metrics import ndcg_at
from rag_assistant.evidence.base import PaperEvidence, QuestionWord, coverage
from rag_assistant.index.open import open_index
from rag_assistant.retrieval.retriever import Query, Retriever

CANDIDATES = 100
FOLDS = 5


@dataclass(frozen=True)
class Ranked:
    """The candidates of one query: their ids, their parts ``(candidates, 4)``, and the grades of the relevant."""

    papers: tuple[str, ...]
    parts: NDArray[np.float64]
    grades: Mapping[str, int]

    def ndcg(self, weights: NDArray[np.float64]) -> float:
        """nDCG@10 of the order by weighted parts."""
        order = np.argsort(-(self.parts @ weights), kind="stable")
        return ndcg_at([self.papers[at] for at in order], self.grades)

    @property
    def relevant(self) -> NDArray[np.bool_]:
        """Which candidates are."""
        return np.array([paper in self.grades for paper in self.papers])


def parts_of(words: tuple[QuestionWord, ...], found: PaperEvidence) -> tuple[float, float, float, float]:
    """Cosine, BM25's share of the most it could be, word match of the paper, and of its best sentence."""
    best = max((coverage(words, sentence.matches) for sentence in found.sentences), default=0.0)
    return found.hit.dense or 0.0, found.hit.lexical or 0.0, found.hit.coverage or 0.0, best


def fit(queries: Sequence[Ranked]) -> NDArray[np.float64]:
    """The weights, the first of them 1."""
    usable = [(query.parts, query.relevant) for query in queries if query.relevant.any()]

    def loss(logs: NDArray[np.float64]) -> float:
        weights = np.exp(logs)
        total = 0.0
        for parts, relevant in usable:
            scores = parts @ weights
            top = scores.max()
            total -= np.log(np.exp(scores[relevant] - top).sum() / np.exp(scores - top).sum())
        return total / len(usable)

    weights: NDArray[np.float64] = np.exp(minimize(loss, np.full(4, 2.0)).x)
    return weights / weights[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("corpus", "queries", "qrels", "index"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args()
    judged = load_beir(options.corpus, options.queries, options.qrels)
    embedder = MiniLM()
    queries: list[Ranked] = []
    with open_index(options.index, embedder) as index:
        retriever = Retriever(index, embedder)
        for name, text in judged.queries.items():
            evidence = retriever.retrieve(Query(text), k=CANDIDATES)
            parts = np.array([parts_of(evidence.words, found) for found in evidence.papers])
            queries.append(Ranked(tuple(found.hit.paper.id for found in evidence.papers), parts, judged.qrels[name]))

    folds = np.random.default_rng(0).permutation(len(queries)) % FOLDS
    unseen = np.zeros(len(queries))
    for fold in range(FOLDS):
        weights = fit([query for query, own in zip(queries, folds, strict=True) if own != fold])
        print(f"fold {fold + 1}: 1, {', '.join(f'{weight:.2f}' for weight in weights[1:])}")
        unseen[folds == fold] = [q.ndcg(weights) for q, own in zip(queries, folds, strict=True) if own == fold]
    singles = {"cosine alone": (1, 0, 0, 0), "BM25 alone": (0, 1, 0, 0), "cosine + 0.42 BM25": (1, 0.42, 0, 0)}
    shipped = {"shipped weights": (1, 0.42, 1.27, 0.58)}
    print(f"nDCG@10 over {len(queries)} queries, {FOLDS}-fold cross-validated: {unseen.mean():.3f}")
    for name, chosen in (shipped | singles).items():
        print(f"  {name}: {np.mean([query.ndcg(np.array(chosen)) for query in queries]):.3f}")


if __name__ == "__main__":
    main()
