"""Refusals in words: what was looked for, and which papers come closest."""

from __future__ import annotations

from rag_assistant.drafts import Refusal
from rag_assistant.types import Paper


def refusal_text(refusal: Refusal, nearest: tuple[Paper, ...], considered: int) -> str:
    """One or two sentences that say why there is no answer."""
    if refusal.message:
        text = refusal.message
    elif refusal.status == "clarify":
        text = "I can't tell what the question is about. Name a topic, a method or a paper."
    elif considered == 0:
        text = "No paper passes the filters."
    elif refusal.status == "not_in_abstracts":
        text = f"{_titles(nearest[:1])} is close to this, but its abstract doesn't say."
        nearest = nearest[1:]
    else:
        text = "The paper isn't on this." if considered == 1 else f"None of the {considered} papers is on this."
        if refusal.looked_for:
            text += f" Looked for: {', '.join(word[:40] for word in refusal.looked_for)}."
    if nearest and refusal.status != "clarify":
        text += f" Nearest: {_titles(nearest)}."
    return text


def _titles(papers: tuple[Paper, ...]) -> str:
    return ", ".join(f"“{paper.title}”" for paper in papers)
