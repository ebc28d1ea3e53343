"""This machine's copy of an index on a server: an index folder like any other, but for its store, which stays there.

A copy needs no lock: every process that lacks the current generation makes a new folder for it, and ``CURRENT`` names
the last.
"""

from __future__ import annotations

from rag_assistant.embedders.base import Embedder, Encoded
from rag_assistant.embedders.cache import VectorCache
from rag_assistant.errors import StoreError
from rag_assistant.index.contents import read_spans, read_vectors
from rag_assistant.index.generations import IndexFolder
from rag_assistant.index.passages import embedding_text, passage
from rag_assistant.index.server import IndexServer, ServedDamaged
from rag_assistant.index.state import Found, inspect
from rag_assistant.index.store import CollectionGone
from rag_assistant.index.write import untold, write_copy
from rag_assistant.loaders import OnProgress

_ATTEMPTS = 20


def look_at(
    folder: IndexFolder, server: IndexServer | None, embedder: Embedder | None, progress: OnProgress | None = None
) -> Found | None:
    """As :func:`rag_assistant.index.state.inspect`; what is on a server is copied into the folder first.

    Raises:
        IndexDamaged: A newer version of this program wrote it.
        StoreError: It may not be read, the server can't be asked, or the copy can't be written.
    """
    if server is None:
        return inspect(folder, embedder)
    told = progress or untold
    for _ in range(_ATTEMPTS):
        served = server.current()
        if served is None:
            return None
        found = inspect(folder, embedder)
        whole = found is not None and found.whole and not found.unnamed
        if found is not None and whole and found.manifest and found.manifest.generation == served.name:
            return found
        try:
            write_copy(folder, served, server.fetched(served, told))
        except ServedDamaged as error:
            return Found("", folder.path, "paths", served.manifest, None, error.problem)
        except CollectionGone:
            continue  # replaced by a writer while it was read
    raise StoreError(f"The index on {server.shown} changes faster than it can be read.", hint="try again")


def keep_vectors(folder: IndexFolder, found: Found, embedder: Embedder) -> None:
    """Puts a copy's vectors into the folder's cache, so that a writer who didn't make them needn't make them again."""
    papers = found.papers or {}
    windows = [(papers[name], span) for name, (of, _) in read_spans(found.folder, papers).items() for span in of]
    texts = [embedding_text(paper, passage(paper, *span)) for paper, span in windows]
    cache = VectorCache(folder.cache)
    try:
        kept = cache.get(embedder.fingerprint, texts)
        missing = [row for row, text in enumerate(texts) if text not in kept]
        if missing:
            vectors = read_vectors(found.folder)
            cache.put(
                embedder.fingerprint,
                (
                    (texts[row], Encoded(vectors[row], None, embedder.count_tokens(texts[row]) > embedder.max_tokens))
                    for row in missing
                ),
            )
    finally:
        cache.close()
