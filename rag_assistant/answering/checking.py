"""The further check of an answer's statements, one call each, after all of them were written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from rag_assistant.answering.budget import Purse
from rag_assistant.answering.calls import Call
from rag_assistant.backends.base import Backend, Prompt
from rag_assistant.checks.base import AsyncCheck, Check, Claim, Opinion, PreparesCheck
from rag_assistant.drafts import Doubted, Piece
from rag_assistant.errors import BackendError, BudgetExceeded, RagError
from rag_assistant.evidence import Evidence
from rag_assistant.grounding.ground import Grounder
from rag_assistant.grounding.support import repeats
from rag_assistant.questions.form import analyse
from rag_assistant.types import Usage

MAX_FAILURES = 2
"""After this many failures of its check an answer's further statements are left as they are: the server is down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCall(Call):
    """A check to be asked about the statement ``at`` this place."""

    check: Check
    claim: Claim
    at: int

    def pieces(self) -> Iterator[Piece]:
        """What it found."""
        try:
            opinion = self.check.check(self.claim)
        except Exception as error:  # a third party's check may raise anything
            raise _failure(error) from error
        yield from self._found(opinion)

    async def apieces(self) -> AsyncIterator[Piece]:
        """The same, without blocking the event loop."""
        try:
            if isinstance(self.check, AsyncCheck):
                opinion = await self.check.acheck(self.claim)
            else:
                opinion = await asyncio.to_thread(self.check.check, self.claim)
        except Exception as error:
            raise _failure(error) from error
        for piece in self._found(opinion):
            yield piece

    def _found(self, opinion: Opinion) -> Iterator[Piece]:
        if not isinstance(opinion, Opinion):
            raise BackendError(f"it gave {type(opinion).__name__} and not an Opinion")
        if opinion.usage != Usage():
            yield opinion.usage
        if not opinion.holds:
            reason = " ".join(opinion.reason.split()).rstrip(".") or "the cited words don't say this"
            yield Doubted(self.at, f"{reason} (check: {self.check.name})")


class Checking:
    """One answer's pass: iterate :meth:`calls`, give each failure to :meth:`failed`; ``notice`` tells of them."""

    def __init__(self, check: Check, backend: Backend, purse: Purse, grounder: Grounder) -> None:
        self._check = check
        self._backend = backend
        self._purse = purse
        self._claims = list(_claims(grounder))
        self._failures: list[str] = []
        self._left = 0

    def calls(self) -> Iterator[CheckCall]:
        """A call for each statement that passed the checks in code and doesn't repeat its quotes."""
        for place, (at, claim) in enumerate(self._claims):
            try:
                call = self._prepared(at, claim)
            except BudgetExceeded as error:
                self._failures.append(error.message)
                self._left += len(self._claims) - place
                return
            except Exception as error:
                self.failed(_failure(error))
            else:
                yield call
            if len(self._failures) >= MAX_FAILURES:
                self._left += len(self._claims) - place - 1
                return

    def failed(self, error: BackendError) -> None:
        """Takes down that the last call failed."""
        self._failures.append(error.message)
        self._left += 1

    @property
    def notice(self) -> str:
        """What to tell of statements that were left unchecked, in one sentence; empty where there are none."""
        if not self._left:
            return ""
        told = self._failures[0].strip().rstrip(".")
        return (
            f"The check {self._check.name!r} looked at {len(self._claims) - self._left} of {len(self._claims)} "
            f"statements, the rest stands as checked in code: {told}."
        )

    def _prepared(self, at: int, claim: Claim) -> CheckCall:
        if isinstance(self._check, PreparesCheck):
            claim = self._check.prepare(claim)
        prompt = claim.prompt or Prompt(analyse(claim.statement), Evidence((), (), 0))
        if claim.prompt is not None:
            self._purse.before(*prompt.tokens)
        return CheckCall(backend=self._backend, prompt=prompt, check=self._check, claim=claim, at=at)


def _claims(grounder: Grounder) -> Iterator[tuple[int, Claim]]:
    for at, statement in enumerate(grounder.statements):
        if statement.support != "supported" or statement.basis != "abstract":
            continue
        said, quotes, papers = grounder.grounds(at)
        if quotes and not repeats(said, quotes):
            yield at, Claim(said, quotes, papers)


def _failure(error: Exception) -> BackendError:
    if isinstance(error, BackendError):
        return error
    told = error.message if isinstance(error, RagError) else f"{type(error).__name__}: {error}"
    return BackendError(" ".join(told.split()))
