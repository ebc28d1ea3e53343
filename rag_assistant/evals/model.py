"""A model that is asked for text as such, for judging and for drafting: any backend that calls one."""

from __future__ import annotations

import time
from contextlib import closing

from rag_assistant.answering.budget import Budget
from rag_assistant.backends.calling import Request
from rag_assistant.backends.packing import count_tokens
from rag_assistant.backends.resolve import resolve_backend
from rag_assistant.backends.writing import WritingBackend
from rag_assistant.errors import BackendError, PluginError
from rag_assistant.prompts import Rendered
from rag_assistant.settings import Settings
from rag_assistant.types import Usage

_LONGEST_WAIT = 60.0
_FIRST_PAUSE = 0.5


class Model:
    """One model at temperature 0, where it takes a temperature. All its calls together may cost ``max_cost``, and no
    more than what a session may spend.

    Attributes:
        calls: How often it was asked.

    Raises:
        PluginError: The backend calls no model, or there is none with that name.
        BackendError, SettingsError: It can't be used with these settings.
    """

    def __init__(self, settings: Settings) -> None:
        # A temperature of the user's is for answers; without one a backend takes 0, or none for models that want none.
        backend = resolve_backend(settings.backend, settings.model_copy(update={"temperature": None}))
        if not isinstance(backend, WritingBackend):
            raise PluginError(
                f"The backend {backend.name!r} calls no model.", hint="--backend openai or openai-like, with --model"
            )
        self._backend = backend
        self._purse = Budget(settings).all_of("all calls")
        self._most = None if settings.sources.get("max_tokens", "default") == "default" else settings.max_tokens
        self.calls = 0

    @property
    def name(self) -> str:
        """Backend and model."""
        return f"{self._backend.name} {self._backend.model}"

    @property
    def identity(self) -> str:
        """The same, with the server that it is asked at: two servers may have different models of one name."""
        return f"{self.name} {self._backend.server}"

    @property
    def spent(self) -> str:
        """Calls, tokens and dollars so far, for people; what the provider doesn't report is counted as it may be."""
        return f"{self.calls:,} {'call' if self.calls == 1 else 'calls'}, {self._purse.told}"

    def complete(self, prompt: Rendered, *, max_tokens: int) -> str:
        """The whole reply to a prompt, of at most so many tokens, and no more than ``max_tokens`` where that is set. A
        call that is refused for now is repeated after a pause.

        Raises:
            BudgetExceeded: It may cost more than is left; it was not made.
            BackendError: The model failed.
        """
        max_tokens = min(max_tokens, self._most or max_tokens)
        self._purse.before(count_tokens(prompt.system) + count_tokens(prompt.user), max_tokens)
        request = Request(prompt.system, prompt.user, max_tokens)
        attempt = 0
        while True:
            try:
                return self._once(request)
            except BackendError as error:
                attempt += 1
                wait = error.retry_after
                if wait is None or attempt > self._backend.options.retries or wait > _LONGEST_WAIT:
                    self._purse.after(Usage(0, 0))  # a request that was refused costs nothing
                    raise
                time.sleep(wait or _FIRST_PAUSE * 2 ** (attempt - 1))

    def _once(self, request: Request) -> str:
        pieces: list[str] = []
        usage, characters, ended = Usage(), 0, False
        self.calls += 1
        try:
            with closing(self._backend.deltas(request)) as deltas:  # type: ignore[type-var]
                for delta in deltas:
                    kept = request.within(delta, characters)
                    pieces.append(kept.text)
                    characters += len(delta.text) + len(delta.thought)
                    usage, ended = delta.usage or usage, ended or bool(delta.finish)
                    if kept is not delta:
                        break
        except BackendError:
            if not ended:  # what is missing is no part of the reply
                raise
        self._purse.after(usage)
        return "".join(pieces)
