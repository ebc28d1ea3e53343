"""One question of an eval set, with everything needed to score an answer to it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from rag_assistant.evals.text import numbers, plain
from rag_assistant.types import Status, Turn

Split = Literal["dev", "test"]
Category = Literal[
    "fact",
    "number",
    "paraphrase",
    "synthesis",
    "listing",
    "comparison",
    "follow_up",
    "noisy",
    "near_miss",
    "far",
    "false_premise",
    "metadata",
    "latex",
    "injection",
    "language",
]
CATEGORIES: tuple[str, ...] = get_args(Category)
STATUSES: tuple[str, ...] = get_args(Status)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def pattern_found(pattern: str, text: str) -> bool:
    """Whether a pattern occurs in the plain form of ``text``, ignoring case."""
    return _compiled(pattern).search(plain(text)) is not None


def pattern_span(pattern: str, text: str) -> str:
    """The words of the plain form of ``text`` that match a pattern; empty if none do."""
    found = _compiled(pattern).search(plain(text))
    return found[0] if found else ""


@dataclass(frozen=True, slots=True)
class Nugget:
    """One piece of a right answer, as alternative patterns (TREC's nuggets: Voorhees, TREC 2003 QA track).

    A vital nugget must be in an answer for it to be right; the others are welcome.
    """

    patterns: tuple[str, ...]
    vital: bool = True

    def found(self, text: str) -> bool:
        """Whether any of the patterns occurs in ``text``."""
        return any(pattern_found(pattern, text) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a right answer. The unit ``%`` must be in the answer too; other units are only for people."""

    value: float
    unit: str = ""
    tolerance: float = 0.0

    def found(self, text: str) -> bool:
        """Whether ``text`` states a number within the tolerance, in figures or as a word."""
        return any(
            abs(number.value - self.value) <= self.tolerance + 1e-9 and (self.unit != "%" or number.percent)
            for number in numbers(text, words=True)
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words of a paper from which the answer follows: verbatim in its abstract, or in another field."""

    paper: str
    quote: str
    field: str = "abstract"


@dataclass(frozen=True)
class Case:
    """One question with its gold.

    Attributes:
        id: Unique in its set.
        question: As a user asks it.
        category: What the question tests; one of :data:`CATEGORIES`.
        history: Earlier exchanges, oldest first.
        answerable: Whether the papers answer it. A question with a false premise counts as not answerable.
        split: Thresholds are fitted on ``dev`` only.
        lang: The language of the question, as a two-letter code.
        papers: Gold papers with their grade: 2 has (part of) the answer, 1 is only on the topic.
        also_ok: Papers that may be found or cited without being gold or wrong.
        nuggets, numbers: What a right answer says.
        evidence: Verbatim quotes from which it follows.
        expected_status: Every status that is right; the best first.
        must_not: Patterns that no answer may match.
        standalone_question: The question with all that the history adds to it; by default the question itself.
        paraphrase: A right answer in other words.
        wrong: Answers that must not be taken for right.
        twin: For a near miss, the answerable question about the same paper that differs in one aspect; and vice versa.
        variant_of: The question of which this is another wording.
        notes, author, reviewed: How the question came about; ``reviewed`` is empty for a draft that nobody has checked.
        line: Its line in its file; 0 if it has no file.
    """

    id: str
    question: str
    category: str = "fact"
    history: tuple[Turn, ...] = ()
    answerable: bool = True
    split: str = "dev"
    lang: str = "en"
    papers: Mapping[str, int] = field(default_factory=dict, hash=False)
    also_ok: tuple[str, ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    numbers: tuple[Number, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    expected_status: tuple[str, ...] = ("answered",)
    must_not: tuple[str, ...] = ()
    standalone_question: str = ""
    paraphrase: str = ""
    wrong: tuple[str, ...] = ()
    twin: str = ""
    variant_of: str = ""
    notes: str = ""
    author: str = ""
    reviewed: str = ""
    line: int = field(default=0, compare=False)

    @property
    def standalone(self) -> str:
        """The question as it could be asked without its history."""
        return self.standalone_question or self.question

    @property
    def gold(self) -> tuple[str, ...]:
        """The papers with the answer (grade 2), or all graded papers if there is none."""
        best = tuple(paper for paper, grade in self.papers.items() if grade >= 2)
        return best or tuple(self.papers)

    @property
    def is_listing(self) -> bool:
        """Whether the answer is a set of papers."""
        return self.answerable and self.category == "listing"

    @property
    def cluster(self) -> str:
        """The group of a question in computing uncertainty: its first gold paper, or the question itself."""
        return min(self.gold, default=self.id)

    @cached_property
    def sha256(self) -> str:
        """The hash of everything that a score depends on, so that two runs compare only unchanged questions."""
        scored = {k: v for k, v in asdict(self).items() if k not in {"line", "notes", "author", "reviewed", "split"}}
        return hashlib.sha256(json.dumps(scored, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def accepts(self, text: str) -> bool:
        """Whether ``text`` has every vital nugget, states every number and matches nothing forbidden."""
        return (
            all(nugget.found(text) for nugget in self.nuggets if nugget.vital)
            and all(number.found(text) for number in self.numbers)
            and not self.breaks(text)
        )

    def breaks(self, text: str) -> bool:
        """Whether ``text`` matches any pattern of ``must_not``."""
        return any(pattern_found(pattern, text) for pattern in self.must_not)

    def to_dict(self) -> dict[str, Any]:
        """The record of this question in a set's file."""
        record: dict[str, Any] = {k: v for k, v in asdict(self).items() if k != "line"}
        record["papers"] = dict(self.papers)
        record["nuggets"] = [{"vital": n.vital, "any": list(n.patterns)} for n in self.nuggets]
        record["reviewed"] = self.reviewed or False
        plain_types: dict[str, Any] = json.loads(json.dumps(record))
        return plain_types


@dataclass(frozen=True, slots=True)
class CaseProblem:
    """Something wrong with a question: its place, the field, and what is wrong."""

    file: str
    line: int
    field: str
    message: str
    case_id: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        named = f"{place} ({self.case_id})" if self.case_id else place
        return f"{named}: {self.field}: {self.message}" if self.field else f"{named}: {self.message}"


Problem = CaseProblem
"""The name that ``rag_assistant.evals`` exports; the loaders have their own ``Problem``."""
