"""Vectors kept by content: what was encoded once by an embedder is never encoded again.

One sqlite file beside the generations of an index. A row's key is the embedder's fingerprint and the SHA-256 of the
text; a checksum per row is compared on reading, so that a row with wrong bytes counts as missing. The file can always
be made again from the papers: a damaged one is set aside and a new one begun.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rag_assistant.embedders.base import Embedder, Encoded, WordVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_T = TypeVar("_T")
_SCHEMA = 1
_BUSY_SECONDS = 30.0
_VARIABLES = 500
_BATCH = 32
_DAMAGED = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR})
# An exhausted quota or limit on files is reported as one of these, which says nothing about what was written before.
_UNWRITTEN = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE})
_TABLES = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS encoded (
    id INTEGER PRIMARY KEY, model INTEGER NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, words BLOB,
    truncated INTEGER NOT NULL, crc INTEGER NOT NULL, UNIQUE (model, text)
);
"""


class VectorCache:
    """The vectors of one index folder. Thread-safe, and safe beside other processes.

    It never raises for what is wrong with its file: a vector that can't be read is missing, one that can't be written
    isn't kept. :attr:`notices` says what happened, a sentence each.

    Args:
        path: The sqlite file; made when missing.
        read_only: Nothing is written; for folders where that isn't possible.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self.notices: list[str] = []
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._models: dict[str, int] = {}
        self._inode: int | None = None
        with self._lock, self._guarded():
            self._open()

    def get(self, fingerprint: str, texts: Sequence[str], *, words: bool = False) -> dict[str, Encoded]:
        """The texts that are kept, with what is kept of them.

        Args:
            fingerprint: Of the embedder.
            texts: What to look up.
            words: Only count a text as kept when its word vectors are, and return those too.
        """
        found: dict[str, Encoded] = {}
        with self._lock, self._guarded():
            model = self._model(fingerprint)
            if model is None or self._connection is None:
                return found
            by_digest = {_digest(text): text for text in texts}
            for digests in chunks(list(by_digest), _VARIABLES):
                marks = ",".join("?" * len(digests))
                query = f"SELECT text, vector, words, truncated, crc FROM encoded WHERE model = ? AND text IN ({marks})"  # noqa: S608
                rows = self._connection.execute(query, (model, *digests))
                for digest, vector, blob, truncated, crc in rows:
                    if (words and blob is None) or not _whole(fingerprint, digest, vector, blob, truncated, crc):
                        continue
                    found[by_digest[digest]] = _decode(vector, blob if words else None, bool(truncated))
        return found

    def put(self, fingerprint: str, encoded: Iterable[tuple[str, Encoded]]) -> None:
        """Keeps these texts' vectors, and their word vectors where given, in one transaction."""
        if self.read_only:
            return
        rows = []
        for text, value in encoded:
            digest, vector, words = _digest(text), value.vector.astype("<f4").tobytes(), _words_blob(value.words)
            truncated = int(value.truncated)
            rows.append((digest, vector, words, truncated, _crc(fingerprint, digest, vector, words, truncated)))
        with self._lock, self._guarded():
            if self._connection is None:
                return
            with self._connection:
                self._connection.execute("INSERT OR IGNORE INTO models (fingerprint) VALUES (?)", (fingerprint,))
                self._connection.executemany(
                    "INSERT OR REPLACE INTO encoded (model, text, vector, words, truncated, crc)"
                    " VALUES ((SELECT id FROM models WHERE fingerprint = ?), ?, ?, ?, ?, ?)",
                    [(fingerprint, *row) for row in rows],
                )

    def close(self) -> None:
        """Closes the file. The cache then holds nothing and keeps nothing."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _open(self) -> None:
        if self.read_only:
            if self.path.exists():
                uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
                self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            return
        self._connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, check_same_thread=False)
        self._inode = self.path.stat().st_ino if self.path.exists() else None
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _SCHEMA):
            raise _UnknownLayoutError("it has a layout of another version")
        self._connection.execute("PRAGMA journal_mode = TRUNCATE")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        if version == 0:
            self._connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_SCHEMA}; COMMIT;")

    def _model(self, fingerprint: str) -> int | None:
        if fingerprint not in self._models and self._connection is not None:
            query = "SELECT id FROM models WHERE fingerprint = ?"
            row = self._connection.execute(query, (fingerprint,)).fetchone()
            if row is None:
                return None
            self._models[fingerprint] = int(row[0])
        return self._models.get(fingerprint)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except _ERRORS as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
            damaged = code not in _UNWRITTEN and (code & 0xFF in _DAMAGED or isinstance(error, ValueError))
            if damaged and not self.read_only:
                self._set_aside(error)
            else:
                self.notices.append(f"The vectors kept in {self.path} can't be used now ({error}).")

    def _set_aside(self, error: Exception) -> None:
        self.close()
        self._models.clear()
        aside = self.path.with_name(f"{self.path.name}.damaged")  # one is enough to look into, and they can be large
        try:
            # Another process may have begun a new file already: then that is the one to go on with.
            if self.path.exists() and self._inode in (None, self.path.stat().st_ino):
                self.path.replace(aside)
                self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)
                self.notices.append(
                    f"The vectors kept in {self.path} were damaged; they are set aside as {aside.name}."
                )
            self._open()
        except _ERRORS:
            self.close()
            self.notices.append(f"The vectors kept in {self.path} can't be used ({error}).")


class _UnknownLayoutError(ValueError):
    pass


# A damaged file's names get into sqlite's messages, which then can't be decoded: a ValueError.
_ERRORS = (sqlite3.Error, OSError, ValueError)


class CachingEncoder:
    """An embedder that encodes only what its cache doesn't hold.

    Attributes:
        embedder: What encodes.
        cache: What keeps.
        encoded: How many texts had to be encoded so far.
    """

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self.embedder = embedder
        self.cache = cache
        self.encoded = 0

    def encode(self, texts: Sequence[str], *, words: bool = False) -> Mapping[str, Encoded]:
        """Every one of the texts with its vector, and with word vectors where asked for and the embedder has them.

        Raises:
            EmbedderError: The embedder failed.
        """
        words = words and self.embedder.has_words
        found = self.cache.get(self.embedder.fingerprint, texts, words=words)
        for _, encoded in self._missing(texts, found, words):
            found |= encoded
        return found

    def fill(self, texts: Sequence[str], *, words: bool = False) -> Iterator[int]:
        """Makes the cache hold all these texts; yields how many of them are done as it goes on.

        Raises:
            EmbedderError: The embedder failed.
        """
        words = words and self.embedder.has_words
        done = 0
        for chunk in chunks(texts, _VARIABLES):
            found = self.cache.get(self.embedder.fingerprint, chunk, words=words)
            for count, _ in self._missing(chunk, found, words):
                yield done + len(found) + count
            done += len(chunk)
            yield done

    def _missing(
        self, texts: Sequence[str], found: Mapping[str, Encoded], words: bool
    ) -> Iterator[tuple[int, dict[str, Encoded]]]:
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        done = 0
        for chunk in chunks(missing, _BATCH):
            made = dict(zip(chunk, self.embedder.encode_passages(list(chunk)), strict=True))
            if not words:
                made = {text: Encoded(value.vector, None, value.truncated) for text, value in made.items()}
            self.encoded += len(chunk)
            self.cache.put(self.embedder.fingerprint, made.items())
            done += len(chunk)
            yield done, made


def chunks(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    """The items in runs of at most ``size``."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _crc(fingerprint: str, digest: bytes, vector: bytes, words: bytes | None, truncated: int) -> int:
    crc = zlib.crc32(fingerprint.encode())
    for part in (digest, vector, words or b"", bytes([words is not None, bool(truncated)])):
        crc = zlib.crc32(part, crc)
    return crc


def _whole(fingerprint: str, digest: object, vector: object, words: object, truncated: object, crc: object) -> bool:
    """Whether a row is as it was written; in a damaged file a column can hold anything."""
    return (
        isinstance(digest, bytes)
        and isinstance(vector, bytes)
        and isinstance(words, bytes | None)
        and isinstance(truncated, int)
        and _crc(fingerprint, digest, vector, words, truncated) == crc
    )


def _words_blob(words: WordVectors | None) -> bytes | None:
    if words is None:
        return None
    count = len(words.spans).to_bytes(4, "little")
    return count + words.spans.astype("<i4").tobytes() + words.vectors.astype("i1").tobytes()


def _decode(vector: bytes, words: bytes | None, truncated: bool) -> Encoded:
    import numpy as np

    array: NDArray[np.float32] = np.frombuffer(vector, dtype="<f4")
    if words is None:
        return Encoded(array, None, truncated)
    count = int.from_bytes(words[:4], "little")
    spans = np.frombuffer(words, dtype="<i4", count=count * 2, offset=4).reshape(count, 2)
    vectors = np.frombuffer(words, dtype="i1", offset=4 + count * 8).reshape(count, len(array))
    return Encoded(array, WordVectors(spans, vectors), truncated)
