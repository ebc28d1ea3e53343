"""Which sentences answer: scoring by how well they match the question, and the smallest set that covers it."""

from __future__ import annotations

import re
from dataclasses import replace

from rag_assistant.evidence import CLOSE, EvidenceSentence, PaperEvidence, QuestionWord, coverage
from rag_assistant.grounding.answer_types import holds
from rag_assistant.questions.form import QuestionForm

MAX_SENTENCES = 3
MAX_DEFINED = 2
"""A question of at most this many content words that names an acronym is asking what it is."""
COSINE_WEIGHT = 0.3
POSITION_WEIGHT = 0.06
TYPE_BONUS = 0.2
DEFINITION_BONUS = 0.15
TOPIC_SHARE = 0.5
"""What a word weighs in the choice of a sentence if the title says it already: all sentences are about that."""
CONTRIBUTION_BONUS = 0.05
NOVELTY_MALUS = 0.15
AVAILABILITY_MALUS = 0.4
"""Where code or data lie is rarely what a question without these words is after."""
GAIN = 0.07
"""A further sentence must raise the weighted coverage of the question by this much, or nearly tie with the best."""
TIE = 0.02

_CONTRIBUTION = re.compile(
    r"\b(?:we|our|this\s+(?:paper|work|study)|results?|experiments?|theory)\b[^.]{0,60}?\b"
    r"(?:propos|introduc|present|show|prove|provid|"
    r"develop|deriv|establish|find|found|reveal|demonstrat|achiev|analy[sz]|investigat|design|observ|indicat|suggest|validat)\w*",
    re.IGNORECASE,
)
_AVAILABILITY = re.compile(
    r"\b(?:code|codes|data|datasets?|models?|weights|implementations?|demos?|samples?|page|website)\b.{0,80}(?:https?://|github|\bavailable\b)",
    re.IGNORECASE,
)
_ASKS_AVAILABILITY = re.compile(
    r"\b(?:code|available|availability|link|url|where|github|repository|download|release\w*|open|samples?|demo)\b",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[*$^_{}\\]")
_NOVELTY = re.compile(r"\b(?:to the best of our knowledge|to our knowledge|we are the first to)\b", re.IGNORECASE)
_REASON = re.compile(
    r"\b(?:because|since|due|caus\w+|reasons?|therefore|thus|leads?|led|"
    r"results? in|as a result|hence|owing|so that|in order to|attributable)\b",
    re.I,
)


def sentence_score(form: QuestionForm, words: tuple[QuestionWord, ...], paper: PaperEvidence, index: int) -> float:
    """How well the sentence at ``index`` answers; higher is better, about in [0, 1.5]."""
    sentence = paper.sentences[index]
    score = coverage(_aspect(words, paper), sentence.matches) + COSINE_WEIGHT * sentence.cosine
    score += POSITION_WEIGHT * index / max(1, len(paper.sentences) - 1)
    text = sentence.passage.text
    plain = _MARKUP.sub("", text)
    if form.answer_type not in ("any", "reason") and holds(text, form.answer_type):
        score += TYPE_BONUS
    if form.answer_type == "reason" and _REASON.search(text):
        score += TYPE_BONUS / 2
    if form.kind != "comparison" and len(words) <= MAX_DEFINED and any(_defines(plain, word) for word in words):
        score += DEFINITION_BONUS
    if _AVAILABILITY.search(text) and not _ASKS_AVAILABILITY.search(form.text):
        score -= AVAILABILITY_MALUS
    if _NOVELTY.search(text):
        score -= NOVELTY_MALUS
    elif _CONTRIBUTION.search(text):
        score += CONTRIBUTION_BONUS
    return score


def _defines(sentence: str, word: QuestionWord) -> bool:
    """Whether a sentence spells a name out or says what a thing is: "(CTMA)", "we introduce QuIP", "grokking is a"."""
    if word.named and f"({word.text}" in sentence:
        return True
    name = re.escape(word.text)
    return bool(
        re.search(rf"\b(?:introduc|propos|present|develop)\w*\s+(?:\S+\s+){{0,5}}?\W?{name}\b", sentence, re.IGNORECASE)
        or re.search(rf"\b{name}\b\W*(?:\S+\s+){{0,3}}?(?:is|are)\s+(?:an?|the)\b", sentence, re.IGNORECASE)
    )


def _aspect(words: tuple[QuestionWord, ...], paper: PaperEvidence) -> tuple[QuestionWord, ...]:
    return tuple(
        replace(word, weight=word.weight * TOPIC_SHARE) if match >= CLOSE else word
        for word, match in zip(words, paper.title_matches, strict=True)
    )


def ranked(form: QuestionForm, words: tuple[QuestionWord, ...], paper: PaperEvidence) -> list[tuple[float, int]]:
    """All sentences of a paper as ``(score, position)``, best first."""
    scores = [(sentence_score(form, words, paper, index), index) for index in range(len(paper.sentences))]
    return sorted(scores, key=lambda pair: (-pair[0], pair[1]))


def smallest_set(
    form: QuestionForm,
    words: tuple[QuestionWord, ...],
    paper: PaperEvidence,
    limit: int = MAX_SENTENCES,
    least: int = 1,
) -> list[int]:
    """Positions of the fewest sentences that cover the question, in the order of the abstract.

    The best sentence always; then, greedily, those that match words of the question the chosen ones don't, or that
    score within a hair of the best, and the next best until there are ``least``.
    """
    order = ranked(form, words, paper)
    if not order:
        return []
    best_score, best = order[0]
    chosen = [best]
    covered = list(paper.sentences[best].matches)
    for score, index in order[1:]:
        if len(chosen) >= limit:
            break
        gain = _gain(words, covered, paper.sentences[index])
        if gain >= GAIN or score >= best_score - TIE or len(chosen) < least:
            chosen.append(index)
            covered = [max(pair) for pair in zip(covered, paper.sentences[index].matches, strict=True)]
    return sorted(chosen)


def _gain(words: tuple[QuestionWord, ...], covered: list[float], sentence: EvidenceSentence) -> float:
    """What a sentence adds to the coverage of the question's own words; earlier turns have been answered already."""
    rows = [
        (word.weight, match - before)
        for word, before, match in zip(words, covered, sentence.matches, strict=True)
        if not word.carried
    ]
    total = sum(weight for weight, _ in rows)
    return sum(weight * max(0.0, gained) for weight, gained in rows) / total if total else 0.0
