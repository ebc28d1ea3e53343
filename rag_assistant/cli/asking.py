"""``ask`` and ``search``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.session import drained, opened, watched
from rag_assistant.cli.state import State, emit, emit_json, is_terminal, say
from rag_assistant.cli.tracing import Trace
from rag_assistant.errors import InputError
from rag_assistant.render import one_line, to_bibtex, to_markdown, to_text

if TYPE_CHECKING:
    from rag_assistant.types import Answer

Markdown = Annotated[bool, typer.Option("--markdown", help="Write Markdown with references.")]
Bibtex = Annotated[bool, typer.Option("--bibtex", help="Write the cited papers as BibTeX.")]


@command
def ask(
    state: State,
    question: o.Question = None,
    k: Annotated[
        int | None, typer.Option("-k", metavar="N", help="How many papers to draw on.", show_default="5")
    ] = None,
    *,
    papers: o.FilterOptions,
    flags: o.AnswerOptions,
    json: o.Json = False,
    markdown: Markdown = False,
    bibtex: Bibtex = False,
    trace: Annotated[bool, typer.Option("--trace", help="Tell stages, hits and the prompt on stderr.")] = False,
) -> None:
    """Answer a question from the abstracts, with the words that support each sentence."""
    if json + markdown + bibtex > 1:
        raise InputError("Only one of --json, --markdown and --bibtex can be given.", hint="leave the others out")
    filters = papers.filters()
    asked = o.read_question(question)
    person = is_terminal(sys.stdout) and not (json or markdown or bibtex)
    settings = flags.settings(k=k)
    if person and settings.unused_key:
        state.note(settings.unused_key)
    with opened(state, settings) as assistant:
        tracing = Trace() if trace else None
        if tracing is not None:
            try:
                answer = tracing.read(assistant.stream(asked, filters=filters))
            finally:
                for line in () if json else tracing.lines():
                    say(line)
        else:
            answer = (
                watched(assistant, asked, filters=filters)
                if person
                else drained(state, assistant, asked, filters=filters)
            )
        show_notices(state, answer)
        if person:
            from rag_assistant.cli.terminal import show_answer

            show_answer(answer)
        elif json:
            emit_json({**answer.to_dict(), **({"trace": tracing.to_dict()} if tracing else {})})
        elif markdown:
            emit(to_markdown(answer))
        elif bibtex:
            emit(to_bibtex(citation.paper for citation in answer.citations))
        else:
            emit(to_text(answer))


@command
def search(
    state: State,
    question: o.Question = None,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="How many papers to list.")] = 10,
    *,
    papers: o.FilterOptions,
    flags: o.IndexOptions,
    json: o.Json = False,
) -> None:
    """List the papers nearest to a question. In a pipe: rank, score, id, year, title and passage, tab separated."""
    filters = papers.filters()
    asked = o.read_question(question)
    with opened(state, flags.settings()) as assistant:
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
                year = "" if hit.paper.year is None else str(hit.paper.year)
                cells = (f"{hit.rank}", f"{hit.score:.4f}", hit.paper.id, year, hit.paper.title, hit.passage.text)
                emit("\t".join(one_line(cell) for cell in cells), end="\n")


def show_notices(state: State, answer: Answer) -> None:
    """Shows an answer's notices on stderr, and with ``-v`` what it cost in time and tokens."""
    if "rewording" in answer.timings_ms and answer.standalone_question != answer.question:
        state.note(f"asked as: {answer.standalone_question}")
    for notice in answer.notices:
        state.note(notice)
    state.detail(_taken(answer))


def _taken(answer: Answer) -> str:
    """How the time of an answer was spent, in milliseconds, and the usage that its model reports."""
    usage = answer.usage
    costs = [f"{stage} {value:.0f} ms" for stage, value in answer.timings_ms.items()]
    if usage.prompt_tokens is not None and usage.completion_tokens is not None:
        costs.append(f"{usage.prompt_tokens:,} tokens sent, {usage.completion_tokens:,} written")
    if usage.cost is not None:
        costs.append(f"${usage.cost:.4f}")
    return f"{answer.status}, {answer.backend} {answer.model}: {', '.join(costs)}"
