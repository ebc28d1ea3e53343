"""How well the right papers are found. The definitions are trec_eval's, and tests compare them with it (ir-measures).

A ranking is a sequence of paper ids, best first, each once. Grades are a mapping from paper to 1 or 2; papers that it
doesn't name are not relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

from rag_assistant.evals.case import Case
from rag_assistant.types import Answer

RECALL_AT = (1, 3, 5, 10)
ALL_GOLD_AT = (5, 10)


def recall_at(ranking: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Share of the relevant papers among the first ``k`` (trec_eval's ``recall_k``)."""
    return len(set(ranking[:k]) & set(grades)) / len(grades)


def ndcg_at(ranking: Sequence[str], grades: Mapping[str, int], k: int = 10) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002) with the grade as gain and a discount of
    log2(rank + 1), as trec_eval's ``ndcg_cut_k``."""
    gain = sum(grades.get(paper, 0) / log2(rank + 1) for rank, paper in enumerate(ranking[:k], 1))
    ideal = sorted(grades.values(), reverse=True)[:k]
    return gain / sum(grade / log2(rank + 1) for rank, grade in enumerate(ideal, 1))


def reciprocal_rank_at(ranking: Sequence[str], grades: Mapping[str, int], k: int = 10) -> float:
    """One over the rank of the first relevant paper among the first ``k``, or 0 (MRR is its mean; Voorhees 1999)."""
    return next((1 / rank for rank, paper in enumerate(ranking[:k], 1) if paper in grades), 0.0)


def all_gold_at(ranking: Sequence[str], gold: Sequence[str], k: int) -> float:
    """1 when every gold paper is among the first ``k``, else 0: what a question about several papers needs."""
    return float(set(gold) <= set(ranking[:k]))


def scores_of(ranking: Sequence[str], grades: Mapping[str, int], gold: Sequence[str]) -> dict[str, float]:
    """All retrieval scores of one ranking, by name; empty when nothing is relevant."""
    if not grades:
        return {}
    scores = {f"recall@{k}": recall_at(ranking, grades, k) for k in RECALL_AT}
    scores["ndcg@10"] = ndcg_at(ranking, grades)
    scores["mrr@10"] = reciprocal_rank_at(ranking, grades)
    return scores | {f"all_gold@{k}": all_gold_at(ranking, gold, k) for k in ALL_GOLD_AT}


def retrieval(case: Case, answer: Answer) -> dict[str, float]:
    """The scores of an answer's hits for an answerable question.

    Papers are ranked by their best hit. Papers of ``also_ok`` are removed first: they are neither right nor wrong, so
    they don't use up a rank (as in condensed lists, Sakai 2007).
    """
    if not case.answerable:
        return {}
    ordered = sorted(answer.hits, key=lambda hit: hit.rank)
    ranking = tuple(dict.fromkeys(hit.paper.id for hit in ordered if hit.paper.id not in case.also_ok))
    return scores_of(ranking, case.papers, case.gold)
