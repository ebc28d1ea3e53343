"""Many questions at once: answers in order, failures as rows, a provider's limits respected.

Questions that a provider refuses for now are asked again at the end, one at a time, which is slow enough even where
all at once was too fast. A pause that the provider asks for holds back every question (see ``models/caller.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from rag_assistant.errors import BackendRateLimited, InputError
from rag_assistant.types import Answer

Done = Callable[[int, int], None]
"""Called with how many questions are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question: an answer, or the error that it ended in."""

    question: str
    answer: Answer | None = None
    error: Exception | None = None


def ask_all(
    questions: Iterable[str], ask: Callable[[str], Answer], *, concurrency: int, done: Done
) -> tuple[Outcome, ...]:
    """Asks in ``concurrency`` threads; ``done`` is called in the caller's thread.

    Raises:
        InputError: ``concurrency`` is below 1.
    """
    asked = _checked(questions, concurrency)

    def one(question: str) -> Outcome:
        try:
            return Outcome(question, answer=ask(question))
        except Exception as error:  # a row, so that one failure doesn't lose all answers
            return Outcome(question, error=error)

    count = _Count(done, len(asked))
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="ask")
    try:
        futures = [pool.submit(one, question) for question in asked]
        for future in as_completed(futures):
            count.add(future.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C only questions under way are finished
    outcomes = [future.result() for future in futures]
    for place, outcome in enumerate(outcomes):
        if _again(outcome):
            outcomes[place] = one(outcome.question)
            count.add(outcomes[place], last=True)
    return tuple(outcomes)


async def aask_all(
    questions: Iterable[str], ask: Callable[[str], Awaitable[Answer]], *, concurrency: int, done: Done
) -> tuple[Outcome, ...]:
    """The same without blocking; cancelling it cancels what is under way."""
    asked = _checked(questions, concurrency)
    slots = asyncio.Semaphore(concurrency)
    count = _Count(done, len(asked))

    async def one(question: str, *, last: bool = False) -> Outcome:
        async with slots:
            try:
                outcome = Outcome(question, answer=await ask(question))
            except Exception as error:  # as above
                outcome = Outcome(question, error=error)
        count.add(outcome, last=last)
        return outcome

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(question)) for question in asked]
    outcomes = [task.result() for task in tasks]
    for place, outcome in enumerate(outcomes):
        if _again(outcome):
            outcomes[place] = await one(outcome.question, last=True)
    return tuple(outcomes)


class _Count:
    def __init__(self, done: Done, total: int) -> None:
        self._done, self._total, self._finished = done, total, 0

    def add(self, outcome: Outcome, *, last: bool = False) -> None:
        if last or not _again(outcome):
            self._finished += 1
            self._done(self._finished, self._total)


def _again(outcome: Outcome) -> bool:
    return isinstance(outcome.error, BackendRateLimited) and outcome.error.retry_after is not None


def _checked(questions: Iterable[str], concurrency: int) -> Sequence[str]:
    if concurrency < 1:
        raise InputError(f"A concurrency of {concurrency} asks nothing.", hint="give at least 1")
    return [questions] if isinstance(questions, str) else list(questions)
