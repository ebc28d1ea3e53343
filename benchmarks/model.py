"""One model behind two assistants: ours, and LlamaIndex's CitationQueryEngine over the same papers.

    python -m benchmarks.model --base-url URL --model NAME --out DIR [--split test] [--only SYSTEM...] [--show]

Asks a stratified choice of the eval set's questions that a model writes the answers to: near misses with their
answerable twins first, then the other kinds. Ours is asked as it is and with ``--fallback``. Each answer is
kept in DIR as it comes: the same command goes on where one stopped, and prints the systems side by side once it is
through. ``--show`` prints the answers beside each other.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from benchmarks.citation_engine import CitationEngine
from rag_assistant import Answer, Assistant
from rag_assistant.evals import Case, Dataset, Run, compare_runs, evaluate, load_run, summarize
from rag_assistant.evals.headline import cell
from rag_assistant.evals.markdown import table
from rag_assistant.evals.rows import Row
from rag_assistant.plugins import BUILTINS

LEFT_OUT = ("metadata", "listing", "near_miss")
"""Records are told without a model; lists have a protocol of their own; near misses bring their twins."""
FOLDERS = {"ours": "ours", "ours, with fallback": "fallback", "CitationQueryEngine": "theirs"}
"""Where each system's answers are kept."""
SCORES = {
    "correct": "correct",
    "nugget_recall_vital": "vital nuggets",
    "refusal_near": "near misses refused",
    "twin_pairs": "near miss and its twin both right",
    "refusal_far": "far questions refused",
    "false_refusal": "refused though answerable (lower is better)",
    "cited": "answers that cite anything",
    "gold_citation_precision": "cited papers that are right",
    "citation_precision": "citations that support their statement",
    "citation_recall": "statements that their citations support",
    "evidence_precision": "citations of the evidence",
    "quote_validity": "quotes verbatim",
    "words": "words",
}


def chosen(dataset: Dataset, *, near: int, others: float) -> Dataset:
    """The questions: ``near`` near misses and their twins, and of every other kind ``others`` times the root of how
    many there are; the same ones each time."""
    by_kind: dict[str, list[Case]] = defaultdict(list)
    for case in sorted(dataset, key=lambda case: case.sha256):
        by_kind[case.category].append(case)
    kinds = {case.id: case.category for case in dataset}
    misses = [case for case in by_kind["near_miss"] if kinds.get(case.twin, "metadata") not in LEFT_OUT][:near]
    ids = {case.id for case in misses} | {case.twin for case in misses}
    for kind, cases in by_kind.items():
        if kind not in LEFT_OUT and kind != "fact":
            free = [case for case in cases if case.id not in ids]
            ids |= {case.id for case in free[: round(others * math.sqrt(len(cases)))]}
    return dataset.select(ids=sorted(ids))


def cited(_: Case, answer: Answer) -> dict[str, float]:
    """``cited``: 1 where the answer cites anything; ``words``: how long it is. No scores for refusals."""
    if answer.status not in ("answered", "partial"):
        return {}
    return {"cited": float(bool(answer.citations)), "words": float(len(answer.text.split()))}


def main() -> None:
    """Asks what is left to be asked and prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    parser.add_argument("--only", nargs="*", choices=tuple(FOLDERS.values()), default=list(FOLDERS.values()))
    parser.add_argument("--near", type=int, default=16)
    parser.add_argument("--others", type=float, default=1.3)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--index", type=Path, help="an index of the bundled papers; by default the user's")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    questions = chosen(Dataset.load().select(split=given.split), near=given.near, others=given.others)
    print(f"{len(questions)} questions of {given.split}", flush=True)
    opened = partial(
        Assistant.open,
        index=given.index,
        backend="openai-like",
        model=given.model,
        base_url=given.base_url,
        max_tokens=given.max_tokens,
        timeout=600.0,
    )
    with opened() as plain, opened(fallback=True) as falling:
        engine = CitationEngine(
            plain,
            {(case.question, case.history): case.standalone for case in questions},
            model=given.model,
            base_url=given.base_url,
            k=plain.settings.k,
            max_tokens=given.max_tokens,
        )
        for folder, system in (("ours", plain), ("fallback", falling), ("theirs", engine)):
            if folder in given.only:
                ask(system, questions, given.out / folder)
    found = ((name, given.out / folder) for name, folder in FOLDERS.items())
    runs = {name: load_run(folder) for name, folder in found if folder.exists()}
    print(side_by_side(runs, given.split))
    if given.show:
        show(runs)


def ask(system: object, questions: Dataset, out: Path) -> None:
    """Asks one system what it wasn't asked yet."""
    evaluate(
        system,
        questions,
        out=out,
        resume=out.exists(),
        probes=False,
        metrics=[*BUILTINS["metric"], cited],
        progress=lambda p: print(f"{out.name}: {p.done} of {p.total}, {p.case_id}", flush=True),
    )


def side_by_side(runs: Mapping[str, Run], split: str) -> str:
    """The systems as a Markdown table: each number with its 95% interval, and how likely it is by chance alone that the
    last system differs so much from each of the others, over the questions that have the score in both."""
    summaries = {name: summarize(run) for name, run in runs.items()}
    *ours, theirs = runs.values()
    changes = [{c.name: f"{c.p_value:.4f} ({c.n})" for c in compare_runs(theirs, run).scores} for run in ours]
    rows = [
        [
            label,
            *(cell(s.estimates.get(name, {}).get(split)) for s in summaries.values()),
            *(c.get(name, "-") for c in changes),
        ]
        for name, label in SCORES.items()
    ]
    kinds = dict.fromkeys(kind for s in summaries.values() for kind in s.categories)
    rows += [
        [
            f"correct: {kind}",
            *(cell(s.categories.get(kind, {}).get(split)) for s in summaries.values()),
            *("-" for _ in changes),
        ]
        for kind in kinds
    ]
    return table(["", *runs, *(f"p against {name} (n)" for name in list(runs)[:-1])], rows)


def show(runs: Mapping[str, Run]) -> None:
    """Every answer of each system."""
    by_id: dict[str, list[tuple[str, Row]]] = defaultdict(list)
    for name, run in runs.items():
        for row in run.main:
            by_id[row.id].append((name, row))
    for case_id, rows in by_id.items():
        print(f"\n## {case_id}\n{rows[0][1].question}")
        for name, row in rows:
            answer = row.answer or {}
            right = "right" if row.scores.get("correct") else "wrong"
            print(f"- {name}: {row.status}, {right}: {answer.get('text', row.errors)}")
            if answer.get("draft"):
                print(f"  draft: {answer['draft']}")


if __name__ == "__main__":
    main()
