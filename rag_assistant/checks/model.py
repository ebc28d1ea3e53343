"""Asks the model that writes the answers whether the quotes say what a statement says: a yes or a no."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import aclosing, closing
from dataclasses import replace

from rag_assistant.backends.base import Backend, Prompt
from rag_assistant.backends.replies import ModelReply, without_reasoning
from rag_assistant.backends.writing import WritingBackend
from rag_assistant.checks.base import Claim, Opinion
from rag_assistant.drafts import Piece
from rag_assistant.errors import BackendProtocolError, PluginError
from rag_assistant.prompts import render_check
from rag_assistant.types import Usage

_SAID = re.compile(r"\W*(?:answer\W+)?(?P<word>yes|no)\b", re.IGNORECASE)


class ModelCheck:
    """One call a statement, with the prompt ``check.jinja``, the backend's settings, retries and pauses.

    Args:
        backend: What writes the answers; it must be one that calls a model.

    Raises:
        PluginError: It calls none.
    """

    name = "model"

    def __init__(self, backend: Backend) -> None:
        if not isinstance(backend, WritingBackend):
            raise PluginError(
                f"The check 'model' asks the model of the backend, and {backend.name!r} calls none.",
                hint="choose one, such as --backend openai-like with --model and --base-url, or leave --check out",
            )
        self._backend = backend

    def prepare(self, claim: Claim) -> Claim:
        """Renders the prompt."""
        return replace(claim, prompt=self._prompt(claim))

    def check(self, claim: Claim) -> Opinion:
        """Asks and reads the reply.

        Raises:
            BackendError: The model failed, or what it said is neither yes nor no.
        """
        reply = _YesOrNo(self._backend.server)
        with closing(self._backend.read(self._prompt(claim), reply)) as pieces:  # type: ignore[type-var]
            return reply.opinion(list(pieces))

    async def acheck(self, claim: Claim) -> Opinion:
        """The same, without blocking the event loop; cancelling it ends the request."""
        reply = _YesOrNo(self._backend.server)
        async with aclosing(self._backend.aread(self._prompt(claim), reply)) as pieces:
            return reply.opinion([piece async for piece in pieces])

    def _prompt(self, claim: Claim) -> Prompt:
        if claim.prompt is not None:
            return claim.prompt
        rendered = render_check(claim.statement, claim.quotes, claim.papers, folder=self._backend.options.prompts)
        return self._backend.prompt_of(rendered, claim.statement)


class _YesOrNo(ModelReply):
    """A reply of one word, reasoning left out."""

    _text = ""

    def opinion(self, pieces: list[Piece]) -> Opinion:
        """What was said, once all has come."""
        usage = next((piece for piece in pieces if isinstance(piece, Usage)), Usage())
        said = _SAID.match(without_reasoning(self._text))
        if said is None:
            raise BackendProtocolError(
                f"The model at {self._server} was asked for yes or no and said neither.",
                hint="try a larger model, or leave --check out",
            )
        holds = said["word"].lower() == "yes"
        return Opinion(holds, "" if holds else "the model doesn't find it in the cited words", usage)

    def _take(self, text: str) -> Iterator[Piece]:
        self._text += text
        return iter(())

    def _rest(self, *, truncated: bool) -> Iterator[Piece]:
        del truncated  # a word is there or not
        return iter(())

    @property
    def _empty(self) -> bool:
        return not self._text.strip()
