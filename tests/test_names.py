"""A name that no paper has is said not to be there, with the near name; what is only spelt otherwise is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assistant import Assistant
from rag_assistant.questions.names import names, unknown_names

TEXTS = (
    "FedAvg is averaged.",
    "We train Falcon and D-SGD on CIFAR-10 with **UA**$^2$ for music generation; see MusicRL.",
)


def unknown(question: str) -> dict[str, str]:
    return unknown_names(question, TEXTS, lambda name: name == "wordpiece")


@pytest.mark.parametrize(
    ("question", "name", "near"),
    [
        ("What is MusicGen?", "MusicGen", "MusicRL"),
        ("What is Falcon 2?", "Falcon 2", "Falcon"),
        ("tell me about Falcon-180", "Falcon-180", "Falcon"),
        ("What is FedAvg2?", "FedAvg2", "FedAvg"),
        ("What is ZoeDepth?", "ZoeDepth", ""),
    ],
)
def test_a_name_that_is_not_there(question: str, name: str, near: str) -> None:
    assert unknown(question) == {name: near}


@pytest.mark.parametrize(
    "question",
    [
        "What is MusicRL?",
        "What is FedAVG?",
        "what are CIFAR 10 and CIFAR10?",
        "What is UA2?",
        "What is WordPiece?",
        "What are GPUs?",
        "Which papers are from ICML 2024?",
        "Does ZoeDepth need labels?",  # asks for something: the reader's
        "falcon",
        "",
    ],
)
def test_what_is_there_or_is_no_such_name(question: str) -> None:
    assert unknown(question) == {}


def test_the_answer_names_both(assistant: Assistant) -> None:
    answer = assistant.ask("What is MusicGen?")
    assert answer.status == "not_in_corpus"
    assert answer.text.startswith("None of the 19 papers mentions MusicGen. Did you mean MusicRL?")
    assert not answer.citations


def test_a_number_makes_another_name(tmp_path: Path) -> None:
    papers = tmp_path / "papers.jsonl"
    papers.write_text('{"id": "a", "title": "Falcon", "abstract": "Falcon is a bird of prey that dives fast."}\n')
    with Assistant.open(tmp_path / "index", corpus=papers) as assistant:
        refused = assistant.ask("What is Falcon 2?").text
        assert refused.startswith("The one paper doesn't mention Falcon 2. Did you mean Falcon?")
        assert assistant.ask("What is Falcon?").status == "answered"


@given(st.text(max_size=200))
def test_any_text_has_names_of_its_own(text: str) -> None:
    assert all(name in text for name in names(text))
