"""``ask`` and ``search``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.session import load_settings, opened, watched
from rag_assistant.cli.state import State, emit, emit_json, is_terminal
from rag_assistant.errors import InputError
from rag_assistant.render import one_line, to_bibtex, to_markdown, to_text

if TYPE_CHECKING:
    from rag_assistant.types import Answer

Markdown = Annotated[bool, typer.Option("--markdown", help="Write Markdown with references.")]
Bibtex = Annotated[bool, typer.Option("--bibtex", help="Write the cited papers as BibTeX.")]


def ask(
    context: typer.Context,
    question: o.Question = None,
    k: Annotated[
        int | None, typer.Option("-k", metavar="N", help="How many papers to draw on.", show_default="5")
    ] = None,
    year: o.Year = None,
    author: o.Author = None,
    venue: o.Venue = None,
    ids: o.Id = None,
    index: o.Index = None,
    backend: o.Backend = None,
    embedder: o.Embedder = None,
    config: o.Config = None,
    lock_timeout: o.LockTimeout = None,
    json: o.Json = False,
    markdown: Markdown = False,
    bibtex: Bibtex = False,
    verbose: o.Verbose = False,
    debug: o.Debug = False,
) -> None:
    """Answer a question from the abstracts, with the words that support each sentence."""
    del verbose, debug
    state: State = context.obj
    if json + markdown + bibtex > 1:
        raise InputError("Only one of --json, --markdown and --bibtex can be given.", hint="leave the others out")
    filters = o.filters_of(year, author, venue, ids)
    asked = o.read_question(question)
    flags = {"index": index, "backend": backend, "embedder": embedder, "k": k, "lock_timeout": lock_timeout}
    person = is_terminal(sys.stdout) and not (json or markdown or bibtex)
    with opened(state, load_settings(config, **flags)) as assistant:
        answer = watched(assistant, asked, filters=filters) if person else assistant.ask(asked, filters=filters)
        for notice in answer.notices:
            state.note(notice)
        state.detail(timings(answer))
        if person:
            from rag_assistant.cli.terminal import show_answer

            show_answer(answer)
        elif json:
            emit_json(answer.to_dict())
        elif markdown:
            emit(to_markdown(answer))
        elif bibtex:
            emit(to_bibtex(citation.paper for citation in answer.citations))
        else:
            emit(to_text(answer))


def search(
    context: typer.Context,
    question: o.Question = None,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="How many papers to list.")] = 10,
    year: o.Year = None,
    author: o.Author = None,
    venue: o.Venue = None,
    ids: o.Id = None,
    index: o.Index = None,
    embedder: o.Embedder = None,
    config: o.Config = None,
    lock_timeout: o.LockTimeout = None,
    json: o.Json = False,
    verbose: o.Verbose = False,
    debug: o.Debug = False,
) -> None:
    """List the papers nearest to a question. In a pipe: rank, score, id, year, title and passage, tab separated."""
    del verbose, debug
    state: State = context.obj
    filters = o.filters_of(year, author, venue, ids)
    asked = o.read_question(question)
    flags = {"index": index, "embedder": embedder, "lock_timeout": lock_timeout}
    with opened(state, load_settings(config, **flags)) as assistant:
        hits = assistant.search(asked, k=k, filters=filters)
        if json:
            emit_json({"question": asked, "hits": [hit.to_dict() for hit in hits]})
        elif not hits:
            state.note("no paper was found")
        elif is_terminal(sys.stdout):
            from rag_assistant.cli.terminal import show_hits

            show_hits(hits)
        else:
            for hit in hits:
                year_told = "" if hit.paper.year is None else str(hit.paper.year)
                cells = (f"{hit.rank}", f"{hit.score:.4f}", hit.paper.id, year_told, hit.paper.title, hit.passage.text)
                emit("\t".join(one_line(cell) for cell in cells), end="\n")


def timings(answer: Answer) -> str:
    """Where the time of an answer went, in milliseconds."""
    told = ", ".join(f"{stage} {value:.0f} ms" for stage, value in answer.timings_ms.items())
    return f"{answer.status}, {answer.backend} {answer.model}: {told}"
