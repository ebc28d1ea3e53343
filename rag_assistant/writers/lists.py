"""Lists of papers: which belong by the question's words, and the form that a list has, whoever judged what is in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_assistant.drafts import Draft, Frame, Label, Matched, Piece, Refusal
from rag_assistant.evidence.answerability import confidence
from rag_assistant.evidence.base import CLOSE, PaperEvidence, QuestionEvidence, QuestionWord, coverage, heaviest
from rag_assistant.evidence.comparison_subjects import subject_words, subset
from rag_assistant.evidence.sentence_choice import ranked
from rag_assistant.questions.content import GENERIC_WORDS
from rag_assistant.questions.form import QuestionForm

LIST_COVERAGE = 0.78
RELATION_SHARE = 0.3
LIST_WEAKEST = 0.6
LIST_MISSING = 0.25
ALTERNATIVE = 0.7
LISTED, LISTED_IF_MATCHING = 0.7, 0.1
"""A paper belongs in a list from this confidence on; where it matches the words of the question, from the lower one."""
NO_TOPIC = "Which topic should the papers be on?"


def matched_by_words(form: QuestionForm, evidence: QuestionEvidence, most: int) -> Iterator[Piece]:
    """All papers that match, each with the sentence that shows it, and out of how many; ``most`` are told."""
    if not evidence.words:
        yield Refusal("clarify", message=NO_TOPIC)
        return
    rows = [
        Label(index, best_sentence(evidence, index))
        for index, paper in enumerate(evidence.papers)
        if belongs(form, evidence.words, paper)
    ]
    if not rows:
        yield Refusal("not_in_corpus", heaviest(evidence))
        return
    yield from listed(evidence, rows, most)


def listed(evidence: QuestionEvidence, rows: Sequence[Label], most: int, remark: str = "") -> Iterator[Piece]:
    """A list in its form: a count, then a row for each paper, with the sentence that shows why it is there.

    Args:
        evidence: What the labels count in.
        rows: At least one; each names a sentence.
        most: How many rows are told.
        remark: Stands behind the count, in parentheses.
    """
    yield Matched(len(rows))
    noun = "paper" if evidence.considered == 1 else "papers"
    verb = "matches" if len(rows) == 1 else "match"
    yield Frame(f"{len(rows)} of {evidence.considered} {noun} {verb}{f' ({remark})' if remark else ''}:")
    for label in rows[:most]:
        paper = evidence.papers[label.paper]
        yield Frame(f"\n- {paper.hit.paper.title}: ")
        yield Draft(paper.sentences[label.sentence or 0].passage.text, (label,))
    left_out = len(rows) - most
    if left_out > 0:
        yield Frame(f"\n\nThe other {left_out} are left out here.")


def best_sentence(evidence: QuestionEvidence, paper: int) -> int:
    """The sentence of a paper that shows best that it belongs, of those that are on the topic about as much as any."""
    words, found = evidence.words, evidence.papers[paper]
    covered = [coverage(words, sentence.matches) for sentence in found.sentences]
    least = CLOSE * max(covered)
    return next(at for _, at in ranked(words, found) if covered[at] >= least)


def belongs(form: QuestionForm, words: tuple[QuestionWord, ...], paper: PaperEvidence) -> bool:
    """Whether a paper belongs in a list: by the reader, the more readily where it matches the question's words or one
    of its alternatives ("A, B or C"); without a reader by these alone. Another word of the same stem is no match, and
    where such make up half of what is asked, they may have misled the reader."""
    telling = [at for at, word in enumerate(words) if word.text.lower() not in {form.relation, *GENERIC_WORDS}]
    others = [at for at in telling if at in paper.other_words]
    if others and 2 * sum(words[at].weight for at in others) >= sum(words[at].weight for at in telling):
        return False
    matches = not others and _matches(form, words, paper)
    sure = confidence(paper)
    return matches if sure is None else sure >= (LISTED_IF_MATCHING if matches else LISTED)


def _matches(form: QuestionForm, words: tuple[QuestionWord, ...], paper: PaperEvidence) -> bool:
    matches = paper.matches
    words = tuple(
        replace(word, weight=word.weight * RELATION_SHARE)
        if word.text.lower() == form.relation or word.text.lower() in GENERIC_WORDS
        else word
        for word in words
    )
    alternatives = [side for part in form.alternatives if (side := subject_words(words, part))]
    if len(alternatives) > 1:
        listed = {at for side in alternatives for at in side}
        rest = tuple(at for at in range(len(words)) if at not in listed)
        return any(
            min(matches[at] for at in side) >= ALTERNATIVE and subset(words, matches, (*side, *rest)) >= LIST_COVERAGE
            for side in alternatives
        )
    total = sum(word.weight for word in words)
    missing = sum(word.weight for word, match in zip(words, matches, strict=True) if match < LIST_WEAKEST)
    return coverage(words, matches) >= LIST_COVERAGE and missing <= LIST_MISSING * total
