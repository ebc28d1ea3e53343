"""A list whose papers a model judges, batch by batch: the calls, and what becomes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import cast

from rag_assistant.answering.budget import Purse
from rag_assistant.answering.calls import MAX_TRIES, Call
from rag_assistant.backends.base import Backend, Lists, Prompt
from rag_assistant.backends.extractive import SIZES
from rag_assistant.backends.lists import belongs, best_sentence, listed
from rag_assistant.drafts import Label, Picked, Piece, Refusal
from rag_assistant.errors import (
    BackendContextTooLong,
    BackendError,
    BackendFiltered,
    BackendInterrupted,
    BackendProtocolError,
)
from rag_assistant.evidence import Evidence, heaviest
from rag_assistant.grounding.gate import is_near, matches_by_words
from rag_assistant.types import PromptInfo, StageEvent, Usage

MOST_JUDGED = 60
"""Papers of a list that a model is asked about, the most promising first."""
_OF_ONE_BATCH = (BackendFiltered, BackendInterrupted, BackendProtocolError)
"""Failures after which the next batch may well succeed."""
_LOST_IN_A_ROW = 2
"""After so many batches without a result no further one is sent."""


@dataclass(frozen=True, slots=True)
class PickCall(Call):
    """A backend to be asked which papers of a batch belong; ``backend`` can."""

    def pieces(self) -> Iterator[Piece]:
        """Which do."""
        return cast(Lists, self.backend).pick(self.prompt)

    def apieces(self) -> AsyncIterator[Piece]:
        """The same, without blocking the event loop."""
        return cast(Lists, self.backend).apick(self.prompt)


class Listing:
    """One list on its way. Make the calls of :meth:`steps`, give each :class:`Picked` to :meth:`add` and each failure
    to :meth:`instead`; then :meth:`pieces` is the list.

    What was judged is kept when a later batch fails or would cost too much. The papers that were not judged are then
    matched by their words where there is a fallback, and else left out; ``notices`` says so.

    Attributes:
        info: The prompt that was sent.
        sent: How many sentences of abstracts were.
        unknown: How many labels named nothing that was sent.
        fell_back: Whether no paper was judged, and the fallback made the list.
        notices: What the user should know.
    """

    def __init__(self, backend: Backend, fallback: Backend | None, purse: Purse, whole: Prompt) -> None:
        self._backend = backend
        self._fallback = fallback
        self._purse = purse
        self._whole = whole
        self._topical = candidates(whole)
        self._papers = self._topical[:MOST_JUDGED]
        self._rows: dict[int, int] = {}
        self._judged: set[int] = set()
        self._batch: list[int] = []
        self._call = PickCall(backend, whole)
        self._error: BackendError | None = None
        self._lost = 0
        self._tries = 1
        self.info: PromptInfo | None = None
        self.sent = 0
        self.unknown = 0
        self.fell_back = False
        self.notices: list[str] = []

    def steps(self) -> Iterator[StageEvent | Call]:
        """Progress, and the calls; of the fallback where no paper could be judged.

        Raises:
            BackendError: No paper could be judged, and there is no fallback.
        """
        left = list(self._papers)
        total = len(left)
        while left and self._lost < _LOST_IN_A_ROW:
            self._tries = 1
            try:
                self._prepare(left)
            except BackendError as error:
                self._failed(error)
                break
            done = total - len(left)
            yield StageEvent("judging", f"papers {done + 1} to {done + len(self._batch)} of {total}")
            yield self._call
            left = left[len(self._batch) :]
        if self._judged or not self._papers:
            self._tell()
            return
        failure = self._error or _unreadable(self._backend)
        if self._fallback is None:
            raise failure
        self.fell_back, self.info = True, None
        self.notices = [f"{_plain(failure)}, so this answer comes from the abstracts without a model."]
        yield Call(self._fallback, self._whole, fell_back=True)

    def add(self, piece: Picked) -> None:
        """Takes in what a model says of the batch."""
        prompt = self._call.prompt
        whole = self._whole.evidence
        for label in piece.labels:
            at = self._batch[label.paper]
            self._rows[at] = (
                best_sentence(whole, at)
                if label.sentence is None
                else whole.papers[at].sentences.index(prompt.evidence.papers[label.paper].sentences[label.sentence])
            )
        self._judged |= set(self._batch[: piece.judged])
        self.unknown += piece.unknown
        self.sent += self._call.sentences
        self.info = prompt.info
        self.notices += [prompt.notice] if prompt.notice else []
        self._lost = 0 if piece.judged else self._lost + 1
        if piece.judged < len(self._batch):
            self._failed(_cut_off() if piece.judged else _unreadable(self._backend))

    def instead(self, error: BackendError) -> Call | None:
        """The call to make after one that failed; ``None`` where it can be done without.

        Raises:
            BackendError: The one given, where the fallback failed.
        """
        if self.fell_back:
            raise error
        begun = isinstance(error, _OF_ONE_BATCH)
        if not begun:
            self._purse.after(Usage(0, 0))  # a request that was refused costs nothing
        if isinstance(error, BackendContextTooLong) and self._tries < MAX_TRIES:
            self._tries += 1
            before = self._call.sentences
            try:
                self._prepare(self._batch)
            except BackendError as second:
                error = second
            else:
                if self._call.sentences < before:
                    return self._call
        self._failed(error)
        self._lost = self._lost + 1 if begun else _LOST_IN_A_ROW
        return None

    def pieces(self) -> Iterator[Piece]:
        """The list; a refusal where no paper belongs."""
        evidence = self._whole.evidence
        rows = [Label(at, self._rows[at]) for at in sorted(self._rows)]
        if rows:
            yield from listed(evidence, rows, SIZES[self._whole.length].listed, f"{len(self._judged)} judged")
        else:
            yield Refusal("not_in_corpus", heaviest(evidence))

    def _prepare(self, left: list[int]) -> None:
        papers = tuple(self._whole.evidence.papers[at] for at in left)
        batch = replace(self._whole, evidence=replace(self._whole.evidence, papers=papers))
        prompt = cast(Lists, self._backend).prepare_list(batch)
        self._purse.before(*prompt.tokens)
        self._call = PickCall(self._backend, prompt)
        self._batch = left[: len(prompt.evidence.papers)]

    def _failed(self, error: BackendError) -> None:
        self._error = self._error or error

    def _tell(self) -> None:
        over = len(self._topical) - len(self._papers)
        if over:
            self.notices.append(
                f"Of {len(self._topical)} papers on the topic the {len(self._papers)} most promising were judged."
            )
        left = [at for at in self._papers if at not in self._judged]
        if not left or self._error is None:
            return
        form, evidence = self._whole.form, self._whole.evidence
        fate = "were not judged"
        if self._fallback is not None:
            self._rows |= {
                at: best_sentence(evidence, at) for at in left if belongs(form, evidence.words, evidence.papers[at])
            }
            fate = "were matched by their words, without the model"
        self.notices.append(f"{_plain(self._error)}, so {len(left)} of the {len(self._papers)} papers {fate}.")


def candidates(prompt: Prompt) -> list[int]:
    """The positions of the papers that a list is made of: those on the topic, the most promising first."""
    evidence: Evidence = prompt.evidence
    return [
        at
        for at, paper in enumerate(evidence.papers)
        if matches_by_words(paper) or is_near(paper) or belongs(prompt.form, evidence.words, paper)
    ]


def _unreadable(backend: Backend) -> BackendError:
    return BackendProtocolError(
        f"A reply of {backend.model or backend.name} names no paper in a form that can be read.",
        hint="ask again, or choose another model",
    )


def _cut_off() -> BackendError:
    return BackendProtocolError("A reply was cut off", hint="raise max_tokens (RAG_MAX_TOKENS)")


def _plain(error: BackendError) -> str:
    return error.message.rstrip(".")
