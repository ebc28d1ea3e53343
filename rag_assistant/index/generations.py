"""The folder of an index: its generations, which of them is current, who reads them, and who may write.

::

    CURRENT            the name of the current generation and where its papers came from; only ever replaced as a whole
    write.lock         held by the one writer
    vectors.sqlite     the vector cache
    generations/NAME/  one build: manifest.json, papers.jsonl, ...; its name is never used again
        readers/       a locked file for each reader, and for the writer that is making it

A generation is made aside and becomes current by one atomic replacement of ``CURRENT``, so that a process that is
killed at any moment leaves the old or the new one. One that isn't current is deleted once no file in ``readers/`` is
locked. A reader first locks its file and then looks at ``CURRENT`` again, so it can't lose what it has begun to read.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_assistant.errors import IndexLocked, IndexReadOnly, OutOfSpace, StoreError, is_out_of_space
from rag_assistant.loaders import OnProgress

MANIFEST = "manifest.json"
_NAME = re.compile(r"\d{6,}-[0-9a-f]{12}")
_SOURCE = re.compile(r"[a-z]{1,20}")
_OWN = re.compile(r"generations|write\.lock|vectors\.sqlite.*|\.?CURRENT.*|lost\+found")
"""What an index leaves in its folder, or a new disk."""
_MOST_TRIED = 64 << 20


@dataclass(frozen=True, slots=True)
class Current:
    """What ``CURRENT`` says: a generation's name, and whether its papers are ``bundled`` or from ``paths``."""

    name: str
    source: str


class IndexFolder:
    """The files of one index by name. Making one touches nothing on disk."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().absolute()
        self.cache = self.path / "vectors.sqlite"
        self._current = self.path / "CURRENT"
        self._generations = self.path / "generations"

    def generation(self, name: str) -> Path:
        """The folder of the generation of that name."""
        return self._generations / name

    def current(self) -> Current | None:
        """What ``CURRENT`` says, or ``None`` where it is missing or holds anything else."""
        try:
            words = self._current.read_bytes()[:200].decode("ascii").split()
        except (OSError, UnicodeDecodeError):
            return None
        if len(words) != 2 or not _NAME.fullmatch(words[0]) or not _SOURCE.fullmatch(words[1]):
            return None
        return Current(*words)

    def current_name(self) -> str:
        """The current generation's name; empty where ``CURRENT`` says none."""
        current = self.current()
        return current.name if current else ""

    def has_current_file(self) -> bool:
        """Whether a file ``CURRENT`` is there, whatever it holds."""
        return os.path.exists(self._current)  # noqa: PTH110 - Path.exists raises where a folder can't be read

    def is_taken(self) -> bool:
        """Whether something else than an index is here, or what is here may not be seen."""
        try:
            return not all(_OWN.fullmatch(name) for name in os.listdir(self.path))  # noqa: PTH208 - names are enough
        except OSError as error:
            return not isinstance(error, FileNotFoundError)

    def names(self) -> list[str]:
        """The generations that are there, newest first, whole or not."""
        try:
            entries = [entry.name for entry in os.scandir(self._generations) if _NAME.fullmatch(entry.name)]
        except OSError:
            return []
        return sorted(entries, key=lambda name: (int(name.partition("-")[0]), name), reverse=True)

    def new_generation(self) -> Path:
        """A new, empty folder, numbered after all that are here.

        Raises:
            OSError: It can't be made.
        """
        current = self.current()
        taken = [*self.names(), *([current.name] if current else [])]
        number = max((int(name.partition("-")[0]) for name in taken), default=0) + 1
        folder = self.generation(f"{number:06d}-{secrets.token_hex(6)}")
        folder.mkdir(parents=True)
        return folder

    def make_current(self, name: str, source: str) -> None:
        """Names the generation in ``CURRENT``, atomically and durably.

        Raises:
            OSError: It can't be written.
        """
        descriptor, made = tempfile.mkstemp(prefix=".CURRENT-", dir=self.path)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(f"{name} {source}\n")
                file.flush()
                os.fsync(file.fileno())
            Path(made).chmod(0o644)  # mkstemp lets only the owner read it
            Path(made).replace(self._current)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise
        sync_folder(self.path)

    def writable(self) -> bool:
        """Whether files can be made here; the folder is made when missing."""
        try:
            self._try_writing()
        except OSError:
            return False
        return True

    def _try_writing(self) -> None:
        self._generations.mkdir(parents=True, exist_ok=True)
        for folder in (self.path, self._generations):
            with tempfile.TemporaryFile(dir=folder):
                pass

    def clean(self) -> None:
        """Deletes the generations that are neither current nor read, and what killed writers left. For the writer.

        Where ``CURRENT`` names nothing readable, nothing is deleted: any of them may be the one to go on with.
        """
        current = self.current()
        for name in self.names():
            if current is None or name == current.name:
                continue
            folder = self.generation(name)
            if not _is_read(folder):
                with suppress(OSError):  # first the file without which it can't be taken for a whole one
                    (folder / MANIFEST).unlink(missing_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
        for leftover in self.path.glob(".CURRENT-*"):
            with suppress(OSError):
                leftover.unlink()

    @contextmanager
    def writing(self, timeout: float | None = None, progress: OnProgress | None = None) -> Iterator[None]:
        """Makes this process the only writer for the length of a ``with`` block.

        Args:
            timeout: For how many seconds to wait for another writer; ``None`` waits as long as it takes.
            progress: Told that it waits.

        Raises:
            IndexLocked: Another writer was at it for all that time.
            IndexReadOnly: The folder can't be written.
            OutOfSpace: Its disk is full.
            StoreError: A file is where the folder should be.
        """
        import filelock

        if os.path.isfile(self.path):  # noqa: PTH113 - Path.is_file raises where the folder above can't be read
            raise StoreError(f"{self.path} is a file, so no index can be there.", hint="name a folder: --index DIR")
        try:
            self._try_writing()
        except OSError as error:
            full = is_out_of_space(error)
            raise (OutOfSpace if full else IndexReadOnly)(
                f"The index folder {self.path} can't be written: {error.strerror or error}.",
                hint=f"{'free some space there, or ' if full else ''}name one that can: --index DIR, or RAG_INDEX",
            ) from error
        lock = _file_lock(self.path / "write.lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            if progress is not None:
                progress("waiting for another process that writes this index", 0, 0)
            try:
                lock.acquire(timeout=-1 if timeout is None else timeout)
            except filelock.Timeout as error:
                raise IndexLocked(
                    f"Another process is writing the index {self.path} and did not finish within {timeout:g} seconds.",
                    hint="try again when it is done, or wait longer: --lock-timeout SECONDS",
                ) from error
        try:
            yield
        finally:
            lock.release()


class ReadLock:
    """Keeps a generation from being deleted until :meth:`end`.

    Raises:
        OSError: The generation isn't there, or no file can be made in it.
    """

    def __init__(self, folder: Path) -> None:
        readers = folder / "readers"
        readers.mkdir(exist_ok=True)
        self._path = readers / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._lock = _file_lock(self._path)
        self._lock.acquire(timeout=0)

    def end(self) -> None:
        """The generation may go, as far as this reader is concerned."""
        self._lock.release()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def _file_lock(path: Path) -> Any:
    import filelock

    return filelock.FileLock(path, thread_local=False)  # it may be released by another thread


def _is_read(folder: Path) -> bool:
    try:
        entries = list((folder / "readers").iterdir())
    except OSError:
        return False
    for entry in entries:
        lock = _file_lock(entry)
        try:
            lock.acquire(timeout=0)
        except OSError:  # held (filelock.Timeout is one), or not ours to ask
            return True
        lock.release()
        with suppress(OSError):
            entry.unlink(missing_ok=True)
    return False


def room_error(folder: Path, size: int) -> OSError | None:
    """Why so many bytes can't be written into a folder, found by trying; nothing is left of it."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            disk = shutil.disk_usage(folder)
            if disk.total and disk.free < size:  # some network disks tell nothing but zeros
                return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if hasattr(os, "posix_fallocate"):  # a quota is seen only where it is run into
                os.posix_fallocate(file.fileno(), 0, min(size, _MOST_TRIED))
    except OSError as error:
        return None if error.errno in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS) else error
    return None


def sync_folder(folder: Path) -> None:
    """Makes new names in a folder durable, where the system can do that."""
    with suppress(OSError):
        _sync(folder)


def sync_tree(folder: Path) -> None:
    """Makes all files below a folder durable."""
    for root, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                _sync(Path(root) / name)
        sync_folder(Path(root))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
