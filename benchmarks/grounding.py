"""Shows what grounding catches and what it holds against right answers: ``python -m benchmarks.grounding``.

The replies of ``tests/grounding/suite`` are served over HTTP and go through an assistant. ``--half`` looks at one
part of them, ``--missed`` prints what came out wrong. ``--claims FILE`` shows the ROC of content-token support on
claims with references that support them or not: JSON Lines of ``claim``, ``references`` and ``attribution_label``
(AttributionBench's form).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path

from rag_assistant.grounding.support import check_abstract, word_recall
from tests.grounding.suite.cases import all_cases
from tests.grounding.suite.serve import Outcome, answering, outcomes


def table(found: list[Outcome]) -> str:
    """Per kind and half, how many came out as they must."""
    kinds: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in found:
        kinds[outcome.case.kind, outcome.case.half].append(outcome)
    return "\n".join(
        f"{kind:36} {half:6} {sum(not one.problem for one in rows):4}/{len(rows):<4} "
        f"{sum(not one.problem for one in rows) / len(rows):.3f}"
        for (kind, half), rows in sorted(kinds.items())
    )


def roc(path: Path) -> str:
    """For each threshold of content-token support the share of supported and of unsupported claims that pass, by it
    alone and by the whole check."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    holds = [record["attribution_label"] == "attributable" for record in records]
    recalls = [word_recall(record["claim"], record["references"]) for record in records]
    others = [
        check_abstract(record["claim"], record["references"], least=0).support == "supported" for record in records
    ]
    lines = [
        f"{len(records)} claims, {sum(holds)} of them supported",
        "threshold  alone: true false   all: true false",
    ]
    for threshold in (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9):
        alone = [recall >= threshold for recall in recalls]
        both = [passes and other for passes, other in zip(alone, others, strict=True)]
        rates = [_rate(passed, holds, kind) for passed in (alone, both) for kind in (True, False)]
        lines.append(f"{threshold:9.2f}  {rates[0]:11.3f} {rates[1]:5.3f}   {rates[2]:9.3f} {rates[3]:5.3f}")
    return "\n".join(lines)


def _rate(passed: list[bool], holds: list[bool], kind: bool) -> float:
    chosen = [one for one, held in zip(passed, holds, strict=True) if held == kind]
    return sum(chosen) / len(chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("tune", "apart", "fresh", "held out", "last", "real"))
    parser.add_argument("--missed", action="store_true")
    parser.add_argument("--claims", type=Path)
    options = parser.parse_args()
    if options.claims:
        print(roc(options.claims))
        return
    cases = [case for case in all_cases() if not options.half or case.half in ("", options.half)]
    with tempfile.TemporaryDirectory() as folder, answering(Path(folder) / "index") as (opened, script):
        found = outcomes(cases, opened, script)
    print(table(found))
    if options.missed:
        for one in found:
            if one.problem:
                print(f"{one.case.kind}: {one.problem}\n    {one.case.reply[:400]!r}")


if __name__ == "__main__":
    main()
