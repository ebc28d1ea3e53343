"""TeX of bibliographies as a reader sees it, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assistant.tex import from_tex, words_to_tex


@pytest.mark.parametrize(
    ("tex", "read"),
    [
        (r"M{\"u}ller, G\"odel, \v{S}koda, Ji{\v{r}}{\'{\i}}, \c c, {\c{s}}", "Müller, Gödel, Škoda, Jiří, ç, ş"),
        (r"{\O}rsted, \AA ngstr{\"o}m, Stra{\ss}e, {\L}{\'o}d{\'z}", "Ørsted, Ångström, Straße, Łódź"),
        (r"{E}rd{\H o}s--{S}zekeres on pp.~3---4", "Erdős–Szekeres on pp. 3—4"),
        (r"30\% of A\&B, \#1, a\_b, \$5 and \{0\}", "30% of A&B, #1, a_b, $5 and {0}"),
        (
            r"\emph{not} \textbf{\textit{so}} {\em all} \url{https://x.org/a_b} \href{https://x.org}{here}",
            "not so all https://x.org/a_b here",
        ),
        (r"``quote'' and \textquotedblleft quote\textquotedblright, \ldots", "“quote” and “quote”, …"),
        (
            r"an $\ell_2$-norm of $\{x\}$ in \(O(n)\) for \alpha-things",
            r"an $\ell_2$-norm of $\{x\}$ in \(O(n)\) for α-things",
        ),
        (r"unknown \mathbb{R} and \foo{bar} stay", r"unknown \mathbb{R} and \foo{bar} stay"),
        ("O'Neill's 5-fold {Case}", "O'Neill's 5-fold Case"),
    ],
)
def test_what_bibtex_holds(tex: str, read: str) -> None:
    assert from_tex(tex, braces=True) == read


@pytest.mark.parametrize(
    "text",
    ['He said \\"a thing\\" twice.', "the set {0, 1}", "~5% of a--b", "C:\\users", "no TeX at all", "a `code` span"],
)
def test_what_may_be_no_tex_is_left_alone(text: str) -> None:
    assert from_tex(text) == text


def test_what_surely_is_tex_is_read_anywhere() -> None:
    assert from_tex(r"Na{\"\i}ve 30\% of $x\%$, \emph{so}") == r"Naïve 30% of $x\%$, so"


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=0x24F, include_characters=" &%#_{},.;:")))
def test_names_come_back(text: str) -> None:
    text = " ".join(text.split())
    assert from_tex(words_to_tex(text), braces=True).replace("ŉ", "ʼn") == text.replace("ŉ", "ʼn")


def test_every_latin_letter_comes_back() -> None:
    letters = [chr(code) for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)) if chr(code).isalpha()]
    assert [one for one in letters if from_tex(words_to_tex(one), braces=True) != one] == []


@given(st.text("\\{}$`'\"~-%&aeo \n", max_size=200), st.booleans())
def test_any_text_is_read(text: str, braces: bool) -> None:
    from_tex(text, braces=braces)
