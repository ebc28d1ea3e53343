"""Makes one new generation out of papers, checks it, and makes it current. For the holder of the writer's lock."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assistant.embedders.base import Embedder
from rag_assistant.embedders.cache import CachingEncoder, VectorCache
from rag_assistant.errors import OutOfSpace, RagError, StoreError, is_out_of_space
from rag_assistant.index.contents import (
    LEXICAL,
    STORE,
    corpus_hash,
    write_papers,
    write_spans,
    write_vectors,
)
from rag_assistant.index.generations import IndexFolder, ReadLock, room_error, sync_folder, sync_tree
from rag_assistant.index.lexical import Lexical
from rag_assistant.index.manifest import SCHEMA_VERSION, Manifest, record_files
from rag_assistant.index.passages import PASSAGES_VERSION, embedding_text, sentences, windows
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
) -> NewGeneration:
    """Builds aside, verifies, and replaces ``CURRENT``; then deletes what nobody reads any more.

    Raises:
        OutOfSpace: The disk has no room for it.
        StoreError: The files can't be written, or the store that was built fails its check.
        EmbedderError: The embedder failed. The index is as it was before.
    """
    told: OnProgress = progress or _untold
    cache = VectorCache(folder.cache)
    generation: Path | None = None
    reading: ReadLock | None = None
    split: _SplitPapers = {}
    try:
        split = _split(papers, embedder, told)
        vectors, embedded, problems = _embed(papers, split, CachingEncoder(embedder, cache), told)
        generation = folder.new_generation()
        reading = ReadLock(generation)  # keeps a writer that deleted the lock file from taking this for a leftover
        _write_files(generation, papers, split, vectors, told)
        Manifest(
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
        ).write(generation)
        sync_tree(generation)
        sync_folder(generation.parent)
        folder.make_current(generation.name, source)
    except BaseException as error:
        if reading is not None:
            reading.end()
        if generation is not None:
            shutil.rmtree(generation, ignore_errors=True)
        if isinstance(error, RagError) or not isinstance(error, Exception):
            raise
        needed = room_needed(len(papers), sum(len(found) for found, _ in split.values()))
        # Chroma has many words for a disk that is full, and some that don't say it: then the disk is asked.
        if is_out_of_space(error) or is_out_of_space(room_error(folder.path, needed)):
            raise OutOfSpace(
                f"The index {folder.path} needs about {megabytes(needed)}, more than its disk or quota has left.",
                hint="free some space there, or name another folder: --index DIR",
            ) from error
        if isinstance(error, OSError):
            raise StoreError(
                f"The index {folder.path} can't be written: {error.strerror or error}.",
                hint="see to that folder, or name another: --index DIR",
            ) from error
        raise
    finally:
        cache.close()
    reading.end()
    with suppress(OSError):
        folder.clean()
    return NewGeneration(generation.name, len(vectors), embedded, problems)


def megabytes(size: int) -> str:
    """A size on disk, for people; never less than it is."""
    return f"{math.ceil(size / 1e6):,} MB"


def _untold(stage: str, done: int, total: int) -> None:
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
    papers: Mapping[str, Paper], split: _SplitPapers, encoder: CachingEncoder, told: OnProgress
) -> tuple[NDArray[np.float32], int, tuple[str, ...]]:
    import numpy as np

    texts = [embedding_text(papers[paper_id], window) for paper_id, (found, _) in split.items() for window in found]
    owners = [window.paper_id for found, _ in split.values() for window in found]
    for_evidence: list[str] = []
    if len(papers) <= WORD_VECTORS_UP_TO:
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


def _write_files(
    generation: Path,
    papers: Mapping[str, Paper],
    split: _SplitPapers,
    vectors: NDArray[np.float32],
    told: OnProgress,
) -> None:
    write_papers(generation, papers.values())
    write_spans(
        generation,
        {
            paper_id: ([(p.start, p.end) for p in w], [(p.start, p.end) for p in s])
            for paper_id, (w, s) in split.items()
        },
    )
    write_vectors(generation, vectors)
    told("counting words", 0, 0)
    Lexical.of(list(papers.values())).save(generation / LEXICAL)
    ids = [window.id for found, _ in split.values() for window in found]
    if len(ids) >= MINIMUM:
        told("storing", 0, len(ids))
        _store(generation / STORE, papers, {paper_id: found for paper_id, (found, _) in split.items()}, vectors, told)
        told("checking", 0, 0)
        check_store(generation / STORE, ids, vectors)


def _store(
    folder: Path,
    papers: Mapping[str, Paper],
    passages: Mapping[str, Sequence[Passage]],
    vectors: NDArray[np.float32],
    told: OnProgress,
) -> None:
    from rag_assistant.index.nodes import PassageParser, documents

    nodes = PassageParser(passages.__getitem__).get_nodes_from_documents(documents(papers.values()))
    for node, vector in zip(nodes, vectors, strict=True):
        node.embedding = vector.tolist()
    build_store(folder, nodes, lambda done: told("storing", done, len(nodes)))
