"""Chroma, behind the few calls that an index makes. Nothing else in this package knows of it.

On disk, a store is built once, then only read. Chroma writes to its files even on a query; :func:`_seal` ends that, so
that their checksums can be compared before Chroma reads them: random bytes in an HNSW file kill the process that opens
it. On a server, a store is a collection among others of one :class:`Database`.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
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
_SERVER_BATCH = 500
_PAGE = 100
_CONNECT_SECONDS = 5.0
_MOST_TOLD = 200
CHECKED = 16
"""How many of its own vectors a new store is asked for."""


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
        # The graph is written to disk each time this many vectors have come: once, with all of them.
        hnsw = _GRAPH | {"space": "cosine", "sync_threshold": len(nodes), "batch_size": min(len(nodes), 100)}
        collection = client.create_collection(COLLECTION, configuration={"hnsw": hnsw}, embedding_function=None)
        for done in _filled(collection, nodes, _BATCH):
            told(done)
    finally:
        client.close()
    _seal(folder / "chroma.sqlite3")


_GRAPH: dict[str, Any] = {
    "max_neighbors": _NEIGHBOURS,
    "ef_construction": _BUILD_BREADTH,
    "ef_search": SEARCH_BREADTH,
}


def _filled(collection: Any, nodes: Sequence[Any], batch: int) -> Iterator[int]:
    """Puts the nodes in; yields how many are."""
    from llama_index.vector_stores.chroma import ChromaVectorStore

    store = ChromaVectorStore(chroma_collection=collection)
    for start in range(0, len(nodes), batch):
        store.add(nodes[start : start + batch])
        yield min(start + batch, len(nodes))


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

    Attributes:
        comes_back: Whether it may work again after it failed.

    Args:
        folder: Where it was built.
        wrong: Says what is wrong with its files, if anything; asked right before Chroma opens them.
    """

    comes_back = False

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
        return _nearest(self._opened(), vector, k)

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
        for row in range(0, len(ids), max(1, len(ids) // CHECKED)):
            name, cosine = store.query(vectors[row], 1)[0]
            if name != ids[row] and cosine < 0.999:
                raise IndexDamaged(f"The store {folder} doesn't find its own passage {ids[row]}.", hint="try again")
    finally:
        store.close()


def _nearest(collection: Any, vector: NDArray[np.float32], k: int) -> list[tuple[str, float]]:
    found = collection.query(query_embeddings=vector[None, :], n_results=k, include=["distances"])
    return [(name, 1.0 - distance) for name, distance in zip(found["ids"][0], found["distances"][0], strict=True)]


def _client(folder: Path) -> Any:
    # Named, lest somebody's environment sends the papers to a server.
    settings = _settings(chroma_api_impl="chromadb.api.rust.RustBindingsAPI")
    import chromadb

    return chromadb.PersistentClient(str(folder), settings=settings)


def _settings(**values: Any) -> Any:
    try:
        import chromadb  # noqa: F401 - it is this that fails
        from chromadb.config import Settings
    except ValueError as error:  # pydantic's
        raise StoreError(
            f"Chroma can't be loaded: {' '.join(str(error).split())}",
            hint="Chroma reads the environment and the file .env of the current folder: mend the setting that is named",
        ) from error
    return Settings(_env_file=None, anonymized_telemetry=False, **values)


@dataclass(frozen=True, slots=True)
class Address:
    """A database of a Chroma server.

    Attributes:
        scheme, host, port: Of the server.
        tenant, database: Names on it.
        token: Sent with every request; empty for none.
        seconds: How long to wait for an answer.
    """

    scheme: str
    host: str
    port: int
    tenant: str
    database: str
    token: str = field(default="", repr=False)
    seconds: float = 30.0

    @property
    def url(self) -> str:
        """The server's."""
        return f"{self.scheme}://{self.host}:{self.port}"


class CollectionGone(StoreError):
    """A collection of a server isn't there any more."""


class NameTaken(StoreError):
    """A server has a collection of that name already."""


class Database:
    """A database of a Chroma server, by HTTP. Thread-safe; the server is asked nothing before it has to be.

    Every call raises a ``StoreError`` that names the fix where the server can't be reached, refuses or has no such
    database, and waits for a bounded time. The next call tries again.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._api: Any = None

    def collections(self) -> list[Any]:
        """All of them, each with ``name``, ``id`` and ``metadata``."""
        found: list[Any] = []
        with self.asked() as api:
            while True:
                page = api.list_collections(limit=_PAGE, offset=len(found), **self._place)
                found += page
                if len(page) < _PAGE:
                    return found

    def check(self) -> None:
        """Makes sure that there is such a database; asked for the collections of none, a server says there are none.

        Raises:
            StoreError: There is no such tenant or database.
        """
        import chromadb.errors

        place, looked_for = self.address, ""
        with self.asked() as api:
            try:
                looked_for = f"tenant {place.tenant!r}"
                api.get_tenant(place.tenant)
                looked_for = f"database {place.database!r}"
                api.get_database(place.database, tenant=place.tenant)
            except chromadb.errors.NotFoundError as error:
                hint = f"make it there, or name another: --chroma-{looked_for.partition(' ')[0]} NAME"
                raise StoreError(f"The Chroma server {place.url} has no {looked_for}.", hint=hint) from error

    def create(self, name: str, metadata: Mapping[str, Any] | None = None) -> Any:
        """A new collection. Of several who try, one gets the name.

        Raises:
            NameTaken: There is one of that name.
        """
        # Chroma would make vectors anew for "cosine", with other last digits; those of an index have unit length.
        given = {"hnsw": _GRAPH | {"space": "ip"}}
        with self.asked() as api:
            try:
                made = api.create_collection(name, metadata=metadata, configuration=given, **self._place)
            except Exception as error:
                if any(model.name == name for model in api.list_collections(**self._place)):
                    raise NameTaken(f"There is a collection {name} already.") from error
                raise
            return self._collection(api, made)

    def get(self, name: str) -> Any:
        """The collection of that name.

        Raises:
            CollectionGone: There is none.
        """
        with self.asked() as api:
            return self._collection(api, api.get_collection(name, **self._place))

    def rename(self, collection: Any, name: str) -> None:
        """Gives a collection another name, which none has; of several who try, one gets it."""
        with self.asked() as api:
            api._modify(id=collection.id, new_name=name, **self._place)

    def delete(self, name: str) -> None:
        """Deletes a collection, if it is there."""
        with suppress(CollectionGone), self.asked() as api:
            api.delete_collection(name, **self._place)

    def fill(self, collection: Any, nodes: Sequence[Any], told: Callable[[int], None]) -> None:
        """Puts LlamaIndex nodes that bear their vectors into a collection."""
        with self.asked():
            for done in _filled(collection, nodes, _SERVER_BATCH):
                told(done)

    @contextmanager
    def asked(self) -> Iterator[Any]:
        """Puts what goes wrong with the server in a ``with`` block into words; gives Chroma's own interface."""
        import chromadb.errors
        import httpx

        try:
            yield self._opened()
        except StoreError:
            raise
        except httpx.TimeoutException as error:
            told = f"The Chroma server {self.address.url} gave no answer in {self.address.seconds:g} seconds."
            raise StoreError(told, hint="see to the server, or set a longer timeout") from error
        except httpx.TransportError as error:
            told = f"The Chroma server {self.address.url} can't be reached: {self._plain(error)}."
            hint = "start it (chroma run --path DIR), or check --chroma-url"
            if "CERTIFICATE" in str(error):
                hint = "SSL_CERT_FILE names a file of certificates to trust"
            raise StoreError(told, hint=hint) from error
        except chromadb.errors.NotFoundError as error:
            raise CollectionGone(f"{self._plain(error)}.", hint="try again") from error
        except Exception as error:
            told = f"The Chroma server {self.address.url} failed: {self._plain(error)}."
            raise StoreError(told, hint="check that --chroma-url is a Chroma server, and see what it logs") from error

    def _plain(self, error: Exception) -> str:
        """What an error says, in one line; what a server says may hold what it was sent."""
        text = " ".join(re.sub(r"<[^>]*>", " ", str(error)).split()).rstrip(".") or type(error).__name__
        token = self.address.token
        return (text.replace(token, "********") if token else text)[:_MOST_TOLD]

    @property
    def _place(self) -> dict[str, str]:
        return {"tenant": self.address.tenant, "database": self.address.database}

    def _collection(self, api: Any, model: Any) -> Any:
        from chromadb.api.models.Collection import Collection

        return Collection(client=api, model=model, embedding_function=None)

    def _opened(self) -> Any:
        with self._lock:
            if self._api is None:
                self._api = self._made()
            return self._api

    def _made(self) -> Any:
        """Chroma's ``HttpClient`` waits without end, and asks before it can be told not to."""
        place = self.address
        # Chroma's servers know the second header, what stands before them mostly the first.
        headers = {"Authorization": f"Bearer {place.token}", "X-Chroma-Token": place.token} if place.token else {}
        settings = _settings(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=place.host,
            chroma_server_http_port=place.port,
            chroma_server_ssl_enabled=place.scheme == "https",
            chroma_server_headers=headers,
        )
        import httpx
        from chromadb.api import ServerAPI
        from chromadb.config import System

        api = System(settings).instance(ServerAPI)
        session = api._session
        session.timeout = httpx.Timeout(place.seconds, connect=min(place.seconds, _CONNECT_SECONDS))
        session.event_hooks = {"response": [partial(_check_allowed, place)]}
        weakref.finalize(self, session.close)
        return api


def _check_allowed(place: Address, response: Any) -> None:
    if response.status_code in (401, 403):
        raise StoreError(
            f"The Chroma server {place.url} {'refuses the token' if place.token else 'wants a token'}.",
            hint="set RAG_CHROMA_TOKEN to one that may use this tenant and database",
        )


class ServerStore:
    """The store of a generation on a server, found at the first query. Thread-safe.

    Attributes:
        comes_back: Whether it may work again after it failed.
    """

    comes_back = True

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._collection: Any = None

    def query(self, vector: NDArray[np.float32], k: int) -> list[tuple[str, float]]:
        """As :meth:`Store.query`.

        Raises:
            StoreError: The server can't be asked, or has it no more.
        """
        if self._collection is None:
            self._collection = self._database.get(self._name)
        with self._database.asked():
            return _nearest(self._collection, vector, k)

    def close(self) -> None:
        """Nothing is held."""
