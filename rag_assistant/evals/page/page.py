"""Assembles the page: numbers, drawings and failures of each run, side by side."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rag_assistant.errors import InputError
from rag_assistant.evals.calibration import Calibration, Decisions, calibrate, decisions
from rag_assistant.evals.case import Case
from rag_assistant.evals.circumstances import transform_text
from rag_assistant.evals.folder import Run
from rag_assistant.evals.headline import HEADLINE
from rag_assistant.evals.judging.judgement import Agreement, Judgement, Verdict, agreements, judgement_of
from rag_assistant.evals.metrics import LOWER_IS_BETTER
from rag_assistant.evals.page.charts import Plot, reliability_plot, risk_plot, scaled
from rag_assistant.evals.page.failures import KINDS, failures
from rag_assistant.evals.statistics import Estimate
from rag_assistant.evals.summary import SPLITS, Summary, in_split, summarize

MOST_RUNS = 6
_HERE = Path(__file__).parent
_STAGES = ("searching", "writing", "checking", "first_text", "total", "wall")


@dataclass(frozen=True)
class Column:
    """A run as the page shows it: its letter, its name, facts about it, and its numbers."""

    letter: str
    name: str
    facts: tuple[tuple[str, str], ...]
    questions: int
    wrong: int
    summary: Summary


@dataclass(frozen=True)
class Bars:
    """A row of a table with one estimate per column (a run, or a split of the only run); ``None`` if there is none."""

    label: str
    note: str
    estimates: tuple[Estimate | None, ...]


@dataclass(frozen=True)
class Reliability:
    """A run's calibration in one split."""

    run: int
    calibration: Calibration
    plot: Plot
    decisions: Decisions


@dataclass(frozen=True)
class SplitView:
    """What is drawn for one split."""

    name: str
    scores: tuple[Bars, ...]
    categories: tuple[Bars, ...]
    risk: Plot | None
    areas: tuple[tuple[int, float], ...]
    reliability: tuple[Reliability, ...]


@dataclass(frozen=True)
class Judged:
    """A model's judgement of a run, if there is one: verdicts by question, and its agreement with the patterns."""

    judgement: Judgement
    agreements: tuple[Agreement, ...]
    verdicts: Mapping[str, tuple[Verdict, ...]]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage's latency: each run's median and 95th percentile in milliseconds, with lengths of bars in percent."""

    name: str
    cells: tuple[tuple[float, float, float, float] | None, ...]


def render_page(runs: Sequence[Run], names: Sequence[str], cases: Iterable[Case] = ()) -> str:
    """One or several runs as a self-contained HTML page.

    Args:
        runs: At most :data:`MOST_RUNS`.
        names: The name of each run.
        cases: The questions with their gold, to show what was expected; without them only the answers are shown.

    Raises:
        InputError: There is no run, there are too many, or scipy isn't installed.
    """
    if not 1 <= len(runs) <= MOST_RUNS:
        raise InputError(f"A page shows 1 to {MOST_RUNS} runs, not {len(runs)}.", hint="give fewer runs")
    columns = tuple(_column(place, run, name) for place, (run, name) in enumerate(zip(runs, names, strict=True)))
    found = failures(runs, cases)
    style, script = ((_HERE / name).read_text("utf-8") for name in ("page.css", "page.js"))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FileSystemLoader(_HERE), trim_blocks=True, lstrip_blocks=True
    )
    shown = [split for split in SPLITS if any(in_split(run.main, split) for run in runs)]
    present = {kind for failure in found for kind in failure.kinds}
    return environment.get_template("page.jinja").render(
        style=style,
        script=script,
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
        columns=columns,
        splits=[_split(split, runs, columns) for split in shown],
        overview=_overview(shown, columns[0].summary),
        stages=_stages(columns),
        failures=found,
        kinds={kind: label for kind, label in KINDS.items() if kind in present},
        categories=list(dict.fromkeys(failure.category for failure in found)),
        failure_splits=list(dict.fromkeys(failure.split for failure in found)),
        kind_names=KINDS,
        judged=[_judged(run) for run in runs],
        letters=[column.letter for column in columns],
    )


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _column(place: int, run: Run, name: str) -> Column:
    wrong = sum(row.scores.get("correct") == 0.0 for row in run.main)
    return Column(chr(ord("A") + place), name, tuple(_facts(run)), len(run.main), wrong, summarize(run))


def _facts(run: Run) -> Iterable[tuple[str, str]]:
    header: Mapping[str, Any] = run.header
    system: Mapping[str, Any] = header.get("system") or {}
    made: Mapping[str, Any] = header.get("set") or {}
    backend, embedder = (system.get(part) or {} for part in ("backend", "embedder"))
    index: Mapping[str, Any] = system.get("index") or {}
    yield "Set", f"{made.get('name')}, {len(run.main)} questions"
    if header.get("transform"):
        yield "Transform", transform_text(header)
    if backend:
        yield "Backend", " ".join(str(backend[key]) for key in ("name", "model") if backend.get(key))
    if embedder:
        yield "Embedder", str(embedder.get("name"))
    if index:
        yield "Papers", f"{index.get('papers')}"
    prompts = ", ".join(f"{p['name']} v{p['version']}" for p in header.get("prompts") or ())
    if prompts:
        yield "Prompts", prompts
    commit = str(header.get("commit") or "")[:10]
    if commit:
        yield "Commit", commit + (" and changes" if header.get("dirty") else "")
    yield "PartialSentence", str(header.get("created") or "").replace("T", " ")
    if run.interrupted:
        yield "Interrupted", f"after {len(run.main)} questions"
    if run.failed:
        yield "Errors", f"{len(run.failed)} rows"


def _split(split: str, runs: Sequence[Run], columns: Sequence[Column]) -> SplitView:
    summaries = [column.summary for column in columns]
    rows = [in_split(run.main, split) for run in runs]
    curves = {place: s.risk[split] for place, s in enumerate(summaries) if split in s.risk}
    calibrations = [(place, calibrate(found), decisions(found)) for place, found in enumerate(rows)]
    return SplitView(
        split,
        tuple(_bars(name, [s.estimates.get(name, {}).get(split) for s in summaries]) for name in HEADLINE),
        tuple(_bars(name, [s.categories.get(name, {}).get(split) for s in summaries]) for name in _categories(columns)),
        risk_plot(curves) if curves else None,
        tuple((place, curve.area) for place, curve in curves.items()),
        tuple(Reliability(run, made, reliability_plot(made), decided) for run, made, decided in calibrations if made),
    )


def _judged(run: Run) -> Judged | None:
    judgement = judgement_of(run)
    if judgement is None:
        return None
    verdicts: dict[str, tuple[Verdict, ...]] = {}
    for verdict in judgement.verdicts:
        verdicts[verdict.case_id] = (*verdicts.get(verdict.case_id, ()), verdict)
    return Judged(judgement, agreements(judgement), verdicts)


def _overview(splits: Sequence[str], summary: Summary) -> tuple[tuple[Bars, ...], tuple[Bars, ...]]:
    """Scores and categories of one run, with one column per split."""
    return (
        tuple(_bars(name, [summary.estimates.get(name, {}).get(split) for split in splits]) for name in HEADLINE),
        tuple(_bars(name, [found.get(split) for split in splits]) for name, found in summary.categories.items()),
    )


def _bars(name: str, estimates: Sequence[Estimate | None]) -> Bars:
    note = "lower is better" if name in LOWER_IS_BETTER else ""
    return Bars(HEADLINE.get(name, name.replace("_", " ")), note, tuple(estimates))


def _categories(columns: Sequence[Column]) -> list[str]:
    return list(dict.fromkeys(name for column in columns for name in column.summary.categories))


def _stages(columns: Sequence[Column]) -> tuple[Stage, ...]:
    costs = [column.summary.cost.latency_ms for column in columns]
    names = dict.fromkeys([*(n for n in _STAGES if any(n in cost for cost in costs)), *(n for c in costs for n in c)])
    lengths = scaled([value for cost in costs for pair in cost.values() for value in pair])
    length = dict(zip([value for cost in costs for pair in cost.values() for value in pair], lengths, strict=True))
    return tuple(
        Stage(
            name,
            tuple(
                (*cost[name], length[cost[name][0]], length[cost[name][1]]) if name in cost else None for cost in costs
            ),
        )
        for name in names
    )
