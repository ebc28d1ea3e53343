"""A suite of over 1,000 model outputs, served over HTTP: what is caught of each kind, and the false alarms."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest

from rag_assistant import Assistant

from .suite.cases import NO_SUCH_MARKER, NUMBER, RIGHT, STYLED, WRONG_PAPER, all_cases
from .suite.serve import Outcome, answering, outcomes

FLOORS = {
    RIGHT: 0.97,
    STYLED: 0.97,
    "citation style": 0.95,
    "verbatim in quotation marks": 1.0,
    NUMBER: 1.0,
    WRONG_PAPER: 1.0,
    NO_SUCH_MARKER: 1.0,
    "entities swapped": 0.85,
    "negation flipped": 0.9,
    "two papers mixed": 0.9,
    "general knowledge": 1.0,
    "quote altered": 1.0,
    "part right, part wrong": 1.0,
    "marker in formula or code": 1.0,
    "JSON instead of text": 1.0,
    "reasoning": 0.8,
    "refusal in other words": 0.9,
    "empty": 1.0,
    "ten thousand words": 1.0,
}
"""The share of each kind's cases that must come out as they say; of right answers, what is left are false alarms."""


@pytest.fixture(scope="module")
def found(assistant: Assistant) -> dict[str, list[Outcome]]:
    kinds: dict[str, list[Outcome]] = defaultdict(list)
    with answering(assistant.settings.index_path) as (opened, script):
        for outcome in outcomes(all_cases(), opened, script):
            kinds[outcome.case.kind].append(outcome)
    return kinds


@pytest.mark.parametrize("kind", FLOORS)
def test_each_kind_comes_out_as_it_must(found: dict[str, list[Outcome]], kind: str) -> None:
    missed = [(one.problem, one.case.reply[:300]) for one in found[kind] if one.problem]
    assert 1 - len(missed) / len(found[kind]) >= FLOORS[kind], json.dumps(missed, indent=1)


def test_no_kind_goes_unmeasured(found: dict[str, list[Outcome]]) -> None:
    assert set(found) == set(FLOORS)
    assert sum(map(len, found.values())) >= 300
    written = Counter(case.kind for case in all_cases())
    assert written[RIGHT] >= 60
    assert written[NUMBER] >= 30
