"""Makes a set of drafts: candidates with ids and splits, of which only those are kept that hold up as questions.

The reader has no say in that. Of 80 drafts by code it finds 38 not answered by their sentence (below 0.35), 37 of them
good ones, mostly on acronyms, and 11 of the 12 that read badly answered. Nor should what a set is to measure choose its
questions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from rag_assistant.errors import BudgetExceeded
from rag_assistant.evals.case import Case
from rag_assistant.evals.drafting.model import questions_by
from rag_assistant.evals.drafting.sentences import questions_of
from rag_assistant.evals.model import Model
from rag_assistant.evals.validate import problems_of
from rag_assistant.types import Paper

PER_PAPER = 5
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Drafts:
    """What came of drafting.

    Attributes:
        cases: That hold up against the checks of ``eval validate``; none is reviewed.
        dropped: How many did not.
        stopped: Why papers were left out at the end; empty where none was.
    """

    cases: tuple[Case, ...]
    dropped: int
    stopped: str = ""


def draft_from_sentences(papers: Sequence[Paper], *, per_paper: int = PER_PAPER) -> Drafts:
    """Candidates made by code from sentences and records; the same papers give the same drafts.

    Args:
        papers: What they are about.
        per_paper: At most so many for each, kinds taking turns.
    """
    found, dropped = [], 0
    for place, paper in enumerate(papers):
        kept, bad = _that_hold(_named(paper, place, [(case, None) for case in questions_of(paper)], "code"), [paper])
        dropped += bad
        found += _mixed(kept)[:per_paper]
    return Drafts(_asked_once(found), dropped)


def draft_by_model(
    model: Model,
    papers: Sequence[Paper],
    *,
    per_paper: int = PER_PAPER,
    progress: Callable[[int, int], object] | None = None,
) -> Drafts:
    """Candidates written by a model, each with a near miss where that is fit for one.

    Args:
        model: That writes them.
        papers: What they are about.
        per_paper: How many to ask for, near misses apart.
        progress: Called with how many papers are done of how many.

    Raises:
        BackendError: The model failed. Where its budget is used up, what it drafted so far is returned.
    """
    found: list[Case] = []
    dropped = 0
    for place, paper in enumerate(papers):
        if progress is not None:
            progress(place, len(papers))
        try:
            kept, bad = _that_hold(_named(paper, place, questions_by(model, paper, per_paper), model.name), [paper])
        except BudgetExceeded as error:
            return Drafts(_asked_once(found), dropped, error.message)
        found += kept
        dropped += bad
    return Drafts(_asked_once(found), dropped)


def write_drafts(drafts: Drafts) -> str:
    """The drafts as a set's file, each marked ``"reviewed": false``."""
    return "".join(json.dumps(case.to_dict(), ensure_ascii=False) + "\n" for case in drafts.cases)


def _named(paper: Paper, place: int, pairs: Iterable[tuple[Case, Case | None]], author: str) -> list[Case]:
    """With ids, twins and what every question needs. Papers take turns between the splits, since all questions on one
    are in one split."""
    stem = _NOT_IN_IDS.sub("-", paper.id).strip("-._") or f"paper-{place + 1}"
    named = []
    for number, (case, near) in enumerate(pairs, 1):
        case_id = f"{stem}/{case.category}-{number}"
        near_id = f"{stem}/near-miss-{number}" if near is not None else ""
        for made, own, twin in ((case, case_id, near_id), (near, near_id, case_id)):
            if made is not None:
                named.append(
                    replace(
                        made,
                        id=own,
                        twin=twin,
                        split=("dev", "test")[place % 2],
                        standalone_question=made.question,
                        author=f"drafted by {author}",
                    )
                )
    return named


def _that_hold(cases: Sequence[Case], papers: Sequence[Paper]) -> tuple[list[Case], int]:
    """The cases without faults, and how many have some. A question whose near miss doesn't hold stays without it."""
    kept = list(cases)
    while True:
        faulty = {problem.case_id for problem in problems_of(kept, papers)}
        if not faulty:
            return kept, len(cases) - len(kept)
        bad = {case.id for case in kept if case.id in faulty and not _only_for_its_twin(case, kept, papers)}
        kept = [
            replace(case, twin="") if case.twin in bad and case.answerable else case
            for case in kept
            if case.id not in bad and not (case.twin in bad and not case.answerable)
        ]


def _only_for_its_twin(case: Case, cases: Sequence[Case], papers: Sequence[Paper]) -> bool:
    """Whether nothing is wrong with a question but what its twin is."""
    others = [other for other in cases if other.id != case.twin and other.id != case.id]
    return case.answerable and bool(case.twin) and not problems_of([*others, replace(case, twin="")], papers)


def _mixed(cases: Sequence[Case]) -> list[Case]:
    """Kinds in turns: the first of each, then the second of each."""
    seen: dict[str, int] = {}
    ranked = []
    for case in cases:
        kind = f"{case.category} {case.notes}"
        seen[kind] = seen.get(kind, 0) + 1
        ranked.append((seen[kind], case))
    return [case for _, case in sorted(ranked, key=lambda pair: pair[0])]


def _asked_once(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Without questions that two papers gave rise to, such as the acronym that both spell out, and with ids apart."""
    first: dict[str, Case] = {}
    for case in cases:
        first.setdefault(case.question.casefold(), case)
    kept = {case.id for case in first.values()}
    unique: dict[str, Case] = {}
    for case in first.values():
        if case.id in unique:
            continue
        if case.twin and case.twin not in kept:
            if not case.answerable:
                continue
            case = replace(case, twin="")
        unique[case.id] = case
    return tuple(unique.values())
