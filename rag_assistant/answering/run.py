"""One question on its way to an answer: everything but the backend's call, so that sync and async share it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rag_assistant.answering.budget import Purse
from rag_assistant.answering.calls import Call, Calls, RewriteCall
from rag_assistant.answering.checking import Checking
from rag_assistant.answering.completing import Written, contradicted, left_out
from rag_assistant.answering.early_refusal import early_refusal
from rag_assistant.answering.last_check import NOTHING_HELD, WITHHELD, answering_sentences, says_nothing, withheld
from rag_assistant.answering.listing import Listing
from rag_assistant.answering.rewriting import needs_model, reworded
from rag_assistant.answering.searching import search, with_each_side
from rag_assistant.answering.telling import Told
from rag_assistant.backends.base import Backend, Lists, Prepares, Prompt, Rewrites
from rag_assistant.checks.base import Check
from rag_assistant.conversation import stand_alone
from rag_assistant.drafts import Frame, Notice, Picked, Piece, Refusal, Rewritten, Withdrawn
from rag_assistant.errors import BackendError, BudgetExceeded
from rag_assistant.evidence import Evidence, heaviest
from rag_assistant.grounding.gate import judge
from rag_assistant.grounding.ground import Grounder
from rag_assistant.grounding.orders import without_orders
from rag_assistant.grounding.refusals import refusal_text
from rag_assistant.questions.form import MAX_QUESTION, QuestionForm, analyse, parts
from rag_assistant.retrieval.retriever import Retriever, hits_of
from rag_assistant.types import (
    Answer,
    Event,
    Filters,
    FinalEvent,
    Hit,
    HitsEvent,
    Length,
    Paper,
    PromptInfo,
    StageEvent,
    Status,
    Turn,
    Usage,
)

MAX_PARTS = 6
NEAREST = 3


@dataclass(slots=True)
class Run:
    """The state of one question.

    Drive it with ``for step in run.steps()``: events are to be passed on; a :class:`Call` asks for a backend's pieces,
    each to be given to :meth:`add`, whose events are passed on too. When a call fails, :meth:`instead` has the next.
    """

    retriever: Retriever
    backend: Backend
    fallback: Backend | None
    purse: Purse
    question: str
    history: Sequence[Turn]
    k: int
    filters: Filters | None = None
    length: Length = "normal"
    trusts_model: bool = False
    check: Check | None = None
    notices: list[str] = field(default_factory=list)
    _grounder: Grounder = field(default_factory=lambda: Grounder(Evidence((), (), 0)))
    _evidences: list[Evidence] = field(default_factory=list)
    _confidences: list[float] = field(default_factory=list)
    _standalone: list[str] = field(default_factory=list)
    _refusals: list[tuple[str, Refusal]] = field(default_factory=list)
    _asked: int = 1
    _sent: int = 0
    _prompt: PromptInfo | None = None
    _calls: Calls | None = None
    _checking: Checking | None = None
    _listing: Listing | None = None
    _before: Grounder = field(default_factory=lambda: Grounder(Evidence((), (), 0)))
    _written: int = 0
    _fell_back: int = 0
    _reworded: str = ""
    _told: Told = field(default_factory=Told)
    _refused: int = 0
    _draft: str = ""
    _timings: dict[str, float] = field(default_factory=dict)
    _started: float = field(default_factory=time.perf_counter)

    def steps(self) -> Iterator[Event | Call]:
        """Stages, hits and calls in order, and the final event at the end."""
        yield StageEvent("searching")
        joined = not isinstance(self.backend, Rewrites)
        asked = parts(self.question[: MAX_QUESTION * 4], joined=joined)[:MAX_PARTS] or ("",)
        self._asked = len(asked)
        turns = list(self.history)
        for place, part in enumerate(asked):
            before = len(self._grounder.text)
            refused = len(self._refusals)
            if self._asked > 1:
                yield from self.add(Frame(f"{chr(10) * 2 if place else ''}{part}\n"))
            yield from self._part(part, turns)
            if self._asked > 1:
                if len(self._refusals) > refused:
                    yield from self.add(Frame(self._refusal_text(self._refusals[-1][1], self._evidences[-1])))
                turns.append((part, self._grounder.text[before:]))
        yield StageEvent("checking")
        yield from self._check_further()
        answer = self._answer()
        rest = self._told.upto(answer.text)
        if rest is not None:
            yield rest  # a refusal, or what stays unanswered
        yield FinalEvent(answer, replaced=self._told.text != answer.text)

    def add(self, piece: Piece) -> Iterator[Event]:
        """Takes a piece of the backend in."""
        if isinstance(piece, Refusal):
            self._refusals.append((self._standalone[-1], piece))
            return
        if isinstance(piece, Withdrawn):
            self._start_over(self._grounder.evidence)
            return
        if isinstance(piece, Rewritten):
            self._reworded = piece.text
            return
        if isinstance(piece, Notice):
            self.notices.append(piece.text)
            return
        if isinstance(piece, Picked) and self._listing is not None:
            self._listing.add(piece)
            return
        if isinstance(piece, Usage):
            piece = self.purse.after(piece)
        with self._timed("checking"):
            self._grounder.add(piece)
        event = self._told.after(piece, self._grounder)
        if event is not None:
            yield event

    def _start_over(self, evidence: Evidence) -> None:
        """Forgets what the call under way has brought."""
        del self._refusals[self._refused :]
        self._grounder = self._before.copy(evidence)

    def instead(self, error: BackendError) -> Call | None:
        """The call to make after one that failed; ``None`` where it can be done without. What that had brought is taken
        back; where some of it was text, no further text is told before the final event replaces it.

        Raises:
            BackendError: The one given, where nothing is left to ask.
        """
        if self._listing is not None:
            return self._listing.instead(error)
        if self._calls is None:  # a follow-up that no model could reword, or a further check
            self.purse.after(Usage(0, 0))
            if self._checking is not None:
                self._checking.failed(error)
            return None
        call = self._calls.instead(error, begun=len(self._told.text) > len(self._before.text))
        self._start_over(call.prompt.evidence)
        return call

    def _part(self, part: str, turns: list[Turn]) -> Iterator[Event | Call]:
        with self._timed("searching"):
            alone = stand_alone(part, turns, self.retriever.all_papers)
        if needs_model(alone, part) and isinstance(self.backend, Rewrites):
            yield from self._rewording(self.backend, part, turns)
            if (better := reworded(alone, part, self._reworded, turns)) is not None:
                alone = better
        with self._timed("searching"):
            form = analyse(alone.text)
            self._standalone.append(alone.text)
            if form.cut or len(self.question) > MAX_QUESTION * 4:
                self.notices.append(f"The question is long: its first {MAX_QUESTION:,} characters were searched with.")
            evidence = search(self.retriever, form, alone, self.k, self.filters)
            if isinstance(self.backend, Prepares):
                evidence = with_each_side(self.retriever, form, alone, evidence, self.filters)
            evidence = without_orders(evidence, form.text)
        self._evidences.append(evidence)
        if form.kind not in ("bibliography", "empty") and evidence.papers:
            judged = (
                judge(evidence.words, paper, form.answer_type, form.sought) for paper in evidence.papers[: self.k]
            )
            self._confidences.append(max(judgement.confidence for judgement in judged))
        self.notices += [f"Read “{wrong}” as “{right}”." for wrong, right in evidence.corrections]
        self._grounder.evidence = evidence
        yield HitsEvent(hits_of(evidence)[: self._hit_limit(form)])
        refusal = early_refusal(form, alone, evidence, model=isinstance(self.backend, Rewrites))
        if refusal is not None:
            self._refusals.append((part, refusal))
            return
        yield StageEvent("reading", f"{len(evidence.papers)} papers")
        prompt = Prompt(form, evidence, self.length)
        if form.kind == "list" and isinstance(self.backend, Lists) and evidence.words:
            yield from self._list(prompt)
            return
        self._calls = Calls(self.backend, self.fallback, self.purse, prompt)
        call = self._calls.first()
        self._grounder.evidence = call.prompt.evidence
        self._before, self._refused = self._grounder.copy(), len(self._refusals)
        yield StageEvent("writing")
        with self._timed("writing"):
            yield call
        if self._calls.last.prompt.user:
            yield from self._check_last(self._calls, part, form, evidence)
        made = self._calls.last
        self._calls = None
        yield from self._complete(made.prompt)
        self._written += 1
        self._fell_back += made.fell_back
        self._sent += made.sentences
        self._prompt = made.prompt.info or self._prompt
        self.notices += [notice for notice in (made.notice,) if notice]

    def _check_last(self, calls: Calls, part: str, form: QuestionForm, evidence: Evidence) -> Iterator[Event | Call]:
        """Looks at what a model answered to a part as a whole. Where it holds nothing, the fallback answers, if that
        can; where the abstracts don't say what is asked, it is taken back; where it only repeats the question, the
        sentences that answer follow."""
        told = self._grounder.statements[len(self._before.statements) :]
        numbers = {number for statement in told for number in statement.citations}
        cited = {citation.paper.id for citation in self._grounder.citations() if citation.number in numbers}
        empty = says_nothing(form, told)
        if empty:
            yield from self._fall_back(calls)
        if calls.last.fell_back:
            return
        refusal = None
        if cited and not self.trusts_model:
            refusal = withheld(form, evidence, cited)
        if refusal is not None:
            self._take_back()
            self._refusals.append((part, refusal))
            self.notices.append(WITHHELD)
        elif empty and any(statement.support == "supported" for statement in told):
            for draft in answering_sentences(form, self._grounder.evidence, cited, self._grounder.text):
                yield from self.add(draft)

    def _fall_back(self, calls: Calls) -> Iterator[Call]:
        made = calls.last
        call = calls.from_abstracts(NOTHING_HELD)
        if call is None:
            return
        kept, refusals = self._grounder, self._refusals[self._refused :]
        draft = self._draft
        self._take_back()
        del self._refusals[self._refused :]
        self._grounder.evidence = call.prompt.evidence
        yield call
        if len(self._refusals) > self._refused:  # there is nothing to be had from the abstracts either
            self._grounder, self._refusals[self._refused :] = kept, refusals
            self._draft, calls.last = draft, made

    def _take_back(self) -> None:
        """Drops what was written to a part; what it took stays counted."""
        written = self._grounder.text[len(self._before.text) :].strip()
        self._draft = f"{self._draft}\n\n{written}".strip()
        fresh = self._before.copy()
        fresh.usage, fresh.dropped_markers = self._grounder.usage, self._grounder.dropped_markers
        self._grounder = fresh

    def _complete(self, prompt: Prompt) -> Iterator[Event]:
        """Adds what an answer leaves out."""
        for look in (left_out, contradicted) if prompt.user else (contradicted,):
            grounder = self._grounder
            told = grounder.statements[len(self._before.statements) :]
            for piece in look(Written(prompt.form, prompt.evidence, told, grounder.citations(), grounder.missing)):
                yield from self.add(piece)

    def _list(self, prompt: Prompt) -> Iterator[Event | Call]:
        """Has the papers of a list judged, and tells it."""
        listing = self._listing = Listing(self.backend, self.fallback, self.purse, prompt)
        with self._timed("judging"):
            yield from listing.steps()
        self._listing = None
        self._written += 1
        self._fell_back += listing.fell_back
        self._sent += listing.sent
        self._prompt = listing.info or self._prompt
        self._grounder.dropped_markers += listing.unknown
        self.notices += listing.notices
        for piece in () if listing.fell_back else listing.pieces():
            yield from self.add(piece)

    def _rewording(self, backend: Rewrites, part: str, turns: list[Turn]) -> Iterator[Event | Call]:
        """Has a follow-up reworded, where the budget allows that."""
        self._reworded = ""
        prompt = backend.prepare_rewrite(part, turns)
        try:
            self.purse.before(*prompt.tokens)
        except BudgetExceeded:
            return
        yield StageEvent("rewording")
        with self._timed("rewording"):
            yield RewriteCall(self.backend, prompt)

    def _check_further(self) -> Iterator[Call]:
        """Has the further check look at each statement that may still lose its support."""
        if self.check is None:
            return
        self._checking = Checking(self.check, self.backend, self.purse, self._grounder)
        with self._timed("checking"):
            yield from self._checking.calls()
        self.notices += [notice for notice in (self._checking.notice,) if notice]

    def _hit_limit(self, form: QuestionForm) -> int:
        return 0 if form.field == "papers_by" else self.k

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self._timings[stage] = self._timings.get(stage, 0.0) + (time.perf_counter() - start) * 1000

    def _answer(self) -> Answer:
        grounder = self._grounder
        evidence = self._evidences[0]
        hits = self._hits()
        draft = self._draft
        statements, citations, text = tuple(grounder.statements), grounder.citations(), grounder.text
        status: Status = "answered"
        nearest: tuple[Paper, ...] = ()
        looked_for: tuple[str, ...] = ()
        failed = bool(statements) and all(statement.support != "supported" for statement in statements)
        if failed:
            draft = text
            self._refusals.append((self.question, Refusal("not_in_abstracts", heaviest(evidence))))
        if len(self._refusals) >= self._asked or failed:
            refusal = self._refusals[0][1]
            status, looked_for = refusal.status, tuple(word[:40] for word in refusal.looked_for)
            nearest = tuple(hit.paper for hit in hits[:NEAREST]) if status != "clarify" else ()
            if self._asked == 1 or failed:
                text = self._refusal_text(refusal, evidence)
            statements, citations = (), ()
        elif self._refusals or grounder.missing:
            status = "partial"
            looked_for = (*grounder.missing, *(part for part, _ in self._refusals))
            if grounder.missing:
                text += f" The abstracts don't say: {', '.join(grounder.missing)}."
        writer = self.fallback if self.fallback and self._fell_back == self._written > 0 else self.backend
        if self._told.first is not None:
            self._timings["first_text"] = (self._told.first - self._started) * 1000
        self._timings["total"] = (time.perf_counter() - self._started) * 1000
        return Answer(
            question=self.question,
            standalone_question=" ".join(self._standalone),
            status=status,
            text=text,
            statements=statements,
            citations=citations,
            hits=hits,
            nearest=nearest,
            looked_for=looked_for,
            considered=evidence.considered,
            matched=grounder.matched,
            confidence=min(self._confidences, default=None),
            notices=tuple(dict.fromkeys(self.notices)),
            passages_sent=self._sent,
            dropped_markers=grounder.dropped_markers,
            backend=writer.name,
            model=writer.model,
            prompt=self._prompt,
            usage=grounder.usage,
            timings_ms=dict(self._timings),
            draft=draft,
        )

    def _hits(self) -> tuple[Hit, ...]:
        """Of all parts, one a paper, best first within its part; and every paper that is cited."""
        cited = {citation.paper.id for citation in self._grounder.citations()}
        hits: dict[str, Hit] = {}
        for evidence in self._evidences:
            for hit in hits_of(evidence):
                # A record that was looked through for a name wasn't found by what it says.
                if (hit.rank <= self.k and hit.passage.text) or hit.paper.id in cited:
                    hits.setdefault(hit.paper.id, hit)
        return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits.values(), start=1))

    def _refusal_text(self, refusal: Refusal, evidence: Evidence) -> str:
        nearest = tuple(paper.hit.paper for paper in evidence.papers[:NEAREST] if paper.hit.passage.text)
        return refusal_text(refusal, nearest, evidence.considered)
