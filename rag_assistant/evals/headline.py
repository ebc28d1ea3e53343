"""The most important scores, and their names for people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rag_assistant.evals.folder import Run
from rag_assistant.evals.markdown import table
from rag_assistant.evals.metrics import LOWER_IS_BETTER
from rag_assistant.evals.statistics import Estimate
from rag_assistant.evals.summary import summarize

HEADLINE: Mapping[str, str] = MappingProxyType(
    {
        "correct": "correct",
        "nugget_recall": "nugget recall",
        "recall@5": "recall@5 of papers",
        "ndcg@10": "nDCG@10 of papers",
        "quote_validity": "quotes verbatim",
        "evidence_recall": "evidence recall",
        "evidence_precision": "evidence precision",
        "refusal_near": "refused, near misses",
        "refusal_far": "refused, far questions",
        "false_refusal": "refused though answerable",
        "status": "right status",
    }
)
"""Labels by score, in the order in which they are shown."""


def headline_table(run: Run) -> str:
    """The headline of a run as a Markdown table: one column per split, each number with its interval.

    Raises:
        InputError: scipy isn't installed.
    """
    summary = summarize(run)
    splits = [split for split in ("dev", "test") if any(row.split == split for row in run.main)]
    rows = [
        [
            f"{label} (lower is better)" if name in LOWER_IS_BETTER else label,
            *(cell(summary.estimates[name].get(split)) for split in splits),
        ]
        for name, label in HEADLINE.items()
        if name in summary.estimates
    ]
    return table(["", *splits], rows) + "\n"


def cell(estimate: Estimate | None) -> str:
    """A number with its interval, to two digits."""
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
