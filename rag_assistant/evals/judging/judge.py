"""Asks a judge, one yes or no at a time, and keeps what it said."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_assistant.errors import InputError
from rag_assistant.evals.answer_metrics import ANSWERING
from rag_assistant.evals.case import Case, pattern_span
from rag_assistant.evals.folder import Run
from rag_assistant.evals.judging.judgement import Judgement, Verdict
from rag_assistant.evals.model import Model
from rag_assistant.evals.rows import Row
from rag_assistant.models.reasoning import without_reasoning
from rag_assistant.prompts import Rendered, as_data, fence_of, render_prompt
from rag_assistant.types import PromptInfo

_REPLY = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
_MAX_TOKENS = 1024
"""A word is enough, but models that think aloud need room before it."""


@dataclass(frozen=True, slots=True)
class _JudgeTask:
    """Something to be judged; ``measured`` is what patterns say of it."""

    kind: str
    part: str = ""
    vital: bool = True
    measured: bool | None = None


def judge_run(
    run: Run,
    cases: Iterable[Case],
    model: Model,
    cache: Path,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> Judgement:
    """Judges every answer of a run that has a right answer to be held against; refusals are left out.

    Each nugget: is it told? Each answer with evidence: does it contradict it? Each answered false premise: is it put
    right? One call for each, at temperature 0. A verdict is kept under a hash of all that was sent and to whom, so that
    nothing is asked twice.

    Args:
        run: With its answers.
        cases: The questions with their gold; those that have changed since the run are left out.
        model: The judge.
        cache: Folder of the verdicts that were given before.
        progress: Called with how many answers are judged of how many.

    Raises:
        InputError: No answer of the run can be judged, or the cache can't be written.
        BackendError: The model failed; what it said so far is kept.
    """
    gold = {case.sha256: case for case in cases}
    chosen = [(row, gold[row.case_sha256]) for row in run.main if _judged(row, gold)]
    if not chosen:
        raise InputError(
            "No answer of this run can be judged.", hint="it must keep answers, and be of the set that --set names"
        )
    verdicts: list[Verdict] = []
    info: PromptInfo | None = None
    for place, (row, case) in enumerate(chosen):
        if progress is not None:
            progress(place, len(chosen))
        text = _text(row)
        for point in _points(case, text):
            prompt = _prompt(case, text, point)
            info = prompt.info
            said = _asked(model, prompt, cache)
            verdicts.append(Verdict(row.id, point.kind, point.part, point.vital, _read(said), point.measured))
    prompted: Mapping[str, str] = asdict(info) if info is not None else {}
    correct = {row.id: row.scores["correct"] == 1.0 for row, _ in chosen if "correct" in row.scores}
    return Judgement(model.name, prompted, tuple(verdicts), correct)


def _judged(row: Row, gold: Mapping[str, Case]) -> bool:
    case = gold.get(row.case_sha256)
    if case is None or row.answer is None or row.status not in ANSWERING or row.answerable != case.answerable:
        return False
    return any(_points(case, _text(row)))


def _text(row: Row) -> str:
    return str((row.answer or {}).get("text", ""))


def _points(case: Case, text: str) -> Iterator[_JudgeTask]:
    if case.category == "false_premise":
        measured = case.accepts(text) if case.nuggets or case.numbers else None
        yield _JudgeTask("premise", measured=measured)
        return
    if not case.answerable:
        return
    for nugget in case.nuggets:
        part = next((found for p in nugget.patterns if (found := pattern_span(p, case.paraphrase))), "")
        if part:
            yield _JudgeTask("nugget", part, nugget.vital, nugget.found(text))
    for number in case.numbers:
        yield _JudgeTask("nugget", f"{number.value:g}{'%' if number.unit == '%' else ''}", True, number.found(text))
    if case.evidence:
        yield _JudgeTask("contradiction")


def _prompt(case: Case, text: str, point: _JudgeTask) -> Rendered:
    values: dict[str, Any] = {
        "question": as_data(case.standalone),
        "answer": as_data(text),
        "reference": as_data(case.paraphrase),
        "evidence": tuple(as_data(evidence.quote) for evidence in case.evidence),
        "part": as_data(point.part),
    }
    told = [value for name in values for value in ([values[name]] if isinstance(values[name], str) else values[name])]
    return render_prompt("judge", {**values, "task": point.kind, "nonce": fence_of(*told)})


def _asked(model: Model, prompt: Rendered, cache: Path) -> str:
    key = hashlib.sha256(json.dumps([model.identity, prompt.system, prompt.user]).encode()).hexdigest()
    path = cache / key[:2] / f"{key}.json"
    try:
        return str(json.loads(path.read_text("utf-8"))["reply"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not asked yet, or cut off while it was written
    reply = model.complete(prompt, max_tokens=_MAX_TOKENS)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".new")
        aside.write_text(json.dumps({"model": model.name, "reply": reply}, ensure_ascii=False), encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise InputError(
            f"Verdicts can't be kept in {cache}: {error.strerror}.", hint="--cache DIR names another"
        ) from None
    return reply


def _read(reply: str) -> bool | None:
    match = _REPLY.match(without_reasoning(reply))
    return None if match is None else match[1].lower() == "yes"
