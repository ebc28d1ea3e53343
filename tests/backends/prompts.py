"""The prompt that the assistant would give a backend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from rag_assistant import Assistant
from rag_assistant.drafts import Piece, Refusal
from rag_assistant.writers.base import Prompt


class Listening:
    """A backend that keeps what it is asked and refuses it."""

    name = "listening"
    model = ""

    def __init__(self) -> None:
        self.asked: list[Prompt] = []

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        self.asked.append(prompt)
        yield Refusal("not_in_corpus")

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        for piece in self.stream(prompt):
            yield piece


def prompts(assistant: Assistant, questions: tuple[str, ...]) -> dict[str, Prompt]:
    """By question, what reaches a backend; a question that is refused before that is missing."""
    listening = Listening()
    found: dict[str, Prompt] = {}
    with Assistant.open(assistant.settings.index_path, backend=listening) as listened:
        for question in questions:
            listening.asked.clear()
            listened.ask(question)
            if listening.asked:
                found[question] = listening.asked[0]
    return found
