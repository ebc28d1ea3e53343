"""One question on its way to an answer: everything but the backend's call, so that sync and async share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rag_assistant.answering.budget import Purse
from rag_assistant.answering.calls import Call, Calls, RewriteCall
from rag_assistant.answering.checking import Checking
from rag_assistant.answering.completing import Written, contradicted, left_out
from rag_assistant.answering.early_refusal import early_refusal
from rag_assistant.answering.last_check import NOTHING_HELD, SURE, WITHHELD, answering_sentences, says_nothing, withheld
from rag_assistant.answering.listing import Listing
from rag_assistant.answering.record import Record
from rag_assistant.answering.rewriting import needs_model, reworded
from rag_assistant.answering.searching import answered_apart, excluding, fitting, form_of, search, with_each_side
from rag_assistant.answering.telling import Told
from rag_assistant.backends.base import Backend, Lists, Prepares, Prompt, Rewrites
from rag_assistant.checks.base import Check
from rag_assistant.conversation import stand_alone
from rag_assistant.drafts import Frame, Notice, Picked, Piece, Refusal, Rewritten, Withdrawn
from rag_assistant.errors import BackendContextTooLong, BackendError, BackendFiltered, BudgetExceeded
from rag_assistant.evidence import Evidence
from rag_assistant.grounding.gate import confidence
from rag_assistant.grounding.ground import Grounder
from rag_assistant.grounding.orders import without_orders
from rag_assistant.questions.form import MAX_QUESTION, QuestionForm, parts
from rag_assistant.retrieval.retriever import Retriever, hits_of
from rag_assistant.types import (
    Event,
    Filters,
    FinalEvent,
    HitsEvent,
    Length,
    StageEvent,
    Turn,
    Usage,
)

MAX_PARTS = 6
_TAKES_BACK = (BackendContextTooLong, BackendFiltered)
"""After these nothing of a model's answer is kept."""
UNJUDGED = "No reader judged whether the abstracts say what is asked: the setting reader is none."


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
    _record: Record = field(init=False)
    _calls: Calls | None = None
    _checking: Checking | None = None
    _listing: Listing | None = None
    _before: Grounder = field(default_factory=lambda: Grounder(Evidence((), (), 0)))
    _reworded: str = ""
    _told: Told = field(default_factory=Told)
    _refused: int = 0

    def __post_init__(self) -> None:
        self._record = Record(self.question, self.k, self.backend, self.fallback)

    def steps(self) -> Iterator[Event | Call]:
        """Stages, hits and calls in order, and the final event at the end."""
        yield StageEvent("searching")
        joined = not isinstance(self.backend, Rewrites)
        asked = parts(self.question[: MAX_QUESTION * 4], joined=joined)[:MAX_PARTS] or ("",)
        if joined and len(asked) == 1:
            asked = answered_apart(self.retriever, asked[0], self.history, self.k, self.filters) or asked
        self._record.asked = len(asked)
        turns = list(self.history)
        for place, part in enumerate(asked):
            before = len(self._record.grounder.text)
            refused = len(self._record.refusals)
            if self._record.asked > 1:
                yield from self.add(Frame(f"{chr(10) * 2 if place else ''}{part}\n"))
            yield from self._part(part, turns)
            if self._record.asked > 1:
                if len(self._record.refusals) > refused:
                    yield from self.add(
                        Frame(self._record.refusal_text(self._record.refusals[-1][1], self._record.evidences[-1]))
                    )
                turns.append((part, self._record.grounder.text[before:]))
        yield StageEvent("checking")
        yield from self._check_further()
        answer = self._record.answer(self._told.first)
        rest = self._told.upto(answer.text)
        if rest is not None:
            yield rest  # a refusal, or what stays unanswered
        yield FinalEvent(answer, replaced=self._told.text != answer.text)

    def add(self, piece: Piece) -> Iterator[Event]:
        """Takes a piece of the backend in."""
        if isinstance(piece, Refusal):
            self._record.refusals.append((self._record.standalone[-1], piece))
            return
        if isinstance(piece, Withdrawn):
            self._start_over(self._record.grounder.evidence)
            return
        if isinstance(piece, Rewritten):
            self._reworded = piece.text
            return
        if isinstance(piece, Notice):
            self._record.notices.append(piece.text)
            return
        if isinstance(piece, Picked) and self._listing is not None:
            self._listing.add(piece)
            return
        if isinstance(piece, Usage):
            piece = self.purse.after(piece)
        with self._record.timed("checking"):
            self._record.grounder.add(piece)
        event = self._told.after(piece, self._record.grounder)
        if event is not None:
            yield event

    def _start_over(self, evidence: Evidence) -> None:
        """Forgets what the call under way has brought, but for what it took."""
        del self._record.refusals[self._refused :]
        usage = self._record.grounder.usage
        self._record.grounder = self._before.copy(evidence)
        self._record.grounder.usage = usage

    def instead(self, error: BackendError) -> Call | None:
        """The call to make after one that failed; ``None`` where it can be done without. What that had brought is taken
        back, if another call is made; where some of it was text, no further text is told before the final event
        replaces it. If none is made, what holds of it is kept.

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
        try:
            call = self._calls.instead(error, begun=len(self._told.text) > len(self._before.text))
        except BackendError as last:
            if last is not error or isinstance(error, _TAKES_BACK) or not self._holds():
                raise
            self._record.notices.append(f"{error.message.rstrip('.')}; what had arrived by then is kept.")
            return None
        self._start_over(call.prompt.evidence)
        return call

    def _holds(self) -> bool:
        """Whether the call under way has brought a statement that holds; a refusal may have been about to go on."""
        told = self._record.grounder.statements[len(self._before.statements) :]
        return any(one.support == "supported" for one in told)

    def _part(self, part: str, turns: list[Turn]) -> Iterator[Event | Call]:
        with self._record.timed("searching"):
            alone = stand_alone(part, turns, self.retriever.all_papers)
        if needs_model(alone, part) and isinstance(self.backend, Rewrites):
            yield from self._rewording(self.backend, part, turns)
            if (better := reworded(alone, part, self._reworded, turns)) is not None:
                alone = better
        filters = excluding(self.retriever, alone, self.filters)
        with self._record.timed("searching"):
            form = self._narrowed(form_of(alone), filters)
            self._record.standalone.append(alone.text)
            if form.cut or len(self.question) > MAX_QUESTION * 4:
                self._record.notices.append(
                    f"The question is long: its first {MAX_QUESTION:,} characters were searched with."
                )
            evidence = search(self.retriever, form, alone, self.k, filters)
            if isinstance(self.backend, Prepares):
                evidence = with_each_side(self.retriever, form, alone, evidence, filters)
            evidence = without_orders(evidence, form.text)
        self._record.evidences.append(evidence)
        if form.kind not in ("bibliography", "empty") and evidence.papers:
            sure = [chance for paper in evidence.papers[: self.k] if (chance := confidence(paper)) is not None]
            if sure:
                self._record.confidences.append(max(sure))
            if not self.retriever.judges:
                self._record.notices.append(UNJUDGED)
        corrections = evidence.corrections
        self._record.notices += [f"Read “{wrong}” as “{right}”." for wrong, right in corrections.made.items()]
        self._record.notices += [
            f"No paper has “{word}”. If you meant “{other}”, ask with that."
            for word, other in corrections.offered.items()
        ]
        self._record.grounder.evidence = evidence
        yield HitsEvent(hits_of(evidence)[: self._hit_limit(form)])
        refusal = early_refusal(form, alone, evidence, self.retriever.occurs, model=isinstance(self.backend, Rewrites))
        if refusal is not None:
            self._record.refusals.append((part, refusal))
            return
        yield StageEvent("reading", f"{len(evidence.papers)} papers")
        prompt = Prompt(form, evidence, self.length)
        if form.kind == "list" and isinstance(self.backend, Lists) and evidence.words:
            yield from self._list(prompt)
            return
        self._calls = Calls(self.backend, self.fallback, self.purse, prompt)
        call = self._calls.first()
        self._record.grounder.evidence = call.prompt.evidence
        self._before, self._refused = self._record.grounder.copy(), len(self._record.refusals)
        yield StageEvent("writing")
        with self._record.timed("writing"):
            yield call
        if self._calls.last.prompt.user:
            yield from self._check_last(self._calls, part, form, evidence)
        made = self._calls.last
        self._calls = None
        yield from self._complete(made.prompt)
        self._record.count(made)

    def _narrowed(self, form: QuestionForm, filters: Filters | None) -> QuestionForm:
        """The question; where no record fits its conditions, without its topic, which doesn't matter then. Tells in a
        notice which papers are looked through."""
        if form.records is None or form.field == "records":
            return form
        fit = fitting(self.retriever, form.records, filters)
        if not fit:
            return replace(form, kind="bibliography", field="records")
        said = [f"“{condition.said}”" for condition in form.records.conditions] + [form.records.order or ""]
        if any(said):
            noun = "paper that fits" if len(fit) == 1 else "papers that fit"
            self._record.notices.append(f"Looked among the {len(fit)} {noun} {' and '.join(filter(None, said))}.")
        return form

    def _check_last(self, calls: Calls, part: str, form: QuestionForm, evidence: Evidence) -> Iterator[Event | Call]:
        """Looks at what a model answered to a part as a whole. Where it holds nothing, the fallback answers, if that
        can; where the abstracts don't say what is asked, it is taken back; where it only repeats the question, the
        sentences that answer follow."""
        told = self._record.grounder.statements[len(self._before.statements) :]
        numbers = {number for statement in told for number in statement.citations}
        cited = {citation.paper.id for citation in self._record.grounder.citations() if citation.number in numbers}
        empty = says_nothing(form, told)
        if empty and self._record.confidences and self._record.confidences[-1] >= SURE:
            yield from self._fall_back(calls)
        if calls.last.fell_back:
            return
        refusal = None
        if cited and not self.trusts_model:
            refusal = withheld(form, evidence, cited)
        if refusal is not None:
            self._record.take_back(self._before)
            self._record.refusals.append((part, refusal))
            self._record.notices.append(WITHHELD)
        elif empty and any(statement.support == "supported" for statement in told):
            for draft in answering_sentences(self._record.grounder.evidence, cited, self._record.grounder.text):
                yield from self.add(draft)

    def _fall_back(self, calls: Calls) -> Iterator[Call]:
        made = calls.last
        call = calls.from_abstracts(NOTHING_HELD)
        if call is None:
            return
        kept, refusals = self._record.grounder, self._record.refusals[self._refused :]
        draft = self._record.draft
        self._record.take_back(self._before)
        del self._record.refusals[self._refused :]
        self._record.grounder.evidence = call.prompt.evidence
        yield call
        if len(self._record.refusals) > self._refused:  # there is nothing to be had from the abstracts either
            self._record.grounder, self._record.refusals[self._refused :] = kept, refusals
            self._record.draft, calls.last = draft, made

    def _complete(self, prompt: Prompt) -> Iterator[Event]:
        """Adds what an answer leaves out."""
        for look in (left_out, contradicted) if prompt.user else (contradicted,):
            grounder = self._record.grounder
            told = grounder.statements[len(self._before.statements) :]
            for piece in look(Written(prompt.form, prompt.evidence, told, grounder.citations(), grounder.missing)):
                yield from self.add(piece)

    def _list(self, prompt: Prompt) -> Iterator[Event | Call]:
        """Has the papers of a list judged, and tells it."""
        listing = self._listing = Listing(self.backend, self.fallback, self.purse, prompt)
        with self._record.timed("judging"):
            yield from listing.steps()
        self._listing = None
        self._record.written += 1
        self._record.fell_back += listing.fell_back
        self._record.sent += listing.sent
        self._record.prompt = listing.info or self._record.prompt
        self._record.grounder.dropped_markers += listing.unknown
        self._record.notices += listing.notices
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
        with self._record.timed("rewording"):
            yield RewriteCall(self.backend, prompt)

    def _check_further(self) -> Iterator[Call]:
        """Has the further check look at each statement that may still lose its support."""
        if self.check is None:
            return
        self._checking = Checking(self.check, self.backend, self.purse, self._record.grounder)
        with self._record.timed("checking"):
            yield from self._checking.calls()
        self._record.notices += [notice for notice in (self._checking.notice,) if notice]

    def _hit_limit(self, form: QuestionForm) -> int:
        return 0 if form.field in ("papers_by", "records", "without", "similar") else self.k
