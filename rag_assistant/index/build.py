"""Makes an index hold papers, and says what that changed."""

from __future__ import annotations

import hashlib
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rag_assistant.embedders.base import Embedder
from rag_assistant.errors import IndexDamaged, IndexMissing, InputError
from rag_assistant.index.contents import read_papers
from rag_assistant.index.copies import keep_vectors, look_at
from rag_assistant.index.generations import IndexFolder
from rag_assistant.index.passages import windows
from rag_assistant.index.server import IndexServer
from rag_assistant.index.state import Found
from rag_assistant.index.write import write_generation
from rag_assistant.loaders import OnProgress
from rag_assistant.types import Paper

_TOLD = 5


@dataclass(frozen=True, slots=True)
class IndexSummary:
    """What an indexing did, or would do.

    Attributes:
        added, changed, unchanged, removed: Ids of papers, in the order of the index.
        papers, passages: How many the index holds then; passages are the windows that are searched.
        embedded: How many passages had to be embedded; the others' vectors were kept.
        problems: What to know of single papers, a sentence each.
        seconds: How long it took.
        path: The index's folder.
        notices: What was wrong with the index before.
        server: What messages call the server that holds it; empty for an index in a folder.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    papers: int
    passages: int
    embedded: int
    problems: tuple[str, ...]
    seconds: float
    path: Path
    notices: tuple[str, ...] = ()
    server: str = ""


def build_index(
    path: str | os.PathLike[str],
    papers: Iterable[Paper],
    embedder: Embedder,
    *,
    add: bool = False,
    source: str = "paths",
    progress: OnProgress | None = None,
    lock_timeout: float | None = None,
    server: IndexServer | None = None,
) -> IndexSummary:
    """Makes the index hold exactly these papers, or these beside those it holds.

    Only texts that the embedder hasn't seen are embedded. The same papers again change nothing on disk. Whoever reads
    the index meanwhile reads the old one to the end; a process killed on the way leaves the old one current.

    Args:
        path: The index's folder; made when missing.
        papers: Of several with one id the first counts.
        embedder: What makes the vectors.
        add: Keep the papers that are there; those with an id of a given one are replaced.
        source: ``bundled`` where the papers are the bundled corpus, which can be loaded again at any time.
        progress: Told of the work.
        lock_timeout: For how many seconds to wait for another writer; ``None`` waits as long as it takes.
        server: What holds the index; the folder is then for this machine's copy.

    Raises:
        InputError: No papers were given.
        IndexLocked: Another process is writing the index.
        IndexReadOnly: The folder can't be written.
        IndexDamaged: With ``add``, where the papers to keep are gone; or the index is of a newer version.
        EmbedderError: The embedder failed.
        StoreError: The files can't be written, or the server can't be asked.
    """
    given = _by_id(papers)
    if not given:
        raise InputError("There are no papers to index.", hint="name files that hold some")
    return _change(
        IndexFolder(path),
        lambda found: _merged(found, given, add, server),
        embedder,
        source=source,
        progress=progress,
        lock_timeout=lock_timeout,
        server=server,
    )


def remove(
    path: str | os.PathLike[str],
    ids: Iterable[str],
    embedder: Embedder,
    *,
    progress: OnProgress | None = None,
    lock_timeout: float | None = None,
    server: IndexServer | None = None,
) -> IndexSummary:
    """Takes papers out of the index.

    Raises:
        IndexMissing: There is no index.
        InputError: It doesn't hold one of these ids, or none would be left; nothing is removed then.
        IndexLocked, IndexReadOnly, IndexDamaged, StoreError: As for :func:`build_index`.
    """
    gone = list(dict.fromkeys(ids))

    def without(found: Found | None) -> Mapping[str, Paper]:
        if found is None:
            raise missing(Path(path), server)
        kept = _kept(found, server)
        unknown = [paper_id for paper_id in gone if paper_id not in kept]
        if unknown:
            more = f" and {len(unknown) - _TOLD} more" if len(unknown) > _TOLD else ""
            raise InputError(
                f"The index holds no paper {', '.join(unknown[:_TOLD])}{more}.",
                hint="rag-assistant papers lists the ids",
            )
        left = {paper_id: paper for paper_id, paper in kept.items() if paper_id not in set(gone)}
        if not left:
            raise InputError("Removing these papers would leave the index empty.", hint="index others instead")
        return left

    return _change(
        IndexFolder(path),
        without,
        embedder,
        source="paths",
        progress=progress,
        lock_timeout=lock_timeout,
        server=server,
    )


def preview(
    path: str | os.PathLike[str],
    papers: Iterable[Paper],
    embedder: Embedder,
    *,
    add: bool = False,
    server: IndexServer | None = None,
) -> IndexSummary:
    """What :func:`build_index` would do, without doing it; ``embedded`` is left at 0.

    Raises:
        IndexDamaged: As for :func:`build_index`.
    """
    started = time.perf_counter()
    folder = IndexFolder(path)
    found = look_at(folder, server, None)
    wanted = _merged(found, _by_id(papers), add, server)
    count = sum(len(windows(paper, embedder)) for paper in wanted.values())
    return _summary(folder, server, found, wanted, count, 0, (), time.perf_counter() - started)


def would_drop(
    path: str | os.PathLike[str], papers: Iterable[Paper], *, server: IndexServer | None = None
) -> tuple[str, ...]:
    """Ids of the papers that the index holds and :func:`build_index` would drop for these, without ``add``.

    Raises:
        IndexDamaged, StoreError: The index is of a newer version, or may not be read.
    """
    found, wanted = look_at(IndexFolder(path), server, None), {paper.id for paper in papers}
    return tuple(paper_id for paper_id in (found.papers if found else None) or () if paper_id not in wanted)


def held(path: str | os.PathLike[str], *, server: IndexServer | None = None) -> tuple[Paper, ...]:
    """The papers that the index holds, without a look at the rest of it; none where they can't be read.

    Raises:
        StoreError: The server can't be asked, or the copy can't be written.
    """
    folder = IndexFolder(path)
    if server is not None:
        found = look_at(folder, server, None)
        return tuple((found.papers or {}).values()) if found else ()
    try:
        current = folder.current()
        return tuple(read_papers(folder.generation(current.name)).values()) if current else ()
    except (OSError, ValueError):
        return ()


def missing(path: Path, server: IndexServer | None = None) -> IndexMissing:
    """The error for a place where no index is."""
    if server is not None:
        return IndexMissing(f"There is no index on {server.shown}.", hint=server.hint)
    return IndexMissing(f"There is no index at {path}.", hint="run: rag-assistant index PATH...")


def papers_gone(path: Path, problem: str) -> IndexDamaged:
    """The error for an index whose papers can't be read any more."""
    return IndexDamaged(
        f"The index {path} is damaged ({problem}) and its papers can't be read from it any more.",
        hint="run: rag-assistant index PATH... with the files they came from; no PATH means the bundled papers",
    )


def _change(
    folder: IndexFolder,
    wanted_of: Callable[[Found | None], Mapping[str, Paper]],
    embedder: Embedder,
    *,
    source: str,
    progress: OnProgress | None,
    lock_timeout: float | None,
    server: IndexServer | None,
) -> IndexSummary:
    started = time.perf_counter()
    with ExitStack() as stack:
        stack.enter_context(folder.writing(lock_timeout, progress))
        writer, after = None, ""
        if server is not None:
            writer = stack.enter_context(server.writing(_owner(folder), lock_timeout, progress))
            writer.clean()
            after = server.current_name()
        folder.clean()
        found = look_at(folder, server, embedder, progress)
        if server is not None and found is not None and found.usable and found.manifest:
            found = replace(found, problem=server.problem(found.manifest))
            keep_vectors(folder, found, embedder)
        wanted = wanted_of(found)
        if found is not None and found.usable and found.manifest and dict(found.papers or {}) == dict(wanted):
            if found.unnamed:
                folder.make_current(found.name, found.source)
            count = found.manifest.windows
            return _summary(folder, server, found, wanted, count, 0, (), time.perf_counter() - started)
        written = write_generation(folder, wanted, source, embedder, progress, writer=writer, after=after)
    seconds = time.perf_counter() - started
    return _summary(folder, server, found, wanted, written.windows, written.embedded, written.problems, seconds)


def _owner(folder: IndexFolder) -> str:
    """A name that no other folder has, on any machine."""
    return hashlib.sha256(f"{socket.gethostname()} {uuid.getnode()} {folder.path}".encode()).hexdigest()


def _merged(
    found: Found | None, given: Mapping[str, Paper], add: bool, server: IndexServer | None
) -> Mapping[str, Paper]:
    return {**_kept(found, server), **given} if add and found is not None else given


def _kept(found: Found, server: IndexServer | None) -> Mapping[str, Paper]:
    if found.papers is None and server is not None:
        raise server.damaged(found.problem)
    if found.papers is None:
        raise papers_gone(found.folder.parent.parent, found.problem)
    return found.papers


def _by_id(papers: Iterable[Paper]) -> dict[str, Paper]:
    given: dict[str, Paper] = {}
    for paper in papers:
        given.setdefault(paper.id, paper)
    return given


def _summary(
    folder: IndexFolder,
    server: IndexServer | None,
    found: Found | None,
    wanted: Mapping[str, Paper],
    passages: int,
    embedded: int,
    problems: tuple[str, ...],
    seconds: float,
) -> IndexSummary:
    old = (found.papers if found is not None else None) or {}
    return IndexSummary(
        added=tuple(paper_id for paper_id in wanted if paper_id not in old),
        changed=tuple(paper_id for paper_id, paper in wanted.items() if paper_id in old and old[paper_id] != paper),
        unchanged=tuple(paper_id for paper_id, paper in wanted.items() if old.get(paper_id) == paper),
        removed=tuple(paper_id for paper_id in old if paper_id not in wanted),
        papers=len(wanted),
        passages=passages,
        embedded=embedded,
        problems=problems,
        seconds=seconds,
        path=folder.path,
        notices=(f"The index {server.shown if server else folder.path} was rebuilt: {found.problem}.",)
        if found is not None and found.problem
        else (),
        server=server.shown if server else "",
    )
