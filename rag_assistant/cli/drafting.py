"""``eval draft`` and ``validate``: eval sets for one's own papers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.session import reporting
from rag_assistant.cli.state import State, emit, emit_json
from rag_assistant.errors import InputError

if TYPE_CHECKING:
    from rag_assistant.evals import Case
    from rag_assistant.evals.model import Model

Papers = Annotated[
    list[Path] | None,
    typer.Option("--papers", metavar="PATH", help="Papers that the set is about; repeatable.", show_default="bundled"),
]


@dataclass(frozen=True, slots=True)
class ModelOptions(o.SettingsOptions):
    """A model that is used for something other than answers."""

    backend: Annotated[
        str | None,
        typer.Option("--backend", metavar="NAME", help="A backend that calls a model.", show_default="none"),
    ] = None
    model: o.ModelName = None
    base_url: o.BaseUrl = None
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", metavar="DOLLARS", help="What all calls may cost.", show_default="no limit"),
    ] = None


@contextmanager
def spending(state: State, model: Model) -> Iterator[None]:
    """Says at the end what a model has used, even if it failed or would have cost too much."""
    try:
        yield
    finally:
        state.note(f"{model.name}: {model.spent}")


@command
def draft(
    state: State,
    papers: Annotated[list[Path], typer.Argument(metavar="PAPERS...", help="Files or folders of papers.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write it.", show_default="stdout")
    ] = None,
    per_paper: Annotated[int, typer.Option("--per-paper", metavar="N", min=1, help="At most so many a paper.")] = 5,
    *,
    flags: ModelOptions,
) -> None:
    """Draft an eval set for papers of your own: from their sentences, or with --backend by a model. Then review it."""
    from rag_assistant.evals.drafting import draft_by_model, draft_from_sentences, write_drafts
    from rag_assistant.evals.folder import write_whole
    from rag_assistant.loaders import load_papers

    if out is not None and out.exists():
        raise InputError(f"{out} is there already.", hint="drafts may have been reviewed; name another file")
    report = load_papers(papers)
    for problem in (*report.problems, *report.notes):
        state.note(str(problem))
    if flags.backend is None:
        if flags.given():
            named = ", ".join(f"--{name.replace('_', '-')}" for name in flags.given())
            raise InputError("Without --backend no model is asked.", hint=f"add --backend, or leave out {named}")
        found = draft_from_sentences(report.papers, per_paper=per_paper)
    else:
        from rag_assistant.evals.model import Model

        model = Model(flags.settings())
        with spending(state, model), reporting(state) as shown:
            found = draft_by_model(
                model,
                report.papers,
                per_paper=per_paper,
                progress=lambda done, total: shown("drafting", done, total),
            )
    if found.stopped and not found.cases:
        raise InputError(found.stopped, hint="raise the limit, or ask for fewer questions with --per-paper")
    if not found.cases:
        raise InputError(
            f"No question could be drafted from {len(report.papers)} papers.",
            hint="write some by hand, or give --backend for a model that drafts them",
        )
    text = write_drafts(found)
    if out is None:
        emit(text)
    else:
        try:
            write_whole(out, text, hint="what was drafted is on stdout instead")
        except InputError:
            emit(text)  # it may have been paid for
            raise
        emit(str(out), end="\n")
    if found.stopped:
        state.note(f"{found.stopped} The papers after that have no questions yet.")
    state.note(
        f"{len(found.cases)} questions drafted, {found.dropped} more did not hold up; review each and set `reviewed`"
    )


@command
def validate(
    state: State,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="An eval set.", show_default="the bundled one")
    ] = None,
    papers: Papers = None,
    json: o.Json = False,
) -> None:
    """Check an eval set: its form, and each question against the papers. Exits with 1 when anything is wrong."""
    from rag_assistant.bundled import bundled
    from rag_assistant.evals import Dataset, default_set, validate_file
    from rag_assistant.loaders import load_papers

    path = file or default_set()
    report = load_papers(papers or [bundled("corpus")])
    for text in (*report.problems, *report.notes):
        state.note(str(text))
    found = validate_file(path, report.papers)
    if json:
        emit_json({"file": str(path), "problems": [asdict(problem) for problem in found]})
    else:
        for problem in found:
            emit(str(problem), end="\n")
    if found:
        counted = "1 fault" if len(found) == 1 else f"{len(found)} faults"
        raise InputError(f"{path} has {counted}.", hint="evals/README.md says what a question needs")
    note_drafts(state, Dataset.load(path).cases)
    if not json:
        emit(f"{path}: nothing is wrong", end="\n")


def note_drafts(state: State, cases: Sequence[Case]) -> None:
    """Says how many of the questions nobody has reviewed."""
    drafts = sum(not case.reviewed for case in cases)
    if drafts:
        state.note(f"{drafts} of {len(cases)} questions are drafts that nobody has reviewed")
