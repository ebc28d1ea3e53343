"""The scores that matter most, and what they are called where people read them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

HEADLINE: Mapping[str, str] = MappingProxyType(
    {
        "correct": "correct",
        "nugget_recall": "nugget recall",
        "recall@5": "recall@5 of papers",
        "ndcg@10": "nDCG@10 of papers",
        "quote_validity": "quotes verbatim",
        "evidence_recall": "evidence recall",
        "evidence_precision": "evidence precision",
        "refusal_near": "refused, near misses",
        "refusal_far": "refused, far questions",
        "false_refusal": "refused though answerable",
        "status": "right status",
    }
)
"""Labels by score, in the order of their telling."""
