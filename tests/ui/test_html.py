"""Answers as HTML: every view of hand-made answers, parsed, with hostile text in every field."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.html import answer_html, nearest_html, sources_html, to_linked_markdown
from rag_assistant.inline import Mark, inline, stable_prefix
from rag_assistant.types import Answer, Citation, Paper, Quote, QuoteRef, Statement
from tests.browser.payloads import ADDRESSES, PAYLOADS

ABSTRACT = "We study *Byzantine* clients. The rate is $O(1/T)$ and it holds. It costs $5 and $6."
PAPER = Paper("p1", "On *Rates*", ABSTRACT, ("Ada L.", "Bob"), 2024, "ICML 2024", "https://example.org/p1")
_TAGS = set("p br ul ol li h2 h3 h4 a span strong em code mark article header div details summary button".split())
_ATTRIBUTES = set(
    "class href rel target id title tabindex type start aria-label aria-labelledby aria-hidden data-q data-tex"
    " data-display data-do data-paper data-title data-status".split()
)
_VOID = {"br"}


class _Reader(HTMLParser):
    """Everything in some HTML: tags, attributes, text; and whether it is well formed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.hrefs: list[str] = []
        self.text = ""
        self.marked: dict[int, str] = {}
        self.open: list[str] = []
        self.broken = ""
        self._mark: int | None = None
        self.feed(html)
        self.close()
        if self.open:
            self.broken = f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        values = dict(attrs)
        if tag == "a":
            self.hrefs.append(values.get("href") or "")
        if tag == "mark":
            self._mark = int(values["data-q"] or 0)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.broken = f"</{tag}> in {self.open}"
        else:
            self.open.pop()
        if tag == "mark":
            self._mark = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._mark is not None:
            self.marked[self._mark] = self.marked.get(self._mark, "") + data


def _safe(html: str) -> _Reader:
    found = _Reader(html)
    assert not found.broken
    assert found.tags <= _TAGS, found.tags - _TAGS
    assert found.attributes <= _ATTRIBUTES, found.attributes - _ATTRIBUTES
    assert all(href.startswith(("#", "http://", "https://")) for href in found.hrefs), found.hrefs
    return found


def _answer(text: str, statements: tuple[Statement, ...] = (), citations: tuple[Citation, ...] = ()) -> Answer:
    return Answer("What?", "What?", "answered", text, statements, citations)


def _quoted(*sentences: str) -> Answer:
    quotes = tuple(Quote(s, ABSTRACT.index(s), ABSTRACT.index(s) + len(s)) for s in sentences)
    text, statements = "", []
    for sentence in sentences:
        text += " " if text else ""
        ref = QuoteRef(1, ABSTRACT.index(sentence), ABSTRACT.index(sentence) + len(sentence))
        statements.append(Statement(f"{sentence} [1]", len(text), len(text) + len(sentence) + 4, (1,), quotes=(ref,)))
        text += f"{sentence} [1]"
    return _answer(text, tuple(statements), (Citation(1, PAPER, quotes),))


def test_each_marker_points_at_the_quote_of_its_own_sentence() -> None:
    html = answer_html(_quoted("We study *Byzantine* clients.", "It costs $5 and $6."), prefix="t3")
    assert re.findall(r'href="(#t3-s1)" data-q="(\d+)"', html) == [("#t3-s1", "0"), ("#t3-s1", "65")]
    assert 'aria-label="Source 1: On *Rates*"' in html


def test_a_marker_points_at_what_its_statement_rests_on_and_not_at_what_others_do() -> None:
    answer = _quoted("We study *Byzantine* clients.", "It costs $5 and $6.")
    reworded = Statement("They cost $5. [1]", 0, 17, (1,), quotes=answer.statements[1].quotes)
    record = Statement("Ada L. wrote it. [1]", 18, 38, (1,), basis="bibliography")
    plain = Statement("Both. [1]", 39, 48, (1,))
    text = " ".join(one.text for one in (reworded, record, plain))
    html = answer_html(_answer(text, (reworded, record, plain), answer.citations))
    assert re.findall('data-q="([0-9 ]*)"', html) == ["65", "", "0 65"]


def test_the_abstract_highlights_exactly_the_quotes() -> None:
    answer = _quoted("We study *Byzantine* clients.", "The rate is $O(1/T)$ and it holds.")
    found = _safe(sources_html(answer, prefix="t0"))
    assert found.marked == {0: "We study Byzantine clients.", 30: "The rate is $O(1/T)$ and it holds."}
    assert "ICML 2024" in found.text
    assert "2024" not in found.text.replace("ICML 2024", "")


def test_a_year_that_the_venue_lacks_is_shown() -> None:
    paper = Paper("p", "T", "A.", (), 2023, "JMLR")
    assert "JMLR 2023" in _safe(sources_html(_answer("", (), (Citation(1, paper),)))).text


def test_statements_without_support_are_marked_with_the_reason() -> None:
    text = "It is fast. It is blue."
    statements = (
        Statement("It is fast.", 0, 11, (), "uncited", reason="no citation"),
        Statement("It is blue.", 12, 23, (1,), "unsupported", reason="the number 7 is not in the source"),
    )
    found = _safe(answer_html(_answer(text, statements)))
    assert "It is fast. No source It is blue." in found.text
    assert "Not supported: the number 7 is not in the source" in found.text


def test_numbers_in_brackets_that_are_no_markers_stay_text() -> None:
    text = "The interval [0, 1] and [7] of [1]. [1]"
    answer = _answer(text, (Statement(text, 0, len(text), (1,)),), (Citation(1, PAPER),))
    html = answer_html(answer)
    assert "[0, 1]" in html
    assert "and [7]" in html


def test_only_addresses_of_papers_are_links() -> None:
    text = "Code is at https://example.org/a. It is at https://example.org/b."
    cut = text.index(" It is")
    first = Statement(text[:cut], 0, cut, (), "supported")
    statements = (first, Statement(text[cut + 1 :], cut + 1, len(text), (), "uncited"))
    assert _safe(answer_html(_answer(text, statements))).hrefs == ["https://example.org/a"]


def test_links_of_an_abstract_are_shown_by_their_name() -> None:
    paper = Paper("p", "T", "A [model](https://example.org/m) of ![x](http://a.invalid) and [y](javascript:z).")
    found = _safe(sources_html(_answer("", (), (Citation(1, paper),))))
    assert found.hrefs == ["https://example.org/m"]
    assert "A model of ![x](http://a.invalid) and [y](javascript:z)." in found.text


def test_lists_and_paragraphs() -> None:
    html = answer_html(_answer("2 of 3 match:\n- One\n- Two\n\nSo:\n1. A\n2. B\n\n## End\nx\ny"))
    assert html == (
        "<p>2 of 3 match:</p><ul><li>One</li><li>Two</li></ul><p>So:</p>"
        '<ol start="1"><li>A</li><li>B</li></ol><h4>End</h4><p>x<br>y</p>'
    )


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("a $x_i$ b", ["x_i"]),
        ("$$E=mc^2$$", ["E=mc^2"]),
        (r"\(a<b\) and \[c\]", ["a&lt;b", "c"]),
        ("it costs $5 and $6", []),
        ("from $5-$6 to US$7", []),
        ("$5 a token against 6$ today", []),
        (r"\$5 and \$6", []),
        ("$10$ images at $3", ["10"]),
        ("CIFAR-$10$ and $n \\geq 2$", ["10", "n \\geq 2"]),
    ],
)
def test_mathematics_and_money(text: str, tex: list[str]) -> None:
    assert re.findall(r'data-tex="([^"]*)"', inline(text)) == tex


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a *b c* d", "a <em>b c</em> d"),
        ("**so** it", "<strong>so</strong> it"),
        ("a _b_ c_d_e", "a <em>b</em> c_d_e"),
        (r"\emph{so} \textbf{it}", "<em>so</em> <strong>it</strong>"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("a*b*c", "a*b*c"),
        (r"5\% \& \$3", "5% &amp; $3"),
        ("`a*b*`", "<code>a*b*</code>"),
        ("$a*b*c$ *d*", '<span class="math" data-tex="a*b*c" data-display="0">$a*b*c$</span> <em>d</em>'),
    ],
)
def test_emphasis(text: str, html: str) -> None:
    assert inline(text) == html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("we show $\\alp", "we show "),
        ("we show $\\alpha$ and", "we show $\\alpha$ and"),
        ("it costs $5 and", "it costs $5 and"),
        ("so \\(a+", "so "),
        ("a *Byz", "a "),
        ("ends in $", "ends in "),
        ("plain", "plain"),
    ],
)
def test_what_is_shown_while_it_streams(text: str, shown: str) -> None:
    assert stable_prefix(text) == shown


@pytest.mark.parametrize("payload", [*PAYLOADS, *ADDRESSES])
def test_hostile_text_stays_text_in_every_field(payload: str) -> None:
    abstract = f"It holds. {payload} End."
    paper = Paper(payload, payload, abstract, (payload,), 2024, payload, payload)
    text = f"{payload} [1]"
    statements = (Statement(text, 0, len(text), (1,), "unsupported", reason=payload),)
    quote = Quote(abstract[:20], 0, 20)
    answer = Answer(
        payload,
        payload,
        "partial",
        text,
        statements,
        (Citation(1, paper, (quote,)),),
        nearest=(paper,),
        notices=(payload,),
    )
    for html in (
        answer_html(answer),
        sources_html(answer, ask_about=True),
        nearest_html(answer, ask_about=True),
        answer_html(_answer(payload)),
        inline(payload),
    ):
        _safe(html)


@given(st.text(alphabet=st.sampled_from("ab *_$\\()[]{}<>\"'&`1.,:-\n#!/"), max_size=80), st.data())
@settings(deadline=None, max_examples=300)
def test_any_text_is_well_formed_and_marks_hold_their_span(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = _safe(f"<div>{inline(text, marks=[Mark(start, end, 0)])}</div>")
    plain = _Reader(f"<div>{inline(text)}</div>")
    assert found.text == plain.text
    assert found.marked.get(0, "") in plain.text
    _safe(f"<div>{answer_html(_answer(text))}</div>")
    assert text.startswith(stable_prefix(text))


def test_markdown_links_each_marker_to_its_paper() -> None:
    markdown = to_linked_markdown(_quoted("The rate is $O(1/T)$ and it holds."))
    assert "holds. [\\[1\\]](https://example.org/p1)" in markdown
    assert "### References" in markdown
