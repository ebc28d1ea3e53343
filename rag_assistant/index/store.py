"""Chroma, behind the few calls that an index makes. Nothing else in this package knows of it.

A store is built once, then only read. Chroma writes to its files even on a query; :func:`_seal` ends that, so that
their checksums can be compared before Chroma reads them: random bytes in an HNSW file kill the process that opens it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_assistant.errors import IndexDamaged, StoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLLECTION = "passages"
MINIMUM = 2
"""With fewer vectors Chroma keeps no HNSW graph on disk; such an index goes without a store."""
SEARCH_BREADTH = 400
"""HNSW's ef_search; more neighbours than this can't be asked for."""
_NEIGHBOURS = 32
_BUILD_BREADTH = 200
_BATCH = 5000
_CHECKED = 16


def build_store(folder: Path, nodes: Sequence[Any], told: Callable[[int], None]) -> None:
    """Builds a store of LlamaIndex nodes that bear their vectors, and closes it.

    Any LlamaIndex program can open it: ``ChromaVectorStore`` on the collection ``passages``.

    Args:
        folder: Where; made by Chroma.
        nodes: At least :data:`MINIMUM`.
        told: Told how many are in.

    Raises:
        StoreError: Somebody's settings keep Chroma from being loaded.
    """
    client = _client(folder)
    try:
        from llama_index.vector_stores.chroma import ChromaVectorStore

        hnsw = {
            "space": "cosine",
            "max_neighbors": _NEIGHBOURS,
            "ef_construction": _BUILD_BREADTH,
            "ef_search": SEARCH_BREADTH,
            # The graph is written to disk each time this many vectors have come: once, with all of them.
            "sync_threshold": len(nodes),
            "batch_size": min(len(nodes), 100),
        }
        collection = client.create_collection(COLLECTION, configuration={"hnsw": hnsw}, embedding_function=None)
        store = ChromaVectorStore(chroma_collection=collection)
        for start in range(0, len(nodes), _BATCH):
            store.add(nodes[start : start + _BATCH])
            told(min(start + _BATCH, len(nodes)))
    finally:
        client.close()
    _seal(folder / "chroma.sqlite3")


def _seal(database: Path) -> None:
    """Keeps readers from changing the file.

    On opening, Chroma puts a row into ``acquire_write`` to take sqlite's lock, and never reads it. The trigger drops
    that row and leaves the lock. ``VACUUM`` gives back what the queue of vectors took, most of the file.
    """
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("DELETE FROM acquire_write")
        connection.execute(
            "CREATE TRIGGER rag_assistant_readers_change_nothing BEFORE INSERT ON acquire_write"
            " BEGIN SELECT RAISE(IGNORE); END"
        )
        connection.execute("VACUUM")


class Store:
    """A store, opened at the first query. Thread-safe.

    Args:
        folder: Where it was built.
        wrong: Says what is wrong with its files, if anything; asked right before Chroma opens them.
    """

    def __init__(self, folder: Path, wrong: Callable[[], str]) -> None:
        self._folder = folder
        self._wrong = wrong
        self._lock = threading.Lock()
        self._client: Any = None
        self._collection: Any = None

    def query(self, vector: NDArray[np.float32], k: int) -> list[tuple[str, float]]:
        """The ``k`` nearest passages' ids with their cosines, best first; ``k`` at most :data:`SEARCH_BREADTH`.

        Raises:
            IndexDamaged: Its files were changed since they were checked.
            Exception: Whatever Chroma raises.
        """
        found = self._opened().query(query_embeddings=vector[None, :], n_results=k, include=["distances"])
        return [(name, 1.0 - distance) for name, distance in zip(found["ids"][0], found["distances"][0], strict=True)]

    def count(self) -> int:
        """How many passages it says it holds."""
        return int(self._opened().count())

    def _opened(self) -> Any:
        with self._lock:
            if self._collection is None:
                wrong = self._wrong()
                if wrong:
                    raise IndexDamaged(f"{wrong}.", hint="run: rag-assistant doctor --repair")
                self._client = _client(self._folder)
                self._collection = self._client.get_collection(COLLECTION, embedding_function=None)
            return self._collection

    def close(self) -> None:
        """Gives its files and memory back."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = self._collection = None


def check_store(folder: Path, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
    """Opens a store that was just built and asks it for some of its own vectors.

    Raises:
        IndexDamaged: It holds another number of passages or doesn't find them.
    """
    store = Store(folder, lambda: "")
    try:
        if store.count() != len(ids):
            raise IndexDamaged(
                f"The store {folder} holds {store.count()} passages instead of {len(ids)}.", hint="try again"
            )
        for row in range(0, len(ids), max(1, len(ids) // _CHECKED)):
            name, cosine = store.query(vectors[row], 1)[0]
            if name != ids[row] and cosine < 0.999:
                raise IndexDamaged(f"The store {folder} doesn't find its own passage {ids[row]}.", hint="try again")
    finally:
        store.close()


def _client(folder: Path) -> Any:
    try:
        import chromadb
        from chromadb.config import Settings
    except ValueError as error:  # pydantic's
        raise StoreError(
            f"Chroma can't be loaded: {' '.join(str(error).split())}",
            hint="Chroma reads the environment and the file .env of the current folder: mend the setting that is named",
        ) from error
    # Named, lest somebody's environment sends the papers to a server.
    settings = Settings(_env_file=None, anonymized_telemetry=False, chroma_api_impl="chromadb.api.rust.RustBindingsAPI")
    return chromadb.PersistentClient(str(folder), settings=settings)
