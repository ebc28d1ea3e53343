"""``collections``, ``remove`` and ``export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_assistant.cli import options as o
from rag_assistant.cli.command import command
from rag_assistant.cli.library import change_text, confirmed
from rag_assistant.cli.session import opened
from rag_assistant.cli.state import State, emit, emit_json, is_terminal
from rag_assistant.errors import InputError

_FORMATS = ("jsonl", "csv", "bib")
"""As in ``rag_assistant.loaders.writing.FORMATS``, whose import would take long for a help text."""


@command
def collections(*, json: o.Json = False) -> None:
    """List the collections. In a pipe: name, papers, bytes and folder, tab separated."""
    from rag_assistant.index.collections import collections as found

    rows = found()
    if json:
        told = [{"name": row.name, "papers": row.papers, "bytes": row.size, "path": str(row.path)} for row in rows]
        emit_json({"collections": told})
    elif not is_terminal(sys.stdout):
        for row in rows:
            emit(f"{row.name}\t{row.papers}\t{row.size}\t{row.path}", end="\n")
    else:
        width = max((len(row.name or _UNNAMED) for row in rows), default=0)
        for row in rows:
            emit(f"{row.name or _UNNAMED:{width}}  {row.papers:6,} papers  {row.size / 1e6:8,.1f} MB", end="\n")
        if not rows:
            emit("There is none yet; rag-assistant index PATH... --collection NAME makes one.", end="\n")


@command
def remove(
    state: State,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Ids of papers, as `papers` lists them.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete the collection with its settings.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    *,
    flags: o.IndexOptions,
    json: o.Json = False,
) -> None:
    """Remove papers from the index, or delete a collection as a whole."""
    settings = flags.settings()
    if bool(ids) == everything:
        raise InputError("Name the papers to remove, or --all.", hint="rag-assistant papers lists the ids")
    if everything:
        if settings.collection is None:
            raise InputError("--all deletes a collection.", hint="name it: --collection NAME")
        from rag_assistant.index.build import held
        from rag_assistant.index.collections import delete_collection

        papers = len(held(settings.index_path))
        if not yes:
            confirmed(f"The collection {settings.collection!r} of {papers:,} papers will be deleted", "Delete it?")
        delete_collection(settings.collection, lock_timeout=settings.lock_timeout)
        removed: dict[str, Any] = {"collection": settings.collection, "papers": papers}
        text = f"deleted the collection {settings.collection} of {papers:,} papers"
    else:
        with opened(state, settings, searches=False) as assistant:
            summary = assistant.remove(list(ids or ()))
        place = summary.server or str(summary.path)
        removed = {"removed": list(summary.removed), "papers": summary.papers, "path": place}
        text = f"{change_text('removed', summary.removed)}\n{summary.papers:,} papers left: {place}"
    if json:
        emit_json(removed)
    else:
        emit(text, end="\n")


@command
def export(
    state: State,
    out: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Where to write, by its extension; nothing writes to stdout.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="jsonl, csv or bib.", show_default="the file's")
    ] = None,
    *,
    chosen: o.FilterOptions,
    flags: o.IndexOptions,
) -> None:
    """Write the papers with their abstracts as JSON Lines, CSV or BibTeX; `index FILE` reads them back without loss."""
    name = (form or (out.suffix if out else "") or "jsonl").lower().lstrip(".")
    if name not in _FORMATS:
        raise InputError(f"Papers can't be written as {name!r}.", hint=f"--format {', '.join(_FORMATS)}")
    from rag_assistant.loaders.writing import FORMATS

    filters = chosen.filters()
    with opened(state, flags.settings(), searches=False) as assistant:
        pieces = FORMATS[name](assistant.papers(filters=filters))
    if out is None:
        for piece in pieces:
            emit(piece)
        return
    from rag_assistant.evals.folder import write_whole

    write_whole(out, "".join(pieces))


_UNNAMED = "(without a name)"
