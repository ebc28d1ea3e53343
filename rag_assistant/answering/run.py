"""How one question is answered: everything but the calls to backends, so that sync and async share it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rag_assistant.answering.answerability_check import (
    NOTHING_HELD,
    SURE,
    WITHHELD,
    answering_sentences,
    says_nothing,
    withheld,
)
from rag_assistant.answering.calls import WRITING, Call, Steps
from rag_assistant.answering.checking import check_statements
from rag_assistant.answering.completing import Written, contradicted, left_out
from rag_assistant.answering.listing import Listing
from rag_assistant.answering.prechecks import precheck
from rag_assistant.answering.record import AnswerRecord
from rag_assistant.answering.rewriting import needs_model, rewording
from rag_assistant.answering.searching import (
    answerable_halves,
    excluding,
    fitting,
    form_of,
    read_for_sides,
    search,
    with_each_subject,
)
from rag_assistant.answering.streamed_text import StreamedText
from rag_assistant.answering.writing import Attempt, Writers
from rag_assistant.checks.base import Check
from rag_assistant.conversation import RewrittenQuestion, stand_alone
from rag_assistant.drafts import Frame, Notice, Piece, Refusal, Withdrawn
from rag_assistant.errors import BackendContextTooLong, BackendError, BackendFiltered
from rag_assistant.evidence.answerability import confidence
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.grounding.ground import Grounder
from rag_assistant.grounding.injection import without_instructions
from rag_assistant.grounding.negated_words import without_opposites
from rag_assistant.models.budget import BudgetLedger
from rag_assistant.questions.form import MAX_QUESTION, QuestionForm, clean, list_on, parts, without_repetition
from rag_assistant.questions.language import is_english
from rag_assistant.retrieval.retriever import Retriever, hits_of
from rag_assistant.types import Event, Filters, FinalEvent, HitsEvent, Length, StageEvent, Turn
from rag_assistant.writers.base import Backend, Prompt
from rag_assistant.writers.generative import GenerativeWriter

MAX_PARTS = 6
_TAKES_BACK = (BackendContextTooLong, BackendFiltered)
"""Errors after which nothing of a model's answer is kept."""
NOT_ENGLISH = (
    "This seems not to be English, and without a model only English questions are understood well: ask in English, or "
    "choose a model with --backend."
)
UNJUDGED = "No reader judged whether the abstracts say what is asked: the setting reader is none."


@dataclass(slots=True, kw_only=True)
class QuestionRun:
    """One question being answered: :meth:`steps` yields events, and calls to be made in between.

    Attributes:
        retriever: Finds the evidence.
        writer: Writes the answer.
        fallback: Stands in for a writer that fails.
        ledger: Pays for the models.
        question, history, k, filters, length: As given to :meth:`Assistant.ask`.
        trusts_model: Whether a model's answer stands though the abstracts don't seem to say what is asked.
        check: Looks at each statement once more.
    """

    retriever: Retriever
    writer: Backend
    fallback: Backend | None
    ledger: BudgetLedger
    question: str
    history: Sequence[Turn]
    k: int
    filters: Filters | None = None
    length: Length = "normal"
    trusts_model: bool = False
    check: Check | None = None
    _record: AnswerRecord = field(init=False)
    _writers: Writers = field(init=False)
    _model: GenerativeWriter | None = field(init=False)
    _before: Grounder = field(default_factory=lambda: Grounder(QuestionEvidence((), (), 0)))
    _streamed: StreamedText = field(default_factory=StreamedText)
    _refused: int = 0
    _long: bool = False

    def __post_init__(self) -> None:
        self._record = AnswerRecord(self.question, self.k, self.writer, self.fallback)
        self._record.grounder.reader = self._before.reader = self.retriever.reader
        self._writers = Writers(self.writer, self.fallback, self.ledger, self._take)
        self._model = self.writer if isinstance(self.writer, GenerativeWriter) else None

    def steps(self) -> Steps:
        """Stages, hits and calls in order, and the final event last."""
        yield StageEvent("searching")
        joined = self._model is None
        text = without_repetition(clean(self.question))
        self._long = len(text) > MAX_QUESTION * 4
        asked = parts(text[: MAX_QUESTION * 4], joined=joined)[:MAX_PARTS] or ("",)
        if joined and len(asked) == 1:
            asked = answerable_halves(self.retriever, asked[0], self.history, self.k, self.filters) or asked
        self._record.asked = len(asked)
        turns = list(self.history)
        for place, part in enumerate(asked):
            before = len(self._record.grounder.text)
            refused = len(self._record.refusals)
            if self._record.asked > 1:
                yield from self._take(Frame(f"{chr(10) * 2 if place else ''}{part}\n"))
            yield from self._part(part, turns)
            if self._record.asked > 1:
                if len(self._record.refusals) > refused:
                    yield from self._take(
                        Frame(self._record.refusal_text(self._record.refusals[-1][1], self._record.evidences[-1]))
                    )
                turns.append((part, self._record.grounder.text[before:]))
        yield StageEvent("checking")
        if self.check is not None:
            with self._record.timed("checking"):
                notice = yield from check_statements(self.check, self._record.grounder, self.ledger, self._take)
            self._record.notices += [notice] if notice else []
        answer = self._record.answer(self._streamed.first)
        rest = self._streamed.upto(answer.text)
        if rest is not None:
            yield rest  # a refusal, or what stays unanswered
        yield FinalEvent(answer, replaced=self._streamed.text != answer.text)

    def _take(self, piece: Piece) -> Iterator[Event]:
        """Adds a piece to the answer, and yields the events to send."""
        if isinstance(piece, Refusal):
            self._record.refusals.append((self._record.standalone[-1], piece))
            return
        if isinstance(piece, Withdrawn):
            self._start_over(self._record.grounder.evidence)
            return
        if isinstance(piece, Notice):
            self._record.notices.append(piece.text)
            return
        with self._record.timed("checking"):
            self._record.grounder.add(piece)
        event = self._streamed.after(piece, self._record.grounder)
        if event is not None:
            yield event

    def _start_over(self, evidence: QuestionEvidence) -> None:
        """Discards what the current attempt wrote, but not its usage. If some of its text was streamed, no more is
        until the final event replaces it."""
        del self._record.refusals[self._refused :]
        usage = self._record.grounder.usage
        self._record.grounder = self._before.copy(evidence)
        self._record.grounder.usage = usage

    def _keeps(self, error: BackendError) -> bool:
        """Whether what had arrived when an attempt failed is kept: it is if it has a statement that holds."""
        arrived = self._record.grounder.statements[len(self._before.statements) :]
        if isinstance(error, _TAKES_BACK) or not any(one.support == "supported" for one in arrived):
            return False
        self._record.notices.append(f"{error.message.rstrip('.')}; what had arrived by then is kept.")
        return True

    def _part(self, part: str, turns: list[Turn]) -> Steps:
        with self._record.timed("searching"):
            rewritten = stand_alone(part, turns, self.retriever.all_papers)
        if self._model is not None and needs_model(rewritten, part):
            with self._record.timed("rewording"):
                rewritten = yield from rewording(rewritten, part, turns, self._model, self.ledger, self._take)
        form, evidence = self._search(rewritten)
        yield HitsEvent(hits_of(evidence)[: self._hit_limit(form)])
        refusal = precheck(form, rewritten, evidence, self.retriever.occurs, model=self._model is not None)
        if refusal is not None:
            self._record.refusals.append((part, refusal))
            return
        yield StageEvent("reading", f"{len(evidence.papers)} papers")
        prompt = Prompt(form, evidence, self.length)
        if form.kind == "list" and self._model is not None and evidence.words:
            yield from self._list(self._model, prompt)
            return
        self._before, self._refused = self._record.grounder.copy(), len(self._record.refusals)
        yield WRITING
        with self._record.timed("writing"):
            made = yield from self._writers.written(prompt, self._start_over, self._keeps)
        if made.info is not None:
            made = yield from self._check_answer(prompt, part, made)
        yield from self._complete(prompt, made)
        self._record.count(made)

    def _search(self, rewritten: RewrittenQuestion) -> tuple[QuestionForm, QuestionEvidence]:
        """What is asked for and what was found for it; adds the notices about both."""
        filters = excluding(self.retriever, rewritten, self.filters)
        with self._record.timed("searching"):
            form = self._narrowed(form_of(rewritten, self.retriever), filters)
            self._record.standalone.append(rewritten.text)
            if form.cut or self._long:
                self._record.notices.append(
                    f"The question is long: its first {MAX_QUESTION:,} characters were searched with."
                )
            evidence = search(self.retriever, form, rewritten, self.k, filters)
            if self._model is not None:
                evidence = with_each_subject(self.retriever, form, rewritten, evidence, filters)
            evidence = without_instructions(read_for_sides(self.retriever, form, evidence), form.text)
        self._record.evidences.append(evidence)
        evidence = without_opposites(evidence, form.text)
        if form.kind not in ("bibliography", "empty") and evidence.papers:
            sure = [chance for paper in evidence.papers[: self.k] if (chance := confidence(paper)) is not None]
            if sure:
                self._record.confidences.append(max(sure))
            if self.retriever.reader is None:
                self._record.notices.append(UNJUDGED)
        if self._model is None and not is_english(form.text):
            self._record.notices.append(NOT_ENGLISH)
        corrections = evidence.corrections
        self._record.notices += [f"Read “{wrong}” as “{right}”." for wrong, right in corrections.made.items()]
        self._record.notices += [
            f"No paper has “{word}”. If you meant “{other}”, ask with that."
            for word, other in corrections.offered.items()
        ]
        self._record.grounder.evidence = evidence
        return form, evidence

    def _narrowed(self, form: QuestionForm, filters: Filters | None) -> QuestionForm:
        """The question; without its topic if no record fits its conditions, since the topic doesn't matter then. A
        notice says which papers are searched."""
        if form.records is None or form.field == "records":
            return form
        fit = fitting(self.retriever, form.records, filters)
        if not fit:
            plain = replace(form.records, order=None, without="")
            if form.records.topic and fitting(self.retriever, plain, filters):  # it is the topic that no paper is on
                return replace(list_on(form.records.topic), records=plain)
            return replace(form, kind="bibliography", field="records")
        said = [f"“{condition.said}”" for condition in form.records.conditions] + [form.records.order or ""]
        if any(said):
            noun = "paper that fits" if len(fit) == 1 else "papers that fit"
            self._record.notices.append(f"Looked among the {len(fit)} {noun} {' and '.join(filter(None, said))}.")
        return form

    def _check_answer(self, prompt: Prompt, part: str, made: Attempt) -> Generator[Event | Call, None, Attempt]:
        """Looks at a model's answer to a part as a whole. If nothing in it holds, the fallback answers, if it can; if
        the abstracts don't say what is asked, it is taken back; if it only repeats the question, the sentences that
        answer are added."""
        written = self._record.grounder.statements[len(self._before.statements) :]
        numbers = {number for statement in written for number in statement.citations}
        cited = {citation.paper.id for citation in self._record.grounder.citations() if citation.number in numbers}
        empty = says_nothing(prompt.form, written)
        if empty and self._record.confidences and self._record.confidences[-1] >= SURE:
            instead = yield from self._fall_back(prompt)
            if instead is not None:
                return instead
        refusal = withheld(prompt.form, prompt.evidence, cited) if cited and not self.trusts_model else None
        if refusal is not None:
            self._record.take_back(self._before)
            self._record.refusals.append((part, refusal))
            self._record.notices.append(WITHHELD)
        elif empty and any(statement.support == "supported" for statement in written):
            for draft in answering_sentences(self._record.grounder.evidence, cited, self._record.grounder.text):
                yield from self._take(draft)
        return made

    def _fall_back(self, prompt: Prompt) -> Generator[Event | Call, None, Attempt | None]:
        """Has the fallback answer instead; ``None`` if it can't, and then everything is as before."""
        instead = self._writers.from_abstracts(prompt, NOTHING_HELD)
        if instead is None:
            return None
        kept, refusals = self._record.grounder, self._record.refusals[self._refused :]
        draft = self._record.draft
        self._record.take_back(self._before)
        del self._record.refusals[self._refused :]
        self._record.grounder.evidence = instead.evidence
        yield instead.call
        if len(self._record.refusals) == self._refused:
            return instead
        self._record.grounder, self._record.refusals[self._refused :] = kept, refusals
        self._record.draft = draft
        return None

    def _complete(self, prompt: Prompt, made: Attempt) -> Iterator[Event]:
        """Adds what an answer leaves out."""
        for look in (left_out, contradicted) if made.info is not None else (contradicted,):
            grounder = self._record.grounder
            written = grounder.statements[len(self._before.statements) :]
            for piece in look(Written(prompt.form, made.evidence, written, grounder.citations(), grounder.missing)):
                yield from self._take(piece)

    def _list(self, writer: GenerativeWriter, prompt: Prompt) -> Steps:
        """Has the papers of a list judged, and adds the list."""
        listing = Listing(writer, self._writers, prompt)
        with self._record.timed("judging"):
            yield from listing.steps()
        self._record.written += 1
        self._record.fell_back += listing.fell_back
        self._record.sent += listing.sent
        self._record.prompt = listing.info or self._record.prompt
        self._record.grounder.dropped_markers += listing.unknown
        self._record.notices += listing.notices
        for piece in () if listing.fell_back else listing.pieces():
            yield from self._take(piece)

    def _hit_limit(self, form: QuestionForm) -> int:
        return 0 if form.field in ("papers_by", "records", "without", "similar") else self.k
