"""What the check of a model's statements catches, and what it loses: ``python -m benchmarks.statements``.

    python -m benchmarks.statements --icml icml2024.jsonl --scifact corpus.jsonl [--sealed]

Statements over the papers that the reader was not trained on, each with the sentences that it cites, true and false:
those of ``training/data`` (one that isn't said cites the sentence that has most of its words), or the sealed ones of
``evals/sealed/statements.jsonl``. Printed are the shares of the true and of the false ones that the check finds
unsupported: by strings, rules and the share of words, as it is without a reader, and as it is with the reader.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rag_assistant.evals.markdown import table
from rag_assistant.grounding.support import check_abstract, word_recall
from rag_assistant.reader import base
from rag_assistant.reader.trained import TrainedReader
from rag_assistant.types import Paper
from training.data import Abstract, held_out, load

SEALED = Path(__file__).parents[1] / "evals" / "sealed" / "statements.jsonl"
Judge = Callable[[str], base.Stance]


@dataclass(frozen=True, slots=True)
class Said:
    """A statement on an abstract, the places of the sentences that it cites, and whether it is true."""

    abstract: Abstract
    text: str
    cited: tuple[int, ...]
    kind: str
    true: bool

    def holds(self, judge: Judge | None) -> bool:
        """Whether the check finds it supported."""
        paper = Paper(self.abstract.id, self.abstract.title, " ".join(self.abstract.sentences))
        quotes = [self.abstract.sentences[place] for place in self.cited]
        return check_abstract(self.text, quotes, [paper], judge=judge).support == "supported"


def statements(icml: Path, scifact: Path, *, sealed: bool) -> Iterator[Said]:
    """Those of one of the two sets."""
    papers = load(icml, scifact)
    if sealed:
        for row in map(json.loads, SEALED.read_text(encoding="utf-8").splitlines()):
            abstract = papers[row["paper"]].abstract
            yield Said(abstract, row["statement"], tuple(row["cited"]), row["kind"], row["label"] == "supported")
        return
    for key in sorted(held_out(papers)):
        abstract = papers[key].abstract
        for item in papers[key].statements:
            recalls = [word_recall(item.text, [sentence]) for sentence in abstract.sentences]
            cited = tuple(sorted(item.answers)) or (recalls.index(max(recalls)),)
            yield Said(abstract, item.text, cited, item.kind, item.stance == "supported")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--icml", type=Path, required=True)
    parser.add_argument("--scifact", type=Path, required=True)
    parser.add_argument("--sealed", action="store_true")
    given = parser.parse_args()
    found = list(statements(given.icml, given.scifact, sealed=given.sealed))
    reader = TrainedReader()

    def read(said: Said) -> Judge:
        whole = base.Abstract(said.abstract.title, said.abstract.sentences)
        return lambda text: reader.judge([text], whole)[0]

    ways: dict[str, Callable[[Said], bool]] = {
        "without a reader": lambda said: said.holds(None),
        "as it is": lambda said: said.holds(read(said)),
    }
    kinds = sorted({said.kind for said in found if not said.true})
    rows = []
    for name, holds in ways.items():
        lost = [not holds(said) for said in found if said.true]
        caught = [(said.kind, not holds(said)) for said in found if not said.true]
        by_kind = [[one for kind, one in caught if kind == name] for name in kinds]
        shares = [lost, [one for _, one in caught], *by_kind]
        rows.append([name, *(f"{sum(each) / len(each):.2f}" for each in shares)])
    print(f"{len(found)} statements, {sum(said.true for said in found)} of them true\n")
    print(table(["", "true ones lost", "false ones caught", *kinds], rows))


if __name__ == "__main__":
    main()
