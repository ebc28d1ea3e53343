"""The index as it is now, held for one question: the next one sees a rebuilt index."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rag_assistant.index.open import OpenIndex
from rag_assistant.retrieval.retriever import Retriever


class Snapshots:
    """Hands out retrievers of the index; may be used from several threads at once.

    Args:
        opened: The index as it was opened.
        searching: Makes a retriever for an open index.
        reopen: Opens the index again when another generation of it has been written.
    """

    def __init__(
        self, opened: OpenIndex, searching: Callable[[OpenIndex], Retriever], reopen: Callable[[], OpenIndex]
    ) -> None:
        self._searching = searching
        self._reopen = reopen
        self._lock = threading.Lock()
        self._snapshot: _Snapshot | None = _Snapshot(opened, searching(opened))
        self.notices = list(opened.notices)

    def use(self) -> Lease:
        """A lease on the index as it is now.

        Raises:
            RuntimeError: The assistant was closed.
            StoreError: The index was rebuilt and can't be opened.
        """
        with self._lock:
            if self._snapshot is None:
                raise RuntimeError("This assistant is closed; open another with Assistant.open().")
            if not self._snapshot.opened.is_current():
                opened = self._reopen()
                self.notices += opened.notices
                self._snapshot.release()
                self._snapshot = _Snapshot(opened, self._searching(opened))
            return Lease(self._snapshot)

    def close(self) -> None:
        """Lets go of the index once all leases have ended."""
        with self._lock:
            snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.release()


class _Snapshot:
    """One open generation of the index; closed once it is released and its last question has ended."""

    def __init__(self, opened: OpenIndex, retriever: Retriever) -> None:
        self.opened = opened
        self.retriever = retriever
        self._lock = threading.Lock()
        self._holders = 1

    def hold(self) -> None:
        with self._lock:
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            last = self._holders == 0
        if last:
            self.opened.close()


class Lease:
    """The retriever of the index, for the length of a ``with``."""

    def __init__(self, snapshot: _Snapshot) -> None:
        self._snapshot = snapshot
        snapshot.hold()

    def __enter__(self) -> Retriever:
        return self._snapshot.retriever

    def __exit__(self, *exc: object) -> None:
        self._snapshot.release()
