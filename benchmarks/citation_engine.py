"""LlamaIndex's CitationQueryEngine as a system that the eval harness can ask, to hold ours against.

It gets what our assistant gets: the same papers for a question, found by our retrieval, each with its title and whole
abstract as one source, and the same model at temperature 0. Its prompt and its way of working are its own. Where it
can't be read in two ways it is read to its advantage: a source that it cites is taken to be quoted whole, a refusal in
any words counts, and a follow-up is put to it as the stand-alone question that the set gives.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.llms.openai_like import OpenAILike

from rag_assistant import Answer, Assistant, Citation, Hit, Quote, Statement, Usage
from rag_assistant.sentences import sentence_spans
from rag_assistant.types import Turn

_MARKER = re.compile(
    r"\[(?:sources?\s*)?(\d+(?:\s*[,;]\s*(?:source\s*)?\d+)*)\]|\bsources?\s+(\d+(?:(?:\s*,\s*|\s+and\s+)\d+)*)\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\bnone of the (?:\w+ )*(?:sources|papers|abstracts)|\bno (?:\w+ )*(?:information|mention|source|details?)\b"
    r"|\b(?:do|does|did|is|are|was|were)(?: not|n't) (?:\w+ )?"
    r"(?:mention|provid|specif|contain|stat|giv|includ|discuss|address|report|disclos|indicat|helpful|relevant|available)"
    r"|\b(?:unable|impossible) to\b|\bcan(?:not|'t) (?:be )?(?:answer|determin|provid|find)",
    re.IGNORECASE,
)


class CitationEngine:
    """The engine over an assistant's retrieval.

    Args:
        assistant: Finds the papers.
        standalone: Stand-alone questions by question and history.
        model, base_url: The model and its server.
        k: How many papers it reads.
        max_tokens: At most this many tokens are written.
    """

    def __init__(
        self,
        assistant: Assistant,
        standalone: Mapping[tuple[str, tuple[Turn, ...]], str],
        *,
        model: str,
        base_url: str,
        k: int,
        max_tokens: int,
    ) -> None:
        self._assistant = assistant
        self._standalone = standalone
        self._model = model
        self._k = k
        self._max_tokens = max_tokens
        self._llm = OpenAILike(
            model=model,
            api_base=base_url,
            api_key="none",
            is_chat_model=True,
            context_window=8192,
            temperature=0.0,
            max_tokens=max_tokens,
            timeout=600.0,
            max_retries=0,
        )

    def describe(self) -> dict[str, Any]:
        """What answers, as plain JSON types."""
        return {
            "engine": "llama_index CitationQueryEngine",
            "model": self._model,
            "k": self._k,
            "max_tokens": self._max_tokens,
            "assistant": self._assistant.describe(),
        }

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        """The engine's answer, with its markers as citations of whole abstracts."""
        started = time.perf_counter()
        asked = self._standalone.get((question, tuple(history)), question)
        hits = self._assistant.search(asked, self._k)
        engine = CitationQueryEngine(_retriever(hits), llm=self._llm)
        text = str(engine.query(asked)).strip()
        return read(text, asked, hits, model=self._model, took_ms=(time.perf_counter() - started) * 1000)


class _Found(BaseRetriever):  # type: ignore[misc]
    """What was found already."""

    def __init__(self, nodes: list[NodeWithScore]) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._nodes = nodes

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:  # noqa: ARG002 its caller names it
        return self._nodes


def _retriever(hits: Sequence[Hit]) -> _Found:
    return _Found(
        [
            NodeWithScore(node=TextNode(id_=hit.paper.id, text=f"{hit.paper.title}\n{hit.paper.abstract}"), score=1.0)
            for hit in hits
        ]
    )


def read(text: str, question: str, hits: Sequence[Hit], *, model: str, took_ms: float) -> Answer:
    """An answer of the engine as one of ours: a statement a sentence, a citation a source that a marker names."""
    cited = sorted({n for n in _numbers(text) if 1 <= n <= len(hits)})
    citations = tuple(
        Citation(n, (paper := hits[n - 1].paper), (Quote(paper.abstract, 0, len(paper.abstract)),)) for n in cited
    )
    statements = tuple(
        Statement(
            text[start:end],
            start,
            end,
            tuple(n for n in dict.fromkeys(_numbers(text[start:end])) if n in cited),
            "supported" if _numbers(text[start:end]) else "uncited",
        )
        for start, end in sentence_spans(text)
    )
    refused = not text or _REFUSES.search(text[: statements[0].end] if statements else text) is not None
    return Answer(
        question=question,
        standalone_question=question,
        status="not_in_abstracts" if refused else "answered",
        text=text or "(nothing)",
        statements=() if refused else statements,
        citations=() if refused else citations,
        hits=tuple(hits),
        nearest=(),
        looked_for=(),
        considered=len(hits),
        backend="citation-engine",
        model=model,
        usage=Usage(calls=1),
        timings_ms={"total": took_ms},
    )


def _numbers(text: str) -> list[int]:
    return [int(n) for match in _MARKER.finditer(text) for n in re.findall(r"\d+", match[1] or match[2])]
