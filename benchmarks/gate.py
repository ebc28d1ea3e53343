"""Fits the model by which the gate judges whether an abstract says what is asked, and shows its calibration.

    python benchmarks/gate.py [--claims claims.jsonl --claims-index DIR]

The questions are those of the eval set's ``dev`` split, each with the paper that retrieval puts first where its words
match; ``test`` is never looked at. Claims with the papers they cite, where given, are further examples: JSON Lines of
``claim``, ``cited_doc_ids`` and ``evidence`` (SciFact's form), over an index of their papers
(``rag-assistant eval retrieval --index DIR`` leaves one). All scores shown are out of fold: of models that saw no
question on the same paper. What it prints goes into ``rag_assistant/grounding/confidence.py``.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from rag_assistant import Filters
from rag_assistant.answering.searching import query_of
from rag_assistant.bundled import bundled
from rag_assistant.conversation import stand_alone
from rag_assistant.embedders.minilm import MiniLM
from rag_assistant.evals import Dataset
from rag_assistant.grounding.confidence import Signals, signals
from rag_assistant.grounding.gate import matches_by_words
from rag_assistant.index.build import build_index
from rag_assistant.index.open import open_index
from rag_assistant.loaders import load_papers
from rag_assistant.questions.form import analyse
from rag_assistant.retrieval.retriever import Query, Retriever

JUDGED_OTHERWISE = {"list", "bibliography", "comparison", "empty"}
NOT_ENGLISH = "language"
CLAIM_WEIGHT = 0.2
PENALTY = 0.01
FALSE_REFUSALS = 0.10
FOLDS = 5


@dataclass(frozen=True)
class Example:
    """One question and paper: where it comes from, whether the paper says it, and the signals."""

    source: str
    paper: str
    says: bool
    found: Signals


def questions(retriever: Retriever) -> Iterator[Example]:
    """The dev split's questions that the gate decides."""
    for case in Dataset.load().select(split="dev"):
        alone = stand_alone(case.question, case.history, retriever.all_papers)
        form = analyse(alone.text)
        if alone.unresolved or case.category == NOT_ENGLISH or form.kind in JUDGED_OTHERWISE:
            continue
        evidence = retriever.retrieve(query_of(alone), k=1)
        if evidence.words and evidence.papers and matches_by_words(evidence.papers[0]):
            first = evidence.papers[0]
            says = case.answerable and first.hit.paper.id in case.papers
            yield Example(
                case.category, first.hit.paper.id, says, signals(evidence.words, first, form.answer_type, form.sought)
            )


def claims(path: Path, folder: Path) -> Iterator[Example]:
    """Each claim with each paper it cites."""
    embedder = MiniLM()
    with open_index(folder, embedder) as index:
        retriever = Retriever(index, embedder)
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            for paper in map(str, record["cited_doc_ids"]):
                evidence = retriever.retrieve(Query(record["claim"]), k=1, filters=Filters(ids=(paper,)))
                if evidence.words and evidence.papers:
                    yield Example(
                        "claim", paper, paper in record["evidence"], signals(evidence.words, evidence.papers[0])
                    )


def fit(matrix: NDArray[np.float64], says: NDArray[np.bool_], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intercept and coefficients of a logistic model with a quadratic penalty, of standardised columns."""
    signs = np.where(says, 1.0, -1.0)

    def loss(model: NDArray[np.float64]) -> float:
        losses = np.logaddexp(0, -signs * (matrix @ model[1:] + model[0]))
        return float((weights * losses).sum() / weights.sum() + PENALTY * (model[1:] @ model[1:]))

    found: NDArray[np.float64] = minimize(loss, np.zeros(matrix.shape[1] + 1)).x
    return found


def auroc(says: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """The chance that an example which says it scores above one which doesn't."""
    positive, negative = int(says.sum()), int((~says).sum())
    ranks = rankdata(scores)
    return float((ranks[says].sum() - positive * (positive + 1) / 2) / (positive * negative))


def out_of_fold(
    matrix: NDArray[np.float64], says: NDArray[np.bool_], weights: NDArray[np.float64], papers: Sequence[str]
) -> NDArray[np.float64]:
    """Each example's confidence by a model that was fitted without its paper's fold."""
    names = sorted(set(papers))
    order = np.random.default_rng(0).permutation(len(names))
    fold_of = {names[at]: place % FOLDS for place, at in enumerate(order)}
    folds = np.array([fold_of[paper] for paper in papers])
    scores = np.zeros(len(papers))
    for fold in range(FOLDS):
        model = fit(matrix[folds != fold], says[folds != fold], weights[folds != fold])
        scores[folds == fold] = 1 / (1 + np.exp(-(matrix[folds == fold] @ model[1:] + model[0])))
    return scores


def conformal_threshold(scores: NDArray[np.float64], alpha: float) -> float:
    """The highest threshold whose false refusals are controlled at ``alpha`` (Angelopoulos et al. 2022, eq. 4).

    Args:
        scores: Confidences of answerable questions.
        alpha: The bound on the expected share of them that is refused.
    """
    allowed = math.floor(alpha * (len(scores) + 1) - 1)
    return float(np.sort(scores)[max(allowed, 0)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--claims", type=Path)
    parser.add_argument("--claims-index", type=Path)
    options = parser.parse_args()
    embedder = MiniLM()
    with tempfile.TemporaryDirectory() as folder:
        build_index(folder, load_papers([bundled("corpus")]).papers, embedder)
        with open_index(folder, embedder) as index:
            examples = list(questions(Retriever(index, embedder)))
    if options.claims and options.claims_index:
        examples += claims(options.claims, options.claims_index)

    raw = np.array([astuple(example.found) for example in examples])
    says = np.array([example.says for example in examples])
    source = np.array([example.source for example in examples])
    weights = np.where(source == "claim", CLAIM_WEIGHT, 1.0)
    mean, spread = raw.mean(axis=0), raw.std(axis=0)
    matrix = (raw - mean) / spread
    scores = out_of_fold(matrix, says, weights, [example.paper for example in examples])

    own = source != "claim"
    print(f"{own.sum()} questions, {says[own].sum()} of them answered by the first paper; {(~own).sum()} claims")
    for at, column in enumerate(fields(Signals)):
        print(f"  {column.name:9} alone: AUROC {auroc(says[own], raw[own, at]):.2f}", end="")
        print(f", claims {auroc(says[~own], raw[~own, at]):.2f}" if (~own).any() else "")
    print(f"  together, out of fold: AUROC {auroc(says[own], scores[own]):.2f}", end="")
    print(f", claims {auroc(says[~own], scores[~own]):.2f}" if (~own).any() else "")

    print("calibration of the questions, out of fold: confidence, how many, share that says it")
    for low in np.arange(0, 1, 0.2):
        within = own & (scores >= low) & (scores < low + 0.2)
        if within.any():
            share, mean_score = says[within].mean(), scores[within].mean()
            print(f"  {low:.1f}-{low + 0.2:.1f}  {within.sum():3}  {share:.2f} (mean confidence {mean_score:.2f})")
    near = source == "near_miss"
    print("threshold by conformal risk control at a rate of false refusals, and near misses refused by it")
    for alpha in (0.05, FALSE_REFUSALS, 0.15, 0.20):
        threshold = conformal_threshold(scores[own & says], alpha)
        print(f"  {alpha:.2f}  {threshold:.3f}  {(scores[near] < threshold).mean():.2f}")

    model = fit(matrix, says, weights)
    coefficients = model[1:] / spread
    print(f"INTERCEPT = {model[0] - float(coefficients @ mean):.2f}")
    print(f"COEFFICIENTS = ({', '.join(f'{value:.2f}' for value in coefficients)})")
    print(f"THRESHOLD = {conformal_threshold(scores[own & says], FALSE_REFUSALS):.2f}")


if __name__ == "__main__":
    main()
