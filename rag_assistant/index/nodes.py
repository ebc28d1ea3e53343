"""The edge to LlamaIndex while indexing: papers as Documents, passages as TextNodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document, NodeRelationship, TextNode

from rag_assistant.types import Paper, Passage

_SURROGATES = re.compile("[\ud800-\udfff]")


def documents(papers: Iterable[Paper]) -> list[Document]:
    """The papers as LlamaIndex Documents: the abstract as text, title, year, venue and url as metadata."""
    return [
        Document(
            id_=paper.id,
            text=_valid(paper.abstract),
            metadata={
                "title": _valid(paper.title),
                "year": paper.year or "",
                "venue": _valid(paper.venue or ""),
                "url": _valid(paper.url or ""),
            },
        )
        for paper in papers
    ]


def _valid(text: str) -> str:
    """Lone surrogates can't be encoded as UTF-8; replaced one by one, so that offsets stay."""
    return _SURROGATES.sub("\ufffd", text)


class PassageParser(NodeParser):  # type: ignore[misc]
    """Cuts Documents into this package's passages.

    A node's id is the passage's, its metadata hold ``paper_id``, ``start`` and ``end``, and its source is its Document.
    """

    _passages: Callable[[str], Sequence[Passage]] = PrivateAttr()

    def __init__(self, passages: Callable[[str], Sequence[Passage]], **kwargs: Any) -> None:
        """``passages`` gives the passages of the paper whose id is the Document's."""
        super().__init__(include_prev_next_rel=False, **kwargs)
        self._passages = passages

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex serialises this class under."""
        return "PassageParser"

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        del show_progress, kwargs
        return [
            TextNode(
                id_=passage.id,
                text=_valid(passage.text),
                start_char_idx=passage.start,
                end_char_idx=passage.end,
                metadata={"paper_id": passage.paper_id, "start": passage.start, "end": passage.end},
                relationships={NodeRelationship.SOURCE: node.as_related_node_info()},
            )
            for node in nodes
            for passage in self._passages(node.node_id)
        ]
