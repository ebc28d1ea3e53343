"""A model's reply about papers that may belong in a list: only the labels that it names are used."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag_assistant.drafts import Label
from rag_assistant.evidence.base import QuestionEvidence
from rag_assistant.models.replies import ModelReply
from rag_assistant.writers.markers import markers

_SENTENCE = re.compile(r"(?<![\w.])(?P<paper>\d{1,4})\s*\.\s*s\s*(?P<sentence>\d{1,4})(?!\w)", re.IGNORECASE)
_PAPERS = re.compile(r"\W*(?:papers?\b\W*)?\d{1,3}(?:(?:\W|\band\b)+\d{1,3})*\W*", re.IGNORECASE)
_NONE = re.compile(
    r"\W*(?:(?:none|no(?: such)? papers?|not(?:\\?_|[ -])in(?:\\?_|[ -])abstracts?)\b|[\[{]\s*[\]}])", re.IGNORECASE
)
_FITS = r"(?:fits?|match(?:es)?|belongs?|relevant|related|about|on topic|applicable)"
_DENIES = re.compile(
    r"(?:^|[:\u2013\u2014-]\s)\W*(?:(?:it|this|(?:(?:the|this)\s+(?:\w+\s+)?)?papers?(?:\s+\d+)?)\W+)?"
    rf"(?:(?:no|none)\b|(?:(?:do|does|is|are)\s*)?(?:not|n['\u2019]t)\s+(?:\w+\s+){{0,2}}?{_FITS}\b"
    r"|(?:is\s+|are\s+)?(?:irrelevant|unrelated|off-topic)\b)",
    re.IGNORECASE,
)
"""A line that says that a paper doesn't belong, although the prompt asks only for those that do."""


@dataclass(frozen=True, slots=True)
class Picked:
    """The papers of a batch that a model picks for a list.

    Attributes:
        labels: One for each paper that belongs, in the papers' order.
        judged: For how many papers, from the first on, the reply says whether they belong; 0 if it can't be read.
        unknown: How many labels named nothing that was sent.
    """

    labels: tuple[Label, ...]
    judged: int
    unknown: int = 0


class ListReply(ModelReply):
    """A reply read as a whole; reasoning alone counts as empty."""

    _notes_cut = True

    @property
    def _empty(self) -> bool:
        return not self.answer.strip()


def picked(text: str, evidence: QuestionEvidence, *, truncated: bool = False) -> Picked:
    """Reads a reply.

    Args:
        text: The reply without reasoning. A line names a paper by a label of one of its sentences, or by its number.
        evidence: What the model was sent.
        truncated: Whether the reply was cut off: then nothing is known about papers after the last one it names.
    """
    said, denied, readable = list[Label](), list[Label](), False
    for line in text.splitlines():
        labels = _labels(line, len(evidence.papers))
        readable = readable or bool(labels) or _NONE.match(line) is not None
        if _DENIES.search(_SENTENCE.sub(" ", line)):
            denied += labels
        else:
            said += labels
    known = [label for label in said if _quotable(label, evidence)]
    rows = {label.paper: label for label in reversed(known)}
    for label in known:  # the label of a sentence says more than the number of a paper
        if rows[label.paper].sentence is None:
            rows[label.paper] = label
    judged = len(evidence.papers) if readable else 0
    if truncated:
        judged = min(judged, max((label.paper + 1 for label in (*known, *denied)), default=0))
    return Picked(tuple(rows[paper] for paper in sorted(rows)), judged, len(said) - len(known))


def _labels(line: str, papers: int) -> list[Label]:
    found = [Label(int(match["paper"]) - 1, int(match["sentence"]) - 1) for match in _SENTENCE.finditer(line)]
    if found:
        return found
    if _PAPERS.fullmatch(line):
        return [Label(int(number) - 1) for number in re.findall(r"\d+", line)]
    return [label for marker in markers(line, papers) for label in marker.labels]


def _quotable(label: Label, evidence: QuestionEvidence) -> bool:
    """Whether the label names something that was sent; sentences with injected instructions were not."""
    if not 0 <= label.paper < len(evidence.papers):
        return False
    sentences = evidence.papers[label.paper].sentences
    if label.sentence is None:
        return True
    return 0 <= label.sentence < len(sentences) and not sentences[label.sentence].orders
