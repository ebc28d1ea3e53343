"""Misspelt words of a question are read as the papers' words; names, common and foreign words are left alone."""

from __future__ import annotations

import pytest

from rag_assistant import Assistant, Paper
from rag_assistant.retrieval.spelling import Spelling

PAPER = Paper("p", "Byzantine Robustness", "We study aggregation, regularisation and Kolmogorov complexity of clients.")


def corrections(text: str, paper: Paper = PAPER) -> dict[str, str]:
    words = {word.lower().strip(".,") for word in f"{paper.title} {paper.abstract}".split()}
    found = Spelling([paper]).corrections(text, lambda word: word.lower() in words)
    assert not found.offered
    return dict(found.made)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("byzantyne", "byzantine"),
        ("agregation", "aggregation"),
        ("regularizaton", "regularisation"),
        ("Kolmogorow", "kolmogorov"),
        ("complexitty", "complexity"),
    ],
)
def test_a_misspelt_word_is_read_as_the_papers_word(wrong: str, right: str) -> None:
    assert corrections(f"What of {wrong} here?") == {wrong: right}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "aggregation and complexity",
        "What about elephants and the weather?",  # common words of English
        "AGREGATION AgreGation",  # written like names
        "agrégation",
        "agg",  # too short to tell
        "xylophonqqz",  # like nothing in the papers
        "为什么 剪枝",
        "Welche Verfahrensweisen beruecksichtigen byzantinisches Fehlverhalten unterschiedlicher Teilnehmerinnen "
        "innerhalb verteilter Optimierungsverfahren angesichts unausgewogener Datenverteilungen sowie "
        "eingeschraenkter Kommunikationsmoeglichkeiten zwischen beteiligten Rechenknoten ueberhaupt?",
    ],
)
def test_the_rest_is_left_alone(text: str) -> None:
    assert corrections(text) == {}


OPPOSITES = Paper(
    "o", "Supervised learning", "Irreversibly nonconcave training with equivariant, smooth, biased, bounded operations."
)


@pytest.mark.parametrize(
    "word",
    ["unsupervised", "unlearning", "reversible", "retraining", "concave", "nonsmooth", "unbiased", "nonequivariant"],
)
def test_a_word_is_not_misspelt_because_the_papers_have_one_like_it(word: str) -> None:
    assert corrections(f"What is {word} here?", OPPOSITES) == {}


@pytest.mark.parametrize("word", ["unsupervisd", "unbiaesd", "unbouned", "revrsible"])
def test_no_repair_adds_or_drops_a_prefix_that_negates(word: str) -> None:
    found = Spelling([OPPOSITES]).corrections(word, lambda _: False)
    assert not found.made
    assert not any(right.startswith("ir") for right in found.offered.values())


def test_a_word_that_may_be_another_is_offered() -> None:
    found = Spelling([PAPER]).corrections("What of kolmogrovian complexity?", lambda word: word != "kolmogrovian")
    assert not found.made
    assert found.offered == {"kolmogrovian": "kolmogorov"}


def test_each_word_is_told_once_as_written() -> None:
    assert corrections("agregation or Agregation or agregation") == {
        "agregation": "aggregation",
        "Agregation": "aggregation",
    }


def test_the_answer_says_what_was_read(assistant: Assistant) -> None:
    answer = assistant.ask("How is Kolmogorow complexity used?")
    assert [citation.paper.id for citation in answer.citations] == ["goldblum24a"]
    assert answer.notices == ("Read “Kolmogorow” as “kolmogorov”.",)
    assert assistant.ask("What is CTMA?").notices == ()
