from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.index.lexical import K1, B, Lexical
from rag_assistant.index.terms import tokenize
from rag_assistant.types import Paper

from .hashing import papers

_TEXT = st.lists(st.sampled_from("ctma dpo rlhf bandit graph graph kernel the".split()), max_size=12).map(" ".join)


def _bm25(texts: list[str], terms: list[str]) -> list[float]:
    """The formula as Kamphuis et al. (2020) give it for Lucene."""
    counts = [Counter(tokenize(text)) for text in texts]
    average = sum(sum(count.values()) for count in counts) / len(counts)
    scores = []
    for count in counts:
        score = 0.0
        for term in dict.fromkeys(terms):
            frequency = sum(term in other for other in counts)
            idf = math.log(1 + (len(counts) - frequency + 0.5) / (frequency + 0.5))
            if count[term]:
                length = 1 - B + B * sum(count.values()) / average
                score += idf * count[term] / (count[term] + K1 * length)
        scores.append(score)
    return scores


@given(st.lists(_TEXT, min_size=1, max_size=8), _TEXT)
@settings(deadline=None)
def test_scores_are_bm25_and_below_the_sum_of_idfs(texts: list[str], question: str) -> None:
    lexical = Lexical.of([Paper(str(n), "", text) for n, text in enumerate(texts)])
    terms = tokenize(question)
    scores = lexical.scores(terms)
    if any(tokenize(text) for text in texts):
        np.testing.assert_allclose(scores, _bm25(texts, terms), rtol=1e-4, atol=1e-6)
    assert len(scores) == len(texts)
    assert scores.max() <= sum(lexical.idf(term) for term in set(terms)) + 1e-4


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    some = papers(30)
    made = Lexical.of(some)
    made.save(tmp_path / "words")
    loaded = Lexical.load(tmp_path / "words", len(some))
    for question in ("Tool7", "pruning of graphs", "nothing of this", "the"):
        np.testing.assert_array_equal(made.scores(tokenize(question)), loaded.scores(tokenize(question)))
    assert loaded.frequency("tool7") == 1
    assert loaded.frequency("prune") == 3
    assert loaded.frequency("absent") == loaded.frequency("") == 0
    assert int(loaded.scores(["tool7"]).argmax()) == 7


def test_papers_without_words_have_no_scores(tmp_path: Path) -> None:
    made = Lexical.of([Paper("a", "", ""), Paper("b", "?", "!")])
    made.save(tmp_path / "words")
    for lexical in (made, Lexical.load(tmp_path / "words", 2)):
        assert lexical.scores(["any", ""]).tolist() == [0.0, 0.0]
        assert lexical.frequency("any") == 0
