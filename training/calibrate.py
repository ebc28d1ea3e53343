"""Fits how papers are ordered and how sure an answer is, end to end: through search, in an index of any size.

    python -m training.calibrate --icml icml2024.jsonl --scifact corpus.jsonl --index FOLDER

FOLDER is an index that holds the held-out papers of icml2024.jsonl; the questions are those on these. What it prints
goes into ``retrieval/reading.py`` and ``evidence/answerability.py``. Calibration is checked by cross-validation over
papers.
"""

from __future__ import annotations

import argparse
import pickle
import zlib
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rag_assistant.embedders.minilm import MiniLM
from rag_assistant.index.open import open_index
from rag_assistant.plugins import load_plugin
from rag_assistant.reader import trained
from rag_assistant.retrieval.reading import candidates, read, signals
from rag_assistant.retrieval.retriever import Query, Retriever
from training.data import SEVERAL, held_out, load
from training.measure import auroc, refused

NAMES = ("reader's logit", "its best sentence's", "that sentence's cosine", "score", "dense", "nearest cosine")
FOLDS = 5
EVENLY = ("fact", "mixed", "para")
"""Kinds of questions that are answered; two thirds of the held-out ones are paraphrases, far more than people ask."""


@dataclass(frozen=True)
class Asked:
    """A question as it went through search: the papers read, with their signals."""

    paper: str
    kind: str
    answers: frozenset[int]
    papers: tuple[str, ...]
    signals: NDArray[np.float64]
    first: tuple[int, ...]  # the reader's best sentence of each paper


def ask_all(given: argparse.Namespace) -> list[Asked]:
    """Every question on a held-out paper, through search and reader."""
    labelled = load(given.icml, given.scifact)
    trained._KEPT = 10_000  # every paper is read for many questions
    reader, embedder = load_plugin("reader", "trained")(), MiniLM()
    retriever = Retriever(open_index(given.index, embedder), embedder)
    there = {paper.id for paper in retriever.all_papers}
    found = []
    for key in sorted(held_out(labelled) & there):
        for item in labelled[key].questions:
            if item.kind in SEVERAL:
                continue
            papers = retriever.retrieve(Query(item.text), k=200).papers
            done = read(reader, item.text, candidates([p for p in papers if p.sentences], given.most))
            first = tuple(int(np.argmax(p.reading.sentences)) for p in done if p.reading)
            ids = tuple(p.hit.paper.id for p in done)
            found.append(Asked(key, item.kind, item.answers, ids, np.array([signals(p) for p in done]), first))
    return found


def order(asked: list[Asked]) -> NDArray[np.float64]:
    """Weights of the signals by a listwise softmax over the papers read."""
    lists = [(row.signals, row.papers.index(row.paper)) for row in asked if row.answers and row.paper in row.papers]

    def loss(weights: NDArray[np.float64]) -> float:
        total = 0.05 * float(weights @ weights)
        for values, at in lists:
            scores = values @ weights
            total += float(np.logaddexp.reduce(scores) - scores[at])
        return total

    return np.array(minimize(loss, np.array([0.5, 0.0, 1.0, 5.0, 2.0, 2.0]), method="L-BFGS-B").x)


def logistic(values: NDArray[np.float64], says: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Intercept and coefficients of a logistic model, each class weighing the same."""
    rows = np.column_stack([np.ones(len(values)), values])
    weight = np.where(says, 0.5 / says.mean(), 0.5 / (1 - says.mean()))

    def loss(beta: NDArray[np.float64]) -> float:
        margin = rows @ beta * np.where(says, 1, -1)
        return float((weight * np.logaddexp(0, -margin)).mean() + 1e-4 * beta[1:] @ beta[1:])

    return np.array(minimize(loss, np.zeros(rows.shape[1]), method="L-BFGS-B").x)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("icml", "scifact", "index"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--most", type=int, default=12, help="how many papers are read for a question")
    parser.add_argument("--kept", type=Path, help="keep what was asked in this file, or take it from there")
    given = parser.parse_args()
    if given.kept and given.kept.exists():
        asked: list[Asked] = pickle.loads(given.kept.read_bytes())
    else:
        asked = ask_all(given)
        if given.kept:
            given.kept.write_bytes(pickle.dumps(asked))
    able = [row for row in asked if row.answers]
    groups = {"all": able, "para": [row for row in able if row.kind == "para"]}
    for name, rows in groups.items():
        among = {k: np.mean([row.paper in row.papers[:k] for row in rows]) for k in (1, 6, 12, 24)}
        print(f"{name}: right paper among those read", {k: round(float(share), 3) for k, share in among.items()})
    weights = order(asked)
    print("order:", dict(zip(NAMES, weights.round(3).tolist(), strict=True)))

    def best(row: Asked) -> int:
        return int(np.argmax(row.signals @ weights))

    for name, rows in groups.items():
        first = [row.papers[best(row)] == row.paper for row in rows]
        quoted = [ok and row.first[best(row)] in row.answers for ok, row in zip(first, rows, strict=True)]
        print(f"{name}: right paper first {np.mean(first):.3f}, and a labelled sentence first {np.mean(quoted):.3f}")
    says = np.array([bool(row.answers) and row.papers[best(row)] == row.paper for row in asked])
    known = np.array([not row.answers or row.papers[best(row)] == row.paper for row in asked])
    values = np.array([row.signals[best(row)][:3] for row in asked])
    folds = np.array([zlib.crc32(row.paper.encode()) % FOLDS for row in asked])
    chances = np.zeros(len(asked))
    for fold in range(FOLDS):
        beta = logistic(values[known & (folds != fold)], says[known & (folds != fold)])
        chances[folds == fold] = 1 / (1 + np.exp(-(beta[0] + values[folds == fold] @ beta[1:])))
    print("confidence:", logistic(values[known], says[known]).round(3).tolist())
    right = chances[[bool(row.answers) for row in asked]].tolist()
    kinds = Counter(row.kind for row in able)
    even = [1 / kinds[row.kind] if row.kind in EVENLY else 0.0 for row in able]
    for kind in ("near", "near2", "nearpara"):
        wrong = chances[[row.kind == kind for row in asked]].tolist()
        at = ", ".join(f"{refused(right, wrong, share):.2f} at {share:.2f}" for share in (0.08, 0.12, 0.15, 0.2))
        print(f"{kind}: AUROC {auroc(right, wrong):.3f}, refused {at} false refusals")
        at = ", ".join(f"{refused(right, wrong, share, even):.2f} at {share:.2f}" for share in (0.08, 0.12, 0.15, 0.2))
        print(f"  with as many facts, mixed wordings and paraphrases among those that are answered: {at}")
    print("thresholds:", {share: round(float(np.quantile(right, share)), 3) for share in (0.05, 0.08, 0.1, 0.12, 0.15)})
    edges = np.quantile(chances[known], np.linspace(0, 1, 11))
    for low, high in pairwise(edges):
        inside = known & (chances >= low) & (chances <= high)
        print(f"confidence {low:.2f} to {high:.2f}: {says[inside].mean():.2f} right of {inside.sum()}")


if __name__ == "__main__":
    main()
