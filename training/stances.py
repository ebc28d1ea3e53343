"""Fits what the reader's stances are worth: its logits, scaled and shifted so that they are calibrated probabilities.

    python -m training.stances --icml icml2024.jsonl --scifact corpus.jsonl [--claims claims_train.jsonl]

Statements were written in triples of a true one and two false ones, so that the reader finds fewer true than people
write. One scale and a shift for each label (Platt, 1999; Guo et al., ICML 2017) are fitted on the statements of the
held-out papers, and, where given, on the odd ones of SciFact's claims, each source and label weighing the same; the
result goes into ``reader/trained.py``. What is printed is cross-validated over papers.
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rag_assistant.reader import trained
from rag_assistant.reader.base import Abstract
from rag_assistant.sentences import sentence_spans
from training.data import STANCES, held_out, load
from training.measure import text

FOLDS = 5
Row = tuple[str, str, int, NDArray[np.float64]]
"""Where a statement is from, its paper, its label, and the logits."""


def rows_of(icml: Path, scifact: Path, claims: Path | None) -> list[Row]:
    """All statements as the reader sees them before any calibration."""
    trained.STANCE_SCALE, trained.STANCE_SHIFT = 1.0, (0.0, 0.0, 0.0)
    reader = trained.TrainedReader()
    labelled = load(icml, scifact)
    found: list[Row] = []

    def add(source: str, paper: str, abstract: Abstract, said: list[str], labels: list[str]) -> None:
        for stance, label in zip(reader.judge(said, abstract), labels, strict=True):
            chances = np.array([stance.supported, stance.contradicted, stance.unsaid])
            found.append((source, paper, STANCES.index(label), np.log(np.maximum(chances, 1e-9))))

    for key in sorted(held_out(labelled)):
        items = labelled[key].statements
        if items:
            add("statements", key, text(labelled[key].abstract), [i.text for i in items], [i.stance for i in items])
    if claims is not None:
        corpus = {paper["id"]: paper for paper in map(json.loads, scifact.read_text(encoding="utf-8").splitlines())}
        names = {"SUPPORT": "supported", "CONTRADICT": "contradicted"}
        for number, line in enumerate(claims.read_text(encoding="utf-8").splitlines()):
            claim = json.loads(line)
            for cited in claim["cited_doc_ids"] if number % 2 else ():
                paper = corpus[str(cited)]
                spans = sentence_spans(paper["abstract"])
                abstract = Abstract(paper["title"], tuple(paper["abstract"][start:end] for start, end in spans))
                evidence = claim["evidence"].get(str(cited))
                label = names[evidence["label"]] if evidence else "unsaid"
                add("claims", f"scifact-{cited}", abstract, [claim["claim"]], [label])
    return found


def fitted(rows: list[Row]) -> NDArray[np.float64]:
    """Scale, and the shifts of ``supported`` and ``contradicted``; that of ``unsaid`` is 0."""
    logits, labels = np.array([row[3] for row in rows]), np.array([row[2] for row in rows])
    kinds = [(row[0], row[2]) for row in rows]
    weight = np.array([1 / kinds.count(kind) for kind in kinds])

    def loss(beta: NDArray[np.float64]) -> float:
        shifted = logits * beta[0] + np.append(beta[1:], 0)
        each = np.logaddexp.reduce(shifted, axis=1) - shifted[np.arange(len(labels)), labels]
        return float(weight @ each / weight.sum())

    return np.array(minimize(loss, np.array([1.0, 0.0, 0.0]), method="Nelder-Mead").x)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("icml", "scifact"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--claims", type=Path)
    given = parser.parse_args()
    rows = rows_of(given.icml, given.scifact, given.claims)
    folds = np.array([zlib.crc32(row[1].encode()) % FOLDS for row in rows])
    labels = np.array([row[2] for row in rows])
    chances = np.zeros((len(rows), 3))
    for fold in range(FOLDS):
        beta = fitted([row for row, one in zip(rows, folds, strict=True) if one != fold])
        shifted = np.array([row[3] for row in rows])[folds == fold] * beta[0] + np.append(beta[1:], 0)
        chances[folds == fold] = np.exp(shifted - np.logaddexp.reduce(shifted, axis=1, keepdims=True))
    for source in dict.fromkeys(row[0] for row in rows):
        own = np.array([row[0] == source for row in rows])
        said = chances[own].argmax(1)
        told = ", ".join(f"{name} {np.mean(said[labels[own] == k] == k):.2f}" for k, name in enumerate(STANCES))
        print(f"{source} ({own.sum()}): accuracy {np.mean(said == labels[own]):.3f}; found of {told}")
        sure = chances[own].max(1)
        bins = np.minimum((sure * 10).astype(int), 9)
        gaps = [
            (bins == b).mean() * abs(sure[bins == b].mean() - (said == labels[own])[bins == b].mean())
            for b in set(bins)
        ]
        print(f"  expected calibration error {sum(gaps):.3f}")
    scale, supported, contradicted = fitted(rows).round(3).tolist()
    print(f"STANCE_SCALE, STANCE_SHIFT = {scale}, ({supported}, {contradicted}, 0.0)")


if __name__ == "__main__":
    main()
