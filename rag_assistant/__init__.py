"""Answers questions about paper abstracts, with citations that open the exact words that support them.

    from rag_assistant import Assistant

    with Assistant.open() as assistant:
        answer = assistant.ask("Does DPO keep its advantage when the true reward is not realizable?")
        print(answer.text)

Importing this package loads no model and no database; each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_assistant.answering.batch import Outcome
    from rag_assistant.answering.streams import AnswerStream, AsyncAnswerStream
    from rag_assistant.assistant import Assistant
    from rag_assistant.errors import RagError
    from rag_assistant.settings import Settings
    from rag_assistant.types import (
        Answer,
        Citation,
        Excerpt,
        Filters,
        FinalEvent,
        Hit,
        HitsEvent,
        Paper,
        Passage,
        PromptEvent,
        Quote,
        StageEvent,
        Statement,
        TextEvent,
        Usage,
        Verification,
    )

__version__ = "0.1.0"

_HOMES = {
    "Assistant": "assistant",
    "AnswerStream": "answering.streams",
    "AsyncAnswerStream": "answering.streams",
    "Outcome": "answering.batch",
    "RagError": "errors",
    "Settings": "settings",
    **dict.fromkeys(
        (
            "Answer Citation Excerpt Filters FinalEvent Hit HitsEvent Paper Passage PromptEvent Quote StageEvent "
            "Statement TextEvent Usage Verification"
        ).split(),
        "types",
    ),
}

__all__ = [
    "Answer",
    "AnswerStream",
    "Assistant",
    "AsyncAnswerStream",
    "Citation",
    "Excerpt",
    "Filters",
    "FinalEvent",
    "Hit",
    "HitsEvent",
    "Outcome",
    "Paper",
    "Passage",
    "PromptEvent",
    "Quote",
    "RagError",
    "Settings",
    "StageEvent",
    "Statement",
    "TextEvent",
    "Usage",
    "Verification",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
