"""A model's rewording of a follow-up: used if it asks for the same thing; otherwise the rules' version stays."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import replace

from rag_assistant.answering.calls import Call, Take, of_model
from rag_assistant.conversation import RewrittenQuestion
from rag_assistant.errors import BackendError, BudgetExceeded
from rag_assistant.models.budget import BudgetLedger
from rag_assistant.models.reasoning import without_reasoning
from rag_assistant.models.replies import ModelReply
from rag_assistant.prompts import render_rewrite
from rag_assistant.questions.content import content_stems, content_words
from rag_assistant.questions.form import clean, without_limit
from rag_assistant.stems import stem
from rag_assistant.types import Event, StageEvent, Turn
from rag_assistant.writers.generative import GenerativeWriter

LONGEST = 400
_KNOWN_SHARE = 0.7
"""The share of its content words that must occur in the conversation: a model that adds others asks something else."""
_OWN_SHARE = 0.5
_LEAD_IN = re.compile(
    r"^\W*(?:(?:the\s+)?(?:last\s+)?(?:rewritten|stand-?alone)?\s*question\s*(?:,[^:]{0,40})?:)\s*", re.I
)


def needs_model(rewritten: RewrittenQuestion, asked: str) -> bool:
    """Whether a follow-up leaves out something that the rules can only guess. A paper that was counted off ("the second
    one") is known, and a self-contained question is left alone."""
    return not rewritten.only_focus and not rewritten.unresolved and rewritten.text != without_limit(clean(asked))[0]


def rewording(
    rewritten: RewrittenQuestion,
    asked: str,
    turns: Sequence[Turn],
    writer: GenerativeWriter,
    ledger: BudgetLedger,
    take: Take,
) -> Generator[Event | Call, None, RewrittenQuestion]:
    """Has a model reword a follow-up if the budget allows; without a usable reply the rules' version stays."""
    reply = ModelReply(writer.server)
    try:
        call = writer.caller.prepared(render_rewrite(asked, turns, folder=writer.prompts), reply, ledger)
    except BudgetExceeded:
        return rewritten
    stage = StageEvent("rewording")
    yield stage
    try:
        yield of_model(call, take, stage)
    except BackendError:
        return rewritten
    if reply.truncated:
        return rewritten
    return reworded(rewritten, asked, reply.text, turns) or rewritten


def reworded(rewritten: RewrittenQuestion, asked: str, reply: str, turns: Sequence[Turn]) -> RewrittenQuestion | None:
    """The follow-up in the model's words; ``None`` if these don't ask about what was asked.

    Args:
        rewritten: What the rules made of it.
        asked: The follow-up.
        reply: What the model wrote.
        turns: The conversation so far.
    """
    lines = [line for line in without_reasoning(reply).splitlines() if line.strip()]
    text = clean(_LEAD_IN.sub("", lines[0])).strip("\"'“”*` ") if lines else ""
    words = content_words(text)
    if not words or len(text) > LONGEST or len(lines) > 1:
        return None
    own, stems = content_words(asked), content_stems(asked)
    known = stems | content_stems(" ".join(said for turn in turns for said in turn))
    kept = content_stems(text)
    if sum(stem(word) in known for word in words) < _KNOWN_SHARE * len(words):
        return None
    if sum(stem(word) in kept for word in own) < _OWN_SHARE * len(own):
        return None
    carried = frozenset(word.lower() for word in words if stem(word) not in stems) if own else frozenset()
    return replace(rewritten, text=text, carried=carried)
