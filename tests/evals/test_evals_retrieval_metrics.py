"""Our retrieval scores against trec_eval's, by way of ir-measures."""

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG

from rag_assistant.evals import Case
from rag_assistant.evals.retrieval_metrics import retrieval, scores_of
from rag_assistant.types import Paper

IDS = [f"p{n}" for n in range(14)]
MEASURES = {
    "recall@1": R @ 1,
    "recall@3": R @ 3,
    "recall@5": R @ 5,
    "recall@10": R @ 10,
    "ndcg@10": nDCG @ 10,
    "mrr@10": RR @ 10,
}


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sampled_from(IDS), unique=True, min_size=1),
    st.dictionaries(st.sampled_from(IDS), st.integers(1, 2), min_size=1, max_size=6),
)
def test_scores_are_those_of_trec_eval(ranking: list[str], grades: dict[str, int]) -> None:
    qrels = [ir_measures.Qrel("q", paper, grade) for paper, grade in grades.items()]
    run = [ir_measures.ScoredDoc("q", paper, 1.0 - rank / 100) for rank, paper in enumerate(ranking)]
    wanted = ir_measures.calc_aggregate(MEASURES.values(), qrels, run)
    scores = scores_of(ranking, grades, tuple(grades))
    for name, measure in MEASURES.items():
        assert scores[name] == pytest.approx(wanted[measure]), name
    assert scores["all_gold@10"] == float(wanted[R @ 10] == 1.0)


def test_hits_are_ranked_by_paper_without_those_that_are_also_fine(hits_of, answer_of) -> None:
    a, b, c = (Paper(i, i, f"Words of {i}.") for i in "abc")
    case = Case("x", "What?", papers={"b": 2, "c": 1}, also_ok=("a",))
    scores = retrieval(case, answer_of("What?", [(b, "Words of b.")], hits_of([a, b, b, c])))
    assert scores["recall@1"] == 0.5
    assert scores["mrr@10"] == 1.0
    assert scores["all_gold@5"] == 1.0
    assert scores["ndcg@10"] == pytest.approx(1.0)


def test_there_is_no_score_without_gold(hits_of, refuse) -> None:
    paper = Paper("a", "a", "Words.")
    assert retrieval(Case("x", "What?", answerable=False), refuse("What?", hits=hits_of([paper]))) == {}
    assert retrieval(Case("x", "What?"), refuse("What?")) == {}
    assert retrieval(Case("x", "What?", papers={"a": 2}), refuse("What?"))["recall@10"] == 0.0
