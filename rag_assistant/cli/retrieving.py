"""``eval retrieval``: the project's search on a public retrieval set, beside BM25's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.session import opened, reporting
from rag_assistant.cli.state import State, emit_json
from rag_assistant.errors import InputError


@command
def retrieval(
    state: State,
    corpus: Annotated[Path, typer.Option("--corpus", metavar="FILE", help="Papers: JSON Lines of id, title, text.")],
    queries: Annotated[Path, typer.Option("--queries", metavar="FILE", help="Queries: JSON Lines of id and text.")],
    qrels: Annotated[
        Path, typer.Option("--qrels", metavar="FILE", help="Judgements: query id, paper id and grade, tab separated.")
    ],
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="At most this many queries.", show_default="no limit")
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option("--index", metavar="DIR", help="Keep the index there.", show_default="a temporary folder"),
    ] = None,
    *,
    flags: o.EmbedderOptions,
    json: o.Json = False,
) -> None:
    """Measure the search on a retrieval set in BEIR's form: recall, nDCG and MRR, beside those of BM25."""
    from rag_assistant.embedders.resolve import resolve_embedder
    from rag_assistant.evals import evaluate_retrieval, load_beir
    from rag_assistant.evals.beir import DEPTH, bm25, retrieval_parts
    from rag_assistant.evals.extras import scipy_stats
    from rag_assistant.index.build import build_index, would_drop

    scipy_stats()
    if limit is not None and limit < 1:
        raise InputError(f"A limit of {limit} leaves no query.", hint="give at least 1")
    judged = load_beir(corpus, queries, qrels)
    with _place(index) as folder:
        if would_drop(folder, judged.papers):
            raise InputError(
                f"The index {folder} holds other papers, which those of the set would replace.",
                hint="name a folder of its own: --index DIR",
            )
        # RAG_INDEX and rag.toml name the user's own index, which must not be overwritten by the set's papers.
        settings = flags.settings(index=folder)
        settings = settings.model_copy(update={"corpus": None})
        with reporting(state) as shown:
            made = resolve_embedder(settings.embedder, model=settings.embedder_model)
            summary = build_index(folder, judged.papers, made, progress=shown, lock_timeout=settings.lock_timeout)
        state.detail(f"{summary.papers} papers, {summary.passages} passages, {summary.embedded} embedded")
        with opened(state, settings, embedder=made) as assistant, reporting(state) as shown:
            ours = evaluate_retrieval(
                judged,
                lambda query: [hit.paper.id for hit in assistant.search(query, DEPTH)],
                name="rag-assistant",
                limit=limit,
                progress=lambda done, total: shown("searching", done, total),
            )
        plain = evaluate_retrieval(judged, bm25(judged.papers), name="BM25", limit=limit)
    from rag_assistant.cli.reports import emit_report, estimates_dict

    if json:
        scores = {
            run.name: {"scores": estimates_dict(run.estimates), "errors": dict(run.errors)} for run in (ours, plain)
        }
        emit_json({"set": judged.name, "papers": len(judged.papers), "queries": len(ours.scores), "runs": scores})
    else:
        emit_report(retrieval_parts([ours, plain]))
    if len(ours.errors) == len(ours.scores):
        raise InputError(f"Every query failed: {next(iter(ours.errors.values()))}.", hint="see above")


@contextmanager
def _place(index: Path | None) -> Iterator[Path]:
    if index is not None:
        yield index.expanduser()
        return
    with tempfile.TemporaryDirectory(prefix="rag-assistant-") as folder:
        yield Path(folder) / "index"
