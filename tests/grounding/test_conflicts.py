"""Sentences of two papers that contradict each other, and those that only look alike."""

from __future__ import annotations

from itertools import combinations

import pytest

from rag_assistant import Assistant
from rag_assistant.grounding.conflicts import conflict
from rag_assistant.sentences import sentence_spans


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PPO outperforms DPO.", "DPO outperforms PPO."),
        ("We find that PPO outperforms DPO on dialogue tasks.", "DPO consistently outperforms PPO on dialogue."),
        ("Our results show that PPO is superior to DPO in safety.", "We show that DPO is better than PPO in safety."),
        ("PPO outperforms DPO.", "PPO underperforms DPO."),
        ("Adam converges faster than SGD on transformers.", "Adam converges slower than SGD on transformers."),
        ("Adam converges faster than SGD.", "SGD converges faster than Adam."),
        ("Adam is less robust than SGD.", "Adam is more robust than SGD."),
        (
            "We show that dropout improves the generalization of transformers.",
            "Dropout harms generalization of transformers.",
        ),
        (
            "Label smoothing improves calibration of image classifiers.",
            "Label smoothing does not improve calibration of image classifiers.",
        ),
        (
            "Small-magnitude weights are not essential for downstream performance.",
            "Small-magnitude weights are essential for downstream performance.",
        ),
    ],
)
def test_a_contradiction_is_seen_from_both_sides(one: str, other: str) -> None:
    assert conflict(one, other)
    assert conflict(one, other) == conflict(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("PPO outperforms DPO.", "PPO surpasses DPO."),
        ("PPO outperforms DPO on code.", "DPO outperforms PPO on summarization."),
        ("PPO outperforms DPO when data is scarce.", "DPO outperforms PPO."),
        ("We ask whether PPO outperforms DPO.", "DPO outperforms PPO."),
        ("PPO does not outperform DPO.", "DPO outperforms PPO."),
        ("Our method outperforms existing methods.", "Existing methods outperform our method."),
        ("RLHF requires online data.", "DPO requires no online data."),
        ("QuIP needs 2 bits per weight.", "QuIP needs 4 bits per weight."),
        (
            "This bound matches our lower bound up to logarithmic factors.",
            "It matches our upper bound up to logarithmic factors.",
        ),
        ("In federated learning (FL), clients differ.", "This is not feasible for federated learning (FL)."),
    ],
)
def test_what_may_both_hold_is_none(one: str, other: str) -> None:
    assert not conflict(one, other)
    assert not conflict(other, one)


def test_papers_on_different_things_have_none(assistant: Assistant) -> None:
    papers = [
        [paper.abstract[start:end] for start, end in sentence_spans(paper.abstract)] for paper in assistant.papers()
    ]
    for one, other in combinations(papers, 2):
        assert not [(a, b) for a in one for b in other if conflict(a, b)]
    assert not [a for sentences in papers for a in sentences if conflict(a, a)]
