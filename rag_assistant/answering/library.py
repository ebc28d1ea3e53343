"""The papers of an index: listed, indexed, added and removed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_assistant.answering.snapshots import Snapshots
from rag_assistant.embedders.base import Embedder
from rag_assistant.index.build import IndexSummary, build_index, held, preview, remove
from rag_assistant.index.server import server_of
from rag_assistant.loaders import LoadReport, OnProgress, load_papers
from rag_assistant.types import Filters, Paper

if TYPE_CHECKING:
    from rag_assistant.settings import Settings

PathLike = str | os.PathLike[str]


class Library:
    """What an assistant does with papers besides answering."""

    def __init__(
        self, settings: Settings, embedder: Embedder, snapshots: Snapshots, progress: OnProgress | None = None
    ) -> None:
        self._settings = settings
        self._embedder = embedder
        self._snapshots = snapshots
        self._progress = progress

    def papers(self, filters: Filters | None = None) -> tuple[Paper, ...]:
        """The papers of the index, in the order of the corpus."""
        with self._snapshots.use() as retriever:
            return retriever.papers(filters)

    def preview(
        self,
        paths: PathLike | Sequence[PathLike],
        *,
        add: bool = False,
        merge: bool = True,
        columns: Mapping[str, str] | None = None,
    ) -> IndexSummary:
        """What :meth:`index` would do, without doing it."""
        report = self._loaded(paths, add, merge, columns)
        summary = preview(
            self._settings.index_path, report.papers, self._embedder, add=add, server=server_of(self._settings)
        )
        return _with_problems(summary, report)

    def index(
        self,
        paths: PathLike | Sequence[PathLike],
        *,
        add: bool = False,
        merge: bool = True,
        columns: Mapping[str, str] | None = None,
    ) -> IndexSummary:
        """Makes the index hold exactly the papers of these files, folders and addresses.

        Args:
            paths: What to read.
            add: Whether the papers that are there stay.
            merge: Whether records of one paper become one, also with one that is there; see ``load_papers``.
            columns: How columns of tables are called, by field: ``{"abstract": "Summary"}``.
        """
        report = self._loaded(paths, add, merge, columns)
        summary = build_index(
            self._settings.index_path,
            report.papers,
            self._embedder,
            add=add,
            progress=self._progress,
            lock_timeout=self._settings.lock_timeout,
            server=server_of(self._settings),
        )
        return _with_problems(summary, report)

    def add(
        self, paths: PathLike | Sequence[PathLike], *, merge: bool = True, columns: Mapping[str, str] | None = None
    ) -> IndexSummary:
        """Adds the papers of these files, folders and addresses; a paper with a known id replaces that one."""
        return self.index(paths, add=True, merge=merge, columns=columns)

    def remove(self, ids: str | Sequence[str]) -> IndexSummary:
        """Removes papers by id.

        Raises:
            InputError: An id isn't in the index, or nothing would be left; nothing is removed.
        """
        return remove(
            self._settings.index_path,
            [ids] if isinstance(ids, str) else list(ids),
            self._embedder,
            progress=self._progress,
            lock_timeout=self._settings.lock_timeout,
            server=server_of(self._settings),
        )

    def _loaded(
        self, paths: PathLike | Sequence[PathLike], add: bool, merge: bool, columns: Mapping[str, str] | None
    ) -> LoadReport:
        known = held(self._settings.index_path, server=server_of(self._settings)) if add else ()
        return load_papers(_as_list(paths), merge=merge, columns=columns, known=known, progress=self._progress)


def _as_list(paths: PathLike | Sequence[PathLike]) -> list[PathLike]:
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


def _with_problems(summary: IndexSummary, report: LoadReport) -> IndexSummary:
    return replace(summary, problems=(*map(str, report.problems), *summary.problems))
