"""Asks a system every question of a set and scores its answers."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_assistant.errors import InputError
from rag_assistant.evals.abstention_metrics import confidence
from rag_assistant.evals.case import Case
from rag_assistant.evals.dataset import Dataset
from rag_assistant.evals.folder import RowWriter, Run, load_run, prepare, write_run
from rag_assistant.evals.header import finished, header_of
from rag_assistant.evals.metrics import Metric, NamedMetric, resolve
from rag_assistant.evals.rows import MAIN, RAW, STANDALONE, Row, row_of
from rag_assistant.evals.transforms import Transform, Variant
from rag_assistant.types import Answer, Filters, Turn

_Ask = Callable[[str, Sequence[Turn], Sequence[str]], Answer]
"""A question, its history, and papers to leave out."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: rows done out of all, the last question, how many rows have errors so far, and how many rows
    are probes, in which a follow-up of the set is asked once more."""

    done: int
    total: int
    case_id: str
    errors: int
    probes: int = 0


def evaluate(
    system: object,
    dataset: Dataset | None = None,
    *,
    metrics: Sequence[Metric | str] | None = None,
    out: Path | str | None = None,
    resume: bool = False,
    seed: int = 0,
    probes: bool = True,
    transform: Transform | None = None,
    progress: Callable[[Progress], object] | None = None,
    command: Mapping[str, Any] | None = None,
) -> Run:
    """Asks every question, one after the other, and scores each answer as it arrives.

    A question or a metric that raises an error becomes a row that names it; the run goes on. Ctrl-C ends the run and
    returns what is done, with ``interrupted`` set. The same system and set give the same rows, timings aside.

    Args:
        system: An object with ``ask(question, history=...)``, such as an ``Assistant``, or a callable that takes a
            question (and ``history``, if it has that parameter) and returns an ``Answer``. What its ``describe()``
            returns, if it has one, goes into the header.
        dataset: By default the set that ships with the package.
        metrics: Callables or names; by default all built-in ones.
        out: The run's folder: it is made, and must be empty unless ``resume``.
        resume: Continue the run in ``out``: rows without errors are kept.
        seed: For the intervals in the report; nothing in asking is random.
        probes: Also ask each answerable follow-up without its history and in its self-contained form, to measure how
            much of the gap between the two is closed. Not with a transform.
        transform: Changes the questions or papers; see :mod:`rag_assistant.evals.transforms`. The rows keep their
            questions' ids and hashes, so that the run can be compared with a plain one. If it changes papers,
            ``system`` must be one over the changed papers.
        progress: Called after each row, and once before the first.
        command: The command that starts the same run again, for the header; a resumed run keeps its first one.

    Raises:
        InputError: ``system`` can't be asked, ``out`` has another run, the run to resume was of something else, or
            the transform leaves no question.
    """
    dataset = Dataset.load() if dataset is None else dataset
    ask = _asker(system)
    chosen = resolve(metrics)
    tasks = _tasks(dataset, probes=probes, transform=transform)
    if any(task.variant.without for task in tasks) and not callable(getattr(system, "papers", None)):
        raise InputError("The system can't leave papers out.", hint="it needs papers(), and ask() with filters=")
    header = {**header_of(system, dataset, [metric.name for metric in chosen], seed), "command": dict(command or {})}
    if transform is not None:
        header["transform"] = {"name": transform.name, "seed": transform.seed, "questions": len(tasks)}
    folder = Path(out) if out is not None else None
    kept: dict[tuple[str, str], Row] = {}
    if resume and folder is None:
        raise InputError("There is nothing to resume without a run's folder.", hint="give it as `out`")
    if folder is not None:
        prepare(folder, resume=resume)
        if resume:
            header, kept = _kept(folder, header, dataset)
        # Also drops a row that a crash left half written, to which the next one would otherwise be joined.
        write_run(Run(header, tuple(kept.values())), folder)
    rows, interrupted = _work(tasks, kept, ask, chosen, RowWriter(folder) if folder else None, progress)
    run = Run(finished(header, rows, interrupted=interrupted), rows, folder, interrupted)
    if folder is not None:
        from rag_assistant.evals.report import report_or_reason

        write_run(run, folder, report_or_reason(run))
    return run


def _asker(system: object) -> _Ask:
    method = getattr(system, "ask", None)
    if callable(method):
        return lambda question, history, without: method(question, history=history, **_left(system, without))
    if not callable(system):
        raise InputError(
            f"A {type(system).__name__} can't be asked.", hint="give an Assistant or a callable of a question"
        )
    parameters = inspect.signature(system).parameters.values()
    if any(p.name == "history" or p.kind is p.VAR_KEYWORD for p in parameters):
        return lambda question, history, without: system(question, history=history, **_left(system, without))
    return lambda question, _, without: system(question, **_left(system, without))


def _left(system: Any, without: Sequence[str]) -> dict[str, Filters]:
    """The filters that let through all papers except some."""
    if not without:
        return {}
    ids = tuple(paper.id for paper in system.papers() if paper.id not in without)
    if not ids:
        raise InputError("No paper is left without those that hold the answer.", hint="index more papers")
    return {"filters": Filters(ids=ids)}


@dataclass(frozen=True, slots=True)
class _Task:
    case: Case
    probe: str
    question: str
    history: tuple[Turn, ...]
    variant: Variant
    transform: Transform | None = None


def _tasks(dataset: Dataset, *, probes: bool, transform: Transform | None) -> list[_Task]:
    tasks: list[_Task] = []
    for case in dataset:
        if transform is not None:
            variant = transform.variant(case)
            if variant is not None:
                tasks.append(_Task(case, MAIN, variant.question, case.history, variant, transform))
            continue
        plain = Variant(case.question, case)
        tasks.append(_Task(case, MAIN, case.question, case.history, plain))
        if probes and case.category == "follow_up" and case.answerable and case.history:
            tasks.append(_Task(case, RAW, case.question, (), plain))
            tasks.append(_Task(case, STANDALONE, case.standalone, (), plain))
    if transform is not None and not tasks:
        raise InputError("The transform leaves none of these questions.", hint="choose others, or another transform")
    return tasks


def _kept(
    folder: Path, header: Mapping[str, Any], dataset: Dataset
) -> tuple[dict[str, Any], dict[tuple[str, str], Row]]:
    earlier = load_run(folder)
    for name in ("set", "system", "metrics", "seed", "transform", "commit", "versions"):
        if _content(earlier.header.get(name)) != _content(header.get(name)):
            raise InputError(
                f"The run in {folder} was of another {name}.", hint="start a new run, or go back to what it was of"
            )
    current = {case.id: case.sha256 for case in dataset}
    kept = {row.key: row for row in earlier.rows if not row.failed and current.get(row.id) == row.case_sha256}
    return {**header, **{name: earlier.header.get(name) for name in ("created", "command")}}, kept


def _content(value: Any) -> Any:
    """A description without what differs between two indexes of the same papers."""
    if not isinstance(value, Mapping):
        return value
    return {key: _content(entry) for key, entry in value.items() if key not in ("created", "generation")}


def _work(
    tasks: Sequence[_Task],
    kept: Mapping[tuple[str, str], Row],
    ask: _Ask,
    metrics: Sequence[NamedMetric],
    writer: RowWriter | None,
    progress: Callable[[Progress], object] | None,
) -> tuple[tuple[Row, ...], bool]:
    done: dict[tuple[str, str], Row] = {}
    interrupted = False
    errors = 0
    probes = sum(task.probe != MAIN for task in tasks)

    def report_progress(case_id: str) -> None:
        if progress is not None:
            progress(Progress(len(done), len(tasks), case_id, errors, probes))

    try:
        report_progress("")
        for task in tasks:
            key = (task.case.id, task.probe)
            row = kept.get(key)
            if row is None:
                row = _row(task, ask, metrics)
                if writer is not None:
                    writer.append(row)
            done[key] = row
            errors += row.failed
            report_progress(task.case.id)
    except KeyboardInterrupt:
        interrupted = True
    rest = {key: row for key, row in kept.items() if key not in done}
    everything = done | rest
    order = [(task.case.id, task.probe) for task in tasks]
    return tuple(everything[key] for key in order if key in everything), interrupted


def _row(task: _Task, ask: _Ask, metrics: Sequence[NamedMetric]) -> Row:
    started = time.perf_counter()
    try:
        answer = ask(task.question, task.history, task.variant.without)
        if not isinstance(answer, Answer):
            raise TypeError(f"the system returned a {type(answer).__name__}, not an Answer")
    except Exception as error:
        return row_of(
            task.case,
            task.probe,
            task.question,
            answerable=task.variant.scored.answerable,
            status="error",
            scores={"correct": 0.0},
            errors={"question": _error_text(error)},
            timings_ms=_rounded({"wall": _since(started)}),
        )
    timings = _rounded({**answer.timings_ms, "wall": _since(started)})
    scores: dict[str, float] = {}
    errors: dict[str, str] = {}
    for metric in metrics:
        try:
            scores.update(metric.scores(task.variant.scored, answer))
        except Exception as error:
            errors[metric.name] = _error_text(error)
    if task.transform is not None:
        scores.update(task.transform.scores(task.variant, answer))
    return row_of(
        task.case,
        task.probe,
        task.question,
        answerable=task.variant.scored.answerable,
        status=answer.status,
        scores={name: round(value, 9) for name, value in scores.items()},
        errors=errors,
        confidence=round(confidence(answer), 9),
        answer=replace(answer, timings_ms={}).to_dict(),
        timings_ms=timings,
    )


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _rounded(timings: Mapping[str, float]) -> dict[str, float]:
    """Timings as the run's file keeps them, so that a report is the same from the run and from its file."""
    return {stage: round(value, 3) for stage, value in timings.items()}


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
