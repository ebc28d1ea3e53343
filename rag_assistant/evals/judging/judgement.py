"""What a judge said about a run, and how far it agrees with the metrics that need no model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_assistant.errors import LoadError
from rag_assistant.evals.folder import Run, write_whole

FILE = "judge.json"
KINDS: Mapping[str, str] = {
    "nugget": "a part of the right answer is told",
    "contradiction": "the answer contradicts its evidence",
    "premise": "a false premise is put right",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One yes or no.

    Attributes:
        case_id: Of the question.
        kind: One of :data:`KINDS`.
        part: For a nugget, the words of the right answer that are asked about.
        vital: Whether an answer without that part is wrong.
        judged: What the judge says; ``None`` where its reply was neither.
        measured: What patterns say of the same thing; ``None`` where they say nothing.
    """

    case_id: str
    kind: str
    part: str
    vital: bool
    judged: bool | None
    measured: bool | None


@dataclass(frozen=True)
class Judgement:
    """All verdicts on one run.

    Attributes:
        model: Backend and model of the judge.
        prompt: Name, version and SHA-256 of its prompt.
        verdicts: In the order of the run.
        correct: The deterministic verdict by question, for the questions that were judged.
    """

    model: str
    prompt: Mapping[str, str]
    verdicts: tuple[Verdict, ...]
    correct: Mapping[str, bool]

    @property
    def contradicting(self) -> tuple[str, ...]:
        """Ids of the questions whose answers contradict their evidence."""
        return tuple(v.case_id for v in self.verdicts if v.kind == "contradiction" and v.judged)

    @property
    def unreadable(self) -> int:
        """How many replies were neither yes nor no."""
        return sum(v.judged is None for v in self.verdicts)

    def write(self, folder: Path) -> None:
        """Into the run's folder.

        Raises:
            InputError: It can't be written there.
        """
        record = {**asdict(self), "prompt": dict(self.prompt), "correct": dict(self.correct)}
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        write_whole(folder / FILE, text, hint="free some space there, or copy the run elsewhere")


def judgement_of(run: Run) -> Judgement | None:
    """What was judged of a run before, from its folder; ``None`` where nothing was.

    Raises:
        LoadError: The file can't be read.
    """
    if run.folder is None or not (run.folder / FILE).exists():
        return None
    try:
        record: dict[str, Any] = json.loads((run.folder / FILE).read_text("utf-8"))
        verdicts = tuple(Verdict(**verdict) for verdict in record["verdicts"])
        return Judgement(record["model"], record["prompt"], verdicts, record["correct"])
    except (OSError, ValueError, KeyError, TypeError):
        raise LoadError(f"{run.folder / FILE} can't be read.", hint="delete it, and judge the run again") from None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judge and patterns say the same.

    Attributes:
        what: They say it of.
        n: Verdicts that both gave.
        share: Of these that are the same.
        kappa: The same beyond chance; ``None`` where one of them never varies.
        only_judge, only_patterns: Questions to which only the one says yes.
    """

    what: str
    n: int
    share: float
    kappa: float | None
    only_judge: tuple[str, ...]
    only_patterns: tuple[str, ...]


def agreements(judgement: Judgement) -> tuple[Agreement, ...]:
    """For nuggets, for false premises, and for ``correct``: by the judge an answer is right when every vital part is
    told and nothing contradicts, by the patterns as :func:`rag_assistant.evals.answer_metrics.correct` says."""
    found = [
        _agreement(KINDS[kind], [(v.case_id, v.judged, v.measured) for v in judgement.verdicts if v.kind == kind])
        for kind in ("nugget", "premise")
    ]
    by_case: dict[str, list[Verdict]] = {}
    for verdict in judgement.verdicts:
        if verdict.kind in ("nugget", "contradiction"):
            by_case.setdefault(verdict.case_id, []).append(verdict)
    found.append(
        _agreement(
            "the answer is right", [(i, _right(group), judgement.correct.get(i)) for i, group in by_case.items()]
        )
    )
    return tuple(agreement for agreement in found if agreement is not None)


def _right(verdicts: Iterable[Verdict]) -> bool | None:
    right = True
    for verdict in verdicts:
        if verdict.judged is None:
            return None
        right &= not verdict.judged if verdict.kind == "contradiction" else verdict.judged or not verdict.vital
    return right


def _agreement(what: str, triples: Sequence[tuple[str, bool | None, bool | None]]) -> Agreement | None:
    both = [(i, judged, measured) for i, judged, measured in triples if judged is not None and measured is not None]
    if not both:
        return None
    pairs = [(judged, measured) for _, judged, measured in both]
    return Agreement(
        what,
        len(both),
        sum(a == b for a, b in pairs) / len(both),
        kappa(pairs),
        tuple(dict.fromkeys(i for i, judged, measured in both if judged and not measured)),
        tuple(dict.fromkeys(i for i, judged, measured in both if measured and not judged)),
    )


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Agreement of two raters beyond chance (Cohen 1960): ``(observed - expected) / (1 - expected)``, where expected is
    that of two raters who say yes as often and independently. ``None`` where it is 1, or without pairs."""
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    first, second = sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n
    expected = first * second + (1 - first) * (1 - second)
    return None if expected == 1 else (observed - expected) / (1 - expected)
