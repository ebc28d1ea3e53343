"""The plug-in point for rerankers: any LlamaIndex node postprocessor reorders what was found. Off by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag_assistant.errors import PluginError
from rag_assistant.types import Hit


def reranked(postprocessor: Any, question: str, hits: Sequence[Hit]) -> list[tuple[str, float]]:
    """The papers in the postprocessor's order, as ``(paper id, score)``; it may drop some.

    Args:
        postprocessor: A LlamaIndex ``BaseNodePostprocessor``. It is given one node per paper: the title and the whole
            abstract, with the paper's id as node id, and the score so far.
        question: The self-contained question.
        hits: What to reorder, best first.

    Raises:
        PluginError: The postprocessor failed, or returned nodes that it wasn't given.
    """
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    nodes = [
        NodeWithScore(
            node=TextNode(id_=hit.paper.id, text=f"{hit.paper.title}\n\n{hit.paper.abstract}"), score=hit.score
        )
        for hit in hits
    ]
    name = type(postprocessor).__name__
    try:
        ordered = postprocessor.postprocess_nodes(nodes, query_bundle=QueryBundle(question))
    except Exception as error:  # third-party code may raise anything
        raise PluginError(f"The reranker {name} failed: {error}.", hint="leave rerank out, or mend it") from error
    known = {hit.paper.id for hit in hits}
    scores = [(node.node.node_id, float(node.score or 0.0)) for node in ordered]
    if any(paper_id not in known for paper_id, _ in scores):
        raise PluginError(
            f"The reranker {name} returned papers that it was not given.", hint="leave rerank out, or mend it"
        )
    return scores
