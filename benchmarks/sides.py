"""How many sides of a two-sided question are quoted, with the reader and without: ``python -m benchmarks.sides``.

The 30 questions of ``evals/sides.jsonl`` were written by reading the 19 abstracts, each with the sentences of which one
must be quoted for either side, before anything was known of what is quoted for them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rag_assistant import Assistant
from rag_assistant.evals.markdown import table

SIDES = Path(__file__).parents[1] / "evals" / "sides.jsonl"


def found_with(reader: str, index: Path | None) -> list[str]:
    """Questions of which both sides are quoted, sides, quotes, and quotes that are of neither side."""
    both = sides = quotes = others = 0
    with Assistant.open(index, reader=reader) as assistant:
        for row in map(json.loads, SIDES.read_text(encoding="utf-8").splitlines()):
            told = {(c.paper.id, quote.text) for c in assistant.ask(row["question"]).citations for quote in c.quotes}
            wanted = [{(one["paper"], one["quote"]) for one in side} for side in row["sides"]]
            having = [bool(told & side) for side in wanted]
            both, sides, quotes = both + all(having), sides + sum(having), quotes + len(told)
            others += len(told - set().union(*wanted))
    return [str(count) for count in (both, sides, quotes, others)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--index", type=Path, help="an index of the 19 papers (default: your data folder)")
    given = parser.parse_args()
    rows = [[name, *found_with(name, given.index)] for name in ("none", "trained")]
    print(table(["reader", "both sides quoted (30)", "sides (60)", "quotes", "of neither side"], rows))


if __name__ == "__main__":
    main()
