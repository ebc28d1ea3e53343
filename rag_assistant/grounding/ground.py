"""Turns drafted pieces into an answer's text, statements and citations: quotes verbatim, every statement checked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from rag_assistant.drafts import Draft, Frame, Label, Matched, Missing, PartialSentence, Piece
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.grounding.support import SupportVerdict, check_abstract, check_bibliography
from rag_assistant.reader.base import Abstract, Reader, Stance
from rag_assistant.types import NO_CITATION, Citation, Paper, Quote, QuoteRef, Statement, Usage


@dataclass(slots=True)
class Grounder:
    """Builds an answer piece by piece, so that what was streamed is what the answer says.

    ``add`` returns the text that a piece contributes. Papers are numbered in the order in which they are first cited.
    """

    evidence: QuestionEvidence
    reader: Reader | None = None
    text: str = ""
    statements: list[Statement] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    matched: int | None = None
    usage: Usage = field(default_factory=Usage)
    dropped_markers: int = 0
    _said: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _quotes: dict[str, list[Quote]] = field(default_factory=dict)
    _papers: dict[str, Paper] = field(default_factory=dict)

    def add(self, piece: Piece) -> str:
        """Adds the next piece, and returns its text."""
        if isinstance(piece, Frame):
            self.text += piece.text
            return piece.text
        if isinstance(piece, Draft):
            return self._add_draft(piece)
        if isinstance(piece, Missing):
            self.missing.append(piece.part)
        elif isinstance(piece, Matched):
            self.matched = piece.count
        elif isinstance(piece, Usage):
            self.usage = _sum(self.usage, piece)
        return ""

    def doubt(self, at: int, reason: str) -> None:
        """Marks the statement at position ``at`` as unsupported."""
        self.statements[at] = replace(self.statements[at], support="unsupported", reason=reason)

    def with_partial(self, piece: PartialSentence) -> str:
        """The text, followed by an incomplete sentence as it will appear there."""
        before = self.text + piece.frame
        return f"{before}{_gap(before)}{piece.text}"

    def copy(self, evidence: QuestionEvidence | None = None) -> Grounder:
        """A copy, to go back to if what follows is taken back; with other evidence if given."""
        return replace(
            self,
            evidence=evidence or self.evidence,
            statements=list(self.statements),
            missing=list(self.missing),
            _said=list(self._said),
            _numbers=dict(self._numbers),
            _quotes={key: list(quotes) for key, quotes in self._quotes.items()},
            _papers=dict(self._papers),
        )

    def citations(self) -> tuple[Citation, ...]:
        """The citations so far, by number, each with its quotes in the order of the abstract."""
        return tuple(self._citation(key) for key in self._numbers)

    def cited_by(self, statement: Statement) -> tuple[Citation, ...]:
        """The citations of one statement, with the quotes so far."""
        return tuple(self._citation(key) for key, number in self._numbers.items() if number in statement.citations)

    def grounds(self, at: int) -> tuple[str, tuple[str, ...], tuple[Paper, ...]]:
        """The text without markers of the statement at position ``at``, its quotes, and the papers that it cites."""
        statement = self.statements[at]
        papers = {number: self._papers[key] for key, number in self._numbers.items() if number in statement.citations}
        quotes = tuple(papers[ref.citation].abstract[ref.start : ref.end] for ref in statement.quotes)
        return self._said[at], quotes, tuple(papers.values())

    def _add_draft(self, draft: Draft) -> str:
        known = [label for label in draft.labels if self._exists(label)]
        self.dropped_markers += len(draft.labels) - len(known)
        quotes = {label: quote for label in known if (quote := self._quote(label)) is not None}
        verdict = self._check(draft, known, quotes)
        numbers = list(dict.fromkeys(self._number(label, quotes.get(label)) for label in known))
        refs = [QuoteRef(self._numbered(label), quote.start, quote.end) for label, quote in quotes.items()]
        lead = _gap(self.text)
        start = len(self.text) + len(lead)
        text = draft.text + "".join(f" [{number}]" for number in numbers)
        self.text += lead + text
        self._said.append(draft.text)
        self.statements.append(
            Statement(
                text,
                start,
                start + len(text),
                tuple(numbers),
                verdict.support,
                draft.basis,
                verdict.reason,
                tuple(refs),
            )
        )
        return lead + text

    def _exists(self, label: Label) -> bool:
        if not 0 <= label.paper < len(self.evidence.papers):
            return False
        return label.sentence is None or 0 <= label.sentence < len(self.evidence.papers[label.paper].sentences)

    def _quote(self, label: Label) -> Quote | None:
        if label.sentence is None:
            return None
        found = self.evidence.papers[label.paper]
        passage = found.sentences[label.sentence].passage
        return Quote(found.hit.paper.abstract[passage.start : passage.end], passage.start, passage.end)

    def _check(self, draft: Draft, labels: list[Label], quotes: dict[Label, Quote]) -> SupportVerdict:
        if not labels:
            return SupportVerdict("uncited", NO_CITATION)
        if draft.basis == "bibliography":
            return check_bibliography(draft, [self.evidence.papers[label.paper].hit.paper for label in labels])
        papers = [self.evidence.papers[label.paper].hit.paper for label in labels]
        reporting = [quote.text for label, quote in quotes.items() if not self._is_injected(label)]
        if quotes and not reporting:
            return SupportVerdict("unsupported", "the cited words are an instruction, not a finding")
        judge = None if self.reader is None else partial(self._stance, self.reader, labels)
        return check_abstract(draft.text, reporting, papers, judge=judge)

    def _stance(self, reader: Reader, labels: list[Label], statement: str) -> Stance:
        """The reader's verdict on a statement: against the whole abstract if one paper is cited, else against all the
        cited sentences."""
        cited = list(dict.fromkeys(label.paper for label in labels))
        found = [self.evidence.papers[paper] for paper in cited]
        if len(found) == 1:
            sentences = [sentence for sentence in found[0].sentences if not sentence.orders]
        else:
            places = [(label.paper, label.sentence) for label in labels if label.sentence is not None]
            quoted = (self.evidence.papers[paper].sentences[at] for paper, at in places)
            sentences = [sentence for sentence in quoted if not sentence.orders]
        title = "; ".join(paper.hit.paper.title for paper in found)
        [stance] = reader.judge([statement], Abstract(title, tuple(one.passage.text for one in sentences)))
        return stance

    def _is_injected(self, label: Label) -> bool:
        return label.sentence is not None and self.evidence.papers[label.paper].sentences[label.sentence].orders

    def _citation(self, key: str) -> Citation:
        quotes = tuple(sorted(self._quotes[key], key=lambda quote: quote.start))
        return Citation(self._numbers[key], self._papers[key], quotes)

    def _numbered(self, label: Label) -> int:
        return self._numbers[self.evidence.papers[label.paper].hit.paper.id]

    def _number(self, label: Label, quote: Quote | None) -> int:
        paper = self.evidence.papers[label.paper].hit.paper
        number = self._numbers.setdefault(paper.id, len(self._numbers) + 1)
        self._papers[paper.id] = paper
        quotes = self._quotes.setdefault(paper.id, [])
        if quote is not None and quote not in quotes:
            quotes.append(quote)
        return number


def _gap(text: str) -> str:
    """The white space between a text and the sentence after it."""
    return " " if text and not text[-1].isspace() else ""


def _sum(one: Usage, other: Usage) -> Usage:
    """The usage of two calls together; counts that one of them doesn't report are left out."""

    def added(a: float | None, b: float | None) -> float | None:
        return b if a is None else a if b is None else a + b

    prompt, completion = (
        added(one.prompt_tokens, other.prompt_tokens),
        added(one.completion_tokens, other.completion_tokens),
    )
    return Usage(
        None if prompt is None else int(prompt),
        None if completion is None else int(completion),
        added(one.cost, other.cost),
        one.calls + other.calls,
    )
