"""Evidence made by hand, for grounding without a search."""

from __future__ import annotations

from rag_assistant.evidence.base import EvidenceSentence, PaperEvidence, QuestionEvidence, QuestionWord
from rag_assistant.sentences import sentence_spans
from rag_assistant.types import Hit, Paper, Passage

FIRST = Paper(
    "first",
    "Accelerated Extragradient",
    "We study min-max problems. It attains a rate of $O\\left(\\frac{1}{T}\\right)$ and saves $\\sim$$30\\%$ of "
    "memory. Code is at [our page](https://example.org/code).",
    ("Ada Lovelace", "Åsa Ölund"),
    2024,
    "ICML 2024",
    "https://example.org/first",
    links={"openreview": "https://openreview.net/forum?id=1"},
)
SECOND = Paper(
    "second", "Robust Training", "Workers may lie, i.e. send 1,000 wrong updates. CTMA is robust.", ("Bo Beck",)
)


def found(
    paper: Paper,
    *,
    matches: tuple[float, ...] = (),
    title: tuple[float, ...] = (),
    score: float = 0.5,
    dense: float = 0.5,
    cosine: float = 0.5,
    focused: bool = False,
) -> PaperEvidence:
    """A paper whose sentences all match the question's words equally well."""
    spans = sentence_spans(paper.abstract)
    passages = [Passage(f"{paper.id}:{a}-{b}", paper.id, a, b, paper.abstract[a:b]) for a, b in spans]
    return PaperEvidence(
        Hit(paper, passages[0], 1, score, dense=dense),
        title or tuple(0.0 for _ in matches),
        tuple(EvidenceSentence(passage, cosine, matches) for passage in passages),
        focused,
    )


def evidence(*papers: PaperEvidence, words: tuple[QuestionWord, ...] = ()) -> QuestionEvidence:
    return QuestionEvidence(words, papers, len(papers))
