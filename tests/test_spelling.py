"""Misspelt words of a question are read as the papers' words; names, common and foreign words are left alone."""

from __future__ import annotations

import pytest

from rag_assistant import Assistant, Paper
from rag_assistant.retrieval.spelling import Spelling

PAPER = Paper("p", "Byzantine Robustness", "We study aggregation, regularisation and Kolmogorov complexity of clients.")
WORDS = {"byzantine", "robustness", "study", "aggregation", "regularisation", "kolmogorov", "complexity", "clients"}


def corrections(text: str) -> dict[str, str]:
    return Spelling([PAPER]).corrections(text, lambda word: word.lower() in WORDS)


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
