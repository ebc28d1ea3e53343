"""The answer to one part of a question: by the writer, with less to read if that was too much, else by the fallback."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from rag_assistant.answering.calls import Call, Take, of_model, of_writer
from rag_assistant.errors import BackendContextTooLong, BackendError
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.models.budget import BudgetLedger
from rag_assistant.types import PromptInfo
from rag_assistant.writers.base import Backend, Prompt
from rag_assistant.writers.generative import GenerativeWriter

MAX_TRIES = 4
"""How often a prompt is sent to a model that finds it too long, shorter each time."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at having an answer written.

    Attributes:
        call: Asks the writer.
        evidence: What the writer is given.
        info: Which prompt a model is sent; ``None`` for a writer that reads the evidence itself.
        notice: What the user should know about how the attempt came about; may be empty.
        fell_back: Whether the fallback stands in for the chosen writer.
    """

    call: Call
    evidence: QuestionEvidence
    info: PromptInfo | None = None
    notice: str = ""
    fell_back: bool = False

    @property
    def sentences(self) -> int:
        """How many sentences of abstracts the writer is given."""
        return sum(len(paper.sentences) for paper in self.evidence.papers)


@dataclass(frozen=True, slots=True)
class Writers:
    """Who may be asked, and the ledger that pays; ``take`` handles each piece as it arrives."""

    writer: Backend
    fallback: Backend | None
    ledger: BudgetLedger
    take: Take

    def attempt(self, prompt: Prompt) -> Attempt:
        """The chosen writer's attempt.

        Raises:
            BackendError: The writer can't be asked.
        """
        packed = self.writer.packed(prompt) if isinstance(self.writer, GenerativeWriter) else None
        if packed is None or not isinstance(self.writer, GenerativeWriter):
            return Attempt(of_writer(self.writer, prompt, self.ledger, self.take), prompt.evidence)
        reply = self.writer.reply(packed, prompt)
        call = of_model(self.writer.caller.prepared(packed.rendered, reply, self.ledger), self.take)
        return Attempt(call, packed.evidence, packed.rendered.info, packed.notice)

    def from_abstracts(self, prompt: Prompt, why: str) -> Attempt | None:
        """The fallback's attempt; ``None`` if there is no fallback.

        Args:
            prompt: What is asked.
            why: Why the fallback is needed, as a sentence.
        """
        if self.fallback is None:
            return None
        call = of_writer(self.fallback, prompt, self.ledger, self.take)
        return Attempt(call, prompt.evidence, notice=without_model(why), fell_back=True)

    def written(
        self, prompt: Prompt, start_over: Callable[[QuestionEvidence], None], keeps: Callable[[BackendError], bool]
    ) -> Generator[Call, None, Attempt]:
        """Asks until an attempt succeeds, and returns that attempt.

        Args:
            prompt: What is asked.
            start_over: Called before each attempt with its evidence: discards what earlier attempts wrote.
            keeps: Whether what had arrived when the last attempt failed is good enough.

        Raises:
            BackendError: The last attempt's.
        """
        made: Attempt | None = None
        kept: Attempt | None = None
        for _ in range(MAX_TRIES):
            try:
                attempt, kept = self.attempt(prompt), None
                if made is not None and attempt.sentences >= made.sentences:
                    break
                made = kept = attempt
                start_over(made.evidence)
                yield made.call
                return made
            except BackendError as error:
                failure = error
                if not isinstance(error, BackendContextTooLong):
                    break
        instead = self.from_abstracts(prompt, failure.message)
        if instead is None:
            if kept is not None and keeps(failure):
                return kept
            raise failure
        start_over(instead.evidence)
        yield instead.call
        return instead


def without_model(why: str) -> str:
    """The notice that the fallback answers, and why."""
    return f"{why.rstrip('.')}, so this answer comes from the abstracts without a model."
