"""The vocabulary of this package as frozen types: papers, passages, hits, and answers with their citations.

Standard library only, so that importing these costs nothing. Everything in an :class:`Answer` becomes plain JSON types
with ``to_dict()``; the published schema is ``rag_assistant/data/answer.schema.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

ANSWER_SCHEMA_VERSION = 1
"""Raised when :meth:`Answer.to_dict` changes in a way that a reader of the old form would misread."""

VERIFICATION_SCHEMA_VERSION = 1
"""The same for :meth:`Verification.to_dict`."""

Status = Literal["answered", "partial", "not_in_corpus", "not_in_abstracts", "clarify"]
"""``answered``; ``partial``: a named part of the question is unanswered; ``not_in_corpus``: no paper is on the topic;
``not_in_abstracts``: a paper is, but its abstract doesn't say; ``clarify``: the question can't be resolved."""

Support = Literal["supported", "unsupported", "uncited"]
Basis = Literal["abstract", "bibliography"]
NO_CITATION = "no citation"
"""The reason of a statement that is ``uncited`` because it names no source."""

ClaimVerdict = Literal["supported", "contradicted", "unsaid"]
"""What the papers say about a claim."""

Length = Literal["short", "normal", "long"]
"""How long an answer should be: a sentence, a few, or about a paragraph; lists name fewer or more papers."""


@dataclass(frozen=True, slots=True)
class Paper:
    """One abstract with its bibliography.

    Attributes:
        id: Stable across re-imports of the same record.
        title: As published. If the source had none, it is the abstract's first words and ``title_derived`` is true.
        abstract: Verbatim; every quote is a span of it.
        authors: Full names in the order of publication.
        year: The year of publication.
        venue: Conference or journal, e.g. ``"ICML 2024"``.
        url: The page a citation links to.
        doi: Without a resolver prefix.
        links: Further pages by name, e.g. ``{"openreview": "https://..."}``; a read-only mapping by convention.
        title_derived: Whether the title was made from the abstract.
        source: Where it was loaded from, as ``file:line``; not part of the paper's identity.
    """

    id: str
    title: str
    abstract: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str | None = None
    url: str | None = None
    doi: str | None = None
    links: Mapping[str, str] = field(default_factory=dict, hash=False)
    title_derived: bool = False
    source: str = field(default="", compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, under the attributes' names."""
        return _record(self)


@dataclass(frozen=True, slots=True)
class Passage:
    """A span ``[start, end)`` of whole sentences in a paper's abstract: the unit that is embedded and searched."""

    id: str
    paper_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Filters:
    """Which papers to use for a question; every given field must match.

    ``years`` is an inclusive range, open where it is ``None``. Venues and authors match if the given text occurs in the
    paper's, ignoring case and accents; ids match exactly. Several values of one field are alternatives.
    """

    years: tuple[int | None, int | None] | None = None
    venues: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.years or self.venues or self.authors or self.ids)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found for a question.

    Attributes:
        rank: From 1, one rank per paper, which its best passage represents.
        score: The score that ranks papers; higher is better. Comparable only within one search.
        dense: Cosine similarity of question and passage, in [-1, 1]; ``None`` when only words found it.
        lexical: BM25 score of the paper; ``None`` when only vectors found it.
        coverage: How closely the paper's words match the question's content words, weighted by idf, in [0, 1]; without
            word vectors, by identical words and the similarity of whole texts. ``None`` if the records answer.
    """

    paper: Paper
    passage: Passage
    rank: int
    score: float
    dense: float | None = None
    lexical: float | None = None
    coverage: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; the paper by id and title."""
        passage = _record(self.passage)
        del passage["paper_id"]
        return {
            "rank": self.rank,
            "score": _rounded(self.score),
            "paper": {"id": self.paper.id, "title": self.paper.title},
            "passage": passage,
            "dense": _rounded(self.dense),
            "lexical": _rounded(self.lexical),
            "coverage": _rounded(self.coverage),
        }


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim span of an abstract: ``paper.abstract[start:end] == text``, always."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Citation:
    """``[number]`` in an answer: one paper, numbered by first appearance, with the words that support the answer."""

    number: int
    paper: Paper
    quotes: tuple[Quote, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return _record(self)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Words of a paper that come closest to a question but, as far as is known, don't answer it: no citation."""

    paper: Paper
    quote: Quote

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; the paper by id, title and address."""
        return {**_record(self), "paper": _address(self.paper)}


@dataclass(frozen=True, slots=True)
class QuoteRef:
    """Which quote a statement rests on: the one at ``[start, end)`` of the abstract of citation ``citation``."""

    citation: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of an answer: ``answer.text[start:end] == text``, its markers included.

    Attributes:
        citations: The numbers of its citations, in order.
        support: ``supported`` by its quotes or fields, ``unsupported``, or ``uncited`` when nothing was found for it.
        basis: ``abstract``, or ``bibliography`` for facts about authors, venue, year and links.
        reason: Why it isn't supported, in a few words; empty when it is.
        quotes: Which of its citations' quotes it rests on, in the order of its labels; none if its basis is the
            bibliography.
    """

    text: str
    start: int
    end: int
    citations: tuple[int, ...] = ()
    support: Support = "supported"
    basis: Basis = "abstract"
    reason: str = ""
    quotes: tuple[QuoteRef, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return _record(self)


@dataclass(frozen=True, slots=True)
class PromptInfo:
    """Which prompt was sent: its name, version and the SHA-256 of its file."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model used for the answer. Tokens are as the provider reports them; ``cost`` is in US dollars, as the
    provider reports it or by the prices in the settings. All are ``None`` if unknown, and zero for answers written
    without a model."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with everything needed to check it.

    Attributes:
        question: As asked.
        standalone_question: What was searched for: the question, completed with what a follow-up leaves out.
        status: See :data:`Status`.
        text: The answer, with ``[n]`` markers. Text outside ``statements`` is frame text written by code.
        statements: In the order of the text.
        citations: In the order of their numbers, from 1.
        hits: What retrieval found, best first.
        nearest: For refusals, the papers closest to the question, best first.
        closest: For a refusal whose status is ``not_in_abstracts``, the words that come closest; they are no answer.
        looked_for: The words of the question that decided a refusal; empty otherwise.
        considered: How many papers the filters let through.
        matched: For questions that ask for a list, how many of these matched; ``None`` otherwise.
        confidence: The gate's chance, in (0, 1), that an abstract says what is asked, whatever the backend; the least
            one if there are several questions. ``None`` if nothing was searched or the records answer.
        notices: What the user should know about how this answer came about.
        passages_sent: How many passages the backend was given.
        dropped_markers: How many of a model's citation markers named nothing that was sent.
        backend, model: The writer of the text.
        prompt: Which prompt was sent; ``None`` when none was.
        usage: Tokens and cost.
        timings_ms: Wall time by stage, in milliseconds, with ``total``.
        draft: Text of a model that was left out of ``text``, because every statement in it failed its check, or because
            its papers don't seem to say what was asked; else empty.
    """

    question: str
    standalone_question: str
    status: Status
    text: str
    statements: tuple[Statement, ...] = ()
    citations: tuple[Citation, ...] = ()
    hits: tuple[Hit, ...] = ()
    nearest: tuple[Paper, ...] = ()
    closest: Excerpt | None = None
    looked_for: tuple[str, ...] = ()
    considered: int = 0
    matched: int | None = None
    confidence: float | None = None
    notices: tuple[str, ...] = ()
    passages_sent: int = 0
    dropped_markers: int = 0
    backend: str = ""
    model: str = ""
    prompt: PromptInfo | None = None
    usage: Usage = Usage()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    draft: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain JSON types; ``schema_version`` is the version of this form."""
        return {
            "schema_version": ANSWER_SCHEMA_VERSION,
            **_record(self),
            "nearest": [_address(paper) for paper in self.nearest],
            "confidence": _rounded(self.confidence),
            "timings_ms": {stage: round(value, 3) for stage, value in self.timings_ms.items()},
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether the papers bear out a claim, with the words that say so.

    Attributes:
        claim: As given.
        verdict: ``supported`` or ``contradicted`` by the paper in ``citations``; ``unsaid`` if no paper that was read
            says either, or if a number of the claim isn't in the words that would support it.
        confidence: The reader's probability of the verdict, in [0, 1]; 1 if an abstract has the claim as a sentence,
            word for word; ``None`` if a missing number decided.
        citations: The paper that decided, with one to three verbatim quotes; none for ``unsaid``.
        nearest: For ``unsaid``, the papers closest to the claim, best first; else none.
        considered: How many papers the filters let through.
        reason: Why it is unsaid if something other than the reader decided, such as a missing number; else empty.
    """

    claim: str
    verdict: ClaimVerdict
    confidence: float | None
    citations: tuple[Citation, ...] = ()
    nearest: tuple[Paper, ...] = ()
    considered: int = 0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``schema_version`` is the version of this form."""
        return {
            "schema_version": VERIFICATION_SCHEMA_VERSION,
            **_record(self),
            "nearest": [_address(paper) for paper in self.nearest],
            "confidence": _rounded(self.confidence),
        }


def _record(value: Any) -> dict[str, Any]:
    """The fields of a dataclass as plain JSON types, in their order."""
    return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return value.to_dict() if hasattr(value, "to_dict") else _record(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _address(paper: Paper) -> dict[str, Any]:
    return {"id": paper.id, "title": paper.title, "url": paper.url}


@dataclass(frozen=True, slots=True)
class StageEvent:
    """Work has reached a stage: ``searching``, ``rewording``, ``reading``, ``judging`` (papers of a list), ``writing``
    or ``checking``. ``waiting``: a model can't be called for now; afterwards the interrupted stage is sent again.

    ``detail`` is for people.
    """

    stage: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class HitsEvent:
    """What retrieval found, before any text."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class PromptEvent:
    """The prompt that is about to be sent to a model."""

    backend: str
    model: str
    info: PromptInfo
    system: str
    user: str


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A piece of the answer's text, to be appended to the pieces before it.

    A model's sentence comes in several pieces: its words as they are written, and finally the rest, with its markers
    and the statement. No piece ends within a marker, a formula, code or emphasis.

    Attributes:
        text: The piece; empty if a sentence was streamed to its end before it was known to be complete.
        statement: The statement that the piece completes, already checked; its text may have begun in earlier pieces.
            ``None`` for the beginning of a sentence, and for frame text.
        citations: The statement's citations, each with the quotes that all of the text so far rests on.
    """

    text: str
    statement: Statement | None = None
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class FinalEvent:
    """The finished answer. ``replaced`` is true when its text differs from that of the text events together: every
    statement failed its check, another backend stood in, or part of what was streamed didn't belong to the answer."""

    answer: Answer
    replaced: bool = False


Event = StageEvent | HitsEvent | PromptEvent | TextEvent | FinalEvent
Turn = tuple[str, str]
"""One earlier exchange: ``(question, answer)``."""
