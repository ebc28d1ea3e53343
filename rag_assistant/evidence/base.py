"""The result of retrieval: papers with all their sentences, and how closely each matches the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rag_assistant.reader.base import Reading
from rag_assistant.types import Hit, Passage

CLOSE = 0.75
"""The match from which a word of a text is taken to mean what the question's word means."""
FAR = 0.5
"""Below this match a question's word is taken to be missing from a text."""


@dataclass(frozen=True, slots=True)
class QuestionWord:
    """A content word of a question.

    Attributes:
        text: The word, as written in the question.
        weight: Its inverse document frequency, above 0; carried words weigh less.
        carried: Whether it comes from earlier turns rather than from this question.
        named: Whether it is written like a name (an acronym, a word with digits): only the same word matches it.
        phrase: Neighbouring content words, with nothing but white space or hyphens between them, share this number.
    """

    text: str
    weight: float
    carried: bool = False
    named: bool = False
    phrase: int = 0


@dataclass(frozen=True, slots=True)
class EvidenceSentence:
    """One sentence of a paper's abstract.

    Attributes:
        passage: The sentence as a span of the abstract.
        cosine: The cosine of the sentence's vector and the question's, in [-1, 1].
        matches: How closely the sentence matches each :class:`QuestionWord`, in [0, 1].
        orders: Whether it is an injected instruction to a reader or a machine, and so no evidence.
        sides: For each subject of a comparison how likely the sentence is about it, in [0, 1]; empty without a reader.
    """

    passage: Passage
    cosine: float
    matches: tuple[float, ...]
    orders: bool = False
    sides: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class PaperEvidence:
    """A paper that was found, with all its sentences in order.

    Attributes:
        hit: What retrieval says of the paper.
        title_matches: How closely its title matches each question word, in [0, 1].
        sentences: All sentences of the abstract.
        focused: Whether the question refers to this paper by way of an earlier turn.
        reading: The reader's verdict on the question and this paper; ``None`` if the paper wasn't read.
        searched: The score of the search, roughly in [0, 1], if ``hit.score`` is another one that ranked the paper.
        other_words: Positions of question words of which the paper has only the stem, in a word of another meaning:
            "transformation" for "transformer".
    """

    hit: Hit
    title_matches: tuple[float, ...]
    sentences: tuple[EvidenceSentence, ...]
    focused: bool = False
    reading: Reading | None = None
    searched: float | None = None
    other_words: frozenset[int] = frozenset()

    @property
    def search_score(self) -> float:
        """The score of the search, whatever the paper was ranked by."""
        return self.hit.score if self.searched is None else self.searched

    @property
    def matches(self) -> tuple[float, ...]:
        """The best match of each question word anywhere in the paper."""
        columns = [self.title_matches, *(sentence.matches for sentence in self.sentences)]
        return tuple(max(column) for column in zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class Corrections:
    """Words that occur in no paper, as written, each with the nearest word of the papers.

    Attributes:
        made: Words that were read as the papers' word.
        offered: Words left unchanged: similar to the papers' word, but perhaps another.
    """

    made: Mapping[str, str] = field(default_factory=dict)
    offered: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuestionEvidence:
    """Everything that the answer to a question may rest on.

    Attributes:
        words: The question's content words.
        papers: Best first.
        considered: How many papers the filters let through.
        corrections: Words of the question that may be misspelt.
    """

    words: tuple[QuestionWord, ...]
    papers: tuple[PaperEvidence, ...]
    considered: int
    corrections: Corrections = Corrections()


def coverage(words: tuple[QuestionWord, ...], matches: tuple[float, ...]) -> float:
    """The mean match of the words, weighted by their weights, in [0, 1]; 0 without words."""
    total = sum(word.weight for word in words)
    return sum(w.weight * match for w, match in zip(words, matches, strict=True)) / total if total else 0.0


def heaviest(evidence: QuestionEvidence) -> tuple[str, ...]:
    """The question's own most telling words, the rarest first."""
    own = sorted((word for word in evidence.words if not word.carried), key=lambda word: -word.weight)
    return tuple(word.text for word in own[:6])
