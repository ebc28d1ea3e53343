"""A list whose papers a model judges, batch by batch: the calls and their results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from rag_assistant.answering.calls import Steps, of_model
from rag_assistant.answering.writing import MAX_TRIES, Writers
from rag_assistant.drafts import Label, Piece, Refusal
from rag_assistant.errors import (
    BackendContextTooLong,
    BackendError,
    BackendFiltered,
    BackendInterrupted,
    BackendProtocolError,
)
from rag_assistant.evidence.answerability import is_near, matches_by_words
from rag_assistant.evidence.base import QuestionEvidence, heaviest
from rag_assistant.types import PromptInfo, StageEvent
from rag_assistant.writers.base import Backend, Prompt
from rag_assistant.writers.extractive import SIZES
from rag_assistant.writers.generative import GenerativeWriter, Packed
from rag_assistant.writers.list_reply import ListReply, Picked, picked
from rag_assistant.writers.lists import belongs, best_sentence, listed

MOST_JUDGED = 60
"""How many papers of a list a model is asked about, the most promising first."""
_OF_ONE_BATCH = (BackendFiltered, BackendInterrupted, BackendProtocolError)
"""Failures after which the next batch may well succeed."""
_LOST_IN_A_ROW = 2
"""After this many batches in a row without a result, no more are sent."""


@dataclass(slots=True)
class Listing:
    """One list in the making: run :meth:`steps`, then :meth:`pieces` gives the list.

    What was judged is kept if a later batch fails or would cost too much. Papers that weren't judged are then matched
    by their words if there is a fallback, and left out otherwise; ``notices`` says so.

    Attributes:
        writer: Has the papers judged.
        writers: Who else may be asked, and the ledger that pays.
        whole: The question with all papers.
        info: The prompt that was sent.
        sent: How many sentences of abstracts were sent.
        unknown: How many labels named nothing that was sent.
        fell_back: Whether no paper was judged and the fallback made the list.
        notices: What the user should know.
    """

    writer: GenerativeWriter
    writers: Writers
    whole: Prompt
    info: PromptInfo | None = None
    sent: int = 0
    unknown: int = 0
    fell_back: bool = False
    notices: list[str] = field(default_factory=list)
    _rows: dict[int, int] = field(default_factory=dict)
    _judged: set[int] = field(default_factory=set)
    _batch: list[int] = field(default_factory=list)
    _error: BackendError | None = None

    def steps(self) -> Steps:
        """Progress and calls; the fallback's call if no paper could be judged.

        Raises:
            BackendError: No paper could be judged, and there is no fallback.
        """
        topical = candidates(self.whole)
        papers = topical[:MOST_JUDGED]
        left, lost = papers, 0
        while left and lost < _LOST_IN_A_ROW:
            before, self._batch = len(self._judged), left
            try:
                yield from self._judge(left, len(papers) - len(left), len(papers))
            except BackendError as error:
                self._error = self._error or error
                if not isinstance(error, _OF_ONE_BATCH):
                    break
            lost = 0 if len(self._judged) > before else lost + 1
            left = left[len(self._batch) :]
        if self._judged or not papers:
            self._note_unjudged(papers, len(topical))
            return
        failure = self._error or _unreadable(self.writer)
        instead = self.writers.from_abstracts(self.whole, failure.message)
        if instead is None:
            raise failure
        self.fell_back, self.info, self.notices = True, None, [instead.notice]
        yield instead.call

    def pieces(self) -> Iterator[Piece]:
        """The list, or a refusal if no paper belongs in it."""
        evidence = self.whole.evidence
        rows = [Label(at, self._rows[at]) for at in sorted(self._rows)]
        if rows:
            most = self.whole.form.at_most(SIZES[self.whole.length].listed)
            yield from listed(evidence, rows, most, f"{len(self._judged)} judged")
        else:
            yield Refusal("not_in_corpus", heaviest(evidence))

    def _judge(self, left: list[int], done: int, total: int) -> Steps:
        """Has as many of these papers judged as fit, from the first on; fewer if that proves too many."""
        packed: Packed | None = None
        for _ in range(MAX_TRIES):
            shorter = self._packed(left)
            if packed is not None and _size(shorter) >= _size(packed):
                break
            first, packed = packed is None, shorter
            reply = ListReply(self.writer.server)
            call = self.writer.caller.prepared(packed.rendered, reply, self.writers.ledger)
            self._batch = left = left[: len(packed.evidence.papers)]
            stage = StageEvent("judging", f"papers {done + 1} to {done + len(left)} of {total}")
            if first:
                yield stage
            try:
                yield of_model(call, self.writers.take, stage)
            except BackendContextTooLong as error:
                failure = error
            else:
                self._add(packed, picked(reply.answer, packed.evidence, truncated=reply.truncated))
                return
        raise failure

    def _packed(self, left: list[int]) -> Packed:
        papers = tuple(self.whole.evidence.papers[at] for at in left)
        return self.writer.packed_list(replace(self.whole, evidence=replace(self.whole.evidence, papers=papers)))

    def _add(self, packed: Packed, said: Picked) -> None:
        """Takes in what a model says of the batch."""
        whole = self.whole.evidence
        for label in said.labels:
            at = self._batch[label.paper]
            self._rows[at] = (
                best_sentence(whole, at)
                if label.sentence is None
                else whole.papers[at].sentences.index(packed.evidence.papers[label.paper].sentences[label.sentence])
            )
        self._judged |= set(self._batch[: said.judged])
        self.unknown += said.unknown
        self.sent += _size(packed)
        self.info = packed.rendered.info
        self.notices += [packed.notice] if packed.notice else []
        if said.judged < len(self._batch):
            self._error = self._error or (_cut_off() if said.judged else _unreadable(self.writer))

    def _note_unjudged(self, papers: list[int], topical: int) -> None:
        if topical > len(papers):
            self.notices.append(f"Of {topical} papers on the topic the {len(papers)} most promising were judged.")
        left = [at for at in papers if at not in self._judged]
        if not left or self._error is None:
            return
        form, evidence = self.whole.form, self.whole.evidence
        fate = "were not judged"
        if self.writers.fallback is not None:
            self._rows |= {
                at: best_sentence(evidence, at) for at in left if belongs(form, evidence.words, evidence.papers[at])
            }
            fate = "were matched by their words, without the model"
        self.notices.append(f"{self._error.message.rstrip('.')}, so {len(left)} of the {len(papers)} papers {fate}.")


def _size(packed: Packed) -> int:
    """How many sentences are sent to a model."""
    return sum(len(paper.sentences) for paper in packed.evidence.papers)


def candidates(prompt: Prompt) -> list[int]:
    """The positions of the papers considered for a list: those on the topic, the most promising first."""
    evidence: QuestionEvidence = prompt.evidence
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
