import json
from pathlib import Path

import pytest

from rag_assistant.errors import InputError, LoadError
from rag_assistant.evals import RetrievalSet, evaluate_retrieval, load_beir, render_retrieval

CORPUS = [
    {"_id": "d1", "title": "Pruning", "text": "Small weights are pruned."},
    {"id": "d2", "title": "Graphs", "abstract": ["Sparse graphs", "may help."]},
    {"_id": "d3", "title": "Only a title", "text": ""},
]
QUERIES = [{"_id": "q1", "text": "pruning?"}, {"id": "q2", "claim": "graphs help"}, {"_id": "q3", "text": "unjudged"}]


def written(folder: Path, qrels: str) -> RetrievalSet:
    folder.mkdir(exist_ok=True)
    for name, records in (("corpus", CORPUS), ("queries", QUERIES)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n", "utf-8")
    (folder / "qrels.tsv").write_text(qrels, "utf-8")
    return load_beir(folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels.tsv")


@pytest.mark.parametrize(
    "qrels",
    [
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\nq2\td1\t0\nq2\tgone\t1\n",
        "q1\td1\t1\nq2\td2\t2\n",
        "q1 0 d1 1\nq2 Q0 d2 2\n",
    ],
)
def test_beirs_form_is_read_with_its_variants(tmp_path: Path, qrels: str) -> None:
    judged = written(tmp_path / "tiny", qrels)
    assert judged.name == "tiny"
    assert [(paper.id, paper.abstract) for paper in judged.papers] == [
        ("d1", "Small weights are pruned."),
        ("d2", "Sparse graphs may help."),
        ("d3", "Only a title"),
    ]
    assert judged.queries == {"q1": "pruning?", "q2": "graphs help"}
    assert judged.qrels == {"q1": {"d1": 1}, "q2": {"d2": 2}}


def test_retrievers_stand_side_by_side(tmp_path: Path) -> None:
    judged = written(tmp_path, "q1\td1\t1\nq2\td2\t2\n")
    seen: list[tuple[int, int]] = []

    def good(query: str) -> list[str]:
        return ["d1", "d1", "d2"] if "prun" in query else ["d2"]

    def poor(query: str) -> list[str]:
        if "graph" in query:
            raise RuntimeError("broken")
        return ["d3", "d1"]

    best = evaluate_retrieval(judged, good, name="ours", progress=lambda done, total: seen.append((done, total)))
    rest = evaluate_retrieval(judged, poor, name="bm25")
    assert best.estimates["ndcg@10"].value == 1.0
    assert rest.scores["q1"]["mrr@10"] == 0.5
    assert rest.scores["q2"]["recall@10"] == 0.0
    assert rest.errors == {"q2": "RuntimeError: broken"}
    assert seen == [(1, 2), (2, 2)]
    table = render_retrieval([best, rest])
    assert "| score | ours | bm25 | p (ours against bm25) |" in table
    assert "bm25: 1 queries failed." in table
    assert len(evaluate_retrieval(judged, good, name="ours", limit=1).scores) == 1
    with pytest.raises(InputError):
        evaluate_retrieval(judged, good, name="ours", limit=0)


def test_broken_files_are_named_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"qrels\.tsv:2 is not query"):
        written(tmp_path, "q1\td1\t1\nq2\td2\n")
    with pytest.raises(LoadError, match="names a query and a paper"):
        written(tmp_path, "x\ty\t1\n")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "x"}\n{"title": "no id"}\n', "utf-8")
    with pytest.raises(LoadError, match=r"corpus\.jsonl:2 has none of the fields _id"):
        load_beir(tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl", tmp_path / "qrels.tsv")
    (tmp_path / "corpus.jsonl").write_text("[]\n", "utf-8")
    with pytest.raises(LoadError, match=r"corpus\.jsonl:1 is not a JSON object"):
        load_beir(tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl", tmp_path / "qrels.tsv")
    with pytest.raises(LoadError, match="can't be read"):
        load_beir(tmp_path / "none.jsonl", tmp_path / "queries.jsonl", tmp_path / "qrels.tsv")
