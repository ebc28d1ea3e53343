"""The calls for one part of a question: the backend's, again with less to read if it was too much, the fallback's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import cast

from rag_assistant.answering.budget import Purse
from rag_assistant.backends.base import Backend, Prepares, Prompt, Rewrites
from rag_assistant.drafts import Piece
from rag_assistant.errors import BackendContextTooLong, BackendError
from rag_assistant.types import PromptEvent, Usage

MAX_TRIES = 4
"""How often a prompt that a model finds too long is cut further."""


@dataclass(frozen=True, slots=True)
class Call:
    """A backend to be asked.

    Attributes:
        notice: What the user should know about why it is this one; may be empty.
        fell_back: Whether it stands in for the backend that was chosen.
    """

    backend: Backend
    prompt: Prompt
    notice: str = ""
    fell_back: bool = False

    @property
    def sentences(self) -> int:
        """How many sentences of abstracts the backend is given."""
        return sum(len(paper.sentences) for paper in self.prompt.evidence.papers)

    def events(self) -> Iterator[PromptEvent]:
        """What there is to tell before it is made."""
        prompt = self.prompt
        if prompt.info is not None:
            yield PromptEvent(self.backend.name, self.backend.model, prompt.info, prompt.system, prompt.user)

    def pieces(self) -> Iterator[Piece]:
        """What the backend writes."""
        return self.backend.stream(self.prompt)

    def apieces(self) -> AsyncIterator[Piece]:
        """The same, without blocking the event loop."""
        return self.backend.astream(self.prompt)


@dataclass(frozen=True, slots=True)
class RewriteCall(Call):
    """A backend to be asked to reword a follow-up question; ``backend`` can."""

    def pieces(self) -> Iterator[Piece]:
        """The question."""
        return cast(Rewrites, self.backend).rewrite(self.prompt)

    def apieces(self) -> AsyncIterator[Piece]:
        """The same, without blocking the event loop."""
        return cast(Rewrites, self.backend).arewrite(self.prompt)


class Calls:
    """Calls until one succeeds. :meth:`first`, and after a failure :meth:`instead`; ``last`` is the latest."""

    def __init__(self, backend: Backend, fallback: Backend | None, purse: Purse, prompt: Prompt) -> None:
        self._backend = backend
        self._fallback = fallback
        self._purse = purse
        self._whole = prompt
        self._tries = 1
        self.last = Call(backend, prompt)

    def first(self) -> Call:
        """The backend's call.

        Raises:
            BackendError: It can't be made, and there is no fallback.
        """
        try:
            self.last = self._prepared()
        except BackendError as error:
            return self.instead(error, begun=False)
        return self.last

    def instead(self, error: BackendError, *, begun: bool) -> Call:
        """What to ask after the last call has failed.

        Args:
            error: How it failed.
            begun: Whether it had brought text.

        Raises:
            BackendError: The one given, where nothing is left to ask.
        """
        if not begun:
            self._purse.after(Usage(0, 0))  # a request that was refused costs nothing
        if isinstance(error, BackendContextTooLong) and self._tries < MAX_TRIES:
            self._tries += 1
            try:
                shorter = self._prepared()
            except BackendError as second:
                error = second
            else:
                if shorter.sentences < self.last.sentences:
                    self.last = shorter
                    return shorter
        instead = self.from_abstracts(error.message)
        if instead is None:
            raise error
        return instead

    def from_abstracts(self, why: str) -> Call | None:
        """The fallback's call; ``None`` where there is none, or it was made already.

        Args:
            why: What made it necessary, as a sentence.
        """
        if self._fallback is None or self.last.fell_back:
            return None
        notice = f"{why.rstrip('.')}, so this answer comes from the abstracts without a model."
        self.last = Call(self._fallback, self._whole, notice, fell_back=True)
        return self.last

    def _prepared(self) -> Call:
        prompt = self._whole
        if isinstance(self._backend, Prepares):
            prompt = self._backend.prepare(prompt)
        if prompt.user:
            self._purse.before(*prompt.tokens)
        return Call(self._backend, prompt, prompt.notice)
