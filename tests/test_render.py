"""Answers as text, Markdown and BibTeX; and that what papers and models write can't act on the reader's screen."""

from __future__ import annotations

import re

import bibtexparser
import pytest
from bibtexparser.middlewares import LatexDecodingMiddleware, SeparateCoAuthors
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


def _read(bibtex: str) -> list[dict[str, str]]:
    """The fields of the entries, decoded by another library, on one line and without braces that only group."""
    library = bibtexparser.parse_string(bibtex, append_middleware=[LatexDecodingMiddleware()])
    assert not library.failed_blocks
    return [
        {"key": entry.key} | {field.key: " ".join(field.value.replace("ˆ", "^").split()) for field in entry.fields}
        for entry in library.entries
    ]


def _title(title: str) -> str:
    return to_bibtex([Paper("p", title, "a")]).split("  title = {{", 1)[1].removesuffix("}},\n}\n")


def _author(name: str) -> str:
    return to_bibtex([Paper("p", "t", "a", (name,))]).split("  author = {", 1)[1].removesuffix("},\n}\n")


def test_kinds_of_bibtex_entries() -> None:
    assert to_bibtex([Paper("p", "t", "a")]).startswith("@misc{p,")
    assert to_bibtex([Paper("p", "t", "a", venue="Journal of X")]).startswith("@article{p,")


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("On $x_1^2$ & 50% of #1_a", r"On $x_1^2$ \& 50\% of \#1\_a"),
        ("Bounds \\(O(n^2)\\), \\[x\\] and $$\\frac12$$", r"Bounds \(O(n^2)\), \[x\] and $$\frac12$$"),
        ("$5 models and $10 GPUs", r"\$5 models and \$10 GPUs"),
        ("$5 a token against 6$", r"\$5 a token against 6\$"),
        ("A lone $ and \\$4", r"A lone \$ and \$4"),
        ("~x^2 <i>", r"{\textasciitilde}x{\textasciicircum}2 {\ensuremath{<}}i{\ensuremath{>}}"),
        ("{curly} sets", r"\{curly\} sets"),
        ("{BERT}: {B}ayesian {GPT-4} in {3D}", "{BERT}: {B}ayesian {GPT-4} in {3D}"),
        ("A set {X} of {0,1} and {A,B}", r"A set \{X\} of \{0,1\} and \{A,B\}"),
        ("S{\\o}ren, {\\L}, {\\aa}, {\\ss} {\\foo}", r"S{\o}ren, {\L}, {\r{a}}, {\ss} \{{\textbackslash}foo\}"),
        ("Nguyễn ặ ậ, ơ ả 🙂", r"Nguy{\~{\^e}}n {\d{\u{a}}} {\d{\^a}}, ơ ả 🙂"),
        (
            "a − b ∆ Δ† f′",
            r"a {\ensuremath{-}} b {\ensuremath{\Delta}} {\ensuremath{\Delta}}{\ensuremath{\dagger}} "
            r"f{\ensuremath{^\prime}}",
        ),
        ("$x − y^†$", r"$x - y^{\dagger}$"),
        ("open {{ and }", r"open {\ensuremath{\lbrace}}{\ensuremath{\lbrace}} and {\ensuremath{\rbrace}}"),
        ("The \\alpha, \\'e, {\\v{c}} and \\% in TeX", r"The {\ensuremath{\alpha}}, {\'e}, {\v{c}} and \% in TeX"),
        ("\\emph{An A&B} test", r"\emph{An A\&B} test"),
        ("\\input{x} \\", r"{\textbackslash}input\{x\} {\textbackslash}"),
        (
            "Unicode → α café ße\u0301 ﬁne",
            r"Unicode {\ensuremath{\rightarrow}} {\ensuremath{\alpha}} caf{\'e} {\ss}{\'e} fine",
        ),
        ("$α$-stable", r"${\alpha}$-stable"),
        ("Μετα-ανάλυση, 中文", "Μετα-ανάλυση, 中文"),
    ],
)
def test_bibtex_of_a_title(title: str, written: str) -> None:
    assert _title(title) == written


@pytest.mark.parametrize(
    "formula",
    [
        "$\\mathcal{O}(\\sqrt{T})$", "$\\bf{\\Phi}_\\textrm{Flow}$", "${\\rm E}(3)$", "$^2$", "$x'_2{}^3$",
        "$\\left(\\frac{a}{b}\\right]^*$", "$\\hat\\beta \\not= \\mathbb R$", "$\\{x \\le 1\\}$", "$\\sqrt[3]{x}$",
    ],
)  # fmt: skip
def test_bibtex_keeps_formulas_that_compile(formula: str) -> None:
    assert _title(formula) == formula


@pytest.mark.parametrize(
    "formula",
    [
        "$x^a^b$",
        "$x_$",
        "$\\frac{a}$",
        "$\\foo$",
        "$\\left(x$",
        "$a & b$",
        "$x^\\log$",
        "$\\input{x}$",
        "$\\{x$",
        "$50%$",
    ],
)
def test_bibtex_shows_formulas_that_do_not_compile_as_text(formula: str) -> None:
    assert _title(formula).startswith("\\$")
    assert _read(to_bibtex([Paper("p", formula, "a")]))[0]["title"] == formula.replace("\\{", "{")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Ludwig van Beethoven", "Ludwig van Beethoven"),
        ("O’Neil, Ann", "O'Neil, Ann"),
        ("King, Jr., Martin Luther", "King, Jr., Martin Luther"),
        ("Martin Luther King, Jr.", "Martin Luther {King, Jr.}"),
        ("John Smith III", "John {Smith III}"),
        ("Doe, John & Sons", r"Doe, John \& Sons"),
        ("Acme, Inc.", "{Acme, Inc.}"),
        ("Lab for A, B, C, D", "{Lab for A, B, C, D}"),
        ("Doe,", "{Doe,}"),
        ("Team One and Two", "{Team One and Two}"),
        ("others", "{others}"),
        ("S{\\o}ren {\\AA}s", r"S{\o}ren {\r{A}}s"),
        ("{Open AI} Team", "{Open AI} Team"),
        ("{Open", r"{\ensuremath{\lbrace}}Open"),
        ("Zhang “Atlas” Li [X]", "Zhang ``Atlas'' Li {[}X{]}"),
        ("Petar Veli\\v{c}kovi\\'{c}", r"Petar Veli{\v{c}}kovi{\'c}"),
        ("Łukasz Żak", r"{\L}ukasz {\.Z}ak"),
        ("$5 #1_a 50% ~x", r"\$5 \#1\_a 50\% {\textasciitilde}x"),
        ("wang", "wang"),
    ],
)
def test_bibtex_of_a_name(name: str, written: str) -> None:
    assert _author(name) == written


def test_bibtex_leaves_out_names_of_nothing_and_what_only_acts() -> None:
    entry = to_bibtex([Paper("p", "A\x1b[31m title\nof two \u202elines", "a", ("\u202aAnn Bee\u202c", "\u200f"))])
    assert "title = {{A[31m title of two lines}}" in entry
    assert "author = {Ann Bee}," in entry


def test_bibtex_addresses_stay_verbatim() -> None:
    url, doi = "https://a.b/c%20d_e~f#g?h=1&i=é", "10.1002/(SICI)1_2%3C3{:4<5>"
    entry = to_bibtex([Paper("p", "t", "a", url=url, doi=doi)])
    assert "url = {https://a.b/c%20d_e~f#g?h=1&i=%C3%A9}" in entry
    assert "doi = {10.1002/(SICI)1_2%3C3%7B:4<5>}" in entry


def test_bibtex_keys_are_unique_and_ids_that_are_keys_keep_theirs() -> None:
    ids = ("b5,x}y", "b5-x-y", "B5-X-Y", "é", "论文", "#{%", "0", "cs/9901001v1", "doi:10.1/a_b", "sp ace\\")
    entries = _read(to_bibtex([Paper(paper_id, "t", "a") for paper_id in ids]))
    assert [entry["key"] for entry in entries] == [
        "b5-x-y-3", "b5-x-y", "B5-X-Y-2", "e", "paper", "paper-2", "paper-3", "cs/9901001v1", "doi:10.1/a_b", "sp-ace",
    ]  # fmt: skip


_HARD = st.text(st.characters(codec="ascii") | st.sampled_from("\\{}$&%#_^~éßα→中\u0301“\u202e"), min_size=1)


@given(_HARD, st.lists(_HARD, max_size=3), _HARD)
@hypothesis_settings(deadline=None)
def test_bibtex_of_anything_can_be_read(title: str, names: list[str], rest: str) -> None:
    papers = [Paper(rest, title, "a", tuple(names), 2024, rest, f"https://a.b/{rest}", rest), Paper(rest, "Last", "a")]
    bibtex = to_bibtex(papers)
    entries = _read(bibtex)
    assert len({entry["key"].lower() for entry in entries}) == 2
    assert entries[1]["title"] == "Last"
    assert not re.search(r"(?<!\\)[%#&]|\\(?:input|write|def|end|csname)(?![A-Za-z])", _title(f"T{title}"))


# Without TeX that stands for something else, as "\alpha" and "{BERT}" do, and what TeX sets as one ("--" is a dash).
_PLAIN = st.text(st.sampled_from("abc XYZ 019 {}$&%#_^~<>|.,:;!?()[]/+*=@\\éčßøαΩ→≤中“’"), min_size=1).filter(
    lambda text: text.strip() and not re.search(r"\\\S|[$!?].*[$`]|[α-ωΑ-Ω]{3}|\{[^{}]*[A-Z]", text)
)


@given(_PLAIN, _PLAIN)
@hypothesis_settings(deadline=None)
def test_bibtex_of_plain_text_reads_back_the_same(title: str, venue: str) -> None:
    (entry,) = _read(to_bibtex([Paper("p", title, "a", venue=f"X {venue}")]))
    assert entry["title"] == " ".join(title.split())
    assert entry["booktitle"] == " ".join(f"X {venue}".split())


_WORD = st.text(st.sampled_from("abcXYZéčłß&%#_"), min_size=2, max_size=6)
_PART = _WORD | st.sampled_from(
    ["and", "And", "others", "Jr.", "III", "Inc.", "{Open AI}", "{", "}", "\\", "[x]", "~", ","]
)
_NAME = st.lists(_WORD, min_size=1, max_size=4).map(" ".join) | st.tuples(_WORD, _WORD).map(", ".join)


@given(st.lists(_NAME, min_size=1, max_size=4))
@hypothesis_settings(deadline=None)
def test_bibtex_of_names_reads_back_as_many(names: list[str]) -> None:
    (entry,) = _read(to_bibtex([Paper("p", "t", "a", tuple(names))]))
    assert entry["author"] == " and ".join(names)


@given(
    st.lists(
        st.lists(_PART, min_size=1, max_size=5).map(" ".join).filter(lambda name: any(map(str.isalnum, name))),
        min_size=1,
        max_size=4,
    )
)
@hypothesis_settings(deadline=None)
def test_bibtex_has_as_many_names(names: list[str]) -> None:
    library = bibtexparser.parse_string(to_bibtex([Paper("p", "t", "a", tuple(names))]))
    authors = SeparateCoAuthors().transform(library).entries[0]["author"]
    assert len(authors) == len(names)


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
