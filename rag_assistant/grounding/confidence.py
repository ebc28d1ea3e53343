"""How sure it is that a paper's abstract says what a question asks: six signals and a logistic model of them.

The signals compare the question's own content words with the words of the abstract (see ``evidence``). Coefficients and
threshold are printed by ``benchmarks/gate.py``: fitted on the answerable and unanswerable questions of the eval set's
``dev`` split and on SciFact's claims with and without evidence, checked by cross-validation over papers; the threshold
by conformal risk control (Angelopoulos et al. 2022, "Conformal Risk Control") for false refusals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from rag_assistant.evidence import FAR, EvidenceSentence, PaperEvidence, QuestionWord, coverage
from rag_assistant.grounding.answer_types import counts, holds, names
from rag_assistant.questions.form import GENERIC_WORDS, AnswerType


@dataclass(frozen=True, slots=True)
class Signals:
    """What the judgement rests on; each in [0, 1] but ``cosine``, in [-1, 1].

    Attributes:
        coverage: How closely the whole paper matches the question's words, by their weights.
        together: How closely its best sentence does, with what the title says.
        cosine: Of the sentence nearest to the question.
        gap: The heaviest run of neighbouring words that nothing in the paper comes near, as a share of all weights:
            "deep neural network" missing as a whole says more than three stray words.
        typed: 1 where a sentence holds the type of thing that is asked for (a number, a count of just that), else 0.
        sought: How closely one sentence, with the title, matches what "which learning rate" names as sought; 1 where
            nothing is.
    """

    coverage: float
    together: float
    cosine: float
    gap: float
    typed: float
    sought: float


def signals(
    words: tuple[QuestionWord, ...],
    paper: PaperEvidence,
    answer_type: AnswerType = "any",
    sought: tuple[str, ...] = (),
) -> Signals:
    """The signals of one paper for a question.

    Args:
        words: The question's content words. Words carried from earlier turns count only where there are no others.
        paper: The paper, with how closely it matches them.
        answer_type: What a sentence that answers must hold.
        sought: Words of the question, in lower case, which name what is sought.
    """
    kept = _telling(words)
    own = tuple(words[at] for at in kept)
    total = sum(word.weight for word in own)
    if not total:
        return Signals(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def of(row: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(row[at] for at in kept)

    title, whole = of(paper.title_matches), of(paper.matches)
    titled = [tuple(map(max, zip(of(sentence.matches), title, strict=True))) for sentence in paper.sentences]
    return Signals(
        coverage(own, whole),
        max((coverage(own, row) for row in titled), default=0.0),
        max((sentence.cosine for sentence in paper.sentences), default=0.0),
        _heaviest_gap(own, whole) / total,
        float(_holds_type(words, paper, answer_type, sought)),
        _sought_together(own, (title, *titled), sought),
    )


INTERCEPT = -20.49
COEFFICIENTS = (3.59, 2.47, 1.91, -1.10, 5.04, 10.54)
THRESHOLD = 0.57
"""From this confidence on an abstract is taken to say it. Of answerable questions like those of the fit, whose paper is
found by their words, about 10% are expected to be refused; paraphrases without a shared word and other languages aren't
among them."""


def confidence(found: Signals) -> float:
    """The chance that the abstract says what is asked, in (0, 1)."""
    logit = INTERCEPT + sum(factor * value for factor, value in zip(COEFFICIENTS, astuple(found), strict=True))
    return 1.0 / (1.0 + math.exp(-logit))


def _heaviest_gap(words: tuple[QuestionWord, ...], matches: tuple[float, ...]) -> float:
    heaviest = run = 0.0
    phrase: int | None = None
    for word, match in zip(words, matches, strict=True):
        run = 0.0 if match >= FAR else word.weight + (run if word.phrase == phrase else 0.0)
        phrase = word.phrase
        heaviest = max(heaviest, run)
    return heaviest


def _telling(words: tuple[QuestionWord, ...]) -> list[int]:
    """Positions of the words that must be matched: not what earlier turns add, nor stand-ins for what is sought."""
    own = [at for at, word in enumerate(words) if not word.carried]
    return [at for at in own if words[at].text.lower() not in GENERIC_WORDS] or own or list(range(len(words)))


def _holds_type(
    words: tuple[QuestionWord, ...], paper: PaperEvidence, answer_type: AnswerType, sought: tuple[str, ...]
) -> bool:
    texts = [sentence.passage.text for sentence in paper.sentences]
    if answer_type == "count" and sought:
        thing = sought[-1]
        if any(names(text, thing) for text in texts):
            return any(counts(text, (thing,)) for text in texts)
        matches = (match for word, match in zip(words, paper.matches, strict=True) if word.text.lower() == thing)
        if max(matches, default=0.0) < FAR:
            return False
    return any(holds(sentence.passage.text, answer_type) for sentence in near_best(words, paper))


def near_best(words: tuple[QuestionWord, ...], paper: PaperEvidence, within: float = 0.3) -> list[EvidenceSentence]:
    """The sentences that match the question about as well as the best one does."""
    scored = [(coverage(words, sentence.matches), sentence) for sentence in paper.sentences]
    best = max((score for score, _ in scored), default=0.0)
    return [sentence for score, sentence in scored if score >= best - within]


def _sought_together(
    words: tuple[QuestionWord, ...], rows: Sequence[tuple[float, ...]], sought: tuple[str, ...]
) -> float:
    places = [at for at, word in enumerate(words) if word.text.lower() in sought]
    if not places:
        return 1.0
    named = tuple(words[at] for at in places)
    return max(coverage(named, tuple(row[at] for at in places)) for row in rows)
