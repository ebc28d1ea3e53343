"""The eval harness: sets of questions, metrics, runs and their comparison.

    from rag_assistant import Assistant
    from rag_assistant.evals import Dataset, evaluate

    with Assistant.open() as assistant:
        run = evaluate(assistant, Dataset.load().select(split="dev"), out="run-1")

Importing this costs next to nothing: each name is imported when it is first used, and scipy only where it is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_assistant.evals.beir import RetrievalRun, RetrievalSet, evaluate_retrieval, load_beir, render_retrieval
    from rag_assistant.evals.case import Case, Evidence, Nugget, Number, Problem
    from rag_assistant.evals.citation_metrics import lexical_support
    from rag_assistant.evals.dataset import Dataset, default_set, validate_file
    from rag_assistant.evals.diff import Diff, compare_runs
    from rag_assistant.evals.diff_report import render_diff
    from rag_assistant.evals.folder import Run, load_run, write_baseline
    from rag_assistant.evals.page import render_page
    from rag_assistant.evals.report import render_report
    from rag_assistant.evals.rows import Row
    from rag_assistant.evals.run import Progress, evaluate
    from rag_assistant.evals.summary import Summary, summarize
    from rag_assistant.evals.transforms import TRANSFORMS, Transform, transform_of

_HOMES = {
    "TRANSFORMS": "transforms",
    "Case": "case",
    "Dataset": "dataset",
    "Diff": "diff",
    "Evidence": "case",
    "Nugget": "case",
    "Number": "case",
    "Problem": "case",
    "Progress": "run",
    "RetrievalRun": "beir",
    "RetrievalSet": "beir",
    "Row": "rows",
    "Run": "folder",
    "Summary": "summary",
    "Transform": "transforms",
    "compare_runs": "diff",
    "default_set": "dataset",
    "evaluate": "run",
    "evaluate_retrieval": "beir",
    "lexical_support": "citation_metrics",
    "load_beir": "beir",
    "load_run": "folder",
    "render_diff": "diff_report",
    "render_page": "page",
    "render_report": "report",
    "render_retrieval": "beir",
    "summarize": "summary",
    "transform_of": "transforms",
    "validate_file": "dataset",
    "write_baseline": "folder",
}
__all__ = [
    "TRANSFORMS",
    "Case",
    "Dataset",
    "Diff",
    "Evidence",
    "Nugget",
    "Number",
    "Problem",
    "Progress",
    "RetrievalRun",
    "RetrievalSet",
    "Row",
    "Run",
    "Summary",
    "Transform",
    "compare_runs",
    "default_set",
    "evaluate",
    "evaluate_retrieval",
    "lexical_support",
    "load_beir",
    "load_run",
    "render_diff",
    "render_page",
    "render_report",
    "render_retrieval",
    "summarize",
    "transform_of",
    "validate_file",
    "write_baseline",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
