"""What all backends share that write with a model: the prompt, packed to fit, and the reading of the reply.

The bibliography's facts are answered as by the extractive backend, from the records: a model could only get them wrong.
A list is asked for in batches, see :class:`~rag_assistant.backends.base.Lists`; one that is asked for like any answer
is made by the question's words.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from rag_assistant.backends.base import Prompt
from rag_assistant.backends.calling import CallingBackend
from rag_assistant.backends.chat_errors import no_room
from rag_assistant.backends.extractive import ExtractiveBackend
from rag_assistant.backends.packing import count_tokens, first_papers, fitting
from rag_assistant.backends.picking import PickReply
from rag_assistant.backends.replies import AnswerReply, QuestionReply
from rag_assistant.drafts import Piece
from rag_assistant.evidence import Evidence
from rag_assistant.prompts import Rendered, render_answer, render_list, render_rewrite
from rag_assistant.questions.form import analyse
from rag_assistant.types import Turn

COMPACT_UP_TO = 4096
"""A model that takes no more tokens than this gets the compact prompt."""
SMALL_MODEL = 4.0
"""So does one whose name tells that it has no more than so many billion parameters."""
SMALL_PROMPT = 1100
"""Tokens of a prompt for such a model: the more sentences it is given, the more often it picks one that doesn't
answer."""
JUDGED_AT_ONCE = 12
"""Papers of a list that a model is asked about in one call, where its context holds them."""
_SIZE = re.compile(r"(?<![^\W_])(?<!\.)(?P<number>\d{1,3}(?:\.\d+)?)(?P<unit>[bm])(?![^\W_])", re.IGNORECASE)
_WITHOUT_MODEL = ("bibliography", "list")


class WritingBackend(CallingBackend):
    """Writes with a model. Subclasses make :class:`~rag_assistant.backends.replies.Delta` of a
    :class:`~rag_assistant.backends.calling.Request`, in two ways."""

    def prepare(self, prompt: Prompt) -> Prompt:
        """Renders the prompt, with as much of the evidence as fits; as it is where no model is needed.

        Raises:
            BackendContextTooLong: Not even one sentence fits.
        """
        if prompt.form.kind in _WITHOUT_MODEL:
            return prompt
        limit = self.context()
        render = partial(self._render, prompt, compact=self._compact(limit))
        found = fitting(prompt.form, prompt.evidence, self._room(limit), render)
        if found is None:
            raise no_room(self.server, limit or 0)
        evidence, rendered = found
        sent, all_of_them = (sum(len(paper.sentences) for paper in e.papers) for e in (evidence, prompt.evidence))
        notice = f"The model read {sent} of {all_of_them} sentences found, the most useful ones: {self._why(limit)}."
        return self._rendered(replace(prompt, evidence=evidence, notice=notice if sent < all_of_them else ""), rendered)

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """Sentence by sentence, with usage at the end; closing it ends the request."""
        prompt = prompt if prompt.user else self.prepare(prompt)
        if not prompt.user:
            yield from ExtractiveBackend().stream(prompt)
            return
        yield from self.read(prompt, AnswerReply(prompt, self.server))

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same, without blocking."""
        prompt = prompt if prompt.user else await asyncio.to_thread(self.prepare, prompt)
        if not prompt.user:
            for piece in ExtractiveBackend().stream(prompt):
                yield piece
            return
        async with aclosing(self.aread(prompt, AnswerReply(prompt, self.server))) as pieces:
            async for piece in pieces:
                yield piece

    def prepare_rewrite(self, question: str, turns: Sequence[Turn]) -> Prompt:
        """The prompt that asks for a follow-up as a question that stands alone."""
        return self.prompt_of(render_rewrite(question, turns, folder=self.options.prompts), question)

    def prompt_of(self, rendered: Rendered, about: str) -> Prompt:
        """A rendered prompt that asks for no answer, as one that can be sent; ``about`` is the text it is about."""
        return self._rendered(Prompt(analyse(about), Evidence((), (), 0)), rendered)

    def rewrite(self, prompt: Prompt) -> Iterator[Piece]:
        """The question, and what it took."""
        yield from self.read(prompt, QuestionReply(self.server))

    async def arewrite(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same, without blocking."""
        async with aclosing(self.aread(prompt, QuestionReply(self.server))) as pieces:
            async for piece in pieces:
                yield piece

    def prepare_list(self, prompt: Prompt) -> Prompt:
        """The prompt that asks which of the first papers belong in a list, as many of these as fit.

        Raises:
            BackendContextTooLong: Not even one sentence fits.
        """
        limit = self.context()
        render = partial(render_list, prompt.form.text, folder=self.options.prompts)
        found = first_papers(prompt.form, prompt.evidence, self._room(limit), render, most=JUDGED_AT_ONCE)
        if found is None:
            raise no_room(self.server, limit or 0)
        evidence, rendered = found
        whole = zip(evidence.papers, prompt.evidence.papers, strict=False)
        cut = any(len(paper.sentences) < len(all_of_it.sentences) for paper, all_of_it in whole)
        notice = f"Of long abstracts the model read the most useful sentences: {self._why(limit)}." if cut else ""
        return self._rendered(replace(prompt, evidence=evidence, notice=notice), rendered)

    def pick(self, prompt: Prompt) -> Iterator[Piece]:
        """Which of the prompt's papers belong, and what it took."""
        yield from self.read(prompt, PickReply(prompt.evidence, self.server))

    async def apick(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same, without blocking."""
        async with aclosing(self.aread(prompt, PickReply(prompt.evidence, self.server))) as pieces:
            async for piece in pieces:
                yield piece

    def _rendered(self, prompt: Prompt, rendered: Rendered) -> Prompt:
        sent = count_tokens(rendered.system) + count_tokens(rendered.user)
        return replace(
            prompt,
            system=rendered.system,
            user=rendered.user,
            info=rendered.info,
            tokens=(sent, self.answer_tokens(self.context())),
        )

    def _render(self, prompt: Prompt, evidence: Evidence, *, compact: bool) -> Rendered:
        folder = self.options.prompts
        return render_answer(prompt.form.text, evidence, length=prompt.length, compact=compact, folder=folder)

    def _room(self, limit: int | None) -> int:
        """How many tokens a prompt may have."""
        room = sys.maxsize if limit is None else limit - self.answer_tokens(limit)
        return min(room, SMALL_PROMPT) if is_small(self.model) else room

    def _why(self, limit: int | None) -> str:
        """Why a prompt holds no more."""
        if limit is None or (is_small(self.model) and self._room(limit) == SMALL_PROMPT):
            return "a model this small does worse with more"
        return f"its context of {limit:,} tokens holds no more"

    def _compact(self, limit: int | None) -> bool:
        return (limit is not None and limit <= COMPACT_UP_TO) or is_small(self.model)


def is_small(model: str) -> bool:
    """Whether a model's name tells that it is a small one: ``qwen2.5-1.5b-instruct``, ``llama3.2:3b``; the first size
    counts."""
    size = _SIZE.search(model)
    return size is not None and (size["unit"] in "mM" or float(size["number"]) <= SMALL_MODEL)
