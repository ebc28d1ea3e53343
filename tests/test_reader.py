"""The reader that ships: what it promises of any input, and that questions are read as they should."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant import Assistant
from rag_assistant.errors import PluginError, ReaderError
from rag_assistant.loaders.load import load_papers
from rag_assistant.reader import trained
from rag_assistant.reader.base import Abstract, Reading, Stance
from rag_assistant.reader.tokens import ABSTRACT_TOKENS, QUESTION_TOKENS, question_ids, windows
from rag_assistant.reader.trained import TrainedReader

COATING = Abstract(
    "A coating for ship hulls",
    (
        "Barnacles make ships slow.",
        "We present a coating of silicone and wax that keeps barnacles off for three years.",
        "It was tested on two ferries in the Baltic Sea.",
        "The coating is not toxic to fish.",
    ),
)


READER = TrainedReader()
ROOT = Path(__file__).parent.parent


def logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


@pytest.fixture
def reader() -> TrainedReader:
    return READER


def test_the_answering_sentence_comes_first(reader: TrainedReader) -> None:
    [reading] = reader.read("Where was the coating tested?", [COATING])
    assert max(range(4), key=lambda at: reading.sentences[at]) == 2
    [other] = reader.read("Which activation function does the network use?", [COATING])
    assert other.answers < reading.answers


def test_without_the_answer_it_is_less_sure(reader: TrainedReader) -> None:
    left = Abstract(COATING.title, (*COATING.sentences[:2], COATING.sentences[3]))
    whole, without = reader.read("Where was the coating tested?", [COATING, left])
    assert without.answers < whole.answers


def test_a_true_statement_is_told_from_one_about_something_else(reader: TrainedReader) -> None:
    true, false = reader.judge(
        ["The coating was tried on ferries.", "The network is trained on images of cats."], COATING
    )
    assert true.supported > false.supported


def test_no_sentences_and_no_statements(reader: TrainedReader) -> None:
    assert reader.read("What?", [Abstract("Title", ())]) == [Reading(0.0, ())]
    assert reader.judge([], COATING) == []
    assert reader.judge(["It is."], Abstract("Title", ())) == [Stance(0.0, 0.0, 1.0, ())]


def test_one_by_one_is_the_same_as_together(reader: TrainedReader) -> None:
    statements = ["The coating lasts.", "Barnacles make ships fast, which nobody had thought possible before."]
    together = reader.judge(statements, COATING)
    alone = [reader.judge([statement], COATING)[0] for statement in statements]
    for one, other in zip(together, alone, strict=True):
        assert one.supported == pytest.approx(other.supported, abs=1e-6)
        assert one.sentences == pytest.approx(other.sentences, abs=1e-6)


def test_threads_get_what_one_alone_gets(reader: TrainedReader) -> None:
    abstracts = [Abstract(f"{COATING.title} {number}", COATING.sentences) for number in range(40)]
    alone = reader.read("Where was the coating tested?", abstracts)
    found: list[list[Reading]] = []
    asking = [
        threading.Thread(target=lambda: found.append(reader.read("Where was the coating tested?", abstracts)))
        for _ in range(3)
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert found == [alone] * 3


def test_an_abstract_longer_than_a_window_is_read_to_its_end(reader: TrainedReader) -> None:
    filler = tuple(
        f"Barnacle number {number} was counted by hand on the left side of the ferry." for number in range(90)
    )
    long = Abstract(COATING.title, (*filler, "The coating was tested in the Baltic Sea.", *filler[:5]))
    [reading] = reader.read("In which sea was the coating tested?", [long])
    assert max(range(len(long.sentences)), key=lambda at: reading.sentences[at]) == 90


@given(st.text(max_size=200), st.lists(st.text(max_size=300), max_size=6), st.text(max_size=400))
@settings(deadline=None, max_examples=25)
def test_any_text_can_be_read(title: str, sentences: list[str], question: str) -> None:
    abstract = Abstract(title, tuple(sentences))
    [reading] = READER.read(question, [abstract])
    [stance] = READER.judge([question], abstract)
    assert len(reading.sentences) == len(stance.sentences) == len(sentences) or not sentences
    for chance in (reading.answers, *reading.sentences, stance.supported, stance.contradicted, stance.unsaid):
        assert 0.0 <= chance <= 1.0


@given(st.text(max_size=300), st.lists(st.text(max_size=3000), min_size=1, max_size=12))
@settings(deadline=None)
def test_windows_hold_every_sentence_and_fit(title: str, sentences: list[str]) -> None:
    found = windows(title, sentences)
    assert {number for window in found for number in window.numbers} == set(range(len(sentences)))
    for window in found:
        assert len(window.ids) <= ABSTRACT_TOKENS
        assert all(0 < start < end <= len(window.ids) for start, end in window.spans)
    assert len(question_ids(" ".join(sentences))) <= QUESTION_TOKENS


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained, "MODEL_SHA256", "1" * 64)
    with pytest.raises(ReaderError, match="aren't the ones expected") as caught:
        TrainedReader().read("What?", [COATING])
    assert "pip install" in caught.value.hint


def calibrated(chances: Sequence[float]) -> list[float]:
    """A stance as the reader gives it, of the probabilities that the network itself gives."""
    shifts = zip(chances, trained.STANCE_SHIFT, strict=True)
    weights = [math.exp(trained.STANCE_SCALE * math.log(max(chance, 1e-6)) + shift) for chance, shift in shifts]
    return [weight / sum(weights) for weight in weights]


def test_eight_bits_say_what_the_trained_weights_said(reader: TrainedReader) -> None:
    """Of every bundled abstract; the stored values are those of ``training.export --check``."""
    papers = {paper.id: paper for paper in load_papers(ROOT / "corpus").papers}
    rows = json.loads((Path(__file__).parent / "reader-fp32.json").read_text())
    off: list[float] = []
    for row in rows:
        paper = papers[row["paper"]]
        abstract = Abstract(paper.title, tuple(paper.abstract.split(". ")))
        [reading] = reader.read(row["asked"], [abstract])
        [stance] = reader.judge([row["asked"]], abstract)
        off.append(reading.answers - logistic(row["whole"]))
        off += [one - logistic(other) for one, other in zip(reading.sentences, row["sentences"], strict=True)]
        off += [
            one - other
            for one, other in zip(
                (stance.supported, stance.contradicted, stance.unsaid), calibrated(row["stance"]), strict=True
            )
        ]
    assert len(rows) == 3 * len(papers)
    assert sum(map(abs, off)) / len(off) < 0.02
    assert max(map(abs, off)) < 0.25


def test_the_weights_are_small_enough_to_ship() -> None:
    path = Path(str(files("rag_assistant") / "data" / "reader" / "reader.onnx"))
    assert path.stat().st_size < 30_000_000


class Stubborn:
    """A reader of one's own, to which nothing is ever an answer."""

    name = "stubborn"
    fingerprint = "stubborn:1"

    def read(self, question: str, abstracts: list[Abstract]) -> list[Reading]:
        return [Reading(0.0, tuple(0.0 for _ in abstract.sentences)) for abstract in abstracts]

    def judge(self, statements: list[str], abstract: Abstract) -> list[Stance]:
        return [Stance(0.0, 0.0, 1.0, tuple(0.0 for _ in abstract.sentences)) for _ in statements]


def test_a_reader_of_ones_own_decides() -> None:
    with Assistant.open(reader=Stubborn()) as assistant:
        answer = assistant.ask("What is CTMA?")
    assert answer.status == "not_in_abstracts"
    assert answer.closest is not None
    quote = answer.closest.quote
    assert answer.closest.paper.abstract[quote.start : quote.end] == quote.text
    assert not answer.statements
    assert not answer.citations


def test_without_a_reader_every_answer_says_so() -> None:
    with Assistant.open(reader="none") as assistant:
        answer = assistant.ask("What is CTMA?")
    assert answer.status == "answered"
    assert answer.confidence is None
    assert any("No reader judged" in notice for notice in answer.notices)


def test_what_is_no_reader_is_refused() -> None:
    with pytest.raises(PluginError, match="is no reader"):
        Assistant.open(reader="builtins:dict")
