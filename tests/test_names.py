"""A name that no paper has is said not to be there, with the near name; what is only spelt otherwise is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assistant import Assistant
from rag_assistant.grounding.support import check_abstract
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


@pytest.fixture(scope="module")
def spelt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    """Papers of which each joins its names with a number in its own way."""
    folder = tmp_path_factory.mktemp("spelt")
    papers = {
        "hyphen": "Robust averaging is validated on the FEMNIST and CIFAR-10 image tasks. It is nearly optimal.",
        "joined": "We compare GPT4 with Llama-2 on reasoning. GPT4 is better by 12 points.",
        "formula": "A codec is learnt with ResNet-$50$ features. It saves 30% of the bits on Kodak.",
        "other": "We generate music from text. Users prefer our samples in 70% of cases.",
    }
    records = [{"id": name, "title": f"A study, {name}", "abstract": text} for name, text in papers.items()]
    (folder / "papers.jsonl").write_text("\n".join(map(json.dumps, records)))
    with Assistant.open(folder / "index", corpus=folder / "papers.jsonl") as assistant:
        yield assistant


@pytest.mark.parametrize(
    ("paper", "spellings", "question"),
    [
        ("hyphen", ("CIFAR-10", "CIFAR10", "CIFAR 10", "cifar10"), "Is averaging robust on {}?"),
        ("hyphen", ("CIFAR-10", "CIFAR10", "CIFAR 10"), "Which papers use {}?"),
        ("joined", ("GPT4", "GPT-4", "GPT 4"), "Is {} better than Llama-2?"),
        ("joined", ("GPT4", "GPT-4", "GPT 4"), "Who compares {}?"),
        ("formula", ("ResNet-50", "ResNet50"), "Which papers use {}?"),
        ("formula", ("ResNet-50", "ResNet50"), "What is {}?"),
    ],
)
def test_a_name_with_a_number_is_the_same_however_it_is_joined(
    spelt: Assistant, paper: str, spellings: tuple[str, ...], question: str
) -> None:
    answers = [spelt.ask(question.format(name)) for name in spellings]
    assert {(answer.status, answer.text, answer.notices) for answer in answers} == {("answered", answers[0].text, ())}
    for name in spellings:
        first, second, *_ = spelt.search(name)
        assert first.paper.id == paper
        assert first.coverage == 1.0
        assert second.coverage is not None
        assert second.coverage < 0.5


@pytest.mark.parametrize("question", ["What is CIFAR100?", "What is CIFAR-100?", "What is GPT-3?", "What is GPT3?"])
def test_another_number_is_another_name(spelt: Assistant, question: str) -> None:
    answer = spelt.ask(question)
    assert answer.status == "not_in_corpus"
    assert answer.text.startswith("None of the 4 papers mentions")


def test_a_claim_may_join_a_name_in_its_own_way(spelt: Assistant) -> None:
    plain, other = (spelt.verify(f"{name} is better by 12 points.") for name in ("GPT4", "GPT-4"))
    assert (plain.verdict, plain.confidence) == (other.verdict, other.confidence) == ("supported", 1.0)


@pytest.mark.parametrize("told", ["CIFAR-10", "CIFAR10", "CIFAR 10", "CIFAR-$10$"])
@pytest.mark.parametrize("said", ["CIFAR-10", "CIFAR10", "CIFAR 10"])
def test_a_statement_may_join_a_name_in_its_own_way(told: str, said: str) -> None:
    quote = f"We validate that robust averaging works on the {told} image classification task."
    assert check_abstract(f"Averaging is validated on the {said} image classification task.", [quote]).support == (
        "supported"
    )
    other = check_abstract(f"Averaging is validated on the {said}0 image classification task.", [quote])
    assert other.support == "unsupported"


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
