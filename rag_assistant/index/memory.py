"""An index that is nowhere on disk: for folders that can't be written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rag_assistant.embedders.cache import CachingEncoder
from rag_assistant.index.generations import IndexFolder
from rag_assistant.index.lexical import Lexical
from rag_assistant.index.opened import OpenIndex
from rag_assistant.index.passages import embedding_text, sentences, windows
from rag_assistant.types import Paper


def index_in_memory(
    folder: IndexFolder, name: str, papers: Mapping[str, Paper], encoder: CachingEncoder, notices: Iterable[str]
) -> OpenIndex:
    """The papers, searchable exactly by vectors that the encoder's cache keeps or that are computed now.

    Args:
        folder: Where the index would be.
        name: The generation that is current there, or nothing.
        papers: What to search.
        encoder: What encodes.
        notices: What the user should know.

    Raises:
        EmbedderError: The embedder failed.
    """
    import numpy as np

    split = {paper_id: (windows(paper, encoder.embedder), sentences(paper)) for paper_id, paper in papers.items()}
    texts = [embedding_text(papers[paper_id], window) for paper_id, (found, _) in split.items() for window in found]
    encoded = encoder.encode(texts)
    vectors = np.zeros((len(texts), encoder.embedder.dimension), dtype=np.float32)
    for row, text in enumerate(texts):
        vectors[row] = encoded[text].vector
    return OpenIndex(
        folder,
        name,
        papers=papers,
        spans={key: ([(p.start, p.end) for p in w], [(p.start, p.end) for p in s]) for key, (w, s) in split.items()},
        vectors=vectors,
        lexical=Lexical.of(list(papers.values())),
        store=None,
        encoder=encoder,
        manifest=None,
        reading=None,
        notices=notices,
    )
