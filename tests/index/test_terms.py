from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.index.terms import term_of, tokenize, tokenize_question
from rag_assistant.stop_words import STOP_WORDS


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("RLHF and CTMA", ["rlhf", "and", "ctma"]),
        ("D-SGD", ["sgd", "dsgd"]),
        ("FedRo, a.k.a., i.i.d. data", ["fedro", "aka", "iid", "data"]),
        (r"α \alpha $\alpha$", ["alpha", "alpha", "alpha"]),
        (r"$\mathsf{FedAvg}$", ["fedavg"]),
        (r"$\bf{\Phi}_\textrm{Flow}$", ["phi", "flow", "phiflow"]),
        (r"$\ell_{\infty}$", ["infin", "linfin"]),
        ("l-infinity", ["infin", "linfin"]),
        ("ℓ_∞", ["infin", "linfin"]),
        ("$L_2$", ["l2"]),
        ("**UA**$^2$ and *emphasis* and `code`", ["ua", "2", "ua2", "and", "emphasi", "and", "code"]),
        (r"300,000 samples, $\sim$$30\%$, 30%, 0.5", ["300000", "sampl", "30", "30", "0.5"]),
        ("optimise optimization, analyse analyzed", ["optimis", "optimis", "analys", "analys"]),
        ("LLMs, llms, MDPs and GPUs", ["llm", "llm", "mdp", "and", "gpu"]),
        ("fine-tuning, fine‑tuning, finetuning", ["fine", "tune", "finetun", "fine", "tune", "finetun", "finetun"]),
        ("CIFAR-10 CIFAR10 cifar-$10$", ["cifar", "10", "cifar10"] * 3),
        ("GPT-4 GPT4", ["gpt", "4", "gpt4"] * 2),
        ("K2 word2vec 64k", ["k2", "word2vec", "64k"]),
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ("Poincaré’s POINCARE", ["poincar", "poincar"]),
        ("ﬁne", ["fine"]),
        ("日本語", ["日本語"]),
        ("", []),
        ("?!$$ **", []),
    ],
)
def test_how_papers_write_things(text: str, terms: list[str]) -> None:
    assert tokenize(text) == terms


@pytest.mark.parametrize(
    ("word", "term"), [("D-SGD", "dsgd"), ("running", "run"), ("α", "alpha"), ("?", "?"), ("LLMs", "llm")]
)
def test_a_word_has_one_term(word: str, term: str) -> None:
    assert term_of(word) == term


def test_stop_words_are_dropped_from_questions_only() -> None:
    assert tokenize_question("What is the CTMA?") == ["ctma"]
    assert tokenize("What is the CTMA?") == ["what", "is", "the", "ctma"]
    assert all(not tokenize_question(word) for word in STOP_WORDS)


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_has_terms_without_spaces_whatever_its_case(text: str) -> None:
    terms = tokenize(text)
    assert all(term and not any(c.isspace() for c in term) for term in terms)
    assert set(tokenize_question(text)) <= set(terms)
    assert tokenize(f"{text}\n") == terms


def test_long_odd_texts_take_little_time() -> None:
    for piece in ("_", "^_", "a-", "\\alpha", "a.", "1,000", "{", "$", "\x00_", "A", "'s"):
        assert isinstance(tokenize(piece * 50_000), list)


def test_threads_can_share_it() -> None:
    words = [f"runners{n} running flies studies" for n in range(200)]
    alone = [tokenize(word) for word in words]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(tokenize, words)) == alone
    finally:
        sys.setswitchinterval(switch)
