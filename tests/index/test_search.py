from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rag_assistant.index.build import build_index
from rag_assistant.index.open import open_index
from rag_assistant.index.passages import embedding_text
from rag_assistant.types import Paper

from .hashing import HashingEmbedder, papers
from .processes import run


def _long(number: int) -> Paper:
    sentences = [f"Part{part} of number{number} tells of thing{number * part % 17} at length." for part in range(25)]
    return Paper(f"long{number}", f"Long {number}", " ".join(sentences))


@pytest.fixture
def built(folder: Path, embedder: HashingEmbedder) -> Path:
    build_index(folder, [*papers(60), *(_long(n) for n in range(6))], embedder)
    return folder


def test_the_store_finds_what_exact_search_finds(built: Path, embedder: HashingEmbedder) -> None:
    with open_index(built, embedder) as index:
        assert len(index.windows) > 66
        for question in ("Tool17", "pruning of graphs", "number3 thing12", "nothing"):
            vector = embedder.encode_question(question).vector
            exact = index.exact_cosines(vector, index.papers)
            assert len(exact) == len(index.windows)
            for k in (1, 10, len(index.windows), 10_000):
                found = index.search_vectors(vector, k)
                assert [cosine for _, cosine in found] == pytest.approx([c for _, c in exact[:k]], abs=1e-5)
                assert all(w.text == index.papers[w.paper_id].abstract[w.start : w.end] for w, _ in found)
        assert index.search_vectors(vector, 0) == []


def test_a_filter_is_exact(built: Path, embedder: HashingEmbedder) -> None:
    vector = embedder.encode_question("Tool17 of number3").vector
    with open_index(built, embedder) as index:
        allowed = frozenset({"paper3", "long3", "paper40", "absent"})
        found = index.search_vectors(vector, 500, allowed)
        assert {window.paper_id for window, _ in found} == allowed - {"absent"}
        wanted = [hit for hit in index.exact_cosines(vector, index.papers) if hit[0].paper_id in allowed]
        assert [window for window, _ in found] == [window for window, _ in wanted]
        assert [cosine for _, cosine in found] == pytest.approx([cosine for _, cosine in wanted], abs=1e-6)
        assert index.search_vectors(vector, 5, frozenset()) == []


def test_enough_windows_are_asked_for(built: Path, embedder: HashingEmbedder) -> None:
    with open_index(built, embedder) as index:
        for question in ("number1", "Part3 at length tells of", "Tool3"):
            vector = embedder.encode_question(question).vector
            for wanted in (1, 2, 5, 20, 66):
                hits = index.search_vectors(vector, index.windows_for(wanted))
                assert len({window.paper_id for window, _ in hits}) >= wanted
        assert index.windows_for(1000) <= len(index.windows)


def test_titles_and_sentences_come_encoded_from_the_cache(built: Path) -> None:
    fresh = HashingEmbedder()
    with open_index(built, fresh) as index:
        encoded = index.encoded_texts(["paper4", "long2", "paper4"])
        assert fresh.calls == []
        assert set(encoded) == {"paper4", "long2"}
        title, sentences = encoded["paper4"]
        texts = [index.papers["paper4"].title, *(s.text for s in index.sentences("paper4"))]
        for text, value in zip(texts, [title, *sentences], strict=True):
            wanted = fresh.encode_question(text)
            assert value.words is not None
            assert wanted.words is not None
            np.testing.assert_array_equal(value.vector, wanted.vector)
            np.testing.assert_array_equal(value.words.spans, wanted.words.spans)
            np.testing.assert_array_equal(value.words.vectors, wanted.words.vectors)
        (window,) = index.encoded_windows("paper4")
        text = embedding_text(index.papers["paper4"], index.windows[4])
        np.testing.assert_array_equal(window.vector, fresh.encode_question(text).vector)


def test_an_embedder_without_word_vectors_has_none(folder: Path) -> None:
    plain = HashingEmbedder(name="plain", words=False)
    build_index(folder, papers(3), plain)
    plain.calls.clear()
    with open_index(folder, plain) as index:
        title, sentences = index.encoded_texts(["paper1"])["paper1"]
        assert plain.calls == []
        assert [e.words for e in (title, *sentences)] == [None] * 4


def test_beyond_the_limit_sentences_are_encoded_when_asked_for(
    folder: Path, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_assistant.index.write.WORD_VECTORS_UP_TO", 2)
    build_index(folder, papers(3), embedder)
    assert len(embedder.calls) == 3
    with open_index(folder, embedder) as index:
        assert len(index.encoded_texts(["paper1"])["paper1"][1]) == 3
        assert len(embedder.calls) == 7
    with open_index(folder, embedder) as index:
        index.encoded_texts(["paper1"])
        assert len(embedder.calls) == 7


def test_words(built: Path, embedder: HashingEmbedder) -> None:
    with open_index(built, embedder) as index:
        assert index.document_frequency("tool17") == 1
        assert list(index.papers)[int(index.lexical.scores(["tool17"]).argmax())] == "paper17"
        assert index.stems("Running LLMs of D-SGD") == {"run", "llm", "of", "sgd", "dsgd"}
        assert index.stems("Running LLMs of D-SGD") is index.stems("Running LLMs of D-SGD")


def test_many_threads_search_at_once(built: Path, embedder: HashingEmbedder) -> None:
    with open_index(built, embedder) as index:

        def ask(number: int) -> str:
            name = f"paper{number % 60}"
            index.encoded_texts([name, "long1"])
            return index.search_vectors(embedder.encode_question(index.papers[name].abstract).vector, 3)[0][0].paper_id

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, range(200))) == [f"paper{n % 60}" for n in range(200)]


def test_reading_an_index_imports_no_llama_index(built: Path) -> None:
    code = """
import sys
from index.hashing import HashingEmbedder
from rag_assistant.index.open import open_index
embedder = HashingEmbedder()
with open_index(sys.argv[1], embedder) as index:
    index.search_vectors(embedder.encode_question("x").vector, 3)
    index.lexical.scores(["tool3"]); index.encoded_texts(["paper3"])
    assert "chromadb" in sys.modules and "bm25s" in sys.modules
    print(sorted(name for name in sys.modules if name.startswith("llama_index")))
"""
    assert run(code, built) == "[]\n"
