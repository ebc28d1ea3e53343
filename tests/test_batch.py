"""Many questions at once: in order, with errors as rows, at the pace that a provider allows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from rag_assistant import Assistant, Outcome
from rag_assistant.drafts import Draft, Label, Piece
from rag_assistant.errors import BackendError, BackendRateLimited, InputError
from rag_assistant.settings import Settings
from rag_assistant.writers.base import Prompt
from tests.backends.chat_server import Reply, Script, serving

QUESTIONS = (
    "What is CTMA?",
    "Who wrote MusicRL?",
    "What is the capital of France?",
    "",
    "How do RLHF and DPO compare?",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    with serving() as script:
        yield script


def both(asked: Assistant, questions: tuple[str, ...], **options: int) -> list[tuple[Outcome, ...]]:
    """What comes of them in threads and in an event loop, with what was told of the progress."""
    found = []
    for run in (asked.ask_many, lambda *a, **o: asyncio.run(asked.aask_many(*a, **o))):
        told: list[tuple[str, int, int]] = []
        found.append(run(questions, progress=lambda *said, told=told: told.append(said), **options))
        assert told == [("asking", done, len(questions)) for done in range(1, len(questions) + 1)]
    return found


def test_answers_come_in_order(assistant: Assistant) -> None:
    alone = [(question, assistant.ask(question).text) for question in QUESTIONS]
    for outcomes in both(assistant, QUESTIONS, concurrency=3):
        assert [(o.question, o.answer.text if o.answer else None) for o in outcomes] == alone
        assert {o.error for o in outcomes} == {None}


def test_errors_are_rows(assistant: Assistant, server: Script) -> None:
    server.say(Reply(status=401, raw="{}"))
    settings = Settings.load(index=assistant.settings.index_path, backend="openai-like", model="m", base_url=server.url)
    with Assistant.open(settings=settings) as asked:
        for outcomes in both(asked, QUESTIONS):
            kinds = [type(o.error).__name__ if o.error else o.answer.status for o in outcomes if o.error or o.answer]
            assert kinds == ["BackendAuthError", "answered", "not_in_corpus", "clarify", "BackendAuthError"]


class Limited:
    """Answers one question at a time and refuses what comes while it does."""

    name = "limited"
    model = ""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._first = threading.Event()

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        if not self._busy.acquire(blocking=False):
            self._first.set()
            raise BackendRateLimited("Slow down.", retry_after=0.0)
        try:
            if not self._first.is_set():
                self._first.wait(30)  # until another has come and was refused
            yield Draft(prompt.evidence.papers[0].sentences[0].passage.text, (Label(0, 0),))
        finally:
            self._busy.release()

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        for piece in await asyncio.to_thread(lambda: list(self.stream(prompt))):
            yield piece


def test_what_came_too_fast_is_asked_again_one_at_a_time(assistant: Assistant) -> None:
    questions = ("What is CTMA?", "What is MusicRL?", "Is DPO robust?")
    for ask in ("ask_many", "aask_many"):
        with Assistant.open(assistant.settings.index_path, backend=Limited()) as asked:
            run = getattr(asked, ask)(questions, concurrency=3)
            outcomes = run if ask == "ask_many" else asyncio.run(run)
        assert [outcome.error for outcome in outcomes] == [None] * 3


class Slow:
    """Never answers; tells when it is left."""

    name = "slow"
    model = ""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.left = 0

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        raise BackendError("Only async.")

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        self.begun.set()
        try:
            await asyncio.Event().wait()
            yield Draft("Never.")
        finally:
            self.left += 1


async def test_cancelling_ends_what_is_under_way(assistant: Assistant) -> None:
    slow = Slow()
    with Assistant.open(assistant.settings.index_path, backend=slow) as asked:
        task = asyncio.create_task(asked.aask_many(["What is CTMA?"] * 3, concurrency=1))
        await slow.begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert slow.left == 1


def test_nothing_and_nobody(assistant: Assistant) -> None:
    assert assistant.ask_many([]) == ()
    with pytest.raises(InputError, match="concurrency of 0"):
        assistant.ask_many(QUESTIONS, concurrency=0)
