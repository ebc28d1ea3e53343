"""Makes one new generation out of papers, checks it, and makes it current. For the holder of the writer's lock."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_assistant.embedders.base import Embedder
from rag_assistant.embedders.cache import CachingEncoder, VectorCache
from rag_assistant.errors import OutOfSpace, RagError, StoreError, is_out_of_space
from rag_assistant.index.contents import STORE, Contents, Spans, corpus_hash
from rag_assistant.index.generations import IndexFolder, ReadLock, room_error, sync_folder, sync_tree
from rag_assistant.index.manifest import SCHEMA_VERSION, Manifest, record_files
from rag_assistant.index.passages import PASSAGES_VERSION, embedding_text, sentences, windows
from rag_assistant.index.server import Served, Writer
from rag_assistant.index.store import MINIMUM, build_store, check_store
from rag_assistant.index.terms import TERMS_VERSION
from rag_assistant.loaders import OnProgress
from rag_assistant.sentences import SPLITTER_VERSION
from rag_assistant.types import Paper, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD_VECTORS_UP_TO = 10_000
"""Sentences are encoded while indexing for up to this many papers, when asked for beyond: about 75 KB a paper."""
_ROWS = 500
_BASE_ROOM, _ROOM_A_PASSAGE, _ROOM_A_PAPER = 1_000_000, 60_000, 75_000


def room_needed(papers: int, passages: int) -> int:
    """About how many bytes on disk it takes to index so much: more than what stays, since sqlite copies its file once
    to shrink it."""
    return _BASE_ROOM + _ROOM_A_PASSAGE * passages + _ROOM_A_PAPER * min(papers, WORD_VECTORS_UP_TO)


@dataclass(frozen=True, slots=True)
class NewGeneration:
    """A new generation: its name, how many windows it has and had to embed, and what to know of its papers."""

    name: str
    windows: int
    embedded: int
    problems: tuple[str, ...]


def write_generation(
    folder: IndexFolder,
    papers: Mapping[str, Paper],
    source: str,
    embedder: Embedder,
    progress: OnProgress | None = None,
    *,
    writer: Writer | None = None,
    after: str = "",
) -> NewGeneration:
    """Builds aside, verifies, and replaces ``CURRENT``; then deletes what nobody reads any more.

    With the writer of a server, the generation becomes current there, as long as ``after`` is what is, and the folder
    is its copy.

    Raises:
        OutOfSpace: The disk has no room for it.
        StoreError: The files can't be written, or the store that was built fails its check.
        EmbedderError: The embedder failed. The index is as it was before.
    """
    told: OnProgress = progress or untold
    cache = VectorCache(folder.cache)
    split: _SplitPapers = {}

    def needed() -> int:
        return room_needed(len(papers), sum(len(found) for found, _ in split.values()))

    try:
        with _refusals_told(folder, needed):
            split |= _split(papers, embedder, told)
            # A server's readers have caches of their own.
            sentences_too = writer is None and len(papers) <= WORD_VECTORS_UP_TO
            encoder = CachingEncoder(embedder, cache)
            vectors, embedded, problems = _embed(papers, split, encoder, told, sentences_too=sentences_too)
            contents = Contents(papers, _spans(split), vectors)
            with _aside(folder) as generation:
                told("counting words", 0, 0)
                contents.write(generation)
                if writer is None and len(vectors) >= MINIMUM:
                    ids = [window.id for found, _ in split.values() for window in found]
                    told("storing", 0, len(ids))
                    nodes = _nodes(papers, split, vectors)
                    build_store(generation / STORE, nodes, lambda done: told("storing", done, len(nodes)))
                    told("checking", 0, 0)
                    check_store(generation / STORE, ids, vectors)
                manifest = Manifest(
                    schema_version=SCHEMA_VERSION,
                    generation=generation.name,
                    created=datetime.now(UTC).isoformat(timespec="seconds"),
                    source=source,
                    embedder=embedder.name,
                    fingerprint=embedder.fingerprint,
                    dimension=embedder.dimension,
                    splitter_version=SPLITTER_VERSION,
                    passages_version=PASSAGES_VERSION,
                    terms_version=TERMS_VERSION,
                    corpus_hash=corpus_hash(papers.values()),
                    papers=len(papers),
                    windows=len(vectors),
                    sentences=sum(len(found) for _, found in split.values()),
                    files=record_files(generation),
                )
                _complete(generation, manifest)
                if writer is not None:
                    writer.publish(manifest, contents, _nodes(papers, split, vectors), after, told)
                folder.make_current(generation.name, source)
    finally:
        cache.close()
    with suppress(OSError):
        folder.clean()
    return NewGeneration(generation.name, len(vectors), embedded, problems)


def write_copy(folder: IndexFolder, served: Served, contents: Contents) -> None:
    """Makes what a server holds the current generation of a folder, without a store.

    Raises:
        OutOfSpace, StoreError: The files can't be written.
    """
    if served.manifest is None:
        raise ValueError("a generation without a manifest can't be copied")
    needed = room_needed(served.manifest.papers, served.manifest.windows)
    with _refusals_told(folder, lambda: needed), _aside(folder) as generation:
        contents.write(generation)
        _complete(generation, replace(served.manifest, files=record_files(generation)))
        folder.make_current(generation.name, served.manifest.source)
    with suppress(OSError):
        folder.clean()


@contextmanager
def _aside(folder: IndexFolder) -> Iterator[Path]:
    """The folder of a new generation; it goes again where the ``with`` block fails."""
    generation = folder.new_generation()
    reading: ReadLock | None = None
    try:
        reading = ReadLock(generation)  # keeps a writer that deleted the lock file from taking this for a leftover
        yield generation
    except BaseException:
        if reading is not None:
            reading.end()
        shutil.rmtree(generation, ignore_errors=True)
        raise
    reading.end()


def _complete(generation: Path, manifest: Manifest) -> None:
    manifest.write(generation)
    sync_tree(generation)
    sync_folder(generation.parent)


@contextmanager
def _refusals_told(folder: IndexFolder, needed: Callable[[], int]) -> Iterator[None]:
    try:
        yield
    except RagError:
        raise
    except Exception as error:
        # Chroma has many words for a disk that is full, and some that don't say it: then the disk is asked.
        if is_out_of_space(error) or is_out_of_space(room_error(folder.path, needed())):
            raise OutOfSpace(
                f"The index {folder.path} needs about {megabytes(needed())}, more than its disk or quota has left.",
                hint="free some space there, or name another folder: --index DIR",
            ) from error
        if isinstance(error, OSError):
            raise StoreError(
                f"The index {folder.path} can't be written: {error.strerror or error}.",
                hint="see to that folder, or name another: --index DIR",
            ) from error
        raise


def megabytes(size: int) -> str:
    """A size on disk, for people; never less than it is."""
    return f"{math.ceil(size / 1e6):,} MB"


def untold(stage: str, done: int, total: int) -> None:
    """Nobody is to be told."""
    del stage, done, total


_SplitPapers = dict[str, tuple[tuple[Passage, ...], tuple[Passage, ...]]]


def _split(papers: Mapping[str, Paper], embedder: Embedder, told: OnProgress) -> _SplitPapers:
    found: _SplitPapers = {}
    for number, paper in enumerate(papers.values()):
        if number % 100 == 0:
            told("splitting", number, len(papers))
        found[paper.id] = (windows(paper, embedder), sentences(paper))
    told("splitting", len(papers), len(papers))
    return found


def _embed(
    papers: Mapping[str, Paper],
    split: _SplitPapers,
    encoder: CachingEncoder,
    told: OnProgress,
    *,
    sentences_too: bool,
) -> tuple[NDArray[np.float32], int, tuple[str, ...]]:
    import numpy as np

    texts = [embedding_text(papers[paper_id], window) for paper_id, (found, _) in split.items() for window in found]
    owners = [window.paper_id for found, _ in split.values() for window in found]
    for_evidence: list[str] = []
    if sentences_too:
        for paper_id, (_, found) in split.items():
            for_evidence += [papers[paper_id].title, *(sentence.text for sentence in found)]
        for_evidence = list(dict.fromkeys(for_evidence))
    total = len(texts) + len(for_evidence)
    vectors = np.zeros((len(texts), encoder.embedder.dimension), dtype=np.float32)
    problems: list[str] = []
    for start in range(0, len(texts), _ROWS):
        chunk = texts[start : start + _ROWS]
        for done in encoder.fill(chunk):
            told("embedding", start + done, total)
        encoded = encoder.encode(chunk)
        for row, text in enumerate(chunk, start=start):
            vectors[row] = encoded[text].vector
            if encoded[text].truncated:
                problems.append(f"{owners[row]}: a sentence is longer than the embedder reads; its end isn't searched")
    embedded = encoder.encoded
    for done in encoder.fill(for_evidence, words=True):
        told("embedding", len(texts) + done, total)
    return vectors, embedded, tuple(problems)


def _spans(split: _SplitPapers) -> Spans:
    return {
        paper_id: ([(p.start, p.end) for p in found], [(p.start, p.end) for p in of_paper])
        for paper_id, (found, of_paper) in split.items()
    }


def _nodes(papers: Mapping[str, Paper], split: _SplitPapers, vectors: NDArray[np.float32]) -> list[Any]:
    from rag_assistant.index.nodes import PassageParser, documents

    parser = PassageParser(lambda paper_id: split[paper_id][0])
    nodes: list[Any] = parser.get_nodes_from_documents(documents(papers.values()))
    for node, vector in zip(nodes, vectors, strict=True):
        node.embedding = vector.tolist()
    return nodes
