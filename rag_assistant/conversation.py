"""Follow-up questions without a model: what an elliptical question leaves out is taken from earlier turns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rag_assistant.acronyms import is_acronym
from rag_assistant.questions.content import content_words
from rag_assistant.questions.form import asks_for_all, clean, is_greeting, without_limit
from rag_assistant.types import Paper, Turn

_REFERRING = re.compile(
    r"\b(?:it|its|they|them|their|theirs|these|those|former|latter|he|she|his|her)\b"
    r"|\b(?:this|that|the\s+same|said|such)\s+(?:\w+\s+)?(?:paper|work|study|method|approach|algorithm|model|framework|technique|result|"
    r"analysis|bound|rate|authors?|system|theory|loss|one|dataset|abstract|idea|setting|finding)s?\b"
    r"|\bthe\s+(?:paper|authors|abstract|study)\b"
    r"|\b(?:does|do|did|is|was|are|can|could|should|would|will|may|must|about|of|for|with|on|to|in|why|how)\s+(?:this|that)\b(?!\s+\w+\s+(?:paper|work)s?)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|this|that|these|those|he|she)\b", re.IGNORECASE)
_OF_THOSE = re.compile(r"\b(?:of|among)\s+(?:these|those|them)\b", re.IGNORECASE)
_PLACE = r"(?:first|second|third|fourth|fifth|last|1st|2nd|3rd)"
_ORDINAL = re.compile(
    rf"\b(?:the\s+)?(?P<which>{_PLACE}|(?<=the )other|former|latter)\s+(?:one|paper|of\s+(?:them|these|those)|work)\b"
    r"|\b(?:the\s+)?(?P<side>former|latter)\b|\[(?P<number>\d{1,2})\]|\bpaper\s+(?P<paper>\d{1,2})\b",
    re.IGNORECASE,
)
_POINTS_AT = re.compile(
    r"^\W*(?:(?:and|ok|so|now)\W+)?(?:(?:tell|show)\s+me\s+(?:more\s+)?(?:about|of)|what\s+(?:about|of|is|does)|summari[sz]e|describe|explain|open|take)?\s*"
    rf"the\s+(?P<which>{_PLACE}|other)(?P<side>)(?P<number>)(?P<paper>)\W*$",
    re.IGNORECASE,
)
_BARE_ORDINAL = re.compile(
    rf"(?:(?P<side>)(?P<number>)(?P<paper>))(?:(?<=does )|(?<=did )|(?P<other>))\bthe\s+(?P<which>{_PLACE})\b"
    r"(?(other)(?=\W*$|\s*,|\s+(?:about|an?|also|not)\b)|(?!\s+authors?\b))",
    re.IGNORECASE,
)
"""Behind a list "What does the second say ...?" is about a paper, though no noun says so."""
_REWORDING = re.compile(
    r"^\W*(?:(?:can|could|would|will)\s+you\s+|please\s+|and\s+)*(?:explain|say|put|make|phrase|rephrase|paraphrase|reword|simplify|summari[sz]e|shorten|translate|elaborate)\b"
    r"(?:\s+(?:on|to\s+me|me))?\s*(?:it|this|that|these|those|them|the\s+(?:answer|above))?(?:\s+to\s+me)?\s*"
    r"(?:(?:a\s+(?:bit|little)|much)\s+)?(?:(?:more|less)\s+)?(?:simply|simple|simpler|easier|shorter|brief\w*|plain\w*|detail\w*|further|again|better|technical\w*|"
    r"in\s+(?:an?\s+)?(?:(?:more|less|much)\s+)?(?!what\b|which\b)(?:your\s+own|[\w-]+)\s+(?=(?:words?|terms?|language|english|way|sentences?)\b)|(?:into|in)\s+(?:english|german|french|spanish|chinese)|for\s+(?:an?\s+)?(?:beginners?|layman|laymen|lay\s*(?:person|people)|non-?experts?|child|children|kids?|students?)|like\s+i['’]?m\s+\w+|terms?|words?|language|way|sentences?|english|please|pls|\W)*$"
    r"|^\W*(?:in\s+(?:simpler|simple|other|plain|plainer|layman.?s?)\s+(?:words|terms|english)|eli5|simpler|shorter|tl;?dr)\W*$",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"^\W*(?:(?:are|is)\s+there\s+)?(?:(?:and|show\s+me|give\s+me|list|any|some|what)\s+)*(?:more|others?|else|anything\s+else|(?:the\s+)?next|the\s+(?:rest|others?))"
    r"(?:\W+(?:ones?|papers?|works?|of\s+(?:them|these|those)|is\s+there|please|like\s+(?:that|those|these)))*\W*$",
    re.IGNORECASE,
)
_SIMILAR = re.compile(
    r"\b(?:papers?|works?|ones?|something|anything|articles?|studies|more|others?)\s+(?:(?:that\s+(?:is|are)\s+)?(?:like|similar\s+to|related\s+to|close\s+to|resembling))\s+"
    rf"(?:this|that|it|the\s+(?:same|{_PLACE}))(?:\s+(?:one|paper|work|article|study))?\W*$"
    r"|^\W*(?:any\s+|show\s+(?:me\s+)?|find\s+(?:me\s+)?|what\s+(?:are\s+)?(?:the\s+)?)*(?:similar|related)\s+(?:papers|works?|ones|articles|studies)\W*$",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:other|another|more|further|additional)\s+(?:(?:papers?|works?|stud(?:y|ies)|articles?|abstracts?|publications?|ones?)\b|like\b)(?!\s+than\b)",
    re.IGNORECASE,
)
"""Asks for papers that haven't just been shown, on the same topic or another one."""
_SAME_AUTHORS = re.compile(
    r"\b(?:else|other|others|another|more)\b.*\b(?:they|he|she|these\s+(?:authors|people)|the\s+(?:same\s+)?authors?)\b.*\b(?:writ\w+|wrote|publish\w*|authored)\W*$"
    r"|\b(?:other|more|another)\s+(?:\w+\s+)?(?:papers?|works?|articles?)\s+(?:by|of|from)\s+(?:them|him|her|the(?:se|\s+same)\s+(?:authors?|people))\b",
    re.IGNORECASE,
)
_COMPLETE = re.compile(
    r"^\W*how\s+\w+\s+(?:is|are|was|were|does|do|did|can|will)\s+(?!(?:it|they|this|that|these|those|the|there|he|she|you|we|i)\b)\w",
    re.IGNORECASE,
)
"""Asks about its own subject."""
_ASKS_OF_A_SUBJECT = re.compile(
    r"^\W*(?:and\s+|but\s+|so\s+)*(?:what|how|why|where|when|who|which|is|are|does|do|did|can)\b", re.I
)
_ADDING = re.compile(
    r"^\W*(?:and|but|or|also|so|ok|then)\b|^\W*(?:what|how)\s+about\b|^\W*(?:why|how|when|where|how\s+come|really|how\s+so|in\s+what\s+way|which\s+ones?)\W*$"
    r"|\b(?:instead|too|as\s+well)\W*$",
    re.IGNORECASE,
)
_NARROW = re.compile(
    r"^\W*(?:which|how\s+(?:many|much|large|big|fast|long)|what\s+(?!(?:is|are|does|do|did|was|were|about)\b))",
    re.IGNORECASE,
)
"""With hardly a word of its own, "Which variant is best?" asks about the subject of the conversation."""
_MAX_NARROW = 2
_ON_THE_CORPUS = re.compile(r"\b(?:papers|works|studies|articles|abstracts|publications)\b", re.IGNORECASE)
_NOTHING_FOUND = re.compile(r"^\s*(?:None of the \d[\d,]* papers|The one paper doesn't)")
Asks = Literal["", "rewording", "similar"]
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
LONGEST_REFERENCE = 120
"""The longest question, in characters, that only refers back: a longer text says itself what it is about."""


@dataclass(frozen=True, slots=True)
class RewrittenQuestion:
    """A question that can be searched for by itself.

    Attributes:
        text: The question, completed with what a follow-up leaves out.
        carried: The words of ``text`` that come from earlier turns, in lower case.
        focus: Ids of the papers it refers to, the most likely first.
        only_focus: Whether it names those papers so clearly that only they are meant ("the second one").
        unresolved: Whether it refers to something that is in no earlier turn.
        replaced: Whether it replaces one thing in the previous question by another ("And DPO?").
        exclude: Ids of the papers that were cited already, if others are asked for.
        limit: How many papers it asks for; ``None`` if it doesn't say.
        asks: What it asks for other than content: the last answer in other words, or papers like the one in focus.
    """

    text: str
    carried: frozenset[str] = frozenset()
    focus: tuple[str, ...] = ()
    only_focus: bool = False
    unresolved: bool = False
    replaced: bool = False
    exclude: tuple[str, ...] = ()
    asks: Asks = ""
    limit: int | None = None


def stand_alone(question: str, history: Sequence[Turn], papers: Iterable[Paper]) -> RewrittenQuestion:
    """Makes a question self-contained.

    Without history a question is returned as it is, marked unresolved if it is nothing but a reference. The papers that
    earlier answers cite are recognised by their words: a verbatim sentence or a title.

    Args:
        question: As asked.
        history: Earlier turns, oldest first.
        papers: All papers of the corpus.
    """
    asked, limit = without_limit(clean(question))
    turns = [(without_limit(clean(q))[0], a) for q, a in history if clean(q)]
    return replace(_completed(asked, turns, list(papers)), limit=limit)


def _completed(asked: str, turns: list[Turn], papers: list[Paper]) -> RewrittenQuestion:
    own = content_words(_ORDINAL.sub(" ", asked))
    refers = _REFERRING.search(asked)
    ordinal = _ORDINAL.search(asked) or _POINTS_AT.search(asked)
    adds = _ADDING.search(asked)
    refers_back = _refers_back(asked)
    if is_greeting(asked) or asks_for_all(asked):
        return RewrittenQuestion(asked)
    if not turns:
        bare = not own or (len(own) == 1 and _ASKS_OF_A_SUBJECT.match(asked) and (adds or _PRONOUN.search(asked)))
        bare = bare and not (own and _ON_THE_CORPUS.search(asked))  # "these papers" are all papers
        return RewrittenQuestion(asked, unresolved=refers_back or bool(bare and (refers or ordinal or adds)))
    titles = {paper.id: paper.title for paper in papers}
    cited = _focus(turns, papers)
    bare = _BARE_ORDINAL.search(asked) if ordinal is None and len(cited) > 1 else None
    ordinal = bare if bare and _pick(bare, cited) else ordinal
    named = _pick(ordinal, cited) if ordinal and cited else None
    exclude = tuple(cited) if _OTHERS.search(asked) else ()
    if refers_back and _REWORDING.match(asked):
        return RewrittenQuestion(f"{asked.rstrip(' ?.')} ({_topic(turns)})?", focus=tuple(cited), asks="rewording")
    if refers_back and cited and _SIMILAR.search(asked):
        like = named or cited[0]
        return RewrittenQuestion(asked, focus=(like,), exclude=exclude, asks="similar")
    if refers_back and cited and _SAME_AUTHORS.search(asked):
        authors = next(paper.authors for paper in papers if paper.id == cited[0])
        if authors:
            return RewrittenQuestion(f"Which papers are by {' or '.join(authors)}?", exclude=(cited[0],))
    if refers_back and _MORE.match(asked) and (topic := _topic(turns)):
        already_cited = {paper for _, answer in turns for paper in cited_papers(answer, papers)}
        exclude = tuple(paper.id for paper in papers if paper.id in already_cited)
        before = _completed(turns[-1][0], turns[:-1], papers)
        if before.asks == "similar":
            return replace(before, exclude=exclude)
        return RewrittenQuestion(f"{topic}?", exclude=exclude)
    narrow = _NARROW.match(asked) and len(own) <= _MAX_NARROW and not _names_a_subject(asked)
    alone = bool(own) and not narrow
    if not (refers or adds or ordinal) and (alone or _ON_THE_CORPUS.search(asked)):
        return RewrittenQuestion(asked, exclude=exclude)
    if _OF_THOSE.search(asked) and own and len(cited) > 1 and not ordinal:
        return RewrittenQuestion(asked, focus=tuple(cited), only_focus=True)
    if ordinal and cited:
        if named is None:
            return RewrittenQuestion(asked, unresolved=True)
        return _about(asked, ordinal, titles[named], named)
    if (refers or narrow) and cited:
        about = _with(asked, titles[cited[0]], tuple(cited), replaced=False, turns=turns)
        return replace(about, exclude=exclude)
    previous = _topic(turns)
    if not previous:
        return RewrittenQuestion(asked, unresolved=not own)
    following = _with(asked, previous, tuple(cited), replaced=bool(adds and own), turns=turns)
    return replace(following, exclude=exclude)


def _names_a_subject(asked: str) -> bool:
    """Whether a question names its subject: with a capital after the first word, or as in "how fast is pruning"."""
    words = re.findall(r"[^\W_]+", asked)
    return any(word[0].isupper() for word in words[1:]) or any(map(is_acronym, words)) or bool(_COMPLETE.match(asked))


def _focus(turns: list[Turn], papers: list[Paper]) -> list[str]:
    """The papers that were last talked about; none if the last question was refused."""
    for question, answer in reversed(turns):
        if _NOTHING_FOUND.search(answer):
            if _refers_back(question) or (_REFERRING.search(question) and not _names_a_subject(question)):
                continue
            return []
        if cited := cited_papers(answer, papers):
            return cited
    return []


def _refers_back(question: str) -> bool:
    """Whether a question makes sense only after another: "any others?", "explain that more simply"."""
    forms = (_POINTS_AT, _REWORDING, _MORE, _SIMILAR, _SAME_AUTHORS)
    return len(question) <= LONGEST_REFERENCE and any(form.search(question) for form in forms)


def _about(asked: str, ordinal: re.Match[str], title: str, paper: str) -> RewrittenQuestion:
    """The question with the paper's title in place of the words that refer to it."""
    before, after = asked[: ordinal.start()], asked[ordinal.end() :]
    own = {word.lower() for word in content_words(f"{before} {after}")}
    # "What does the second one propose?" has no word of its own: it asks about the paper as a whole.
    carried = frozenset(word.lower() for word in content_words(title)[:_MAX_CARRIED]) - own if own else frozenset()
    return RewrittenQuestion(f"{before}“{title}”{after}", carried, (paper,), only_focus=True)


def _with(asked: str, context: str, focus: tuple[str, ...], *, replaced: bool, turns: list[Turn]) -> RewrittenQuestion:
    own = {word.lower() for word in content_words(asked)}
    if not own:
        # "Why?" asks the previous question again.
        return RewrittenQuestion(f"{asked.rstrip(' ?')} — {_topic(turns) or context}?", frozenset(), focus)
    carried = frozenset(word.lower() for word in content_words(context)[:_MAX_CARRIED]) - own
    return RewrittenQuestion(f"{asked.rstrip(' ?')} ({context.rstrip(' ?')})?", carried, focus, replaced=replaced)


def _topic(turns: list[Turn]) -> str:
    """The last question with content of its own, about more than what came before it."""
    for question, _ in reversed(turns):
        if content_words(question) and not is_greeting(question) and not _refers_back(question):
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
    """Ids of the papers whose title or sentences are in an answer, by first appearance."""
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
