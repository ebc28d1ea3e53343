"""Which sentences a statement rests on if its labels don't say: found among those that were sent, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_assistant.drafts import Draft, Label
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.grounding.support import MIN_WORD_RECALL, check_abstract, has_the_words, word_recall

STRANGER = 0.3
"""A paper whose cited sentences have less than this share of a statement's words says something else."""
UNCITED = 0.75
"""A statement that names no source needs more of its words in one paper than :data:`~.support.MIN_WORD_RECALL`."""
VOID = Label(-1)


def resolve(statement: str, labels: tuple[Label, ...], evidence: QuestionEvidence) -> tuple[Label, ...]:
    """The labels, with sentences filled in where only a paper is named; for a statement without labels, the sentences
    of one paper that support it. Labels that don't exist are passed on, to be dropped and counted later."""
    if not labels:
        found = [
            attributed
            for paper in range(len(evidence.papers))
            if (attributed := _best(statement, paper, evidence, UNCITED))
        ]
        supported = [choice for recall, choice in sorted(found, key=lambda pair: -pair[0])]
        return supported[0] if supported else ()
    resolved: list[Label] = []
    for label in labels:
        known = label.sentence is None and 0 <= label.paper < len(evidence.papers)
        if known and not any(other.paper == label.paper and other.sentence is not None for other in labels):
            best = _best(statement, label.paper, evidence)
            resolved += best[1] if best else _nearest(statement, label.paper, evidence)[:1]
        elif not known:
            resolved.append(label)
    return _without_unrelated(statement, _corrected(statement, tuple(dict.fromkeys(resolved)), evidence), evidence)


def _corrected(statement: str, labels: tuple[Label, ...], evidence: QuestionEvidence) -> tuple[Label, ...]:
    """The labels, corrected if all name one paper and their sentences have few of the statement's words, but other
    sentences of that paper support it: models miscount sentences, while the cited paper does say it. If the cited
    sentence has the words and fails another check, it is the statement that is wrong."""
    papers = {label.paper for label in labels}
    place = next(iter(papers), -1)
    if len(papers) != 1 or not 0 <= place < len(evidence.papers):
        return labels
    record = evidence.papers[place]
    texts = [
        record.sentences[label.sentence].passage.text
        for label in labels
        if label.sentence is not None and 0 <= label.sentence < len(record.sentences)
    ]
    if len(texts) < len(labels) or has_the_words(statement, texts, [record.hit.paper]):
        return labels
    best = _best(statement, place, evidence)
    return best[1] if best else labels


def quoted(labels: Sequence[Label], evidence: QuestionEvidence) -> list[Draft]:
    """The meaning of a reply that is nothing but labels: the sentences themselves, each once, in the labels' order."""
    drafts = []
    for label in dict.fromkeys(labels):
        if label.sentence is None or not 0 <= label.paper < len(evidence.papers):
            continue
        sentences = evidence.papers[label.paper].sentences
        if 0 <= label.sentence < len(sentences) and not sentences[label.sentence].orders:
            drafts.append(Draft(sentences[label.sentence].passage.text, (label,)))
    return drafts


def _without_unrelated(statement: str, labels: tuple[Label, ...], evidence: QuestionEvidence) -> tuple[Label, ...]:
    """The labels; if others support the statement, those of papers with hardly a word of it are made invalid: a
    citation that shows nothing counts like one that doesn't exist."""
    texts: dict[int, list[str]] = {}
    for label in labels:
        if label.sentence is not None and 0 <= label.paper < len(evidence.papers):
            sentences = evidence.papers[label.paper].sentences
            if 0 <= label.sentence < len(sentences):
                texts.setdefault(label.paper, []).append(sentences[label.sentence].passage.text)
    strangers = {paper for paper, found in texts.items() if word_recall(statement, found) < STRANGER}
    others = [paper for paper in texts if paper not in strangers]
    if not strangers or not others:
        return labels
    quotes = [text for paper in others for text in texts[paper]]
    papers = [evidence.papers[paper].hit.paper for paper in others]
    if check_abstract(statement, quotes, papers).support != "supported":
        return labels
    return tuple(VOID if label.paper in strangers else label for label in labels)


def _best(
    statement: str, paper: int, evidence: QuestionEvidence, least: float = MIN_WORD_RECALL
) -> tuple[float, tuple[Label, ...]] | None:
    """The sentences of a paper that support the statement, and the share of its words that they have."""
    nearest = _nearest(statement, paper, evidence)
    choices: Iterable[tuple[Label, ...]] = [
        *((label,) for label in nearest[:5]),
        *((nearest[0], other) for other in nearest[1:4]),
    ]
    record = evidence.papers[paper]
    for choice in choices:
        texts = [record.sentences[label.sentence or 0].passage.text for label in choice]
        if check_abstract(statement, texts, [record.hit.paper], least=least).support == "supported":
            return word_recall(statement, texts), tuple(sorted(choice, key=lambda label: label.sentence or 0))
    return None


def _nearest(statement: str, paper: int, evidence: QuestionEvidence) -> list[Label]:
    sentences = evidence.papers[paper].sentences
    recalls = [word_recall(statement, [sentence.passage.text]) for sentence in sentences]
    reporting = (at for at, sentence in enumerate(sentences) if not sentence.orders)
    order = sorted(reporting, key=lambda at: (-recalls[at], at))
    return [Label(paper, at) for at in order]
