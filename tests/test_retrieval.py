"""Search over the bundled corpus: exact terms, other words, filters, follow-ups' focus, and rerankers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rag_assistant import Assistant, Filters, Hit
from rag_assistant.embedders.minilm import MiniLM
from rag_assistant.errors import PluginError
from rag_assistant.index.open import open_index
from rag_assistant.retrieval.retriever import Query, Retriever, fold, hits_of


@pytest.mark.parametrize(
    ("question", "paper"),
    [
        ("What is CTMA?", "dahan24a"),
        ("FedRo", "allouah24a"),
        ("RePHINE TOGL", "verma24a"),
        ("Approx-BP", "yang24u"),
        ("KSVD", "tao24b"),
        ("UA2 agents", "yang24p"),
        ("DisA loss", "gao24s"),
        ("STORM COVER SVMR", "pan24e"),
        ("D-SGD", "le-bars24a"),
        ("papers of the Fast Extra Gradient (FEG) algorithm", "cai24f"),
    ],
)
def test_exact_terms_find_their_paper(assistant: Assistant, question: str, paper: str) -> None:
    assert assistant.search(question)[0].paper.id == paper


@pytest.mark.parametrize(
    ("question", "paper"),
    [
        ("making songs people like by asking listeners", "cideron24a"),
        ("cutting tiny parameters out of big text generators does harm", "yin24b"),
        ("lowering GPU RAM needs when adapting a big network", "yang24u"),
        ("is there a universal learner for all tasks", "goldblum24a"),
        ("attack-proof image recognition and how it grows with compute", "bartoldson24a"),
        ("classifiers for imbalanced data where some classes are rare", "gao24s"),
        ("editing hidden activations to change what a chatbot writes", "singh24d"),
        ("learned penalties for reconstructing images from measurements", "shumaylov24a"),
        ("malicious participants in collaborative training across devices", "allouah24a"),
    ],
)
def test_other_words_find_their_paper(assistant: Assistant, question: str, paper: str) -> None:
    assert paper in [hit.paper.id for hit in assistant.search(question, k=3)]


def test_hits_are_ranked_one_a_paper_and_their_passages_verbatim(assistant: Assistant) -> None:
    hits = assistant.search("learning", k=100)
    assert len({hit.paper.id for hit in hits}) == len(hits) == 19
    assert [hit.rank for hit in hits] == list(range(1, 20))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        at = hit.passage
        assert hit.paper.abstract[at.start : at.end] == at.text
        assert at.paper_id == hit.paper.id
        assert hit.dense is not None
        assert -1.0001 <= hit.dense <= 1.0001
        assert hit.score <= 1.2


@pytest.mark.parametrize("k", [1, 3, 19])
def test_k(assistant: Assistant, k: int) -> None:
    assert len(assistant.search("robustness", k=k)) == k
    assert len(assistant.ask("What is robustness about?", k=k).hits) <= max(k, 3)


@pytest.mark.parametrize(("question", "k"), [("", 5), ("   ", 5), ("\x00\ud800", 5), ("robust", 0), ("robust", -3)])
def test_nothing_asked_or_wanted_finds_nothing(assistant: Assistant, question: str, k: int) -> None:
    assert assistant.search(question, k=k) == ()


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (Filters(ids=("nika24a", "im24a")), {"nika24a", "im24a"}),
        (Filters(authors=("bellet",)), {"le-bars24a"}),
        (Filters(authors=("AURELIEN BELLET", "kfir levy")), {"le-bars24a", "dahan24a"}),
        (Filters(authors=("bellet",), ids=("nika24a",)), set()),
        (Filters(years=(2025, None)), set()),
        (Filters(venues=("neurips",)), set()),
        (Filters(ids=("nobody",)), set()),
    ],
)
def test_filters(assistant: Assistant, filters: Filters, ids: set[str]) -> None:
    assert {hit.paper.id for hit in assistant.search("learning", k=50, filters=filters)} == ids
    assert {paper.id for paper in assistant.papers(filters)} == ids
    assert assistant.ask("Which papers study learning?", filters=filters).considered == len(ids)


@pytest.mark.parametrize("filters", [None, Filters(), Filters(years=(None, 2024)), Filters(venues=("icml",))])
def test_filters_that_let_all_through(assistant: Assistant, filters: Filters | None) -> None:
    assert len(assistant.search("learning", k=50, filters=filters)) == 19


def test_folding_names() -> None:
    assert fold("Aurélien BELLET") == "aurelien bellet"
    assert fold("Straße") == "strasse"


@pytest.fixture(scope="module")
def retriever(assistant: Assistant) -> Iterator[Retriever]:
    embedder = MiniLM()
    opened = open_index(assistant.settings.index_path, embedder)
    yield Retriever(opened, embedder)
    opened.close()


def test_focus_prefers_the_papers_referred_to(retriever: Retriever) -> None:
    plain = retriever.retrieve(Query("What guarantees are given?"), k=19)
    last = plain.papers[-1].hit
    focused = retriever.retrieve(Query("What guarantees are given?", focus=frozenset({last.paper.id})), k=19)
    there = next(found for found in focused.papers if found.hit.paper.id == last.paper.id)
    assert there.focused
    assert there.hit.score > last.score
    assert there.hit.rank < last.rank
    assert sum(found.focused for found in focused.papers) == 1


def test_carried_words_weigh_less_and_ignored_words_nothing(retriever: Retriever) -> None:
    words = retriever.retrieve(Query("robust CTMA wrote", frozenset({"ctma"}), ignored=frozenset({"wrote"})), k=1).words
    assert [(word.text, word.carried, word.named) for word in words] == [("robust", False, False), ("CTMA", True, True)]
    full = {word.text: word.weight for word in retriever.retrieve(Query("robust CTMA"), k=1).words}
    assert words[1].weight < full["CTMA"]
    assert words[0].weight == full["robust"]
    assert full["CTMA"] > full["robust"] > 0


def test_evidence_holds_every_sentence_and_a_match_for_every_word(retriever: Retriever) -> None:
    evidence = retriever.retrieve(Query("How robust is federated learning?"), k=4)
    assert len(evidence.papers) == 4
    assert evidence.considered == 19
    for found in evidence.papers:
        assert "".join(s.passage.text for s in found.sentences).replace(" ", "") == (
            "".join(found.hit.paper.abstract.split())
        )
        rows = [found.title_matches, found.matches, *(sentence.matches for sentence in found.sentences)]
        assert all(len(row) == len(evidence.words) and all(0 <= m <= 1 for m in row) for row in rows)
    assert hits_of(evidence) == tuple(found.hit for found in evidence.papers)


def test_the_same_question_finds_the_same(retriever: Retriever) -> None:
    assert retriever.retrieve(Query("robust learning"), k=5) == retriever.retrieve(Query("robust learning"), k=5)


class Reversing(BaseNodePostprocessor):  # type: ignore[misc]
    """Puts the worst first."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        assert query_bundle.query_str
        return [NodeWithScore(node=found.node, score=float(place)) for place, found in enumerate(nodes)][::-1]


class Dropping(Reversing):
    """Keeps the best two."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return nodes[:2]


class Failing(Reversing):
    """Raises."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        raise ZeroDivisionError("by nothing")


class Inventing(Reversing):
    """Returns what it was not given."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_="invented", text="x"), score=1.0)]


def _reranked(assistant: Assistant, rerank: Any, k: int = 19) -> tuple[Hit, ...]:
    with Assistant.open(assistant.settings.index_path, rerank=rerank, reader="none") as reordered:
        return reordered.search("robust learning", k=k)


def test_a_reranker_reorders(assistant: Assistant) -> None:
    plain = [hit.paper.id for hit in _reranked(assistant, None)]
    hits = _reranked(assistant, Reversing())
    assert [hit.paper.id for hit in hits] == plain[::-1]
    assert [hit.rank for hit in hits] == list(range(1, 20))
    assert [hit.score for hit in hits] == [float(score) for score in range(18, -1, -1)]


def test_a_reranker_may_drop_and_is_found_by_name(assistant: Assistant) -> None:
    plain = [hit.paper.id for hit in _reranked(assistant, None, k=2)]
    assert [hit.paper.id for hit in _reranked(assistant, Dropping())] == plain
    hits = _reranked(assistant, "llama_index.core.postprocessor:LongContextReorder")
    assert {hit.paper.id for hit in hits} == {paper.id for paper in assistant.papers()}


@pytest.mark.parametrize(("rerank", "said"), [(Failing(), "Failing failed: by nothing"), (Inventing(), "not given")])
def test_a_reranker_that_misbehaves_is_one_error_with_a_hint(assistant: Assistant, rerank: Any, said: str) -> None:
    with pytest.raises(PluginError, match=said) as caught:
        _reranked(assistant, rerank)
    assert "rerank" in caught.value.hint
