"""The command line, assembled from its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from rag_assistant.cli import (
    asking,
    chat,
    collections,
    drafting,
    evaluating,
    health,
    judging,
    library,
    reporting,
    retrieving,
    ui,
    verifying,
)
from rag_assistant.cli.command import Debug, Verbose
from rag_assistant.cli.state import emit

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import PackageNotFoundError, version

        try:
            emit(f"rag-assistant {version('rag-assistant')}", end="\n")
        except PackageNotFoundError:
            emit("rag-assistant, run from a checkout that is not installed", end="\n")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Ask questions of paper abstracts; every sentence of an answer cites the words that support it."""
    del version, verbose, debug
    if context.invoked_subcommand is None:
        emit(context.get_help(), end="\n")


app.command()(asking.ask)
app.command()(asking.search)
app.command()(verifying.verify)
app.command()(library.index)
app.command()(library.papers)
app.command()(collections.collections)
app.command()(collections.remove)
app.command()(collections.export)
app.command()(chat.chat)
app.command()(ui.ui)
app.command()(health.doctor)
app.command()(health.config)

evals = typer.Typer(invoke_without_command=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@evals.callback()
def _evals(context: typer.Context) -> None:
    """Measure answers on a set of questions, and compare runs."""
    if context.invoked_subcommand is None:
        emit(context.get_help(), end="\n")


evals.command()(evaluating.run)
evals.command()(reporting.show)
evals.command()(reporting.report)
evals.command()(reporting.diff)
evals.command()(reporting.baseline)
evals.command()(judging.judge)
evals.command()(drafting.draft)
evals.command()(drafting.validate)
evals.command()(retrieving.retrieval)
app.add_typer(evals, name="eval")
