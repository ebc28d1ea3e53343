"""The assistant inside LlamaIndex: a query engine and a retriever that its users' code takes as its own."""

from __future__ import annotations

import json

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode
from llama_index.core.tools import QueryEngineTool

from rag_assistant import Assistant
from rag_assistant.llamaindex import AssistantQueryEngine, AssistantRetriever

QUESTION = "What is CTMA?"


@pytest.fixture(scope="module")
def engine(assistant: Assistant) -> AssistantQueryEngine:
    return AssistantQueryEngine(assistant)


def test_the_query_engine_answers_with_its_sources(assistant: Assistant, engine: AssistantQueryEngine) -> None:
    assert isinstance(engine, BaseQueryEngine)
    response = engine.query(QUESTION)
    answer = assistant.ask(QUESTION)
    assert str(response) == answer.text
    assert [node.metadata["paper_id"] for node in response.source_nodes] == [hit.paper.id for hit in answer.hits]
    told = response.metadata["answer"]
    assert json.loads(json.dumps(told))["citations"] == answer.to_dict()["citations"]
    assert told["status"] == "answered"


async def test_it_answers_asynchronously_too(assistant: Assistant, engine: AssistantQueryEngine) -> None:
    assert str(await engine.aquery(QUESTION)) == assistant.ask(QUESTION).text


def test_a_refusal_is_a_response(engine: AssistantQueryEngine) -> None:
    response = engine.query("What is the capital of France?")
    assert response.metadata["answer"]["status"] == "not_in_corpus"
    assert str(response)


def test_it_is_a_tool_for_agents(engine: AssistantQueryEngine) -> None:
    tool = QueryEngineTool.from_defaults(engine, name="papers", description="Answers from papers.")
    assert "Centered Trimmed Meta Aggregator" in tool.call(QUESTION).content


def test_the_retriever_gives_one_node_a_paper(assistant: Assistant) -> None:
    retriever = AssistantRetriever(assistant, k=4)
    assert isinstance(retriever, BaseRetriever)
    nodes = retriever.retrieve(QUESTION)
    hits = assistant.search(QUESTION, k=4)
    assert [(n.node.node_id, n.score) for n in nodes] == [(hit.passage.id, hit.score) for hit in hits]
    for node, hit in zip(nodes, hits, strict=True):
        assert node.node.get_content(MetadataMode.NONE) == hit.passage.text
        assert node.metadata == {
            "paper_id": hit.paper.id,
            "title": hit.paper.title,
            "year": hit.paper.year,
            "url": hit.paper.url,
        }
        assert hit.paper.abstract[node.node.start_char_idx : node.node.end_char_idx] == hit.passage.text


async def test_the_retriever_is_asynchronous_too(assistant: Assistant) -> None:
    nodes = await AssistantRetriever(assistant, k=2).aretrieve(QUESTION)
    assert nodes[0].metadata["paper_id"] == "dahan24a"
    assert len(nodes) == 2
