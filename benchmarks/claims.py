"""Reads SciFact's claims against the abstracts they cite, by the reader and by words: ``python -m benchmarks.claims``.

    python -m benchmarks.claims --claims claims_train.jsonl --corpus corpus.jsonl

SciFact (Wadden et al., EMNLP 2020) labels each pair of claim and abstract: the abstract supports the claim, contradicts
it, or doesn't say. The reader was trained on no claim of it; some of its questions are about abstracts of the corpus.
Beside it stands what words can do: the share of the claim's words in the best sentence, with the threshold that
is best on the odd claims; both are scored on the even ones.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rag_assistant.evals.markdown import table
from rag_assistant.grounding.support import word_recall
from rag_assistant.reader.base import Abstract
from rag_assistant.reader.trained import TrainedReader
from rag_assistant.sentences import sentence_spans

LABELS = {"SUPPORT": "supported", "CONTRADICT": "contradicted"}
NAMES = ("supported", "contradicted", "unsaid")


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim and an abstract that it cites; ``odd`` tells on which half of the claims it is."""

    claim: str
    abstract: Abstract
    label: str
    odd: bool


def pairs(claims: Path, corpus: Path) -> Iterator[Pair]:
    """All labelled pairs, in the order of the claims."""
    papers = {}
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            paper = json.loads(line)
            text = paper["abstract"] if isinstance(paper["abstract"], str) else " ".join(paper["abstract"])
            sentences = tuple(text[start:end] for start, end in sentence_spans(text))
            papers[str(paper["id"])] = Abstract(paper["title"], sentences)
    with claims.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            claim = json.loads(line)
            for cited in claim["cited_doc_ids"]:
                found = claim["evidence"].get(str(cited))
                label = LABELS[found["label"]] if found else "unsaid"
                if str(cited) in papers:
                    yield Pair(claim["claim"], papers[str(cited)], label, bool(number % 2))


def scores(gold: list[str], said: list[str]) -> list[str]:
    """Accuracy, and the F1 of each label with their mean."""
    right = sum(one == other for one, other in zip(gold, said, strict=True)) / len(gold)
    f1 = []
    for name in NAMES:
        hit = sum(one == other == name for one, other in zip(gold, said, strict=True))
        f1.append(2 * hit / max(1, gold.count(name) + said.count(name)))
    return [f"{right:.3f}", *(f"{value:.3f}" for value in f1), f"{sum(f1) / 3:.3f}"]


def by_words(pair: Pair, least: float) -> str:
    """Supported where one sentence has so many of the claim's words: words can't tell that it is contradicted."""
    best = max((word_recall(pair.claim, [sentence]) for sentence in pair.abstract.sentences), default=0.0)
    return "supported" if best >= least else "unsaid"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--claims", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    given = parser.parse_args()
    found = list(pairs(given.claims, given.corpus))
    odd, even = [pair for pair in found if pair.odd], [pair for pair in found if not pair.odd]
    least = max((step / 20 for step in range(21)), key=lambda t: sum(by_words(pair, t) == pair.label for pair in odd))
    reader = TrainedReader()
    read = [reader.judge([pair.claim], pair.abstract)[0].verdict for pair in even]
    gold = [pair.label for pair in even]
    rows = [
        ["the reader", *scores(gold, list(read))],
        [f"words, from {least:.2f} on", *scores(gold, [by_words(pair, least) for pair in even])],
        ["always the commonest", *scores(gold, [Counter(gold).most_common(1)[0][0]] * len(gold))],
    ]
    print(f"{len(even)} pairs of the even claims: {dict(Counter(gold))}\n")
    print(table(["", "accuracy", *(f"F1 {name}" for name in NAMES), "mean F1"], rows))


if __name__ == "__main__":
    main()
