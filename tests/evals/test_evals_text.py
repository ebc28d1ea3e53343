import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.evals.text import content_stems, numbers, plain


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"CIFAR-$10$", "CIFAR-10"),
        (r"$O\left(\frac{1}{T}\right)$", "O(1/T)"),
        (r"an $\mathcal{O}(\log{k}/k)$ rate", "an O(log k/k) rate"),
        (r"up to $\sim$$30\%$ of it", "up to ~30% of it"),
        (r"$20$% ($70$%) fewer", "20% (70%) fewer"),
        (r"($K \geq 3$)", "(K >= 3)"),
        ("30 percent and 300,000", "30% and 300000"),
        ("**irreparable loss** of `it`", "irreparable loss of it"),
        ("“upbeat”\u2019s  double\u2011momentum", '"upbeat"\'s double-momentum'),
        ("It is so [1]. And so [2, 3].", "It is so. And so."),
        ("[github](https://github.com/a/b)", "[github](https://github.com/a/b)"),
    ],
)
def test_the_plain_form_is_one_for_all_ways_of_writing(text: str, wanted: str) -> None:
    assert plain(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("300,000 pairwise preferences", [(300000, False)]),
        ("300k and 0.3 million and 300 thousand", [(300000, False)] * 3),
        ("3 hundred", [(300, False)]),
        (r"up to $\sim$$30\%$", [(30, True)]),
        ("about 30 percent", [(30, True)]),
        (r"$74$% AutoAttack accuracy ($+3$% gain)", [(74, True), (3, True)]),
        ("CIFAR10, CIFAR-10, UA2 and GPT-4", []),
        ("see https://arxiv.org/abs/2301.11325", []),
        ("It holds [1] and [2].", []),
        ("Yoon and Ryu (2021)", [(2021, False)]),
        ("in 2024.", [(2024, False)]),
    ],
)
def test_numbers_are_read_as_quantities(text: str, wanted: list[tuple[float, bool]]) -> None:
    assert [(number.value, number.percent) for number in numbers(text)] == wanted


def test_number_words_are_read_when_asked_for() -> None:
    assert numbers("at least three of ten") == ()
    assert [number.value for number in numbers("at least three of ten", words=True)] == [3, 10]
    assert [number.percent for number in numbers("ninety percent", words=True)] == [True]


def test_content_stems_leave_out_what_carries_no_content() -> None:
    assert content_stems("How do the weights of it prune?") == content_stems("pruned weight")


@settings(deadline=None)
@given(st.text())
def test_no_text_breaks_them(text: str) -> None:
    assert plain(plain(text).upper()) is not None
    assert all(number.value >= 0 for number in numbers(text, words=True))
