"""Questions that a model drafts. What it writes is data: only what holds up against the abstract is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rag_assistant.evals.case import Case, Evidence, Nugget
from rag_assistant.evals.model import Model
from rag_assistant.evals.text import plain
from rag_assistant.prompts import as_data, fence_of, render_prompt
from rag_assistant.sentences import sentence_spans
from rag_assistant.types import Paper

_DECODER = json.JSONDecoder()
_TOKENS_A_QUESTION = 300
_NOTE = "Drafted by a model: check that question, patterns and near miss are what they should be."


def questions_by(model: Model, paper: Paper, count: int) -> Iterator[tuple[Case, Case | None]]:
    """Up to ``count`` candidates for one paper, each with its near miss where the model gave one.

    Raises:
        BackendError: The model failed.
    """
    spans = sentence_spans(paper.abstract)
    sentences = tuple(as_data(paper.abstract[start:end]) for start, end in spans)
    title = as_data(paper.title)
    nonce = fence_of(title, *sentences)
    prompt = render_prompt("draft", {"title": title, "sentences": sentences, "count": count, "nonce": nonce})
    reply = model.complete(prompt, max_tokens=_TOKENS_A_QUESTION * count)
    for record in _objects(reply):
        drafted = _case(paper, record)
        if drafted is not None:
            yield drafted, _near_miss(paper, record)


def _objects(reply: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a reply, whatever stands between them."""
    at = -1
    while (at := reply.find("{", at + 1)) >= 0:
        try:
            record, end = _DECODER.raw_decode(reply, at)
        except (ValueError, RecursionError):
            continue
        yield record
        at = end - 1


def _case(paper: Paper, record: dict[str, Any]) -> Case | None:
    texts = {name: _text(record.get(name)) for name in ("question", "answer", "quote", "wrong")}
    quote = _verbatim(texts["quote"], paper)
    keywords = record.get("keywords")
    if not all(texts.values()) or not quote or not isinstance(keywords, list):
        return None
    nuggets = tuple(
        Nugget((r"\s+".join(re.escape(part) for part in plain(word).split()),))
        for word in keywords
        if isinstance(word, str) and plain(word)
    )
    return Case(
        id="",
        question=texts["question"],
        category="fact",
        papers={paper.id: 2},
        nuggets=nuggets,
        evidence=(Evidence(paper.id, quote),),
        paraphrase=texts["answer"],
        wrong=(texts["wrong"],),
        notes=_NOTE,
    )


def _near_miss(paper: Paper, record: dict[str, Any]) -> Case | None:
    question = _text(record.get("near_miss"))
    if not question:
        return None
    return Case(
        id="",
        question=question,
        category="near_miss",
        answerable=False,
        expected_status=("not_in_abstracts",),
        papers={paper.id: 1},
        notes=_NOTE,
    )


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _verbatim(quote: str, paper: Paper) -> str:
    """The very words of the abstract that are meant, however they are spaced; nothing where there are none."""
    words = [re.escape(word) for word in quote.split()]
    found = re.search(r"\s+".join(words), paper.abstract) if words else None
    return found[0] if found else ""
