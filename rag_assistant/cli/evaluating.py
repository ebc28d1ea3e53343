"""``eval run``."""

from __future__ import annotations

import time
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.drafting import note_drafts
from rag_assistant.cli.session import reporting
from rag_assistant.cli.state import State, emit, emit_json
from rag_assistant.cli.transforming import TRANSFORM_NAMES, asked, transform_from
from rag_assistant.errors import InputError

if TYPE_CHECKING:
    from rag_assistant.evals import Progress, Run

_INTERRUPTED = 130


@command
def run(
    state: State,
    questions: Annotated[
        Path | None, typer.Option("--set", metavar="FILE", help="The eval set.", show_default="the bundled one")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="NAME", help="dev, test or all.", show_default="all")
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", metavar="NAME", help="Only questions of this kind; repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="At most this many questions.", show_default="no limit")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="A further metric: installed, or module:function; repeatable."),
    ] = None,
    transform: Annotated[
        str | None,
        typer.Option("--transform", metavar="NAME", help=f"Make it harder: {', '.join(TRANSFORM_NAMES)}."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Of the transform and the intervals.", show_default="0"),
    ] = None,
    distractors: Annotated[
        Path | None,
        typer.Option("--distractors", metavar="PAPERS", help="Papers that the transform distractors adds."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run's folder.", show_default="runs/TIME")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="RUN", help="Go on with a run that stopped, or had errors.")
    ] = None,
    *,
    flags: o.AnswerOptions,
    json: o.Json = False,
) -> None:
    """Ask every question of an eval set, score the answers, and write a run folder. Ctrl-C keeps what is done."""
    given: dict[str, Any] = {
        "set": _absolute(questions),
        "split": split,
        "category": category,
        "limit": limit,
        "metric": metric,
        "transform": transform,
        "seed": seed,
        "distractors": _absolute(distractors),
        **_kept(flags),
    }
    kept = {name: value for name, value in given.items() if value is not None}
    if resume is not None:
        kept = _started_with(resume, {**kept, **({"out": out} if out else {})})
    folder = resume or out or _new_folder()
    started = time.perf_counter()
    done = _run(state, kept, folder, resume=resume is not None, lock_timeout=flags.lock_timeout)
    seconds = time.perf_counter() - started
    if done.interrupted:
        state.note(f"{len(done.main)} questions are kept; to go on: rag-assistant eval run --resume {folder}")
        raise typer.Exit(_INTERRUPTED)
    from rag_assistant.cli.reports import headline, run_dict

    if json:
        emit_json(run_dict(done))
    else:
        emit(headline(done, seconds), end="\n")
    if done.main and all(row.status == "error" for row in done.main):
        raise InputError(f"Every question failed: {done.main[0].errors['question']}.", hint=f"see {folder}/report.md")


def _run(state: State, kept: dict[str, Any], folder: Path, *, resume: bool, lock_timeout: float | None) -> Run:
    from rag_assistant.evals import Dataset, evaluate
    from rag_assistant.evals.extras import scipy_stats
    from rag_assistant.plugins import BUILTINS

    scipy_stats()  # needed for the report: fail now rather than after an hour of asking
    dataset = Dataset.load(kept.get("set")).select(
        split=kept.get("split", "all"), categories=kept.get("category", ()), limit=kept.get("limit")
    )
    note_drafts(state, dataset.cases)
    flags: dict[str, Any] = {field.name: kept.get(field.name) for field in fields(o.AnswerOptions)}
    settings = o.AnswerOptions(**{**flags, "lock_timeout": lock_timeout}).settings()
    seed = kept.get("seed", 0)
    added = Path(kept["distractors"]) if "distractors" in kept else None
    transform = transform_from(state, kept.get("transform"), seed, added)
    with asked(state, settings, dataset, transform) as system, reporting(state) as shown:
        try:
            return evaluate(
                system,
                dataset,
                seed=seed,
                transform=transform,
                metrics=[*BUILTINS["metric"], *kept.get("metric", ())],
                out=folder,
                resume=resume,
                progress=lambda p: shown(_stage(p), p.done, p.total),
                command=kept,
            )
        except OSError as error:
            raise InputError(
                f"The run can't be written to {folder}: {error.strerror}.", hint="--out DIR names another folder"
            ) from error


def _stage(progress: Progress) -> str:
    probes = f" {progress.total - progress.probes} questions and {progress.probes} probes" if progress.probes else ""
    return f"asking{probes}" + (f", {progress.errors} with errors" if progress.errors else "")


def _kept(flags: o.AnswerOptions) -> dict[str, Any]:
    """The flags, in the form that the run's folder keeps for ``--resume``."""
    if flags.base_url is not None and "@" in flags.base_url:
        raise InputError(
            "An address with a password isn't written into a run.", hint="set it as RAG_BASE_URL instead of --base-url"
        )
    kept = {name: _absolute(value) if isinstance(value, Path) else value for name, value in flags.given().items()}
    kept.pop("lock_timeout", None)
    return kept


def _started_with(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """The flags that the run was started with."""
    if given:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise InputError("--resume goes on with a run as it was begun.", hint=f"leave out {named}")
    from rag_assistant.evals import load_run

    command = load_run(folder).header.get("command")
    return dict(command) if isinstance(command, dict) else {}


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.expanduser().absolute())


def _new_folder() -> Path:
    name = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    folder, again = Path("runs") / name, 2
    while folder.exists():
        folder, again = Path("runs") / f"{name}-{again}", again + 1
    return folder
