"""Answers as text, Markdown and BibTeX; and that what papers and models write can't act on the reader's screen."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rag_assistant.render import annotated, byline, clean, one_line, safe_url, to_bibtex, to_markdown, to_text
from rag_assistant.types import Answer, Citation, Paper, Quote, Statement

ABSTRACT = "We study DPO. It converges at $O(1/n)$ when the reward is not realizable."
PAPER = Paper(
    "nika24a",
    "Reward Model Learning vs. Direct Policy Optimization",
    ABSTRACT,
    ("Andi Nika", "Debmalya Mandal", "Adish Singla"),
    2024,
    "ICML 2024",
    "https://proceedings.mlr.press/v235/nika24a.html",
)
SENTENCE = "It converges at $O(1/n)$ when the reward is not realizable. [1]"
ANSWER = Answer(
    question="Does DPO converge?",
    standalone_question="Does DPO converge?",
    status="answered",
    text=SENTENCE,
    statements=(Statement(SENTENCE, 0, len(SENTENCE), (1,)),),
    citations=(Citation(1, PAPER, (Quote(ABSTRACT[14:], 14, len(ABSTRACT)),)),),
)


def _with(text: str, *statements: Statement) -> Answer:
    return Answer(question="q", standalone_question="q", status="answered", text=text, statements=statements)


def test_plain_text() -> None:
    assert to_text(ANSWER) == (
        "It converges at $O(1/n)$ when the reward is not realizable. [1]\n\n"
        "[1] Reward Model Learning vs. Direct Policy Optimization. Andi Nika et al., ICML 2024\n"
        "    https://proceedings.mlr.press/v235/nika24a.html\n"
        "    “It converges at $O(1/n)$ when the reward is not realizable.”\n"
    )


def test_wrapping_keeps_every_word_and_indents_what_belongs_to_a_source() -> None:
    narrow = to_text(ANSWER, width=40)
    assert narrow.split() == to_text(ANSWER).split()
    assert max(len(line) for line in narrow.splitlines() if "https" not in line) <= 40
    source = narrow[narrow.index("\n\n[1] ") + 2 :].splitlines()
    assert all(line.startswith("    ") for line in source[1:])


def test_a_refusal_lists_the_nearest_papers() -> None:
    refusal = Answer("q", "q", "not_in_corpus", "No paper here is about that.", nearest=(PAPER,))
    text = to_text(refusal)
    assert text.startswith("No paper here is about that.\n\nNearest papers:\n- Reward Model")
    assert PAPER.url is not None
    assert PAPER.url in text
    assert "### Nearest papers\n\n- [Reward Model" in to_markdown(refusal)


def test_statements_that_are_not_supported_say_so() -> None:
    text = "A first claim. [1] A second one. And a third."
    first, second, third = (0, 18), (19, 32), (33, 45)
    answer = _with(
        text,
        Statement(text[slice(*first)], *first, (1,)),
        Statement(text[slice(*second)], *second, (), "unsupported", reason="no such number"),
        Statement(text[slice(*third)], *third, (), "uncited"),
    )
    expected = "A first claim. [1] A second one. (not supported: no such number) And a third. (no source)"
    assert annotated(answer) == expected
    assert expected in to_text(answer)
    assert expected in to_markdown(answer)


def test_markdown() -> None:
    markdown = to_markdown(ANSWER)
    assert markdown.startswith("## Does DPO converge?\n\nIt converges at $O(1/n)$")
    assert "### References\n\n1. [Reward Model Learning vs. Direct Policy Optimization](https://proceedings" in markdown
    assert "   > “It converges at $O(1/n)$ when the reward is not realizable.”" in markdown


def test_markdown_of_hostile_text_loads_nothing() -> None:
    hostile = "See ![x](http://evil/p.png) <img src=x onerror=y> and $a<b$."
    paper = Paper("p", "A ](http://evil) title", "x", url="javascript:alert(1)")
    answer = Answer("q", "q", "answered", hostile, citations=(Citation(1, paper),))
    markdown = to_markdown(answer)
    assert not re.search(r"(?<!\\)!\[", markdown)
    assert not re.search(r"(?<!\\)<[a-zA-Z]", markdown)
    assert "$a< b$" in markdown
    assert "javascript" not in markdown + to_text(answer) + to_bibtex([paper])


def test_bylines() -> None:
    assert byline(PAPER) == "Andi Nika et al., ICML 2024"
    assert byline(Paper("p", "t", "a", ("A", "B"), 2023, "NeurIPS")) == "A and B, NeurIPS 2023"
    assert byline(Paper("p", "t", "a", ("A",))) == "A"
    assert byline(Paper("p", "t", "a", (), 2023)) == "2023"
    assert byline(Paper("p", "t", "a")) == ""


def test_bibtex() -> None:
    assert to_bibtex([PAPER]) == (
        "@inproceedings{nika24a,\n"
        "  title = {{Reward Model Learning vs. Direct Policy Optimization}},\n"
        "  author = {Andi Nika and Debmalya Mandal and Adish Singla},\n"
        "  booktitle = {ICML 2024},\n"
        "  year = {2024},\n"
        "  url = {https://proceedings.mlr.press/v235/nika24a.html},\n"
        "}\n"
    )


def test_bibtex_keeps_mathematics_and_escapes_the_rest() -> None:
    entry = to_bibtex([Paper("p", "On $x_1^2$ & 50% of #1_a at ^2 costs $5", "a", ("Team One and Two",))])
    assert r"title = {{On $x_1^2$ \& 50\% of \#1\_a at \^{}2 costs \$5}}" in entry
    assert "author = {{Team One and Two}}" in entry
    assert entry.startswith("@misc{p,")
    assert to_bibtex([Paper("p", "t", "a", venue="Journal of X")]).startswith("@article{p,")


def test_bibtex_keys_are_unique() -> None:
    keys = re.findall(r"@\w+\{(.*),", to_bibtex([Paper(i, "t", "a") for i in ("a b", "a-b", "A B", "é", "论文")]))
    assert keys == ["a-b", "a-b-2", "A-B-3", "e", "paper"]


@given(st.text())
@hypothesis_settings(deadline=None)
def test_bibtex_fields_always_close(title: str) -> None:
    entry = to_bibtex([Paper("p", title, "a", (title,), venue=title, doi=title)])
    depth = 0
    for index, character in enumerate(entry):
        depth += (character == "{") - (character == "}")
        assert depth > 0 or index == 0 or entry[index:].strip("}\n") == "" or index < entry.index("{")
    assert depth == 0


@given(st.text(alphabet=st.characters() | st.sampled_from("\x1b\x9b\r\n\t\x07\u202e\ud800")))
@hypothesis_settings(deadline=None)
def test_clean_leaves_nothing_that_acts(text: str) -> None:
    cleaned = clean(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", cleaned)
    cleaned.encode("utf-8")
    assert clean(cleaned) == cleaned
    assert "\n" not in one_line(text)


@given(st.text(), st.integers(0, 20))
@hypothesis_settings(deadline=None)
def test_clean_works_on_pieces(text: str, cut: int) -> None:
    text = text.replace("\r", "")
    assert clean(text[:cut]) + clean(text[cut:]) == clean(text)


def test_escapes_are_shown_not_obeyed() -> None:
    assert clean("a\x1b[31mred\x07\r\nb\rc") == "a␛[31mred␇\nb␍c"


def test_only_web_addresses_are_links() -> None:
    assert safe_url("https://a.b/c?d=(e)#f") == "https://a.b/c?d=(e)#f"
    for bad in (None, "", "javascript:x", "file:///etc/passwd", "https://a b", "https://a\x1b]8;;", "HTTPS://a\n"):
        assert safe_url(bad) == ""


@given(st.text(max_size=60), st.integers(20, 80))
@hypothesis_settings(deadline=None)
def test_any_text_renders(text: str, width: int) -> None:
    paper = Paper("p", text, text, (text,), 2024, text, text)
    answer = Answer(text, text, "answered", text, citations=(Citation(1, paper, (Quote(text, 0, len(text)),)),))
    for rendered in (to_text(answer), to_text(answer, width=width), to_markdown(answer)):
        assert clean(rendered) == rendered
