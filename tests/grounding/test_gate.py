"""Whether a paper is on the topic and says what is asked, and the words of a refusal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.drafts import Refusal
from rag_assistant.evidence.answerability import THRESHOLD, confidence, judge
from rag_assistant.evidence.base import PaperEvidence, QuestionWord
from rag_assistant.grounding.refusals import refusal_text
from rag_assistant.reader.base import Reading

from .papers import FIRST, SECOND, found

WORDS = (QuestionWord("memory", 3.0), QuestionWord("overhead", 2.0))


def read(paper: PaperEvidence, answers: float, sentence: float | None = None) -> PaperEvidence:
    """The paper as a reader that is this sure reads it."""
    chances = tuple(answers if sentence is None else sentence for _ in paper.sentences)
    return replace(paper, reading=Reading(answers, chances))


def test_a_paper_that_matches_all_says_it_where_nobody_reads() -> None:
    judgement = judge(WORDS, found(FIRST, matches=(1.0, 1.0), score=0.8))
    assert (judgement.on_topic, judgement.says, judgement.missing, judgement.coverage) == (True, True, (), 1.0)
    assert judgement.confidence is None


def test_a_paper_that_matches_nothing_is_not_on_the_topic() -> None:
    judgement = judge(WORDS, found(FIRST, matches=(0.1, 0.1), score=0.1, dense=0.1, cosine=0.1))
    assert (judgement.on_topic, judgement.says) == (False, False)
    assert judgement.missing == ("memory", "overhead")


def test_a_paper_on_the_topic_may_not_say_what_is_asked() -> None:
    judgement = judge(WORDS, read(found(FIRST, matches=(0.1, 1.0), score=0.6), 0.001))
    assert (judgement.on_topic, judgement.says, judgement.missing) == (True, False, ("memory",))


def test_a_paper_that_answers_in_other_words_is_on_the_topic() -> None:
    judgement = judge(WORDS, read(found(FIRST, matches=(0.1, 0.1), score=0.3, dense=0.3, cosine=0.4), 0.999))
    assert (judgement.on_topic, judgement.says) == (True, True)


def test_carried_words_are_not_missing() -> None:
    words = (QuestionWord("cost", 3.0), QuestionWord("memory", 9.0, carried=True))
    judgement = judge(words, read(found(FIRST, matches=(0.0, 0.0), score=0.6), 0.1))
    assert judgement.missing == ("cost",)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(-1, 1))
@settings(deadline=None)
def test_a_surer_reader_never_lowers_the_confidence(
    answers: float, sentence: float, more: float, cosine: float
) -> None:
    paper = found(FIRST, matches=(0.5, 0.5), cosine=cosine)
    before = confidence(read(paper, answers, sentence))
    after = confidence(read(paper, answers + (1 - answers) * more, sentence))
    assert before is not None
    assert after is not None
    assert 0.0 < before <= after + 1e-9 < 1.0 + 1e-9
    assert judge(WORDS, read(paper, answers, sentence)).says is (before >= THRESHOLD)


def test_a_paper_without_sentences_says_nothing() -> None:
    assert judge((), replace(found(FIRST), sentences=(), reading=Reading(0.9, ()))).says is False


@pytest.mark.parametrize(
    ("refusal", "nearest", "considered", "parts"),
    [
        (Refusal("not_in_corpus", ("capital",)), (FIRST,), 19, ["None of the 19", "capital", FIRST.title]),
        (Refusal("not_in_corpus"), (), 1, ["The paper isn't on this"]),
        (Refusal("not_in_corpus"), (), 0, ["No paper passes the filters"]),
        (
            Refusal("not_in_abstracts", ("GPUs",)),
            (FIRST, SECOND),
            19,
            [FIRST.title, f"Nearest: “{SECOND.title}”"],
        ),
        (Refusal("clarify"), (FIRST,), 19, ["can't tell"]),
        (Refusal("clarify", message="Which one?"), (FIRST,), 19, ["Which one?"]),
        (Refusal("not_in_corpus", ("x" * 99,)), (), 3, ["x" * 40]),
    ],
)
def test_refusals(refusal: Refusal, nearest: tuple[object, ...], considered: int, parts: list[str]) -> None:
    text = refusal_text(refusal, nearest, considered)  # type: ignore[arg-type]
    for part in parts:
        assert part in text
    assert ("Nearest" in text) <= (refusal.status != "clarify")
    assert "x" * 41 not in text
