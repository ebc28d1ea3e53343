"""The further check of an answer's statements, one call each, once all are written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator

from rag_assistant.answering.calls import Call, Take, of_model
from rag_assistant.checks.base import Check, Claim, Opinion
from rag_assistant.checks.model import ModelCheck
from rag_assistant.drafts import Piece
from rag_assistant.errors import BackendError, BudgetExceeded, RagError
from rag_assistant.grounding.ground import Grounder
from rag_assistant.grounding.support import repeats
from rag_assistant.models.budget import BudgetLedger
from rag_assistant.types import StageEvent, Usage

MAX_FAILURES = 2
"""After this many failed calls the answer's other statements are left as they are: the server is down."""
_STAGE = StageEvent("checking")


def check_statements(check: Check, grounder: Grounder, ledger: BudgetLedger, take: Take) -> Generator[Call, None, str]:
    """Asks about each statement that passed the checks in code and doesn't just repeat its quotes; a statement that
    the check doesn't find in its quotes loses its support.

    Returns:
        A sentence about the statements left unchecked; empty if there are none.
    """
    claims = list(_claims(grounder))
    failures: list[str] = []
    checked = 0
    for at, claim in claims:
        try:
            opinion = yield from _opinion(check, claim, ledger, take)
        except RagError as error:
            failures.append(error.message)
            if isinstance(error, BudgetExceeded) or len(failures) >= MAX_FAILURES:
                break
            continue
        checked += 1
        if not opinion.holds:
            reason = " ".join(opinion.reason.split()).rstrip(".") or "the cited words don't say this"
            grounder.doubt(at, f"{reason} (check: {check.name})")
    if not failures:
        return ""
    return (
        f"The check {check.name!r} looked at {checked} of {len(claims)} "
        f"statements, the rest stands as checked in code: {failures[0].strip().rstrip('.')}."
    )


def _opinion(check: Check, claim: Claim, ledger: BudgetLedger, take: Take) -> Generator[Call, None, Opinion]:
    if isinstance(check, ModelCheck):
        call = check.call(claim, ledger)
        yield of_model(call, take, _STAGE)
        return check.opinion(call.reply)
    found: list[Opinion] = []

    def asked() -> Opinion:
        try:
            opinion = check.check(claim)
        except Exception as error:  # a third party's check may raise anything
            message = error.message if isinstance(error, RagError) else f"{type(error).__name__}: {error}"
            raise BackendError(" ".join(message.split())) from error
        if not isinstance(opinion, Opinion):
            raise BackendError(f"it gave {type(opinion).__name__} and not an Opinion")
        return opinion

    def taken(opinion: Opinion) -> Iterator[Piece]:
        found.append(opinion)
        if opinion.usage != Usage():
            yield ledger.after(opinion.usage)

    async def apieces() -> AsyncIterator[Piece]:
        for piece in taken(await asyncio.to_thread(asked)):
            yield piece

    yield Call(lambda: taken(asked()), apieces, take, _STAGE)
    return found[0]


def _claims(grounder: Grounder) -> Iterator[tuple[int, Claim]]:
    for at, statement in enumerate(grounder.statements):
        if statement.support != "supported" or statement.basis != "abstract":
            continue
        said, quotes, papers = grounder.grounds(at)
        if quotes and not repeats(said, quotes):
            yield at, Claim(said, quotes, papers)
