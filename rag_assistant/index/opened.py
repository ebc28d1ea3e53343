"""An index as it is read: its papers, and searches over them by vector and by word."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rag_assistant.embedders.base import Encoded
from rag_assistant.embedders.cache import CachingEncoder
from rag_assistant.index.contents import Spans
from rag_assistant.index.generations import IndexFolder, ReadLock
from rag_assistant.index.lexical import Lexical
from rag_assistant.index.manifest import Manifest
from rag_assistant.index.passages import embedding_text, passage, span_of
from rag_assistant.index.store import SEARCH_BREADTH, ServerStore, Store
from rag_assistant.index.terms import tokenize
from rag_assistant.types import Paper, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PAPERS_IN_MEMORY = 600
_STEMS_IN_MEMORY = 20_000


class OpenIndex:
    """One generation of an index, open for reading. Thread-safe. Made by :func:`rag_assistant.index.open.open_index`.

    Attributes:
        path: The index's folder.
        papers: By id, in order; never changes.
        lexical: BM25 over the papers, in the same order.
        manifest: What the generation was built with; ``None`` for an index that is in memory only.
    """

    def __init__(
        self,
        folder: IndexFolder,
        name: str,
        *,
        current_name: Callable[[], str] | None = None,
        papers: Mapping[str, Paper],
        spans: Spans,
        vectors: NDArray[np.float32],
        lexical: Lexical,
        store: Store | ServerStore | None,
        encoder: CachingEncoder,
        manifest: Manifest | None,
        reading: ReadLock | None,
        notices: Iterable[str] = (),
    ) -> None:
        self.path: Path = folder.path
        self.papers: Mapping[str, Paper] = MappingProxyType(dict(papers))
        self.lexical = lexical
        self.manifest = manifest
        self._current_name = current_name or folder.current_name
        self._name = name
        self._spans = spans
        self._vectors = vectors
        self._store = store
        self._encoder = encoder
        self._reading = reading
        self._notices = list(notices)
        self._lock = threading.Lock()
        self._encoded: OrderedDict[str, tuple[Encoded, tuple[Encoded, ...]]] = OrderedDict()
        self._stems: dict[str, frozenset[str]] = {}
        self._sentences: dict[str, tuple[Passage, ...]] = {}

    def __enter__(self) -> OpenIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about how this index came to be open, a sentence each."""
        return (*self._notices, *self._encoder.cache.notices)

    @cached_property
    def windows(self) -> tuple[Passage, ...]:
        """The passages that are searched, in the papers' order."""
        return tuple(passage(self.papers[name], *span) for name, (found, _) in self._spans.items() for span in found)

    def is_current(self) -> bool:
        """Whether no writer has made a newer generation current since: reads one small file, or asks a server once.

        Raises:
            StoreError: The server can't be asked.
        """
        return self._current_name() in ("", self._name)

    def sentences(self, paper_id: str) -> tuple[Passage, ...]:
        """The sentences of a paper's abstract, in order."""
        found = self._sentences.get(paper_id)
        if found is None:
            found = tuple(passage(self.papers[paper_id], *span) for span in self._spans[paper_id][1])
            self._sentences[paper_id] = found
        return found

    def stems(self, text: str) -> frozenset[str]:
        """The terms of a text as BM25 counts them."""
        found = self._stems.get(text)
        if found is None:
            found = frozenset(tokenize(text))
            if len(self._stems) >= _STEMS_IN_MEMORY:
                self._stems.clear()
            self._stems[text] = found
        return found

    def document_frequency(self, term: str) -> int:
        """How many papers hold the term in title or abstract."""
        return self.lexical.frequency(term)

    def windows_for(self, papers: int) -> int:
        """How many windows have to be asked for so that they are of at least that many papers."""
        ends = self._most_windows
        return ends[min(max(papers, 1), len(ends)) - 1] if ends else 0

    @cached_property
    def _most_windows(self) -> list[int]:
        """For each n, one more than the windows of the n-1 papers that have most of them."""
        counts = sorted((len(found) for found, _ in self._spans.values() if found), reverse=True)
        ends, before = [], 0
        for count in counts:
            ends.append(before + 1)
            before += count
        return ends

    def search_vectors(
        self, vector: NDArray[np.float32], k: int, paper_ids: Iterable[str] | None = None
    ) -> list[tuple[Passage, float]]:
        """The ``k`` windows nearest to a vector, best first, with their cosines.

        Args:
            vector: Of unit length, as the embedder gives it.
            k: How many; fewer where there are fewer.
            paper_ids: Only windows of these papers. Such a search is exact.
        """
        k = min(k, len(self._vectors))
        if k <= 0:
            return []
        if paper_ids is None and self._store is not None and k <= SEARCH_BREADTH:
            try:
                return [(self._window(name), cosine) for name, cosine in self._store.query(vector, k)]
            except Exception as error:  # whatever Chroma raises when its files were changed under it
                notice = f"The store of the index {self.path} failed ({error}); searching without it."
                if notice not in self._notices:
                    self._notices.append(notice)
                if not self._store.comes_back:
                    self._store = None
        return self._exact(vector, None if paper_ids is None else self._rows(paper_ids), k)

    def exact_cosines(self, vector: NDArray[np.float32], paper_ids: Iterable[str]) -> list[tuple[Passage, float]]:
        """All windows of these papers with their cosines, best first."""
        rows = self._rows(paper_ids)
        return self._exact(vector, rows, len(rows))

    def _exact(self, vector: NDArray[np.float32], rows: NDArray[np.intp] | None, k: int) -> list[tuple[Passage, float]]:
        import numpy as np

        cosines = (self._vectors if rows is None else self._vectors[rows]) @ vector
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(self.windows[row if rows is None else rows[row]], float(cosines[row])) for row in best]

    def _rows(self, paper_ids: Iterable[str]) -> NDArray[np.intp]:
        import numpy as np

        return np.array(
            sorted(row for name in set(paper_ids) if name in self._row_ranges for row in self._row_ranges[name]),
            dtype=np.intp,
        )

    @cached_property
    def _row_ranges(self) -> dict[str, range]:
        ranges, start = {}, 0
        for name, (found, _) in self._spans.items():
            ranges[name] = range(start, start + len(found))
            start += len(found)
        return ranges

    def _window(self, name: str) -> Passage:
        paper_id, start, end = span_of(name)
        return passage(self.papers[paper_id], start, end)

    def encoded_texts(self, paper_ids: Sequence[str]) -> dict[str, tuple[Encoded, tuple[Encoded, ...]]]:
        """The title and the sentences of each of these papers, encoded with word vectors where the embedder has them.

        From memory, from the cache, or computed now and kept.

        Raises:
            EmbedderError: The embedder failed on a text that had to be encoded.
        """
        with self._lock:
            found = {name: self._encoded[name] for name in paper_ids if name in self._encoded}
            for name in found:
                self._encoded.move_to_end(name)
        wanted = [name for name in dict.fromkeys(paper_ids) if name not in found]
        if wanted:
            texts = {name: [self.papers[name].title, *(s.text for s in self.sentences(name))] for name in wanted}
            encoded = self._encoder.encode([text for found in texts.values() for text in found], words=True)
            for name, (title, *rest) in texts.items():
                found[name] = (encoded[title], tuple(encoded[text] for text in rest))
            with self._lock:
                self._encoded.update({name: found[name] for name in wanted})
                while len(self._encoded) > _PAPERS_IN_MEMORY:
                    self._encoded.popitem(last=False)
        return found

    def encoded_windows(self, paper_id: str) -> tuple[Encoded, ...]:
        """The windows of a paper, encoded without word vectors, in order."""
        paper = self.papers[paper_id]
        texts = [embedding_text(paper, passage(paper, *span)) for span in self._spans[paper_id][0]]
        encoded = self._encoder.encode(texts)
        return tuple(encoded[text] for text in texts)

    def close(self) -> None:
        """Gives files and memory back. An index that was closed must not be searched."""
        if self._store is not None:
            self._store.close()
        self._encoder.cache.close()
        if self._reading is not None:
            self._reading.end()
            self._reading = None
