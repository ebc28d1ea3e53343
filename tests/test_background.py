"""How common a word of English is, by its rank in the model's vocabulary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assistant.retrieval.background import document_probability, is_common


@pytest.mark.parametrize("word", ["the", "learning", "music", "robust"])
def test_words_of_english_are_common(word: str) -> None:
    assert is_common(word)


@pytest.mark.parametrize("word", ["", "ctma", "regularisers", "##ing", "[pad]", "The", "nonconvex"])
def test_other_strings_are_not(word: str) -> None:
    assert not is_common(word)


def test_rarer_words_are_less_likely() -> None:
    chances = [document_probability(word) for word in ("the", "people", "learning", "byzantine", "nonconvex")]
    assert chances == sorted(chances, reverse=True)
    assert len(set(chances)) == len(chances)


@given(st.text())
def test_a_chance_is_a_chance(word: str) -> None:
    assert 0 < document_probability(word) <= 0.9
    assert document_probability("nonconvex") <= document_probability(word)
