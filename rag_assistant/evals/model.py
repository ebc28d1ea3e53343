"""A model that is asked for plain text, for judging and drafting."""

from __future__ import annotations

from rag_assistant.errors import PluginError
from rag_assistant.models.budget import Budget
from rag_assistant.models.replies import ModelReply
from rag_assistant.prompts import Rendered
from rag_assistant.settings import Settings
from rag_assistant.types import Usage
from rag_assistant.writers.generative import GenerativeWriter
from rag_assistant.writers.resolve import resolve_backend


class Model:
    """One model at temperature 0, if it takes a temperature. All its calls together may cost ``max_cost``, and no more
    than a session may spend.

    Attributes:
        calls: How often the model was called.

    Raises:
        PluginError: The backend calls no model, or there is none with that name.
        BackendError, SettingsError: The backend can't be used with these settings.
    """

    def __init__(self, settings: Settings) -> None:
        # The user's temperature is for answers; without it a model gets 0, or none if it takes none.
        writer = resolve_backend(settings.backend, settings.model_copy(update={"temperature": None}))
        if not isinstance(writer, GenerativeWriter):
            raise PluginError(
                f"The backend {writer.name!r} calls no model.", hint="--backend openai or openai-like, with --model"
            )
        self._writer = writer
        self._ledger = Budget(settings.budget).all_of("all calls")
        self._most = None if settings.sources.get("max_tokens", "default") == "default" else settings.max_tokens
        self.calls = 0

    @property
    def name(self) -> str:
        """Provider and model."""
        return f"{self._writer.name} {self._writer.model}"

    @property
    def identity(self) -> str:
        """Provider and model, with the server: two servers may have different models of the same name."""
        return f"{self.name} {self._writer.server}"

    @property
    def spent(self) -> str:
        """Calls, tokens and dollars so far, for people; what the provider doesn't report is estimated."""
        return f"{self.calls:,} {'call' if self.calls == 1 else 'calls'}, {self._ledger.summary}"

    def complete(self, prompt: Rendered, *, max_tokens: int) -> str:
        """The whole reply to a prompt, of at most this many tokens, and no more than the setting ``max_tokens``, if
        given. A call that is refused for now is repeated after a pause.

        Raises:
            BudgetExceeded: The call may cost more than is left; it wasn't made.
            BackendError: The model failed.
        """
        reply = ModelReply(self._writer.server)
        most = min(max_tokens, self._most or max_tokens)
        call = self._writer.caller.prepared(prompt, reply, self._ledger, max_tokens=most)
        for piece in call.pieces():
            self.calls += piece.calls if isinstance(piece, Usage) else 0
        return reply.text
