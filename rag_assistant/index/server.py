"""An index on a Chroma server: its generations, which of them is current, and who may write.

::

    rag-assistant.000007            the papers of a complete generation, its manifest in the metadata
    rag-assistant.passages.NAME     the passages and vectors of the generation NAME
    rag-assistant.building.NAME     papers of a generation in the making
    rag-assistant.writer            there while somebody writes, who counts a number in its metadata up

The generation of the highest number is current. One becomes current by a single request, which renames
``rag-assistant.building.NAME``. A server gives a name once: of two writers who want the next number one gets it, and
what a killed one leaves has no number. ``rag-assistant.writer`` only saves a second writer work that would be in vain.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rag_assistant.embedders.cache import chunks
from rag_assistant.errors import IndexDamaged, IndexLocked, StoreError
from rag_assistant.index.contents import Contents, Spans, corpus_hash, paper_line, parse_papers
from rag_assistant.index.manifest import Manifest, manifest_of
from rag_assistant.index.passages import passage
from rag_assistant.index.store import CHECKED, Address, CollectionGone, Database, NameTaken, ServerStore
from rag_assistant.loaders import OnProgress
from rag_assistant.sentences import Span
from rag_assistant.types import Paper

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_assistant.settings import Settings

_PREFIX = "rag-assistant."
_LOCK = f"{_PREFIX}writer"
_NUMBERED = re.compile(re.escape(_PREFIX) + r"(\d{6,})")
_BATCH = 500
_BEAT_SECONDS = 1.0
_SILENT_SECONDS = 10.0
"""A writer that hasn't counted for so long is dead. Longer than a request takes on a busy server."""
_POLL_SECONDS = 0.3
_MOST_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Served:
    """A complete generation on the server: its number there, its name, its manifest (``None`` where that is damaged or
    of an older schema), and the SHA-256 of its vectors."""

    number: int
    name: str
    manifest: Manifest | None
    vectors_sha256: str


class ServedDamaged(IndexDamaged):
    """What a server holds isn't what was written; ``problem`` says it in a few words."""

    def __init__(self, shown: str, problem: str, *, hint: str) -> None:
        super().__init__(f"The index on {shown} is damaged ({problem}).", hint=hint)
        self.problem = problem


class IndexServer:
    """An index in a database of a Chroma server. Thread-safe; making one asks the server nothing.

    Attributes:
        shown: What messages call the index.

    Every method raises ``StoreError`` where the server can't be reached, refuses, or has no such database.
    """

    def __init__(self, address: Address) -> None:
        places = (("tenant", address.tenant), ("database", address.database))
        others = ", ".join(f"{kind} {name}" for kind, name in places if name != f"default_{kind}")
        self.shown = address.url + (f" ({others})" if others else "")
        self.hint = f"run: rag-assistant index PATH... --chroma-url {address.url}"
        self._database = Database(address)

    def current(self) -> Served | None:
        """The current generation; ``None`` where there is none.

        Raises:
            IndexDamaged: A newer version of this program wrote it.
        """
        found = {int(match[1]): one for one in self._database.collections() if (match := _NUMBERED.fullmatch(one.name))}
        if not found:
            self._database.check()
            return None
        number = max(found)
        metadata = found[number].metadata or {}
        try:
            fields = {**json.loads(metadata["manifest"]), "files": ()}
            manifest = manifest_of(fields, self.shown, "name another server: --chroma-url URL")
        except (KeyError, ValueError, TypeError):
            manifest = None
        return Served(number, str(metadata.get("generation")), manifest, str(metadata.get("vectors_sha256")))

    def current_name(self) -> str:
        """The current generation's name; empty where there is none."""
        served = self.current()
        return served.name if served else ""

    def store(self, name: str) -> ServerStore:
        """What searches a generation's vectors."""
        return ServerStore(self._database, _passages(name))

    def fetched(self, served: Served, told: OnProgress) -> Contents:
        """All that a generation holds.

        Raises:
            ServedDamaged: It isn't what was written.
            CollectionGone: A writer has made another current and deleted it.
        """
        manifest = served.manifest
        if manifest is None:
            raise self.damaged("its manifest is damaged or of an older version")
        total = manifest.papers + manifest.windows
        lines: list[Any] = []
        collection = self._database.get(f"{_PREFIX}{served.number:06d}")
        for numbers in chunks(range(manifest.papers), _BATCH):
            told("copying from the server", len(lines), total)
            lines += self._in_order(collection, [str(number) for number in numbers], "metadatas")
        try:
            papers = parse_papers("".join(str(line["paper"]) for line in lines).encode("ascii"))
            spans = {name: _spans(str(line["spans"])) for name, line in zip(papers, lines, strict=True)}
        except (ValueError, TypeError, KeyError) as error:
            raise self.damaged("its papers can't be read") from error
        if corpus_hash(papers.values()) != manifest.corpus_hash:
            raise self.damaged("its papers are others than were written")
        return Contents(papers, spans, self._vectors(served, manifest, papers, spans, told))

    def _vectors(
        self, served: Served, manifest: Manifest, papers: Mapping[str, Paper], spans: Spans, told: OnProgress
    ) -> NDArray[np.float32]:
        import numpy as np

        ids = _window_ids(papers, spans)
        collection = self._database.get(_passages(served.name))
        vectors = np.zeros((len(ids), manifest.dimension), dtype=np.float32)
        for rows in chunks(range(len(ids)), _BATCH):
            told("copying from the server", len(papers) + rows[0], len(papers) + len(ids))
            found = self._in_order(collection, [ids[row] for row in rows], "embeddings")
            try:
                vectors[rows[0] : rows[-1] + 1] = np.asarray(found, dtype=np.float32)
            except ValueError as error:
                raise self.damaged("its vectors have another length") from error
        if _sha256(vectors) != served.vectors_sha256:
            raise self.damaged("its vectors are others than were written")
        return vectors

    def _in_order(self, collection: Any, ids: Sequence[str], what: str) -> list[Any]:
        with self._database.asked():
            found = collection.get(ids=list(ids), include=[what])
        by_id = dict(zip(found["ids"], found[what], strict=True))
        if len(by_id) != len(ids):
            raise self.damaged(f"{len(ids) - len(by_id)} of its records are missing")
        return [by_id[name] for name in ids]

    def problem(self, manifest: Manifest) -> str:
        """Why a generation can't be searched on the server, in a few words; empty when it can."""
        try:
            collection = self._database.get(_passages(manifest.generation))
            with self._database.asked():
                count = collection.count()
        except CollectionGone:
            return "its passages are missing on the server"
        return "" if count == manifest.windows else f"the server holds {count} passages instead of {manifest.windows}"

    def damaged(self, problem: str) -> ServedDamaged:
        """The error for what the server holds."""
        return ServedDamaged(self.shown, problem, hint=f"{self.hint}, with the files its papers came from")

    @contextmanager
    def writing(self, owner: str, timeout: float | None, progress: OnProgress | None) -> Iterator[Writer]:
        """Makes this process the only writer for the length of a ``with`` block.

        Args:
            owner: Who this is. No two writers have this name at the same time, so that its lock is what a killed one
                left.
            timeout: For how many seconds to wait for another writer; ``None`` waits as long as it takes.
            progress: Told that it waits.

        Raises:
            IndexLocked: Another writer was at it for all that time.
        """
        self._database.check()
        lock = self._locked(owner, timeout, progress)
        ended = threading.Event()
        beating = threading.Thread(target=_beat, args=(self._database, lock, owner, ended), daemon=True)
        beating.start()
        try:
            yield Writer(self, self._database, lock)
        finally:
            ended.set()
            beating.join()
            with suppress(StoreError):  # else it is silent, and the next writer breaks it
                _drop(self._database, lock)

    def _locked(self, owner: str, timeout: float | None, progress: OnProgress | None) -> Any:
        started = since = time.monotonic()
        last: object = None
        while True:
            with suppress(NameTaken):
                return self._database.create(_LOCK, {"owner": owner, "beat": 0})
            lock = next((one for one in self._database.collections() if one.name == _LOCK), None)
            if lock is None:
                continue
            now, held = time.monotonic(), lock.metadata or {}
            if last is None and progress is not None and held.get("owner") != owner:
                progress("waiting for another process that writes this index", 0, 0)
            if last != (seen := (lock.id, held.get("beat"))):
                last, since = seen, now
            if held.get("owner") == owner or now - since > _SILENT_SECONDS:
                with suppress(CollectionGone):
                    _drop(self._database, lock)
                continue
            if timeout is not None and now - started >= timeout:
                raise IndexLocked(
                    f"Another process is writing the index on {self.shown} and did not finish within"
                    f" {timeout:g} seconds.",
                    hint="try again when it is done, or wait longer: --lock-timeout SECONDS",
                )
            time.sleep(_POLL_SECONDS)


class Writer:
    """The one writer of an index on a server."""

    def __init__(self, server: IndexServer, database: Database, lock: Any) -> None:
        self._server = server
        self._database = database
        self._lock = lock

    def publish(
        self, manifest: Manifest, contents: Contents, nodes: Sequence[Any], after: str, progress: OnProgress
    ) -> None:
        """Uploads a generation, checks it, makes it current and deletes the others.

        Args:
            manifest: Its manifest.
            contents: What it holds.
            nodes: Its windows as LlamaIndex nodes that bear their vectors.
            after: The name of the generation that it is to follow; empty where it is the first.
            progress: Told of the work.

        Raises:
            IndexDamaged: The server doesn't give back what was sent.
            IndexLocked: Another writer was taken in for this one, which was silent for too long.
        """
        database, name = self._database, manifest.generation
        progress("storing", 0, len(nodes))
        try:
            passages = database.create(_passages(name))
            papers = database.create(
                f"{_PREFIX}building.{name}",
                {
                    "generation": name,
                    "manifest": json.dumps(manifest.to_dict()),
                    "vectors_sha256": _sha256(contents.vectors),
                },
            )
            database.fill(passages, nodes, lambda done: progress("storing", done, len(nodes)))
            records = [
                {"paper": paper_line(paper.to_dict()).decode("ascii"), "spans": json.dumps(contents.spans[paper.id])}
                for paper in contents.papers.values()
            ]
            for numbers in chunks(range(len(records)), _BATCH):
                rows = [records[number] for number in numbers]
                with database.asked():  # a record needs a vector
                    papers.add(ids=[str(number) for number in numbers], embeddings=[[0.0]] * len(rows), metadatas=rows)
            progress("checking", 0, 0)
            self._check(manifest, contents)
            self._commit(papers, name, after)
        except CollectionGone as error:
            raise self._overtaken() from error
        with suppress(StoreError):
            self.clean()

    def _check(self, manifest: Manifest, contents: Contents) -> None:
        wrong = self._server.problem(manifest)
        ids, store = _window_ids(contents.papers, contents.spans), self._server.store(manifest.generation)
        collection = self._database.get(_passages(manifest.generation))
        for row in range(0, 0 if wrong else len(ids), max(1, len(ids) // CHECKED)):
            (found, cosine), *_ = store.query(contents.vectors[row], 1)
            with self._database.asked():
                vector = collection.get(ids=[ids[row]], include=["embeddings"])["embeddings"][0]
            if (found != ids[row] and cosine < 0.999) or (vector.astype("<f4") != contents.vectors[row]).any():
                wrong = f"the server doesn't find passage {ids[row]} as it was sent"
        if wrong:
            raise self._server.damaged(wrong)

    def _commit(self, papers: Any, name: str, after: str) -> None:
        if not any(one.id == self._lock.id for one in self._database.collections()):
            raise self._overtaken()
        before = self._server.current()
        if (before.name if before else "") != after:
            raise self._overtaken()
        try:
            self._database.rename(papers, f"{_PREFIX}{(before.number if before else 0) + 1:06d}")
        except StoreError:
            if self._server.current_name() == after:
                raise
        # Also where the answer was lost, or another writer got that number.
        if self._server.current_name() != name:
            raise self._overtaken()

    def _overtaken(self) -> IndexLocked:
        return IndexLocked(
            f"Another process has written the index on {self._server.shown} meanwhile.", hint="run it again"
        )

    def clean(self) -> None:
        """Deletes the generations that aren't current, and what killed writers left."""
        current = self._server.current()
        kept = [_LOCK, *([f"{_PREFIX}{current.number:06d}", _passages(current.name)] if current else [])]
        # A generation's papers first: without these it can't be taken for a whole one.
        for name in sorted(one.name for one in self._database.collections()):
            if name.startswith(_PREFIX) and name not in kept:
                self._database.delete(name)


def server_of(settings: Settings) -> IndexServer | None:
    """The server that holds the index by these settings; ``None`` where it is in a folder."""
    if settings.chroma_url is None:
        return None
    parts = urlsplit(settings.chroma_url)
    return IndexServer(
        Address(
            parts.scheme,
            str(parts.hostname),
            int(parts.port or 0),
            settings.chroma_tenant,
            settings.chroma_database,
            settings.chroma_token.get_secret_value() if settings.chroma_token else "",
            min(settings.timeout, _MOST_SECONDS),
        )
    )


def _beat(database: Database, lock: Any, owner: str, ended: threading.Event) -> None:
    beat = 0
    while not ended.wait(_BEAT_SECONDS):
        beat += 1
        # A server that is away may come back; a lock that another writer broke is seen before anything is made current.
        with suppress(StoreError), database.asked():
            lock.modify(metadata={"owner": owner, "beat": beat})


def _drop(database: Database, lock: Any) -> None:
    # Deleting goes by name, and by now that may be another writer's.
    aside = f"{_PREFIX}left.{secrets.token_hex(6)}"
    database.rename(lock, aside)
    database.delete(aside)


def _passages(name: str) -> str:
    return f"{_PREFIX}passages.{name}"


def _window_ids(papers: Mapping[str, Paper], spans: Spans) -> list[str]:
    return [passage(papers[name], *span).id for name, (windows, _) in spans.items() for span in windows]


def _spans(text: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    windows, sentences = json.loads(text)
    return tuple((s, e) for s, e in windows), tuple((s, e) for s, e in sentences)


def _sha256(vectors: NDArray[np.float32]) -> str:
    return hashlib.sha256(vectors.astype("<f4").tobytes()).hexdigest()
