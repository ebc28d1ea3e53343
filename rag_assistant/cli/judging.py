"""``eval judge``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.drafting import ModelOptions, spending
from rag_assistant.cli.reporting import gold_of
from rag_assistant.cli.session import reporting
from rag_assistant.cli.state import State, emit_json
from rag_assistant.errors import InputError


@command
def judge(
    state: State,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    questions: Annotated[
        Path | None, typer.Option("--set", metavar="FILE", help="The eval set.", show_default="the run's own")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="Where verdicts are kept.", show_default="your cache folder"),
    ] = None,
    *,
    flags: ModelOptions,
    json: o.Json = False,
) -> None:
    """Let a model judge the answers of a run: parts covered, contradictions, false premises. It never gates."""
    from rag_assistant.cli.reports import emit_report
    from rag_assistant.evals import load_run
    from rag_assistant.evals.judging import agreements, judge_run
    from rag_assistant.evals.judging.report import judgement_parts
    from rag_assistant.evals.model import Model

    loaded = load_run(run)
    if loaded.folder is None:
        raise InputError("A baseline keeps no answers to judge.", hint="give a run's folder")
    if flags.backend is None:
        raise InputError("No judge is named.", hint="--backend openai or openai-like, with --model")
    model = Model(flags.settings())
    cases = gold_of(state, [loaded], questions)
    with spending(state, model), reporting(state) as shown:
        judgement = judge_run(
            loaded,
            cases,
            model,
            cache or _cache(),
            progress=lambda done, total: shown("judging", done, total),
        )
    judgement.write(loaded.folder)
    if json:
        emit_json({**asdict(judgement), "agreements": [asdict(found) for found in agreements(judgement)]})
    else:
        emit_report(judgement_parts(judgement))


def _cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("rag-assistant", appauthor=False) / "judge"
