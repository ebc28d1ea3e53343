"""One question of a run: what was asked, what came back, and its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from rag_assistant.evals.case import Case

MAIN = ""
RAW = "raw"
STANDALONE = "standalone"
"""How a question was asked: as it is or, for follow-ups, also without its history and in its self-contained form."""


@dataclass(frozen=True)
class Row:
    """A question with its answer and scores.

    Attributes:
        id, category, split, cluster, variant_of, twin, answerable, question: The case's.
        case_sha256: The hash of everything that its scores depend on.
        probe: Empty, ``raw`` or ``standalone``; probes feed the follow-up metric alone.
        status: The answer's; ``error`` if there is no answer.
        scores: By name, rounded to 9 digits, so that a run and its file are the same. A question that failed is scored
            as wrong.
        errors: What failed, by ``question`` or the metric's name.
        confidence: For the risk–coverage curve.
        answer: As plain JSON types without timings; ``None`` for an error, and in a baseline.
        timings_ms: By stage, with ``wall`` for the whole call. Kept in a separate file, since they differ by run.
    """

    id: str
    category: str
    split: str
    cluster: str
    variant_of: str
    twin: str
    answerable: bool
    question: str
    case_sha256: str
    probe: str
    status: str
    scores: Mapping[str, float]
    errors: Mapping[str, str] = field(default_factory=dict)
    confidence: float = 0.0
    answer: Mapping[str, Any] | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """The key of a row in its run."""
        return self.id, self.probe

    @property
    def failed(self) -> bool:
        """Whether the question or any metric raised an error."""
        return bool(self.errors)

    def to_dict(self, *, with_answer: bool = True) -> dict[str, Any]:
        """Plain JSON types, without timings; the same for two runs of the same thing."""
        record = {name: getattr(self, name) for name in _ALWAYS}
        return {**record, "answer": self.answer} if with_answer else record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], timings_ms: Mapping[str, float] | None = None) -> Row:
        """The row that :meth:`to_dict` wrote.

        Raises:
            KeyError: The record lacks a field.
        """
        kept = {name: record[name] for name in _ALWAYS}
        return cls(**kept, answer=record.get("answer"), timings_ms=timings_ms or {})


_ALWAYS = tuple(one.name for one in fields(Row) if one.name not in ("answer", "timings_ms"))
"""What a run's file and a baseline both keep."""


def row_of(case: Case, probe: str, question: str, *, answerable: bool, **values: Any) -> Row:
    """A row with the fields that its case gives. A transform may make a question unanswerable; it stays the same case,
    so that two runs can be paired."""
    return Row(
        id=case.id,
        category=case.category,
        split=case.split,
        cluster=case.cluster,
        variant_of=case.variant_of,
        twin=case.twin,
        answerable=answerable,
        question=question,
        case_sha256=case.sha256,
        probe=probe,
        **values,
    )
