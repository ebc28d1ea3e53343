"""What has been gathered for one question so far, part by part, and the answer made of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rag_assistant.answering.writing import Attempt
from rag_assistant.drafts import Refusal
from rag_assistant.evidence.base import QuestionEvidence, heaviest
from rag_assistant.evidence.sentence_choice import ranked
from rag_assistant.grounding.ground import Grounder
from rag_assistant.grounding.refusals import refusal_text
from rag_assistant.retrieval.retriever import hits_of
from rag_assistant.types import Answer, Excerpt, Hit, Paper, PromptInfo, Quote, Status
from rag_assistant.writers.base import Backend

NEAREST = 3


@dataclass(slots=True)
class AnswerRecord:
    """The record of one question.

    Attributes:
        question, k, backend, fallback: The run's.
        grounder: What was written.
        notices: What the user should know.
        evidences, confidences, standalone: By part: what was found, how sure the gate is that it answers, and the
            question that was searched for.
        refusals: Parts that stay unanswered, and why.
        asked, written, fell_back: How many parts there are, how many a backend answered, and how many of these the
            fallback.
        sent, prompt: How many sentences backends were given, and the latest prompt.
        draft: The text of a model that was taken back.
        timings: Milliseconds by stage.
    """

    question: str
    k: int
    backend: Backend
    fallback: Backend | None
    notices: list[str] = field(default_factory=list)
    grounder: Grounder = field(default_factory=lambda: Grounder(QuestionEvidence((), (), 0)))
    evidences: list[QuestionEvidence] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    standalone: list[str] = field(default_factory=list)
    refusals: list[tuple[str, Refusal]] = field(default_factory=list)
    asked: int = 1
    sent: int = 0
    prompt: PromptInfo | None = None
    written: int = 0
    fell_back: int = 0
    draft: str = ""
    timings: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def count(self, made: Attempt) -> None:
        """Counts a successful attempt."""
        self.written += 1
        self.fell_back += made.fell_back
        self.sent += made.sentences
        self.prompt = made.info or self.prompt
        self.notices += [notice for notice in (made.notice,) if notice]

    def take_back(self, before: Grounder) -> None:
        """Drops what was written since ``before``, keeping it as a draft; its usage stays counted."""
        written = self.grounder.text[len(before.text) :].strip()
        self.draft = f"{self.draft}\n\n{written}".strip()
        fresh = before.copy()
        fresh.usage, fresh.dropped_markers = self.grounder.usage, self.grounder.dropped_markers
        self.grounder = fresh

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Adds the time spent within to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[stage] = self.timings.get(stage, 0.0) + (time.perf_counter() - start) * 1000

    def answer(self, first_text: float | None) -> Answer:
        """The answer to the question.

        Args:
            first_text: When the first text was streamed, by ``time.perf_counter``; ``None`` if none was.
        """
        grounder = self.grounder
        evidence = self.evidences[0]
        hits = self.hits()
        draft = self.draft
        statements, citations, text = tuple(grounder.statements), grounder.citations(), grounder.text
        status: Status = "answered"
        nearest: tuple[Paper, ...] = ()
        looked_for: tuple[str, ...] = ()
        closest: Excerpt | None = None
        failed = bool(statements) and all(statement.support != "supported" for statement in statements)
        if failed:
            draft = text
            self.refusals.append((self.question, Refusal("not_in_abstracts", heaviest(evidence))))
        if len(self.refusals) >= self.asked or failed:
            refusal = self.refusals[0][1]
            status, looked_for = refusal.status, tuple(word[:40] for word in refusal.looked_for)
            nearest = tuple(hit.paper for hit in hits[:NEAREST]) if status != "clarify" else ()
            if status == "not_in_abstracts":
                closest = closest_words(evidence)
            if self.asked == 1 or failed:
                text = self.refusal_text(refusal, evidence)
            statements, citations = (), ()
        elif self.refusals or grounder.missing:
            status = "partial"
            looked_for = (*grounder.missing, *(part for part, _ in self.refusals))
            if grounder.missing:
                text += f" The abstracts don't say: {', '.join(grounder.missing)}."
        writer = self.fallback if self.fallback and self.fell_back == self.written > 0 else self.backend
        if first_text is not None:
            self.timings["first_text"] = (first_text - self.started) * 1000
        self.timings["total"] = (time.perf_counter() - self.started) * 1000
        return Answer(
            question=self.question,
            standalone_question=" ".join(self.standalone),
            status=status,
            text=text,
            statements=statements,
            citations=citations,
            hits=hits,
            nearest=nearest,
            closest=closest,
            looked_for=looked_for,
            considered=evidence.considered,
            matched=grounder.matched,
            confidence=min(self.confidences, default=None),
            notices=tuple(dict.fromkeys(self.notices)),
            passages_sent=self.sent,
            dropped_markers=grounder.dropped_markers,
            backend=writer.name,
            model=writer.model,
            prompt=self.prompt,
            usage=grounder.usage,
            timings_ms=dict(self.timings),
            draft=draft,
        )

    def hits(self) -> tuple[Hit, ...]:
        """The hits of all parts, one per paper, best first within each part, including every cited paper."""
        cited = {citation.paper.id for citation in self.grounder.citations()}
        hits: dict[str, Hit] = {}
        for evidence in self.evidences:
            for hit in hits_of(evidence):
                # A record that was only searched for a name wasn't found by its content.
                if (hit.rank <= self.k and hit.passage.text) or hit.paper.id in cited:
                    hits.setdefault(hit.paper.id, hit)
        return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits.values(), start=1))

    def refusal_text(self, refusal: Refusal, evidence: QuestionEvidence) -> str:
        """A refusal in words, with the nearest of what was found."""
        nearest = tuple(paper.hit.paper for paper in evidence.papers[:NEAREST] if paper.hit.passage.text)
        return refusal_text(refusal, nearest, evidence.considered)


def closest_words(evidence: QuestionEvidence) -> Excerpt | None:
    """The sentence of the best paper that comes closest to answering; ``None`` where none was found."""
    if not evidence.papers or not evidence.papers[0].sentences:
        return None
    paper = evidence.papers[0]
    passage = paper.sentences[ranked(evidence.words, paper)[0][1]].passage
    return Excerpt(paper.hit.paper, Quote(passage.text, passage.start, passage.end))
