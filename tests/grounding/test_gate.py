"""Whether a paper is on the topic and says what is asked, and the words of a refusal."""

from __future__ import annotations

import pytest

from rag_assistant.drafts import Refusal
from rag_assistant.evidence import QuestionWord
from rag_assistant.grounding.gate import has_number, judge, near_best
from rag_assistant.grounding.refusals import refusal_text

from .papers import FIRST, SECOND, found

WORDS = (QuestionWord("memory", 3.0), QuestionWord("overhead", 2.0))


def test_a_paper_that_matches_all_says_it() -> None:
    judgement = judge(WORDS, found(FIRST, matches=(1.0, 1.0), score=0.8))
    assert (judgement.on_topic, judgement.says, judgement.missing, judgement.coverage) == (True, True, (), 1.0)


def test_a_paper_that_matches_nothing_is_not_on_the_topic() -> None:
    judgement = judge(WORDS, found(FIRST, matches=(0.1, 0.1), score=0.1, dense=0.1, cosine=0.1))
    assert (judgement.on_topic, judgement.says) == (False, False)
    assert judgement.missing == ("memory", "overhead")


def test_a_paper_on_the_topic_may_not_say_what_is_asked() -> None:
    judgement = judge(WORDS, found(FIRST, matches=(0.1, 1.0), score=0.6))
    assert (judgement.on_topic, judgement.says, judgement.missing) == (True, False, ("memory",))


def test_a_focused_paper_is_on_the_topic_but_need_not_say() -> None:
    judgement = judge(WORDS, found(FIRST, matches=(0.1, 0.1), score=0.1, dense=0.1, cosine=0.1, focused=True))
    assert (judgement.on_topic, judgement.says) == (True, False)


def test_carried_words_do_not_decide() -> None:
    words = (QuestionWord("cost", 3.0), QuestionWord("memory", 9.0, carried=True))
    judgement = judge(words, found(FIRST, matches=(0.0, 1.0), score=0.6))
    assert (judgement.says, judgement.missing) == (False, ("cost",))
    assert judge(words, found(FIRST, matches=(1.0, 0.0), score=0.6)).says


def test_a_figure_needs_a_number() -> None:
    assert judge(WORDS, found(FIRST, matches=(1.0, 1.0), score=0.8), "number").says
    plain = found(SECOND, matches=(1.0, 1.0), score=0.8)
    without = type(plain)(plain.hit, plain.title_matches, plain.sentences[1:])
    assert judge(WORDS, without).says
    assert not judge(WORDS, without, "number").says


def test_near_best_keeps_what_matches_about_as_well() -> None:
    paper = found(SECOND, matches=(1.0, 1.0))
    assert len(near_best(WORDS, paper)) == len(paper.sentences)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("It saves 30%.", True),
        ("It saves twice as much.", True),
        ("at a rate of $O\\left(\\frac{a}{b}\\right)$", True),
        ("with $\\mathcal{O}(n)$ samples", True),
        ("three datasets", True),
        ("at a rate of O(a)", True),
        ("It saves memory.", False),
        ("due to (some) symmetry", False),
        ("Someone is alone in the phone.", False),
    ],
)
def test_numbers(sentence: str, expected: bool) -> None:
    assert has_number(sentence) is expected


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
            [FIRST.title, "GPUs", f"Nearest: “{SECOND.title}”"],
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
