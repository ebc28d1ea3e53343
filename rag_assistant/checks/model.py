"""Asks the model that writes the answers whether the quotes say what a statement says: yes or no."""

from __future__ import annotations

import re

from rag_assistant.checks.base import Claim, Opinion
from rag_assistant.errors import BackendProtocolError, PluginError
from rag_assistant.models.budget import BudgetLedger
from rag_assistant.models.caller import ModelCall
from rag_assistant.models.replies import ModelReply
from rag_assistant.prompts import render_check
from rag_assistant.types import Usage
from rag_assistant.writers.base import Backend
from rag_assistant.writers.generative import GenerativeWriter

_SAID = re.compile(r"\W*(?:answer\W+)?(?P<word>yes|no)\b", re.IGNORECASE)


class ModelCheck:
    """One call per statement, with the prompt ``check.jinja``, and the model's settings, retries and pauses.

    Args:
        backend: The writer of the answers; it must be one that calls a model.

    Raises:
        PluginError: The backend calls no model.
    """

    name = "model"

    def __init__(self, backend: Backend) -> None:
        if not isinstance(backend, GenerativeWriter):
            raise PluginError(
                f"The check 'model' asks the model of the backend, and {backend.name!r} calls none.",
                hint="choose one, such as --backend openai-like with --model and --base-url, or leave --check out",
            )
        self._writer = backend

    def call(self, claim: Claim, ledger: BudgetLedger | None = None) -> ModelCall:
        """The call that asks.

        Raises:
            BudgetExceeded: The call may cost more than is left.
        """
        rendered = render_check(claim.statement, claim.quotes, claim.papers, folder=self._writer.prompts)
        return self._writer.caller.prepared(rendered, ModelReply(self._writer.server), ledger)

    def opinion(self, reply: ModelReply) -> Opinion:
        """The opinion in a reply.

        Raises:
            BackendProtocolError: The reply says neither yes nor no.
        """
        said = _SAID.match(reply.answer)
        if said is None:
            raise BackendProtocolError(
                f"The model at {reply.server} was asked for yes or no and said neither.",
                hint="try a larger model, or leave --check out",
            )
        holds = said["word"].lower() == "yes"
        return Opinion(holds, "" if holds else "the model doesn't find it in the cited words")

    def check(self, claim: Claim) -> Opinion:
        """Asks and reads the reply.

        Raises:
            BackendError: The model failed, or it said neither yes nor no.
        """
        call = self.call(claim)
        usage = next((piece for piece in call.pieces() if isinstance(piece, Usage)), Usage())
        opinion = self.opinion(call.reply)
        return Opinion(opinion.holds, opinion.reason, usage)
