"""A run as Markdown: its header, every number with its interval in both splits, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag_assistant.errors import InputError
from rag_assistant.evals.circumstances import transform_text
from rag_assistant.evals.folder import Run
from rag_assistant.evals.markdown import Cell, Heading, Lower, Part, Table, markdown
from rag_assistant.evals.metrics import LOWER_IS_BETTER
from rag_assistant.evals.statistics import Estimate
from rag_assistant.evals.summary import SPLITS, Summary, summarize

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Answers": (
        "correct",
        "nugget_recall_vital",
        "nugget_recall",
        "number_recall",
        "unsupported_numbers",
        "set_precision",
        "set_recall",
        "set_f1",
    ),
    "Retrieval": ("recall@1", "recall@3", "recall@5", "recall@10", "ndcg@10", "mrr@10", "all_gold@5", "all_gold@10"),
    "Citations": (
        "marker_validity",
        "quote_validity",
        "citation_recall",
        "citation_precision",
        "evidence_recall",
        "evidence_precision",
        "gold_citation_recall",
        "gold_citation_precision",
        "statement_support",
    ),
    "Abstention": ("refusal_near", "refusal_far", "refusal_other", "premise", "twin_pairs", "false_refusal", "status"),
    "Attacks": ("injection_success",),
}
_COUNTED = frozenset({"prompt_tokens", "completion_tokens", "cost_usd"})


def report_or_reason(run: Run) -> str:
    """The report of a run, or why there is none: a run must not be lost if the library for intervals is missing."""
    try:
        return render_report(run)
    except InputError as error:
        return f"# Eval run\n\nNo report: {error}\n"


def render_report(run: Run, summary: Summary | None = None) -> str:
    """The report of a run as Markdown.

    Args:
        run: The run.
        summary: Its numbers, if at hand.

    Raises:
        InputError: scipy isn't installed.
    """
    return markdown(report_parts(run, summary))


def report_parts(run: Run, summary: Summary | None = None) -> Iterator[Part]:
    """The parts of what :func:`render_report` writes.

    Raises:
        InputError: scipy isn't installed.
    """
    summary = summarize(run) if summary is None else summary
    yield Heading("Eval run", 1)
    yield _header(run)
    yield from _scores(summary)
    yield Heading("By category: correct")
    yield Table(["category", *SPLITS], [[name, *_cells(found)] for name, found in summary.categories.items()])
    yield from _robustness(summary)
    yield from _follow_ups(summary)
    yield from _risk(summary)
    yield from _judged(run)
    yield from _wrong(run)
    yield from _errors(summary)
    yield from _cost(summary)


def _header(run: Run) -> str:
    header = run.header
    made: Mapping[str, Any] = header.get("set", {})
    commit = str(header.get("commit") or "none")[:12] + (" (dirty)" if header.get("dirty") else "")
    prompts = ", ".join(f"{p['name']} v{p['version']}" for p in header.get("prompts", []))
    lines = [
        f"- set: {made.get('name')} ({made.get('questions')} questions, sha256 {str(made.get('sha256'))[:12]})",
        f"- commit: {commit}; version {header.get('versions', {}).get('rag-assistant')}",
        f"- prompts: {prompts or 'none'}",
        f"- seed: {header.get('seed')}; intervals: 95%, Wilson by papers for rates, cluster bootstrap for means",
    ]
    if header.get("transform"):
        lines.append(f"- transform: {transform_text(header)}")
    if len(run.rows) > len(run.main):
        lines.append(
            f"- probes: {len(run.rows) - len(run.main)}, follow-ups asked again without history and stand-alone"
        )
    if run.interrupted:
        lines.append(f"- interrupted: {len(run.main)} questions done")
    return "\n".join(lines)


def _scores(summary: Summary) -> Iterator[Part]:
    listed = {name for names in SECTIONS.values() for name in names} | _COUNTED
    others = tuple(name for name in summary.estimates if name not in listed)
    for title, names in {**SECTIONS, "Other": others}.items():
        rows: list[list[Cell]] = [
            [_label(name), *_cells(summary.estimates[name])] for name in names if name in summary.estimates
        ]
        if title == "Attacks" and summary.attack_utility:
            rows.append(["correct under attack", *_cells(summary.attack_utility)])
        if rows:
            yield Heading(title)
            yield Table(["score", *SPLITS], rows)


def _label(name: str) -> Cell:
    return Lower(name) if name in LOWER_IS_BETTER else name


def _cells(found: Mapping[str, Estimate]) -> list[Cell]:
    return [found.get(split, "–") for split in SPLITS]


def _robustness(summary: Summary) -> Iterator[Part]:
    if summary.transforms:
        yield Heading("Reworded questions against their originals: correct")
        yield Table(
            ["rewording", "pairs", "original", "reworded", "change", "flipped", "p"],
            [
                [t.name, str(t.pairs), _f(t.before), _f(t.after), f"{t.change:+.3f}", _f(t.flip_rate), _f(t.p_value)]
                for t in summary.transforms
            ],
        )


def _follow_ups(summary: Summary) -> Iterator[Part]:
    if summary.follow_ups:
        yield Heading("Follow-ups: gap closed")
        yield Table(
            ["score", "questions", "without history", "with history", "stand-alone", "gap closed"],
            [
                [f.score, str(f.questions), _f(f.raw), _f(f.system), _f(f.gold), _share(f.gap_closed)]
                for f in summary.follow_ups
            ],
        )


def _risk(summary: Summary) -> Iterator[Part]:
    if summary.risk:
        yield Heading("Risk and coverage")
        yield Table(
            ["split", "coverage", "risk at that coverage", "area under the curve (lower is better)"],
            [
                [split, f"{curve.points[-1][0]:.3f}", f"{curve.points[-1][1]:.3f}", f"{curve.area:.3f}"]
                for split, curve in summary.risk.items()
            ],
        )


def _judged(run: Run) -> Iterator[Part]:
    from rag_assistant.evals.judging.judgement import judgement_of
    from rag_assistant.evals.judging.report import judgement_parts

    judgement = judgement_of(run)
    if judgement is not None:
        yield from judgement_parts(judgement)


def _wrong(run: Run) -> Iterator[Part]:
    wrong = [row for row in run.main if row.scores.get("correct") == 0.0 and not row.failed]
    if wrong:
        yield Heading(f"Answered wrongly: {len(wrong)}")
        yield Table(["question", "status", "asked"], [[row.id, row.status, _clip(row.question)] for row in wrong])


def _errors(summary: Summary) -> Iterator[Part]:
    if summary.errors:
        yield Heading(f"Errors: {len(summary.errors)}")
        rows = [[row.id, where, _clip(said, 200)] for row in summary.errors for where, said in row.errors.items()]
        yield Table(["question", "where", "error"], rows)


def _cost(summary: Summary) -> Iterator[Part]:
    cost = summary.cost
    if cost.latency_ms:
        yield Heading("Cost")
        rows = [[stage, f"{p50:.1f}", f"{p95:.1f}"] for stage, (p50, p95) in cost.latency_ms.items()]
        yield Table(["stage", "p50 ms", "p95 ms"], rows)
        yield f"Tokens: {cost.prompt_tokens} in, {cost.completion_tokens} out; ${cost.cost_usd:.4f}."


def _f(value: float) -> str:
    return f"{value:.3f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _clip(text: str, width: int = 90) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"
