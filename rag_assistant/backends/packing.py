"""Making a prompt fit a model's context: the sentences that help least are left out first."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rag_assistant.backends.selection import sentence_score
from rag_assistant.backends.sides import best_for_side, sides_of
from rag_assistant.evidence import Evidence
from rag_assistant.prompts import Rendered
from rag_assistant.questions.form import QuestionForm

_RANK_MALUS = 0.1
_WORD = re.compile(r"(?P<letters>[A-Za-z]+)|(?P<digits>\d+)|(?P<other>[^\s\w]|_)|(?P<foreign>\w+)")


def count_tokens(text: str) -> int:
    """About how many tokens a model makes of a text, rather too many than too few.

    Vocabularies differ and can't be asked for: a token is taken to be seven letters of a word, two digits, one mark, or
    one letter of another script than Latin. On abstracts that is a fifth more than current vocabularies make.
    """
    total = 0
    for match in _WORD.finditer(text):
        length = match.end() - match.start()
        if match["letters"]:
            total += -(-length // 7)
        elif match["digits"]:
            total += -(-length // 2)
        else:
            total += length
    return total + 16


def fitting(
    form: QuestionForm, evidence: Evidence, room: int, render: Callable[[Evidence], Rendered]
) -> tuple[Evidence, Rendered] | None:
    """The evidence with as many sentences, the most useful first, as a prompt of ``room`` tokens holds.

    A paper of which no sentence is left is left out. ``None`` when not even one sentence fits.
    """
    rendered = render(evidence)
    if _size(rendered) <= room:
        return evidence, rendered
    order = _by_use(form, evidence)
    low, high = 0, len(order) - 1
    best = None
    while low < high:
        count = (low + high + 1) // 2
        kept = _kept(evidence, set(order[:count]))
        rendered = render(kept)
        if _size(rendered) <= room:
            low, best = count, (kept, rendered)
        else:
            high = count - 1
    return best


def first_papers(
    form: QuestionForm, evidence: Evidence, room: int, render: Callable[[Evidence], Rendered], *, most: int
) -> tuple[Evidence, Rendered] | None:
    """The evidence with as many of its first papers, whole, as a prompt of ``room`` tokens holds, ``most`` at most.

    Of a paper that is too long by itself the most useful sentences. ``None`` when not even one sentence fits.
    """
    for count in range(min(most, len(evidence.papers)), 0, -1):
        part = replace(evidence, papers=evidence.papers[:count])
        rendered = render(part)
        if _size(rendered) <= room:
            return part, rendered
    return fitting(form, replace(evidence, papers=evidence.papers[:1]), room, render)


def _size(rendered: Rendered) -> int:
    return count_tokens(rendered.system) + count_tokens(rendered.user)


def _by_use(form: QuestionForm, evidence: Evidence) -> list[tuple[int, int]]:
    """Sentences as (paper, place), the most useful first: of a question that names several things the best on each, of
    one over several papers then the best of each."""
    sides = [best_for_side(evidence, side, on_topic=False) for side in sides_of(form, evidence.words)]
    scored = []
    for place, paper in enumerate(evidence.papers):
        scores = [sentence_score(evidence.words, paper, index) for index in range(len(paper.sentences))]
        best = max(scores, default=0.0)
        for index, score in enumerate(scores):
            first = form.multi and score == best
            told = (place, index)
            scored.append((told not in sides, not first, _RANK_MALUS * place - score, told))
    return [position for *_, position in sorted(scored)]


def _kept(evidence: Evidence, chosen: set[tuple[int, int]]) -> Evidence:
    papers = []
    for place, paper in enumerate(evidence.papers):
        sentences = tuple(s for index, s in enumerate(paper.sentences) if (place, index) in chosen)
        if sentences:
            papers.append(replace(paper, sentences=sentences))
    return replace(evidence, papers=tuple(papers))
