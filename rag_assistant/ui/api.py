"""The three named endpoints: the same JSON as the command line, for ``gradio_client`` and for plain HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, get_args

import gradio as gr

from rag_assistant.errors import RagError
from rag_assistant.types import Filters, Length, Turn
from rag_assistant.ui.service import Service

MOST = 100


def add_endpoints(service: Service) -> None:
    """Adds ``/ask``, ``/search`` and ``/papers`` to the Blocks being built."""

    async def ask(
        question: str,
        history: list[list[str]] | None = None,
        k: int | None = None,
        years: list[int | None] | None = None,
        venues: list[str] | None = None,
        authors: list[str] | None = None,
        ids: list[str] | None = None,
        length: str | None = None,
    ) -> dict[str, Any]:
        """Answers a question; the JSON of ``rag-assistant ask --json``.

        Args:
            question: Any text.
            history: Earlier turns, oldest first, each ``[question, answer]``.
            k: How many papers to draw on, 1 to 100; the server's setting by default.
            years: The first and the last year, either of which may be null.
            venues: Only papers of one of these venues.
            authors: Only papers by one of these authors.
            ids: Only these papers.
            length: How long the answer should be, `short`, `normal` or `long`; the server's setting by default.
        """

        async def run() -> dict[str, Any]:
            async with service.turn():
                assistant = await service.assistant()
                turns = [_turn(pair) for pair in history or ()]
                answer = await assistant.aask(
                    str(question),
                    history=turns,
                    k=_count(k),
                    filters=_filters(years, venues, authors, ids),
                    length=_length(length),
                )
                return answer.to_dict()

        result: dict[str, Any] = await _errors_as_sentences(run)
        return result

    async def search(
        question: str,
        k: int = 10,
        years: list[int | None] | None = None,
        venues: list[str] | None = None,
        authors: list[str] | None = None,
        ids: list[str] | None = None,
    ) -> dict[str, Any]:
        """The papers that match best, without an answer; the JSON of ``rag-assistant search --json``."""

        async def run() -> dict[str, Any]:
            async with service.turn():
                assistant = await service.assistant()
                hits = assistant.search(str(question), _count(k) or 10, filters=_filters(years, venues, authors, ids))
                return {"question": str(question), "hits": [hit.to_dict() for hit in hits]}

        result: dict[str, Any] = await _errors_as_sentences(run)
        return result

    async def papers(
        years: list[int | None] | None = None,
        venues: list[str] | None = None,
        authors: list[str] | None = None,
        ids: list[str] | None = None,
    ) -> dict[str, Any]:
        """The papers of the index; the JSON of ``rag-assistant papers --json``."""

        async def run() -> dict[str, Any]:
            assistant = await service.assistant()
            found = assistant.papers(_filters(years, venues, authors, ids))
            return {"papers": [paper.to_dict() for paper in found]}

        result: dict[str, Any] = await _errors_as_sentences(run)
        return result

    gr.api(ask, api_name="ask", concurrency_limit=None)
    gr.api(search, api_name="search", concurrency_limit=None)
    gr.api(papers, api_name="papers", concurrency_limit=None)


async def _errors_as_sentences(run: Callable[[], Awaitable[Any]]) -> Any:
    """Runs an endpoint; an error of this package, or a malformed value, reaches the caller as a sentence."""
    try:
        return await run()
    except RagError as error:
        raise gr.Error(str(error), print_exception=False) from error
    except (TypeError, ValueError) as error:
        raise gr.Error(f"A parameter has the wrong form: {error}", print_exception=False) from error


def _turn(pair: Any) -> Turn:
    question, answer = pair
    return str(question), str(answer)


def _count(k: Any) -> int | None:
    if k is None:
        return None
    if not 1 <= int(k) <= MOST:
        raise ValueError(f"k is {k}, not 1 to {MOST}")
    return int(k)


def _length(length: Any) -> Length | None:
    known: dict[Any, Length] = {name: name for name in get_args(Length)}
    if length is not None and length not in known:
        raise ValueError(f"length is {length!r}, not one of {', '.join(known)}")
    return known.get(length)


def _filters(years: Any, venues: Any, authors: Any, ids: Any) -> Filters | None:
    span = None
    if years:
        first, last = years
        span = (None if first is None else int(first), None if last is None else int(last))
    texts = [tuple(str(one) for one in values or () if str(one).strip()) for values in (venues, authors, ids)]
    return Filters(span, *texts) or None
