"""Whether a paper is on the topic and says what is asked, and the words of a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.drafts import Refusal
from rag_assistant.evidence import QuestionWord
from rag_assistant.grounding.answer_types import counts, has_number, holds, names
from rag_assistant.grounding.confidence import near_best, signals
from rag_assistant.grounding.gate import judge
from rag_assistant.grounding.refusals import refusal_text
from rag_assistant.questions.form import AnswerType

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


@pytest.mark.parametrize(
    ("sentence", "answer_type", "expected"),
    [
        ("Our best reaches $74$% ($+3$% gain).", "share", True),
        ("We collect 300,000 preferences.", "share", False),
        ("Memory shrinks by half.", "share", True),
        ("They only account for a part of it.", "degree", True),
        ("It converges at a rate of O(1/T).", "degree", True),
        ("We study music.", "degree", False),
        ("We study music.", "reason", True),
    ],
)
def test_types(sentence: str, answer_type: AnswerType, expected: bool) -> None:
    assert holds(sentence, answer_type) is expected


@pytest.mark.parametrize(
    ("sentence", "thing", "expected"),
    [
        ("We deploy it to users and collect 300,000 pairwise preferences.", "preferences", True),
        ("We deploy it to users and collect 300,000 pairwise preferences.", "users", False),
        ("We derive two optimal, in the least-squares sense, affine functions.", "functions", True),
        ("With a batch size of 32 it works.", "size", True),
        ("Three raters listened.", "rater", True),
        ("Raters listened.", "raters", False),
    ],
)
def test_a_number_must_stand_with_what_is_counted(sentence: str, thing: str, expected: bool) -> None:
    assert counts(sentence, (thing,)) is expected
    assert names(sentence, thing)


def test_a_number_of_something_else_is_no_count() -> None:
    words = (QuestionWord("wrong", 3.0), QuestionWord("updates", 3.0))
    sure = found(SECOND, matches=(1.0, 1.0), score=0.8)
    assert judge(words, sure, "count", ("updates",)).says
    workers = (QuestionWord("workers", 3.0), QuestionWord("lie", 3.0))
    assert not judge(workers, sure, "count", ("workers",)).says


def test_a_phrase_missing_as_a_whole_weighs_more_than_scattered_words() -> None:
    together = tuple(
        QuestionWord(text, 3.0, phrase=phrase) for text, phrase in (("a", 0), ("b", 1), ("c", 1), ("d", 2))
    )
    apart = tuple(QuestionWord(text, 3.0, phrase=phrase) for phrase, text in enumerate("abcd"))
    paper = found(FIRST, matches=(1.0, 0.3, 0.3, 1.0), score=0.6)
    assert signals(together, paper).gap > signals(apart, paper).gap
    assert judge(together, paper).confidence < judge(apart, paper).confidence


@given(
    st.lists(st.tuples(st.floats(0.1, 8), st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=8),
    st.floats(-1, 1),
)
@settings(deadline=None)
def test_closer_words_never_lower_the_confidence(drawn: list[tuple[float, float, int]], cosine: float) -> None:
    words = tuple(QuestionWord(f"w{at}", weight, phrase=phrase) for at, (weight, _, phrase) in enumerate(drawn))
    matches = tuple(match for _, match, _ in drawn)
    before = judge(words, found(FIRST, matches=matches, cosine=cosine))
    after = judge(words, found(FIRST, matches=tuple(max(match, 0.9) for match in matches), cosine=cosine))
    assert 0.0 < before.confidence < 1.0
    assert after.confidence >= before.confidence - 1e-9
