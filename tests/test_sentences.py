"""Sentences of abstracts: exact offsets, no cut formula or link, and the cases that abstracts are full of."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.bundled import bundled
from rag_assistant.loaders import load_papers
from rag_assistant.sentences import protected_spans, sentence_spans

LENGTH = 200_000


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


# Each list is a text's sentences; the text is these joined by a space.
GOLDEN = {
    "abbreviations": ["We use a model, e.g. BERT, i.e. an encoder, a.k.a., LM.", "Then we stop."],
    "et al. within": ["As shown by Smith et al. (2020) and Lee et al. [3], it works.", "So does Kim et al. 2021."],
    "et al. at the end": ["This extends Smith et al.", "We show that it does."],
    "vs. and figures": ["RLHF vs. DPO is studied.", "See Fig. 2 and Eq. 3.4, cf. Theorem 1, w.r.t. Frobenius norm."],
    "decimals": ["It is 3.5 times faster, at .05.", "It drops to 0.05.", "3D shapes follow."],
    "roman enumeration": ["We show i) that SGD fails, ii) that Adam works, and iii) why.", "Next, we prove it."],
    "numbered enumeration": ["We (1) prove a bound. ", "(2) We test it."],
    "numbers of a list": ["1. We show.", "2. We prove."],
    "numbers after a colon": ["It has three parts: 1. *A decoder.*", "2. *An encoder.*"],
    "TeX fraction": [r"The rate is $O\left(\frac{1}{T}\right)$.", "It is tight."],
    "adjacent formulas": [r"It takes $\sim$$30\%$ less memory.", r"We also save $\sim$$30\%$.", "Good."],
    "stop within mathematics": [r"Let $f(x). G$ be so.", r"And \(a. B\) and \[c. D\] and $$e. F$$ too."],
    "stop at the end of mathematics": ["Then $x = 1.$", "Next we go."],
    "emphasis and exponent": ["We propose **UA**$^2$.", "It *works.*", "**Indeed.**", "Yes."],
    "money": ["It costs $5.", "Ours costs $6.", "We win."],
    "escaped dollars": [r"It costs \$5.", r"Ours costs \$6.", "We win."],
    "links": ["Code is at https://github.com/a/b.git.", "See www.x.org/a.b?c=d.", "It runs."],
    "markdown links": ["See [the page. Here](https://x.y/z.(w)).", "It is up."],
    "LaTeX quotes": ["We call it ``junk DNA.''", "It isn't a `flat' prior.", 'Then "It works."', "So."],
    "unmatched LaTeX quotes": ['There is a ``teacher NN" that agrees.', "We call it a `flat' prior."],
    "brackets": ["It fails (see Sec. 3.)", "We go on.", "(This is an aside.)", "We stop."],
    "no final full stop": ["We begin.", "No final period here"],
    "other stops": ["Does it work?", "Yes!", "It does...", "And more\u2026", "Indeed."],
    "countries": ["In the U.S. the rate is high.", "It is low in the U.S.", "The rate is high."],
    "names in lower case": ["GPT-4 wins.", "iPhone users lose.", "eBay draws."],
    "Greek": ["Accuracy is high (83.1%).", "\u03b1-divergence holds.", "\u03bb grows."],
    "initials": ["This is by J. Smith and K. Lee.", "We follow Smith J.", "The end."],
    "acronyms like abbreviations": [
        "We study image SR.",
        "Residuals help against CO.",
        "Extensive experiments follow.",
    ],
    "abbreviation and word": ["The answer is no.", "We use No. 5.", "Data are i.i.d.", "We use i.i.d. Gaussian noise."],
    "etc.": ["They use data, models, etc.", "Precise bounds are rare.", "Rates, etc. are open."],
    "code": ["Call `a.b. C` first.", "Then stop."],
    "percent": ["It reaches 95.5%.", "We win by 3%."],
}


@pytest.mark.parametrize("sentences", GOLDEN.values(), ids=GOLDEN)
def test_golden(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == [sentence.strip() for sentence in sentences]


def test_lost_spaces_lists_paragraphs_and_scripts_without_spaces() -> None:
    assert split("It improves performance.We show why. See Node.Js and example.In short.") == [
        "It improves performance.",
        "We show why.",
        "See Node.Js and example.",
        "In short.",
    ]
    assert split("Parts:\n- one\n- two\n\nA heading\n\nThen text") == [
        "Parts:",
        "- one",
        "- two",
        "A heading",
        "Then text",
    ]
    assert split("\u65b9\u6cd5\u5f88\u597d\u3002\u4e0b\u4e00\u53e5\u3002") == [
        "\u65b9\u6cd5\u5f88\u597d\u3002",
        "\u4e0b\u4e00\u53e5\u3002",
    ]
    assert split("") == split(" \n\t ") == []


def test_the_bundled_abstracts_have_the_sentences_a_reader_counts() -> None:
    counts = {paper.id: len(sentence_spans(paper.abstract)) for paper in load_papers(bundled("corpus")).papers}
    assert counts == {
        "allouah24a": 10,
        "bartoldson24a": 11,
        "cai24f": 6,
        "cideron24a": 12,
        "dahan24a": 6,
        "gao24s": 6,
        "goldblum24a": 7,
        "im24a": 7,
        "le-bars24a": 5,
        "li24bn": 7,
        "nika24a": 8,
        "pan24e": 10,
        "shumaylov24a": 5,
        "singh24d": 7,
        "tao24b": 6,
        "verma24a": 7,
        "yang24p": 8,
        "yang24u": 8,
        "yin24b": 8,
    }


PIECES = r"""
    We The our model loss e.g. i.e. a.k.a., et al. vs. Fig. Eq. No. etc. U.S. SR. i) ii) (1) (2) 1. 3.14 30% 2.5%.
    $x$ $x.$ $O\left(\frac{1}{T}\right)$ $\sim$$30\%$ $5 $6. \$7 $$y.Z$$ $ $$ \( \) \(a.B\) \[c.D\] \[ \] \
    **UA**$^2$ *so.* https://x.y/z.w www.a.b. [a](http://b.c/(d)) [x ](y ! ? . .. ... … 。 ！ '' `` ` `a.B` ( ) [ ]
    { } " ' ” α 方 😀 performance.We - •
"""
SPACES = st.sampled_from(["", " ", " ", " ", "  ", "\n", "\n\n", "\t", "\u00a0", "\n- ", "\r\n"])
TEXTS = st.lists(
    st.tuples(st.sampled_from([*PIECES.split(), "\u0301", "\u200b", "\ufeff"]) | st.text(max_size=4), SPACES),
    max_size=40,
).map(lambda pairs: "".join(piece + space for piece, space in pairs))


@given(TEXTS | st.text(max_size=200))
@settings(deadline=None, max_examples=500)
def test_spans_tile_the_text_and_cut_nothing_protected(text: str) -> None:
    spans = sentence_spans(text)
    position = 0
    for start, end in spans:
        assert not text[position:start].strip(), "only white space lies between sentences"
        assert position <= start < end
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()
    protected = protected_spans(text)
    assert all(first[1] <= second[0] for first, second in pairwise(protected))
    for inner_start, inner_end in protected:
        assert inner_start < inner_end
        assert not any(inner_start < edge < inner_end for span in spans for edge in span)


@given(TEXTS)
@settings(deadline=None, max_examples=200)
def test_white_space_around_a_text_only_moves_its_spans(text: str) -> None:
    inner = text.strip()
    moved = [(start + 2, end + 2) for start, end in sentence_spans(inner)]
    assert sentence_spans(f"\n {inner}\n ") == moved


REPEATED = [
    *(
        "$",
        "$ ",
        "$a",
        "$a ",
        "$$a",
        "$a\n",
        "\\$",
        "$\\$",
        "$$\\$",
        "$x$. ",
        "$[`\\(.! ",
        "\\",
        "\\(",
        "\\[",
        "\\(\\[",
    ),
    *("[", "[a", "[a](", "[a](b ", "![", "(a)", "`", "`a", "http://", "www.", "www. "),
    *(
        ".",
        ". ",
        "A. ",
        "1. ",
        "a.",
        "al. ",
        "e.g. ",
        "No. ",
        "U.S. ",
        "x. A",
        "1) ",
        "a-",
        "_",
        "*",
        ".'",
        ".) ",
        "。",
    ),
    *("\n", "\n ", " ", "\n-"),
]
LONG = {
    "one word": "a" * LENGTH,
    "one open formula": "$" + "a" * LENGTH,
    "escapes in an open formula": "$" + "\\" * LENGTH,
    "escaped dollars in an open formula": "$" + "\\$" * (LENGTH // 2),
    "open link": "[a](" + "(" * LENGTH,
    "open link of brackets": "[a](" + "(a)" * (LENGTH // 3),
    "dots of an address": "http://" + "." * LENGTH,
    "closing quotes": "." + '"' * LENGTH,
    "opening brackets": "a. " + "(" * LENGTH,
    "wide spaces": ("A." + " " * 2000) * (LENGTH // 2000),
    "wide lines": ("\n" + " " * 2000) * (LENGTH // 2000),
    "formula over wide lines": "$a" + ("\n" + " " * 500 + "a") * (LENGTH // 500),
    **{repr(piece): piece * (LENGTH // len(piece)) for piece in REPEATED},
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    sentence_spans(text)
    # Half a second of processor time where the slowest was measured to take; backtracking would take minutes.
    assert time.process_time() - began < 4
