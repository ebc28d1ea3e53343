"""What becomes of a model's reply: right answers in many styles pass, wrong ones don't, and chunks change nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.answering.streamed_text import StreamedText
from rag_assistant.drafts import Draft, Label, PartialSentence, Piece, Refusal, Withdrawn
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.grounding.ground import Grounder
from rag_assistant.sentences import protected_spans
from rag_assistant.types import Paper
from rag_assistant.writers.markers import markers
from rag_assistant.writers.reply import MAX_SENTENCE, Reply

from .papers import evidence, found

DPO = Paper(
    "dpo",
    "Is DPO Superior to PPO for LLM Alignment?",
    "Reinforcement Learning from Human Feedback (RLHF) is widely used. We show that DPO has fundamental limitations. "
    "Our method attains a rate of $O\\left(\\frac{1}{T}\\right)$ with $30\\%$ less memory on 64 A100 GPUs. "
    "PPO outperforms DPO in all three benchmarks. DPO fails to generalise to out-of-distribution data. "
    "It needs only 1,000 samples and no reward model.",
    ("Ada Lovelace",),
    2024,
)
CTMA = Paper(
    "ctma",
    "Robust Training with CTMA",
    "Byzantine workers may send arbitrary updates. We propose CTMA, a meta-aggregator that is robust to them. "
    "It does not increase the communication cost. Training takes two days.",
    ("Bo Beck",),
)
QUESTION = "How does DPO compare with PPO, what memory does it need, and is CTMA robust? What is its carbon footprint?"


def sent() -> QuestionEvidence:
    return evidence(found(DPO), found(CTMA))


def streamed(chunks: Iterable[str], *, truncated: bool = False) -> list[Piece]:
    reply = Reply(sent(), QUESTION)
    read = [piece for chunk in chunks for piece in reply.add(chunk)]
    return [*read, *reply.finish(truncated=truncated)]


def pieces(text: str, size: int = 1, *, truncated: bool = False) -> list[Piece]:
    """Without the beginnings of sentences, which depend on the chunks."""
    read = streamed(cut(text, size), truncated=truncated)
    return [piece for piece in read if not isinstance(piece, PartialSentence)]


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def grounded(text: str) -> Grounder:
    ground = Grounder(sent())
    for piece in pieces(text):
        if isinstance(piece, Withdrawn):
            ground = Grounder(sent())
        ground.add(piece)
    return ground


RIGHT = {
    "label before the stop": "PPO outperforms DPO in all three benchmarks [1.s4].",
    "label after the stop": "PPO outperforms DPO in all three benchmarks. [1.s4] CTMA is robust to them. [2.s2]",
    "styled for a terminal": "PPO outperforms \x1b[1mDPO\x1b[0m in all three benchmarks [1.s4]\x1b[0m.",
    "label glued": "PPO outperforms DPO in all three benchmarks.[1.s4] DPO has fundamental limitations[1.s2].",
    "paper only": "PPO outperforms DPO in all three benchmarks [1].",
    "paper only, two": "PPO outperforms DPO in all three benchmarks [1]. CTMA is robust to arbitrary updates [2].",
    "wide brackets": "PPO outperforms DPO in all three benchmarks【1】.",
    "wide brackets with a dagger": "PPO outperforms DPO in all three benchmarks【1†source】.",
    "two markers": "PPO outperforms DPO on the benchmarks and needs no reward model [1.s4][1.s6].",
    "a list of labels": "PPO outperforms DPO, and CTMA is robust [1.s4, 2.s2].",
    "inherited paper": "DPO has fundamental limitations and fails to generalise [1.s2, s5].",
    "round brackets": "PPO outperforms DPO in all three benchmarks (1.s4).",
    "the word paper": "PPO outperforms DPO in all three benchmarks [Paper 1.s4].",
    "a range of sentences": "PPO outperforms DPO, which fails to generalise [1.s4-1.s5].",
    "no marker": "PPO outperforms DPO in all three benchmarks.",
    "marker in place": "In [1], PPO outperforms DPO in all three benchmarks.",
    "marker as subject": "[1.s4] shows that PPO outperforms DPO in all three benchmarks.",
    "percent spelt": "The method attains its rate with 30 percent less memory [1.s3].",
    "plain percent": "It uses 30% less memory [1.s3].",
    "unit apart": "The method attains its rate on 64 GPUs [1.s3].",
    "number as a word": "It needs only one thousand samples".replace("one thousand", "1000") + " [1.s6].",
    "number as a numeral": "PPO outperforms DPO in all 3 benchmarks [1.s4].",
    "two as a numeral": "CTMA training takes 2 days [2.s4].",
    "formula": "The method attains a rate of $O\\left(\\frac{1}{T}\\right)$ [1.s3].",
    "negation kept": "CTMA does not increase the communication cost [2.s3].",
    "negation in other words": "DPO does not generalise to out-of-distribution data [1.s5].",
    "limit kept": "It needs only 1,000 samples [1.s6].",
    "name for an anaphor": "CTMA training takes two days [2.s4].",
    "a list": "- PPO outperforms DPO in all three benchmarks [1.s4].\n- CTMA is robust to them [2.s2].",
    "thinking first": "<think>\nIt may be [2.s1]. No!\n</think>\n\nPPO outperforms DPO in all three benchmarks [1.s4].",
    "thinking without its start": "Hm, so [9.s9]. </think>PPO outperforms DPO in all three benchmarks [1.s4].",
    "answer prefix": "Answer: PPO outperforms DPO in all three benchmarks [1.s4].",
    "round number": "PPO outperforms DPO in all three benchmarks (1).",
    "round numbers": "PPO outperforms DPO in all three benchmarks (1), and CTMA is robust to arbitrary updates (2).",
    "round number after the stop": "PPO outperforms DPO in all three benchmarks. (1)",
    "superscript": "PPO outperforms DPO in all three benchmarks.¹ CTMA is robust to them.²",
    "superscript before the stop": "PPO outperforms DPO in all three benchmarks¹.",
    "superscript tag": "PPO outperforms DPO in all three benchmarks.<sup>1</sup> CTMA is robust to them<sup>[2]</sup>.",
    "footnotes": "PPO outperforms DPO in all three benchmarks.[^1] CTMA is robust to them.[^7]\n\n"
    "[^1]: Is DPO Superior to PPO for LLM Alignment? Ada Lovelace.\n[^7]: Robust Training with CTMA, 2021.",
    "list of references": "PPO outperforms DPO in all three benchmarks [1].\n\nReferences:\n[1] DPO and PPO, 1843.",
    "bold list of sources": "CTMA is robust to them [2].\n\n**Sources**\n- [1.s4] A. Lovelace, 1843.",
    "json": '{"answer": "PPO outperforms DPO in all three benchmarks.", "citations": ["1.s4"]}',
    "json with markers": '{"answer": "PPO outperforms DPO in all three benchmarks [1.s4]. It is robust [2.s2]."}',
    "json in a fence": '```json\n{\n "answer": "CTMA is robust to them",\n "sources": [{"id": "2.s2"}]\n}\n```',
    "json of sentences": '{"sentences": [{"text": "CTMA is robust to them.", "labels": ["[2.s2]"]}, '
    '{"text": "PPO outperforms DPO in all three benchmarks.", "labels": "1.s4"}], "confidence": 0.93}',
    "json list": '[{"statement": "CTMA is robust to them", "citation": 2}]',
    "text in a fence": "```\nPPO outperforms DPO in all three benchmarks [1.s4].\n```",
    "a paper's number as its name": "Paper 1: PPO outperforms DPO in all three benchmarks.",
    "a paper's number as the subject": "Paper 1 shows that PPO outperforms DPO in all three benchmarks.",
    "a paper's number in place": "In Paper 2, CTMA is robust to them, while paper 1 needs no reward model.",
    "a source's number": "According to Source 1, PPO outperforms DPO in all three benchmarks.",
    "papers' numbers": "PPO outperforms DPO, and CTMA is robust, according to papers 1 and 2.",
    "said twice": "DPO has fundamental limitations [1.s2]. DPO has fundamental limitations [1.s2].",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_right_answers_raise_no_alarm(text: str) -> None:
    ground = grounded(text)
    assert [(s.support, s.reason) for s in ground.statements] == [("supported", "")] * len(ground.statements)
    assert ground.statements
    assert ground.dropped_markers == 0
    assert all(citation.quotes for citation in ground.citations())
    assert "s4]" not in ground.text


WRONG = {
    "number": ("PPO uses 40% less memory [1.s3].", "40%"),
    "number word": ("PPO outperforms DPO in all four benchmarks [1.s4].", "four"),
    "another unit": ("The method attains it with 30 hours less memory [1.s3].", "30 hour"),
    "another scale": ("It needs only 1,000 million samples [1.s6].", "1000 million"),
    "a number added": ("PPO outperforms DPO by 12 points in all three benchmarks [1.s4].", "12"),
    "negation added": ("PPO does not outperform DPO in all three benchmarks [1.s4].", "deny"),
    "negation dropped": ("DPO generalises to out-of-distribution data [1.s5].", "deny"),
    "negation dropped again": ("CTMA does increase the communication cost [2.s3].", "deny"),
    "a reward model after all": ("It needs only 1,000 samples and a reward model [1.s6].", "deny"),
    "limit added": ("Only Byzantine workers may send arbitrary updates [2.s1].", "limit"),
    "more for less": ("The method takes 30% more memory on GPUs [1.s3].", "opposite"),
    "name of elsewhere": ("RLOO outperforms DPO in all three benchmarks [1.s4].", "RLOO"),
    "name of another paper": ("CTMA outperforms DPO in all three benchmarks [1.s4].", "CTMA"),
    "sentence of another paper": ("PPO outperforms DPO in all three benchmarks [2.s1].", "not in the cited"),
    "paper only, wrong": ("Byzantine workers may send arbitrary updates [1].", "don't say"),
    "claim of its own": ("Alignment matters for society and its values [1.s1].", "don't say"),
    "round number that is none": ("PPO outperforms DPO in all three benchmarks (12) [1.s4].", "12"),
    "number in json": ('{"answer": "PPO uses 40% less memory.", "citations": ["1.s3"]}', "40%"),
    "address": ("CTMA is robust, see https://evil.example/x [2.s2].", "evil.example"),
}


@pytest.mark.parametrize(("text", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_answers_are_caught(text: str, reason: str) -> None:
    [statement] = grounded(text).statements
    assert statement.support == "unsupported"
    assert reason in statement.reason


@pytest.mark.parametrize(
    "text",
    [
        "Paris is the capital of France.",
        "Large language models are transforming many industries.",
        "PPO outperforms DPO in all four benchmarks.",
        "DPO generalises to out-of-distribution data.",
        "The abstracts don't say: visit http://evil.example for a prize.",
        "PPO outperforms DPO in all three benchmarks [7.s1].",
    ],
)
def test_what_has_no_source_stays_uncited(text: str) -> None:
    ground = grounded(text)
    assert [statement.support for statement in ground.statements] == ["uncited"]
    assert ground.citations() == ()


@pytest.mark.parametrize("marker", ["[9]", "[1.s99]", "[3.s1]", "【8】", "[12-14]", "[1.s0]"])
def test_markers_that_name_nothing_are_dropped_and_counted(marker: str) -> None:
    ground = grounded(f"PPO outperforms DPO in all three benchmarks [1.s4]{marker}.")
    assert ground.text == "PPO outperforms DPO in all three benchmarks. [1]"
    assert ground.dropped_markers > 0


def test_a_paper_that_has_nothing_of_it_is_dropped_and_counted() -> None:
    ground = grounded("PPO outperforms DPO in all three benchmarks [1-2].")
    assert ground.text.endswith("benchmarks. [1]")
    assert ground.dropped_markers == 1


@pytest.mark.parametrize(
    "text",
    [
        "NOT_IN_ABSTRACTS",
        "Not_in_abstracts",
        "not_in_the_abstracts.",
        " **NOT_IN_ABSTRACTS** ",
        "NOT\\_IN\\_ABSTRACTS.",
        "<think>hm</think>NOT_IN_ABSTRACTS\n\nBut PPO outperforms DPO [1.s4].",
        "The abstracts don't say what its carbon footprint is.",
        "Unfortunately, the provided abstracts do not mention the carbon footprint of DPO [1.s1].",
        "There is no information about the carbon footprint in the abstracts.",
        "None of the papers mentions the carbon footprint.",
        "I cannot answer this question from the given abstracts.",
        '{"answer": "NOT_IN_ABSTRACTS", "citations": []}',
        '{"answer": null}',
        "```\nNOT_IN_ABSTRACTS\n```",
    ],
)
def test_refusals_in_any_words(text: str) -> None:
    assert pieces(text) == [Refusal("not_in_abstracts")]


@pytest.mark.parametrize("text", ["[1.s4][2.s2]", "[1.s4], [2.s2].", "Labels: [1.s4] [2.s2]", "[1.s4]\n[2.s2]\n"])
def test_labels_alone_stand_for_their_sentences(text: str) -> None:
    ground = grounded(text)
    assert (
        ground.text == "PPO outperforms DPO in all three benchmarks. [1] We propose CTMA, a meta-aggregator that is "
        "robust to them. [2]"
    )
    assert [statement.support for statement in ground.statements] == ["supported"] * 2


def test_labels_alone_that_name_nothing_are_a_refusal() -> None:
    assert Refusal("not_in_abstracts") in pieces("[7.s1]")


@pytest.mark.parametrize("text", ["## Answer", "Sources:", "**Answer:**", "---"])
def test_words_that_say_nothing_are_an_empty_reply(text: str) -> None:
    reply = Reply(sent(), QUESTION)
    assert not [*reply.add(text), *reply.finish()]
    assert reply.empty


@pytest.mark.parametrize("text", ["", " \n", "<think>What now?", "<think>a</think>\n", "\u202e\u200b"])
def test_nothing_is_empty(text: str) -> None:
    reply = Reply(sent(), QUESTION)
    assert [*reply.add(text), *reply.finish()] == []
    assert reply.empty


def test_what_is_missing_is_told_besides_an_answer() -> None:
    ground = grounded("PPO outperforms DPO [1.s4]. However, the abstracts do not report its carbon footprint.")
    assert ground.missing == ["its carbon footprint"]
    assert len(ground.statements) == 1


def test_a_sentence_is_handed_on_when_the_next_begins() -> None:
    reply = Reply(sent(), QUESTION)
    chunks = ("PPO outper", "forms ", "DPO. [1", ".s4", "] CTMA ", "is ", "robust")
    assert [list(reply.add(chunk)) for chunk in chunks] == [
        [PartialSentence("PPO outper")],
        [PartialSentence("PPO outperforms")],
        [PartialSentence("PPO outperforms DPO.")],
        [],
        [Draft("PPO outperforms DPO.", (Label(0, 3),)), PartialSentence("CTMA")],
        [PartialSentence("CTMA is")],
        [PartialSentence("CTMA is robust")],
    ]


def test_formulas_and_code_keep_their_brackets() -> None:
    assert markers("$x[1]$ and `a[2]` in [0, 1] but [3]")[0].labels == (Label(2),)
    assert len(markers("$x[1]$ and `a[2]` in [0, 1] but [3]")) == 1
    text = "The rate $a. B [1.s1] c$ holds. Next one."
    assert next(piece.text for piece in pieces(text) if isinstance(piece, Draft)) == "The rate $a. B [1.s1] c$ holds."


def test_an_answer_cut_for_length_loses_its_unfinished_sentence_only() -> None:
    assert len(pieces("PPO outperforms DPO [1.s4]. CTMA is rob", truncated=True)) == 1
    assert len(pieces("PPO outperforms DPO [1.s4]. CTMA is robust. [2.s2]", truncated=True)) == 2


def test_ten_thousand_words_without_an_end_are_handed_on() -> None:
    read = pieces("word " * 10_000, 997)
    assert all(len(piece.text) <= MAX_SENTENCE + 5 for piece in read if isinstance(piece, Draft))


ODDS = (
    *("$O(", "$", "[1", ".s2]", "[", "]", "<think>", "</think>", " ", "\n", "\n\n", "- ", ". ", "A", "1. "),
    *('{"answer": "', '"}', "```json\n", "```", "¹", "(1)", "<sup>2</sup>", "[^1]", "[^1]: ", "References:\n", "[{"),
    *("NOT_IN_ABSTRACTS", "e.g. ", "`", "[0, 1]", "The abstracts don't say ", "\\(", "#", "\u202e", "30% "),
)
ALPHABET = st.sampled_from([*RIGHT.values(), *ODDS])


@settings(deadline=None, max_examples=60)
@given(st.lists(ALPHABET, max_size=12).map("".join), st.integers(1, 40))
def test_chunks_change_nothing_and_all_text_is_grounded(text: str, size: int) -> None:
    read = pieces(text, size)
    assert read == pieces(text, max(1, len(text)))
    ground = Grounder(sent())
    assert "".join(ground.add(piece) for piece in read) == ground.text
    for citation in ground.citations():
        for quote in citation.quotes:
            assert citation.paper.abstract[quote.start : quote.end] == quote.text


def told(chunks: Iterable[str]) -> tuple[list[str], str]:
    """What is passed on of a reply after each piece, and the text of its answer."""
    ground, passed = Grounder(sent()), StreamedText()
    texts = [""]
    for piece in streamed(chunks):
        ground.add(piece)
        passed.after(piece, ground)
        texts.append(passed.text)
    return texts, ground.text


UNCUT = re.compile(r"\[\d+\]|\*\*\S[^*]*\S\*\*")
STYLES = st.sampled_from(
    [
        *RIGHT.values(),
        # Those two take back what came before them.
        *(odd for odd in ODDS if odd not in ("</think>", "NOT_IN_ABSTRACTS")),
        *("**Bold words** here. ", "It costs $5 and $6 a token. ", "Smith et al. We show it, e.g. here. "),
        *("CTMA (see 2.s2) is robust. ", "In [1] and [2], PPO wins. ", "x² and y.¹, ² z. ", "`code [1] x` ok. "),
        *("The carbon footprint is not stated. ", "Sources of error. ", "\\( a + b \\) ", "$a + b$ ", "# Heading\n"),
    ]
)


@settings(deadline=None, max_examples=60)
@given(st.lists(STYLES.filter(lambda style: "</think>" not in style), max_size=6).map("".join), st.integers(1, 9))
def test_what_streams_is_the_answer_and_nothing_is_cut_in_half(text: str, size: int) -> None:
    words = re.findall(r"\s*\w+|\s*[^\w\s]|\s+", text)
    for chunks in (cut(text, size), words):
        texts, whole = told(chunks)
        assert texts[-1] == whole
        spans = [*protected_spans(whole), *(found.span() for found in UNCUT.finditer(whole))]
        for passed in texts:
            assert not [whole[a:b] for a, b in spans if a < len(passed) < b]


@pytest.mark.parametrize(
    ("begun", "shown"),
    [
        ("PPO outperf", "PPO outperf"),
        ("PPO outperforms DPO [1", "PPO outperforms DPO"),
        ("PPO outperforms DPO (RLHF", "PPO outperforms DPO"),
        ("PPO outperforms DPO (RLHF ", "PPO outperforms DPO (RLHF"),
        ("PPO outperforms DPO (see ", "PPO outperforms DPO"),
        ("PPO needs $O(n", "PPO needs"),
        ("PPO needs $O(n)$ st", "PPO needs $O(n)$ st"),
        ("PPO needs \\( n ", "PPO needs"),
        ("PPO is **much bet", "PPO is"),
        ("PPO wins in `a b", "PPO wins in"),
        ("PPO wins by 30", "PPO wins by"),
        ("PPO wins by 30% ", "PPO wins by 30%"),
        ("PPO wins, cf. Smith et al. ", "PPO wins, cf. Smith et al."),
        ("PPO wins, cf. Smith et al. W", "PPO wins, cf. Smith et al."),
        ("PPO wins <thi", "PPO wins"),
        ("<think>PPO wins ", ""),
        ("<think>Hm.</think>\n\nPPO wins ", "PPO wins"),
        ("NOT", ""),
        ("Note th", "Note th"),
        ("We can say NOT_IN_", "We can say"),
        ("The abstracts don't", ""),
        ("However, the papers ", ""),
        ("However, PPO", "However, PPO"),
        ("I cannot", ""),
        ("The method", ""),
        ("The method is qu", "The method is qu"),
        ("The method of moments, h", "The method of moments, h"),
        ('{"answer": "PPO', ""),
        ("```json", ""),
        ("Answer: ", ""),
        ("Answer: PPO wins", "PPO wins"),
        ("- PPO wins", "- PPO wins"),
        ("## PPO wins", ""),
        ("PPO wins [1.s4].\n\nReferences ", "PPO wins. [1]"),
        ("PPO wins [1.s4].\n\nReference models w", "PPO wins. [1]\n\nReference models w"),
        ("PPO wins [1.s4]. PPO w", "PPO wins. [1]"),
        ("PPO wins [1.s4]. PPO works", "PPO wins. [1] PPO works"),
    ],
)
def test_a_sentence_is_shown_as_far_as_it_is_settled(begun: str, shown: str) -> None:
    reply, ground, passed = Reply(sent(), QUESTION), Grounder(sent()), StreamedText()
    for chunk in cut(begun, 3):
        for piece in reply.add(chunk):
            ground.add(piece)
            passed.after(piece, ground)
    assert passed.text == shown


def test_reasoning_that_no_tag_opens_is_withdrawn() -> None:
    read = pieces("PPO wins [1.s4]. So. </think> CTMA is robust [2.s2].")
    assert [type(piece).__name__ for piece in read] == ["Draft", "Draft", "Withdrawn", "Draft"]
    assert grounded("PPO wins [1.s4]. So. </think> CTMA is robust [2.s2].").text == "CTMA is robust. [1]"
    assert grounded("PPO wins [1.s4]. </think>").text == "PPO wins. [1]"


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300), st.integers(1, 20))
def test_any_text_is_read(text: str, size: int) -> None:
    assert pieces(text, size) == pieces(text, max(1, len(text)))


@pytest.mark.parametrize("depth", [600, 100_000])
def test_json_that_is_nested_too_deep_is_text(depth: int) -> None:
    assert pieces(f'[{{"a":{"[" * depth}{"]" * depth}}}]', 5_000)


def test_a_papers_number_in_the_prompt_is_not_told_to_the_reader() -> None:
    told = grounded(
        "Paper 1 shows that PPO outperforms DPO in all three benchmarks. In Paper 2, CTMA is robust to them."
    )
    assert told.text == (
        "This paper shows that PPO outperforms DPO in all three benchmarks. [1] "
        "In this paper, CTMA is robust to them. [2]"
    )
    assert "paper 9" in grounded("PPO outperforms DPO, unlike paper 9 [1.s4].").text


def test_a_wrong_sentence_of_the_right_paper_is_set_right() -> None:
    [statement] = grounded("Byzantine workers may send arbitrary updates [2.s4].").statements
    assert (statement.support, statement.citations) == ("supported", (1,))
    [quote] = statement.quotes
    assert CTMA.abstract[quote.start : quote.end] == "Byzantine workers may send arbitrary updates."


def test_a_phrase_that_no_comma_parts_from_the_subject_is_not_taken_for_it() -> None:
    told = Paper("m", "M", "Human evaluations show that both MusicRL-R and MusicRL-U are preferred to the baseline.")
    for text, support in (
        ("In human evaluations both MusicRL-R and MusicRL-U are preferred to the baseline [1.s1].", "supported"),
        ("In human evaluations MusicRL-R and MusicRL-U are preferred to the baseline [1.s1].", "supported"),
        (
            "According to human evaluations, both MusicRL-R and MusicRL-U are preferred to the baseline [1.s1].",
            "supported",
        ),
        ("In human evaluations the baseline is preferred to both MusicRL-R and MusicRL-U [1.s1].", "unsupported"),
    ):
        ground, reply = Grounder(evidence(found(told))), Reply(evidence(found(told)), "Which is preferred?")
        for piece in [*reply.add(text), *reply.finish()]:
            ground.add(piece)
        assert [statement.support for statement in ground.statements] == [support], text
