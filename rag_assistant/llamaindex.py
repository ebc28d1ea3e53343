"""The assistant as parts of LlamaIndex: a query engine whose answers are checked, and a retriever over its index."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import RESPONSE_TYPE, Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rag_assistant.assistant import Assistant
from rag_assistant.types import Answer, Hit


class AssistantRetriever(BaseRetriever):  # type: ignore[misc]
    """One node per paper: the passage that matches best, with the paper's record as metadata."""

    def __init__(self, assistant: Assistant, k: int = 10) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._assistant = assistant
        self._k = k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(hit) for hit in self._assistant.search(query_bundle.query_str, self._k)]


class AssistantQueryEngine(BaseQueryEngine):  # type: ignore[misc]
    """``response.metadata["answer"]`` is the whole :class:`~rag_assistant.types.Answer` as plain JSON types."""

    def __init__(self, assistant: Assistant) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._assistant = assistant

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return _response(self._assistant.ask(query_bundle.query_str))

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return _response(await self._assistant.aask(query_bundle.query_str))


def _response(answer: Answer) -> Response:
    return Response(
        answer.text, source_nodes=[_node(hit) for hit in answer.hits], metadata={"answer": answer.to_dict()}
    )


def _node(hit: Hit) -> NodeWithScore:
    paper = hit.paper
    node = TextNode(
        id_=hit.passage.id,
        text=hit.passage.text,
        metadata={"paper_id": paper.id, "title": paper.title, "year": paper.year, "url": paper.url},
        start_char_idx=hit.passage.start,
        end_char_idx=hit.passage.end,
    )
    return NodeWithScore(node=node, score=hit.score)
