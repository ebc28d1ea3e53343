"""Commands about finished runs: ``eval show``, ``report``, ``diff`` and ``baseline``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.state import State, emit, emit_json
from rag_assistant.errors import InputError, RagError

if TYPE_CHECKING:
    from rag_assistant.evals import Case, Run

_SHOWN = 5
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a baseline file.")]


@command
def show(
    run: RunPath,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write the headline only, as a table.")] = False,
    json: o.Json = False,
) -> None:
    """Show the report of a run: every score with its interval in both splits, and what went wrong."""
    if json and markdown:
        raise InputError("Only one of --json and --markdown can be given.", hint="leave the other out")
    from rag_assistant.cli.reports import emit_report, run_dict
    from rag_assistant.evals import load_run
    from rag_assistant.evals.report import report_parts

    loaded = load_run(run)
    if json:
        emit_json(run_dict(loaded))
    elif markdown:
        from rag_assistant.evals.headline import headline_table

        emit(headline_table(loaded))
    else:
        emit_report(report_parts(loaded))


@command
def report(
    state: State,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs' folders, or baseline files.")],
    html: Annotated[bool, typer.Option("--html", help="Write one web page that needs nothing but itself.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where to.", show_default="stdout; a page: report.html in the run"),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--set", metavar="FILE", help="The eval set, for what was expected.", show_default="the runs' own"
        ),
    ] = None,
) -> None:
    """Report one run, or several side by side: Markdown, or with --html a page with every failure, to filter."""
    from rag_assistant.evals import load_run, render_page
    from rag_assistant.evals.folder import write_whole
    from rag_assistant.evals.markdown import markdown
    from rag_assistant.evals.report import report_parts

    loaded = [load_run(path) for path in runs]
    if not html:
        parts = (part for run in loaded for part in report_parts(run))
        if out is None:
            from rag_assistant.cli.reports import emit_report

            emit_report(parts)
            return
        text = markdown(parts)
    else:
        out = out or _beside(loaded[0])
        text = render_page(loaded, _names(runs), gold_of(state, loaded, questions))
    write_whole(out, text, hint="--out FILE names another")
    emit(str(out), end="\n")


def _beside(run: Run) -> Path:
    if run.folder is None:
        raise InputError("A baseline has no folder for its page.", hint="--out FILE says where to write it")
    return run.folder / "report.html"


def _names(paths: Sequence[Path]) -> list[str]:
    """The last parts of the paths; the whole paths if these would be the same."""
    short = [path.absolute().name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def gold_of(state: State, runs: Sequence[Run], questions: Path | None) -> list[Case]:
    """The questions of the runs' sets. If a set is gone, its failures are shown without what was expected."""
    from rag_assistant.evals import Dataset

    if questions is not None:
        return list(Dataset.load(questions))
    cases: list[Case] = []
    for name in dict.fromkeys((run.header.get("command") or {}).get("set") for run in runs):
        try:
            cases += Dataset.load(name)
        except RagError as error:
            state.note(f"what was expected isn't shown: {error.message}")
    return cases


@command
def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="The run or baseline to compare with.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The run to judge.")],
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with 1 when B is a regression.")
    ] = False,
    same_questions: Annotated[
        bool, typer.Option("--same-questions", help="Exit with 1 when A and B aren't of the same questions.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Compare two runs question by question: what got better, what got worse, and whether chance explains it."""
    from rag_assistant.cli.reports import emit_report
    from rag_assistant.evals import compare_runs, load_run
    from rag_assistant.evals.diff_report import diff_parts

    result = compare_runs(load_run(before), load_run(after))
    if json:
        emit_json({"regressed": result.regressed, **asdict(result)})
    else:
        emit_report(diff_parts(result))
    if fail_on_regression and result.regressed:
        raise InputError(f"{after} is a regression: {result.regressions[0]}", hint="the comparison says what got worse")
    if same_questions and result.left_out:
        named = ", ".join(result.left_out[:_SHOWN])
        raise InputError(
            f"{len(result.left_out)} questions are only in one of the runs, or were changed: {named}.",
            hint="make the baseline again: rag-assistant eval baseline RUN FILE",
        )


@command
def baseline(
    state: State,
    run: RunPath,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")],
) -> None:
    """Write what later runs are compared with: a run's header, verdicts and scores in one file, without answers."""
    from rag_assistant.evals import load_run, write_baseline

    loaded = load_run(run)
    if loaded.failed:
        raise InputError(
            f"{len(loaded.failed)} rows of {run} have errors; it makes no baseline.",
            hint=f"to ask these again: rag-assistant eval run --resume {run}",
        )
    write_baseline(loaded, file)
    if loaded.header.get("dirty"):
        state.note("the run was made with changes that aren't committed")
    emit(f"{len(loaded.main)} questions: {file}", end="\n")
