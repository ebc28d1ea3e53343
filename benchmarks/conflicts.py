"""Which contradictions between papers are seen, by the rules and by the reader: ``python -m benchmarks.conflicts``.

    python -m benchmarks.conflicts --icml icml2024.jsonl

Of the 44 pairs of ``evals/conflicts.jsonl`` one sentence is of an abstract that the reader wasn't trained on, and the
other was written as another paper might say it, before anything was known of what is seen: 21 contradict the abstract,
23 look like it but speak of another condition, task, metric or thing. The reader judges the written sentence as a
statement on the abstract; it takes it for a contradiction above every look-alike of the other half of the pairs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rag_assistant.evals.markdown import table
from rag_assistant.grounding.conflicts import conflict
from rag_assistant.loaders import load_papers
from rag_assistant.reader.base import Abstract
from rag_assistant.reader.trained import TrainedReader
from rag_assistant.sentences import sentence_spans

ROOT = Path(__file__).parents[1]
PAIRS = ROOT / "evals" / "conflicts.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--icml", type=Path, required=True)
    papers = load_papers([ROOT / "corpus", parser.parse_args().icml]).papers
    by_id = {paper.id: paper for paper in papers}
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    reader, chances = TrainedReader(), []
    for pair in pairs:
        paper = by_id[pair["paper"]]
        sentences = tuple(paper.abstract[start:end] for start, end in sentence_spans(paper.abstract))
        chances.append(reader.judge([pair["other"]], Abstract(paper.title, sentences))[0].contradicted)
    alike = [chance for pair, chance in zip(pairs, chances, strict=True) if not pair["conflict"]]
    seen = {"rules": [bool(conflict(pair["one"], pair["other"])) for pair in pairs]}
    least = [max(c for p, c in list(zip(pairs, chances, strict=True))[half::2] if not p["conflict"]) for half in (1, 0)]
    seen["reader"] = [chance > least[at % 2] for at, chance in enumerate(chances)]
    rows = []
    for name, told in seen.items():
        true, false = (
            [one for pair, one in zip(pairs, told, strict=True) if pair["conflict"] is wanted]
            for wanted in (True, False)
        )
        rows.append([name, f"{sum(true)} of {len(true)}", f"{sum(false)} of {len(false)}"])
    print(table(["", "contradictions seen", "look-alikes taken for some"], rows))
    wins = [(c > d) + (c == d) / 2 for p, c in zip(pairs, chances, strict=True) if p["conflict"] for d in alike]
    print(f"\nAUROC of the reader: {sum(wins) / len(wins):.3f}")


if __name__ == "__main__":
    main()
