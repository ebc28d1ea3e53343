"""Writes with a model: packs the prompt to fit, and reads the reply.

Bibliographic facts come from the records, as with the extractive writer: a model could only get them wrong. Lists are
judged in batches, see :mod:`rag_assistant.answering.listing`; a list requested from this writer like any other answer
is matched by the words of the question.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from rag_assistant.drafts import Piece
from rag_assistant.errors import BackendError
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.evidence.packing import first_papers, fitting
from rag_assistant.models.base import ChatModel
from rag_assistant.models.caller import Caller
from rag_assistant.models.chat_errors import no_room
from rag_assistant.models.replies import ModelReply
from rag_assistant.prompts import Rendered, render_answer, render_list
from rag_assistant.writers.base import Prompt
from rag_assistant.writers.extractive import ExtractiveWriter
from rag_assistant.writers.reply import Reply

COMPACT_UP_TO = 4096
"""A model that takes no more tokens than this gets the compact prompt."""
SMALL_MODEL = 4.0
"""So does one whose name says that it has no more than this many billion parameters."""
SMALL_PROMPT = 1100
"""Tokens of a prompt for such a small model: the more sentences it is given, the more often it picks one that doesn't
answer."""
JUDGED_AT_ONCE = 12
"""How many papers of a list a model is asked about in one call, if its context holds them."""
_SIZE = re.compile(r"(?<![^\W_])(?<!\.)(?P<number>\d{1,3}(?:\.\d+)?)(?P<unit>[bm])(?![^\W_])", re.IGNORECASE)
_WITHOUT_MODEL = ("bibliography", "list")


@dataclass(frozen=True, slots=True)
class Packed:
    """A prompt as it is sent to a model.

    Attributes:
        rendered: The text.
        evidence: The part of the evidence that is in it.
        notice: What the user should know about the rest; may be empty.
    """

    rendered: Rendered
    evidence: QuestionEvidence
    notice: str = ""


class GenerativeWriter:
    """Writes with a model.

    Args:
        chat_model: The model.
        prompts: Folder of the user's own prompts.
    """

    def __init__(self, chat_model: ChatModel, prompts: Path | None = None) -> None:
        self.caller = Caller(chat_model)
        self.prompts = prompts

    @property
    def name(self) -> str:
        """What a user calls the model's provider."""
        return self.caller.model.name

    @property
    def model(self) -> str:
        """What a user calls the model."""
        return self.caller.model.model

    @property
    def server(self) -> str:
        """Who answers, for messages to people."""
        return self.caller.model.server

    def packed(self, prompt: Prompt) -> Packed | None:
        """The prompt with as much of the evidence as fits; ``None`` if no model is needed.

        Raises:
            BackendContextTooLong: Not even one sentence fits.
        """
        if prompt.form.kind in _WITHOUT_MODEL:
            return None
        limit = self.caller.context()
        compact = is_small(self.model) or (limit is not None and limit <= COMPACT_UP_TO)

        def rendered(evidence: QuestionEvidence) -> Rendered:
            return render_answer(prompt.form.text, evidence, length=prompt.length, compact=compact, folder=self.prompts)

        evidence = fitting(prompt.form, prompt.evidence, self._room(limit), lambda part: rendered(part).tokens)
        if evidence is None:
            raise no_room(self.server, limit or 0)
        sent, all_of_them = (sum(len(paper.sentences) for paper in e.papers) for e in (evidence, prompt.evidence))
        notice = f"The model read {sent} of {all_of_them} sentences found, the most useful ones: {self._why(limit)}."
        return Packed(rendered(evidence), evidence, notice if sent < all_of_them else "")

    def packed_list(self, prompt: Prompt) -> Packed:
        """The prompt that asks which of the first papers, as many as fit, belong in a list.

        Raises:
            BackendContextTooLong: Not even one sentence fits.
        """
        limit = self.caller.context()

        def rendered(evidence: QuestionEvidence) -> Rendered:
            return render_list(prompt.form.text, evidence, folder=self.prompts)

        evidence = first_papers(
            prompt.form,
            prompt.evidence,
            self._room(limit),
            lambda part: rendered(part).tokens,
            most=JUDGED_AT_ONCE,
        )
        if evidence is None:
            raise no_room(self.server, limit or 0)
        whole = zip(evidence.papers, prompt.evidence.papers, strict=False)
        cut = any(len(paper.sentences) < len(all_of_it.sentences) for paper, all_of_it in whole)
        notice = f"Of long abstracts the model read the most useful sentences: {self._why(limit)}." if cut else ""
        return Packed(rendered(evidence), evidence, notice)

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        """Sentence by sentence, with usage at the end; closing it ends the request."""
        packed = self.packed(prompt)
        if packed is None:
            yield from ExtractiveWriter().stream(prompt)
            return
        yield from self.caller.prepared(packed.rendered, self.reply(packed, prompt)).pieces()

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The same without blocking."""
        packed = await asyncio.to_thread(self.packed, prompt)
        if packed is None:
            for piece in ExtractiveWriter().stream(prompt):
                yield piece
            return
        call = await asyncio.to_thread(self.caller.prepared, packed.rendered, self.reply(packed, prompt))
        async with aclosing(call.apieces()) as pieces:
            async for piece in pieces:
                yield piece

    def reply(self, packed: Packed, prompt: Prompt) -> ModelReply:
        """The reader of the reply to a prompt for an answer."""
        return _AnswerReply(packed.evidence, prompt.form.text, self.server)

    def _room(self, limit: int | None) -> int:
        """How many tokens a prompt may have."""
        room = sys.maxsize if limit is None else limit - self.caller.answer_tokens(limit)
        return min(room, SMALL_PROMPT) if is_small(self.model) else room

    def _why(self, limit: int | None) -> str:
        """Why a prompt holds no more."""
        if limit is None or (is_small(self.model) and self._room(limit) == SMALL_PROMPT):
            return "a model this small does worse with more"
        return f"its context of {limit:,} tokens holds no more"


class _AnswerReply(ModelReply):
    """An answer: sentences with labels, as they arrive."""

    _notes_cut = True

    def __init__(self, evidence: QuestionEvidence, question: str, server: str) -> None:
        super().__init__(server)
        self._reply = Reply(evidence, question)

    def broken(self, error: BackendError) -> Iterator[Piece]:
        """The last complete sentence and the usage, then the error."""
        if self.begun:
            yield from self._reply.finish(truncated=True, broken=True)
            yield self._usage
        raise error

    def _take(self, text: str) -> Iterator[Piece]:
        return self._reply.add(text)

    def _rest(self) -> Iterator[Piece]:
        return self._reply.finish(truncated=self.truncated)

    @property
    def _empty(self) -> bool:
        return self._reply.empty


def is_small(model: str) -> bool:
    """Whether a model is small by its name, as ``qwen2.5-1.5b-instruct`` or ``llama3.2:3b``; the first size counts."""
    size = _SIZE.search(model)
    return size is not None and (size["unit"] in "mM" or float(size["number"]) <= SMALL_MODEL)
