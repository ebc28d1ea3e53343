"""Follow-up questions without a model: what an elliptical question leaves out is taken from the turns before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_assistant.questions.form import clean, is_acronym, is_content
from rag_assistant.types import Paper, Turn

_REFERRING = re.compile(
    r"\b(?:it|its|they|them|their|theirs|these|those|former|latter|he|she|his|her)\b"
    r"|\b(?:this|that|the\s+same|said|such)\s+(?:\w+\s+)?(?:paper|work|study|method|approach|algorithm|model|framework|technique|result|"
    r"analysis|bound|rate|authors?|system|theory|loss|one|dataset|abstract|idea|setting|finding)s?\b"
    r"|\bthe\s+(?:paper|authors|abstract|study)\b"
    r"|\b(?:does|do|did|is|was|are|can|could|should|would|will|may|must|about|of|for|with|on|to|in|why|how)\s+(?:this|that)\b(?!\s+\w+\s+(?:paper|work)s?)",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    r"\b(?:the\s+)?(?P<which>first|second|third|fourth|fifth|last|other|1st|2nd|3rd|former|latter)\s+(?:one|paper|of\s+(?:them|these|those)|work)\b"
    r"|\b(?:the\s+)?(?P<side>former|latter)\b|\[(?P<number>\d{1,2})\]|\bpaper\s+(?P<paper>\d{1,2})\b",
    re.IGNORECASE,
)
_ADDING = re.compile(
    r"^\W*(?:and|but|or|also|so|ok|then)\b|^\W*(?:what|how)\s+about\b|^\W*(?:why|how|when|where|how\s+come|really|how\s+so|in\s+what\s+way|which\s+ones?)\W*$"
    r"|\b(?:instead|too|as\s+well)\W*$",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"\W*(?:(?:thanks|thank\s+you|thx|hi|hello|hey|good\s+(?:morning|evening|day)|ok|okay|great|cool|nice|bye|goodbye|yes|no|very|much|so|a|"
    r"lot|then)\W*)+",
    re.IGNORECASE,
)
_NARROW = re.compile(
    r"^\W*(?:which|how\s+(?:many|much|large|big|fast|long)|what\s+(?!(?:is|are|does|do|did|was|were|about)\b))",
    re.IGNORECASE,
)
"""With hardly a word of its own, "Which variant is best?" asks about what was talked of before."""
_MAX_NARROW = 2
_ON_THE_CORPUS = re.compile(r"\b(?:papers|works|studies|articles|abstracts|publications)\b", re.IGNORECASE)
_NOTHING_FOUND = re.compile(r"None of the \d[\d,]* papers is on this")
_ORDINALS = {
    "first": 0,
    "1st": 0,
    "former": 0,
    "second": 1,
    "2nd": 1,
    "other": 1,
    "third": 2,
    "3rd": 2,
    "fourth": 3,
    "fifth": 4,
    "last": -1,
    "latter": -1,
}
_FROM_THE_END = frozenset({"last", "latter"})
_MARKER = re.compile(r"\s*\[\d+(?:\s*[,;–-]\s*\d+)*\]")
_MIN_SENTENCE = 25
_MAX_CARRIED = 12


@dataclass(frozen=True, slots=True)
class Standalone:
    """A question that can be searched for by itself.

    Attributes:
        text: The question, with what a follow-up leaves out put back.
        carried: The words of ``text`` that come from earlier turns, in lower case.
        focus: Ids of the papers it refers to, the most likely first.
        only_focus: Whether it names those papers so clearly that only they are meant ("the second one").
        unresolved: Whether it refers to something that no earlier turn holds.
        replaced: Whether it puts another thing in the place of one in the question before ("And DPO?").
    """

    text: str
    carried: frozenset[str] = frozenset()
    focus: tuple[str, ...] = ()
    only_focus: bool = False
    unresolved: bool = False
    replaced: bool = False


def stand_alone(question: str, history: Sequence[Turn], papers: Iterable[Paper]) -> Standalone:
    """Makes a question stand alone.

    Without history a question is returned as it is, marked unresolved where it is nothing but a reference. The papers
    that earlier answers cite are recognised by their words: a verbatim sentence or a title.

    Args:
        question: As asked.
        history: Earlier turns, oldest first.
        papers: All papers of the corpus.
    """
    asked = clean(question)
    own = _content(_ORDINAL.sub(" ", asked))
    refers = _REFERRING.search(asked)
    ordinal = _ORDINAL.search(asked)
    adds = _ADDING.search(asked)
    if _GREETING.fullmatch(asked):
        return Standalone(asked, unresolved=True)
    turns = [(clean(q), a) for q, a in history if clean(q)]
    if not turns:
        return Standalone(asked, unresolved=not own and bool(refers or ordinal or adds))
    narrow = _NARROW.match(asked) and len(own) <= _MAX_NARROW and not any(is_acronym(word) for word in own)
    alone = bool(own) and not narrow
    if not (refers or adds or ordinal) and (alone or _ON_THE_CORPUS.search(asked)):
        return Standalone(asked)
    by_text = list(papers)
    cited: list[str] = []
    for _, answer in reversed(turns):
        cited = [] if _NOTHING_FOUND.search(answer) else cited_papers(answer, by_text)
        if cited:
            break
    titles = {paper.id: paper.title for paper in by_text}
    if ordinal and cited:
        named = _pick(ordinal, cited)
        if named is None:
            return Standalone(asked, unresolved=True)
        return _about(asked, ordinal, titles[named], named)
    if (refers or narrow) and cited:
        return _with(asked, titles[cited[0]], tuple(cited), replaced=False, turns=turns)
    previous = _topic(turns)
    if not previous:
        return Standalone(asked, unresolved=not own)
    return _with(asked, previous, tuple(cited), replaced=bool(adds and own), turns=turns)


def _about(asked: str, ordinal: re.Match[str], title: str, paper: str) -> Standalone:
    """The question with the paper's title in the place of the words that point to it."""
    before, after = asked[: ordinal.start()], asked[ordinal.end() :]
    own = {word.lower() for word in _content(f"{before} {after}")}
    # "What does the second one propose?" has no word of its own: it asks about the paper as a whole.
    carried = frozenset(word.lower() for word in _content(title)[:_MAX_CARRIED]) - own if own else frozenset()
    return Standalone(f"{before}“{title}”{after}", carried, (paper,), only_focus=True)


def _with(asked: str, context: str, focus: tuple[str, ...], *, replaced: bool, turns: list[Turn]) -> Standalone:
    own = {word.lower() for word in _content(asked)}
    if not own:
        # "Why?" asks again what the question before asked.
        return Standalone(f"{asked.rstrip(' ?')} — {_topic(turns) or context}?", frozenset(), focus)
    carried = frozenset(word.lower() for word in _content(context)[:_MAX_CARRIED]) - own
    return Standalone(f"{asked.rstrip(' ?')} ({context.rstrip(' ?')})?", carried, focus, replaced=replaced)


def _topic(turns: list[Turn]) -> str:
    """The last question that has content of its own."""
    for question, _ in reversed(turns):
        if _content(question) and not _GREETING.fullmatch(question):
            return question.rstrip(" ?")
    return ""


def _pick(ordinal: re.Match[str], cited: list[str]) -> str | None:
    which = (ordinal["which"] or ordinal["side"] or "").lower()
    if which:
        place = _ORDINALS[which] % len(cited) if which in _FROM_THE_END else _ORDINALS[which]
    else:
        place = int(ordinal["number"] or ordinal["paper"]) - 1
    return cited[place] if 0 <= place < len(cited) else None


def cited_papers(answer: str, papers: Iterable[Paper]) -> list[str]:
    """Ids of the papers whose title or whose sentences stand in an answer, by first appearance."""
    text = re.sub(r"\s+", " ", _MARKER.sub("", answer)).strip()
    if not text:
        return []
    found: list[tuple[int, str]] = []
    pieces = [piece for piece in re.split(r"(?<=[.!?])\s+|\n", text) if len(piece) >= _MIN_SENTENCE]
    for paper in papers:
        places = []
        if not paper.title_derived and len(paper.title) >= _MIN_SENTENCE and paper.title in text:
            places.append(text.index(paper.title))
        places += [text.index(piece) for piece in pieces if piece in paper.abstract]
        if places:
            found.append((min(places), paper.id))
    return [paper_id for _, paper_id in sorted(found)]


def _content(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", text) if is_content(word)]
