"""What counts as support: the same words, or the same numbers and most of the words; numbers never pass on likeness."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.assistant import bundled_papers
from rag_assistant.grounding.support import check_abstract
from rag_assistant.sentences import sentence_spans
from rag_assistant.types import Paper

SENTENCES = [paper.abstract[a:b] for paper in bundled_papers() for a, b in sentence_spans(paper.abstract)]


@pytest.mark.parametrize(
    ("statement", "quotes"),
    [
        ("CTMA is robust.", ["We show that CTMA is robust."]),
        ("ctma  is\nrobust.", ["We show that CTMA is robust."]),
        ("It saves 30% of memory.", ["It saves $\\sim$$30\\%$ of memory."]),
        ("It saves 1000 updates.", ["It saves 1,000 updates."]),
        ("It saves 1,000 updates.", ["It saves 1000 updates."]),
        ("The rate is 2.5 in memory.", ["in memory the rate is 2.5."]),
        ("The authors derive minimax bounds for policies.", ["We first derive minimax bounds on policies."]),
        ("Policies need 20 samples and 30 rewards.", ["Policies need 20 samples.", "There are 30 rewards."]),
        ("Here, Tom is outperformed by Ada.", ["Ada outperforms Tom."]),
        ("The drift increases with local steps.", ["Local steps increase the drift."]),
        ("Large tables are replaced with small ones.", ["We replace large tables with small ones."]),
        ("Tom gains no speed, while Ada keeps its memory.", ["While Ada keeps its memory, Tom gains no speed."]),
        ('They say it "saves memory and time".', ["It saves memory and time on large tables, they say."]),
        ("Prior work did not consider drift.", ["Prior work has ignored drift; we consider it."]),
        ("There are three tables: oak, pine and fir.", ["There are three tables of oak, pine and fir."]),
    ],
)
def test_supported(statement: str, quotes: list[str]) -> None:
    assert (check_abstract(statement, quotes).support, check_abstract(statement, quotes).reason) == ("supported", "")


@pytest.mark.parametrize(
    ("statement", "quotes", "reason"),
    [
        ("It saves 40% of memory.", ["It saves 30% of memory."], "40"),
        ("It saves 3.0 of memory.", ["It saves 30 of memory."], "3.0"),
        ("It saves 10,000 updates.", ["It saves 1,000 updates."], "10000"),
        ("It saves memory by 0.5.", ["It saves memory."], "0.5"),
        ("It saves memory.", [], "no words"),
        ("Aliens bake sourdough.", ["It saves memory."], "don't say"),
        ("Here, Tom outperforms Ada.", ["Ada outperforms Tom on every table."], "other way"),
        ("Here, Tom is outperformed by Ada.", ["Tom outperforms Ada on every table."], "other way"),
        ("We replace small tables with large ones.", ["We replace large tables with small ones."], "other way"),
        ("The rate that Tom attains exceeds Ada.", ["The rate that Ada attains exceeds Tom."], "other way"),
        ("Tom keeps its memory.", ["While Ada keeps its memory, Tom gains no speed."], "something else"),
        ("Ada gains 20 points, Tom gains 10.", ["Ada gains 10 points, while Tom gains 20 points."], "something else"),
        ('They say it "saves memory or time".', ["It saves memory and time, they say."], "words of the abstract"),
        ("Oak was planted by Bo.", ["Oak, planted by Al, grows.", "Fir, planted by Bo, falls."], "something else"),
        ("The update is stable.", ["The update is unstable on large tables."], "opposite"),
        ("It is a careful update of tables.", ["It is a careless update of tables."], "opposite"),
        ("Tables are easy to update.", ["Tables are hard to update in memory."], "opposite"),
        ("Tables save no memory.", ["Tables save memory, and updates are not slow."], "deny"),
        ("There are two tables: oak, pine and fir.", ["There are three tables, of two sorts: oak, pine, fir."], "two"),
        ("DPO and RLHF suffer from catastrophic forgetting.", ["DPO and RLHF are compared."], "don't say"),
    ],
)
def test_unsupported(statement: str, quotes: list[str], reason: str) -> None:
    verdict = check_abstract(statement, quotes)
    assert verdict.support == "unsupported"
    assert reason in verdict.reason


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(SENTENCES), st.integers(0, 10**6), st.integers(0, 400))
def test_no_sentence_passes_with_a_number_that_is_not_in_its_source(sentence: str, number: int, at: int) -> None:
    if str(number) in sentence.replace(",", ""):
        return
    at = min(at, len(sentence))
    while at < len(sentence) and not sentence[at].isspace():
        at += 1
    changed = f"{sentence[:at]} {number} {sentence[at:]}"
    verdict = check_abstract(changed, [sentence])
    assert verdict.support == "unsupported"
    assert str(number) in verdict.reason


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(SENTENCES), st.data())
def test_a_part_of_a_sentence_is_supported_by_it(sentence: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(sentence) - 1))
    end = data.draw(st.integers(start + 1, len(sentence)))
    assert check_abstract(sentence[start:end], [sentence]).support == "supported"


@settings(deadline=None)
@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_gets_a_verdict(statement: str, quotes: list[str]) -> None:
    verdict = check_abstract(statement, quotes)
    assert (verdict.support == "supported") == (verdict.reason == "")


@pytest.mark.parametrize("lead", ["Here, ", "In short: ", "According to the paper, "])
def test_no_check_speaks_against_a_sentence_that_repeats_its_source(lead: str) -> None:
    alarms = {lead + sentence: check_abstract(lead + sentence, [sentence]).reason for sentence in SENTENCES}
    assert {statement: reason for statement, reason in alarms.items() if reason} == {}


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(SENTENCES), st.sampled_from(SENTENCES), st.sampled_from(SENTENCES))
def test_other_quotes_change_nothing_about_a_sentence_that_repeats_one(one: str, two: str, three: str) -> None:
    assert check_abstract(f"Here, {one}", [two, one, three]).reason in ("", "the cited words deny this")


def test_a_title_alone_supports_nothing() -> None:
    paper = Paper("t", "Transformers Learn In Context by Gradient Descent", "Many architectures are Turing complete.")
    said = "Transformers learn in context by gradient descent."
    assert check_abstract(said, [paper.abstract], [paper]).support == "unsupported"
    told = "We show that such models do learn in context by gradient descent."
    assert check_abstract(said, [told], [paper]).support == "supported"
