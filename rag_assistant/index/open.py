"""Opens an index for reading, and mends it first where that is needed and possible."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rag_assistant.embedders.base import Embedder
from rag_assistant.embedders.cache import CachingEncoder, VectorCache
from rag_assistant.errors import IndexDamaged, StoreError
from rag_assistant.index.build import build_index, missing, papers_gone
from rag_assistant.index.contents import LEXICAL, STORE, read_spans, read_vectors
from rag_assistant.index.copies import look_at
from rag_assistant.index.generations import IndexFolder, ReadLock
from rag_assistant.index.lexical import Lexical
from rag_assistant.index.manifest import what_differs
from rag_assistant.index.memory import index_in_memory
from rag_assistant.index.opened import OpenIndex
from rag_assistant.index.server import IndexServer
from rag_assistant.index.state import Found, inspect, mismatch
from rag_assistant.index.store import ServerStore, Store
from rag_assistant.index.write import untold, write_generation
from rag_assistant.loaders import OnProgress
from rag_assistant.types import Paper

__all__ = ["OpenIndex", "open_index"]

Corpus = Callable[[], Iterable[Paper]]
_ATTEMPTS = 20
_UNWRITABLE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT})


def open_index(
    path: str | os.PathLike[str],
    embedder: Embedder,
    *,
    corpus: Corpus | None = None,
    build_missing: bool = True,
    papers: Iterable[Paper] | None = None,
    lock_timeout: float | None = None,
    progress: OnProgress | None = None,
    repair: bool = True,
    notices: Iterable[str] = (),
    server: IndexServer | None = None,
) -> OpenIndex:
    """The index at ``path``, whole and for this embedder.

    Every file is checked before it is used. What is damaged, or was built with another embedder or by other rules, is
    rebuilt from the index's own papers and the vectors that are kept; a notice of the index says so. Where the folder
    can't be written, the search is exact over the kept vectors instead, and a notice says that.

    Args:
        path: The index's folder.
        embedder: What questions will be encoded with.
        corpus: Loads the bundled papers, for an index of them that has lost its own.
        build_missing: Also index them where there is no index; otherwise, and without ``corpus``, that is an error.
        papers: What the index must hold; an index of other papers is made to hold these.
        lock_timeout: For how many seconds to wait for a writer when something has to be rebuilt; ``None`` for ever.
        progress: Told of the work.
        repair: Build and rebuild what needs it; otherwise that is an error.
        notices: What the index's own notices begin with.
        server: What holds the index; the folder is then for this machine's copy. Nothing is built or rebuilt there, but
            where ``papers`` are others than it holds.

    Raises:
        IndexMissing: There is no index, and nothing to make one of.
        IndexDamaged: The papers are gone, or it needs mending and ``repair`` is false, or a newer version wrote it.
        IndexLocked: It needs mending and another process is writing it.
        StoreError, EmbedderError: Mending failed, or the server can't be asked.
    """
    opening = _Opening(
        IndexFolder(path),
        embedder,
        corpus,
        build_missing,
        None if papers is None else {paper.id: paper for paper in papers},
        lock_timeout,
        progress,
        list(notices),
        server,
    )
    if server is not None:
        return opening.served(server)
    for _ in range(_ATTEMPTS):
        found, problem = opening.look()
        if found is not None and not problem and not found.unnamed:
            try:
                return opening.read(found)
            except OSError as error:
                if error.errno in _UNWRITABLE:
                    return opening.without_writing(found, problem)
                continue  # replaced by a writer between the look and the reading: look again
        if not repair:
            if found is None:
                raise missing(opening.folder.path)
            if found.source != "bundled":
                opening.papers_for(found)  # what can't be mended has another remedy
            why = problem or "its file CURRENT is lost"
            raise IndexDamaged(f"The index {opening.folder.path} needs mending: {why}.", hint=_REPAIR)
        opening.papers_for(found)  # what can't be mended is said before anything is written or waited for
        if not opening.folder.writable():
            return opening.without_writing(found, problem)
        opening.mend()
    raise StoreError(f"The index {opening.folder.path} changes faster than it can be opened.", hint="try again")


def _unlike(server: IndexServer, problem: str) -> IndexDamaged:
    hint = f"name the embedder that it was made with, or make it again for all: {server.hint.removeprefix('run: ')}"
    return IndexDamaged(f"The index on {server.shown} can't be searched: {problem}.", hint=hint)


_REPAIR = "run: rag-assistant doctor --repair"


@dataclass(frozen=True, slots=True)
class _Opening:
    folder: IndexFolder
    embedder: Embedder
    corpus: Corpus | None
    build_missing: bool
    wanted: Mapping[str, Paper] | None
    lock_timeout: float | None
    progress: OnProgress | None
    notices: list[str]
    server: IndexServer | None

    def served(self, server: IndexServer) -> OpenIndex:
        """What a server holds; never changed because somebody reads it, since others do too."""
        if self.wanted is not None:
            papers = list(self.wanted.values())
            options: dict[str, Any] = {"progress": self.progress, "lock_timeout": self.lock_timeout}
            self.notices.extend(build_index(self.folder.path, papers, self.embedder, server=server, **options).notices)
        if not self.folder.writable():
            return self.fetched(server)
        for _ in range(_ATTEMPTS):
            found = look_at(self.folder, server, self.embedder, self.progress)
            if found is None:
                raise missing(self.folder.path, server)
            if found.papers is None:
                raise server.damaged(found.problem)
            if found.problem:
                raise _unlike(server, found.problem)
            try:
                return self.read(found)
            except OSError as error:
                if error.errno in _UNWRITABLE:
                    return self.fetched(server)
        raise StoreError(f"The index on {server.shown} changes faster than it can be opened.", hint="try again")

    def fetched(self, server: IndexServer) -> OpenIndex:
        """What a server holds, in memory only."""
        served = server.current()
        if served is None:
            raise missing(self.folder.path, server)
        contents = server.fetched(served, self.progress or untold)
        problem = mismatch(served.manifest, len(contents.papers), self.embedder) if served.manifest else ""
        if problem:
            raise _unlike(server, problem)
        self.notices.append(
            f"{self.folder.path} can't be written, so the index is copied from {server.shown} into memory each time."
        )
        return OpenIndex(
            self.folder,
            served.name,
            current_name=server.current_name,
            papers=contents.papers,
            spans=contents.spans,
            vectors=contents.vectors,
            lexical=Lexical.of(list(contents.papers.values())),
            store=server.store(served.name),
            encoder=CachingEncoder(self.embedder, VectorCache(self.folder.cache, read_only=True)),
            manifest=served.manifest,
            reading=None,
            notices=self.notices,
        )

    def look(self) -> tuple[Found | None, str]:
        """What is there, and why it can't be used as it is."""
        found = inspect(self.folder, self.embedder)
        if found is None or found.problem:
            return found, found.problem if found is not None else ""
        if self.wanted is not None and dict(found.papers or {}) != dict(self.wanted):
            return found, "it held other papers than those asked for"
        return found, ""

    def papers_for(self, found: Found | None) -> tuple[Callable[[], Mapping[str, Paper]], str]:
        """Loads what a rebuilt index is to hold, and says whether that is ``bundled`` or from ``paths``."""
        wanted, corpus = self.wanted, self.corpus
        if wanted is not None:
            return (lambda: wanted), "paths"
        kept = found.papers if found is not None else None
        if found is not None and kept is not None:
            return (lambda: kept), found.source
        if corpus is not None and (self.build_missing if found is None else found.source == "bundled"):
            return (lambda: {paper.id: paper for paper in corpus()}), "bundled"
        raise missing(self.folder.path) if found is None else papers_gone(self.folder.path, found.problem)

    def mend(self) -> None:
        """Rebuilds what is still wrong once this process is the only writer."""
        with self.folder.writing(self.lock_timeout, self.progress):
            found, problem = self.look()
            if found is not None and not problem:
                if found.unnamed:
                    self.folder.make_current(found.name, found.source)
                    self.notices.append(f"The index {self.folder.path} had lost its file CURRENT; it is written again.")
                return
            load, source = self.papers_for(found)
            write_generation(self.folder, load(), source, self.embedder, self.progress)
        if found is not None:
            self.notices.append(f"The index {self.folder.path} was rebuilt: {problem}.")
        elif source == "bundled":
            self.notices.append(f"There was no index at {self.folder.path}; the bundled papers are indexed there now.")

    def read(self, found: Found) -> OpenIndex:
        """Opens a generation that is whole, if it still is the current one.

        Raises:
            OSError: It isn't, or nothing can be written into its folder.
        """
        reading = ReadLock(found.folder)
        cache = VectorCache(self.folder.cache)
        try:
            current = self.folder.current()
            if current is None or current.name != found.name:
                raise FileNotFoundError(errno.ENOENT, "no longer current", str(found.folder))
            return self._opened(found, cache, reading)
        except BaseException:
            cache.close()
            reading.end()
            raise

    def without_writing(self, found: Found | None, problem: str) -> OpenIndex:
        """Exact search over the vectors that are kept; those that aren't are computed and held in memory."""
        cache = VectorCache(self.folder.cache, read_only=True)
        try:
            return self._searched_exactly(found, problem, cache)
        except BaseException:
            cache.close()
            raise

    def _searched_exactly(self, found: Found | None, problem: str, cache: VectorCache) -> OpenIndex:
        notice = f"The index {self.folder.path} can't be written, so every vector is compared, without its database"
        if found is not None and not problem:
            self.notices.append(f"{notice}.")
            return self._opened(found, cache, None)
        self.notices.append(f"{notice} ({problem or 'there is none yet'}).")
        load, _ = self.papers_for(found)
        name = found.name if found is not None else ""
        return index_in_memory(self.folder, name, load(), CachingEncoder(self.embedder, cache), self.notices)

    def _opened(self, found: Found, cache: VectorCache, reading: ReadLock | None) -> OpenIndex:
        papers, server = found.papers or {}, self.server
        generation = found.manifest.generation if found.manifest is not None else found.name
        store = found.folder / STORE
        files = found.manifest.files if found.manifest is not None else ()
        of_store = [record for record in files if record.path.startswith(f"{STORE}/")]

        def wrong() -> str:
            return what_differs(found.folder, of_store, trust_times=True)

        opened: Store | ServerStore | None = None
        if server is not None:
            opened = server.store(generation)
        elif reading is not None and store.is_dir():
            opened = Store(store, wrong)
        return OpenIndex(
            self.folder,
            generation if server is not None else found.name,
            current_name=server.current_name if server is not None else None,
            papers=papers,
            spans=read_spans(found.folder, papers),
            vectors=read_vectors(found.folder),
            lexical=Lexical.load(found.folder / LEXICAL, len(papers)),
            store=opened,
            encoder=CachingEncoder(self.embedder, cache),
            manifest=found.manifest,
            reading=reading,
            notices=self.notices,
        )
