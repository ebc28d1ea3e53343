"""What a question asks for, as its form shows: its kind, the things it compares, and its parts.

The rules look at function words and question forms only; none knows a topic. The kinds follow the coarse answer types
of Li and Roth (2002, "Learning Question Classifiers"), cut down to what abstracts can answer, plus the forms that are
answered in another way: lists over all papers, comparisons, and questions about the bibliography.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from rag_assistant.acronyms import is_acronym
from rag_assistant.escapes import without_escapes
from rag_assistant.questions.content import content_words
from rag_assistant.questions.patterns import (
    ALL_PAPERS,
    ASKING,
    BIBLIOGRAPHY,
    COMPARISON,
    COUNTING,
    GREETING,
    LEADING,
    LIMITS,
    LIST,
    MULTI,
    ON_A_TOPIC,
    PARALLEL,
    RELATION,
    SECOND_CLAUSE,
    SO_MANY,
    THE_PAPER_ON,
    WHAT_DO,
    YESNO,
    Field,
)
from rag_assistant.questions.records import LONGEST, RecordQuery, number, record_query
from rag_assistant.sentences import sentence_spans

Kind = Literal["fact", "list", "comparison", "yesno", "bibliography", "greeting", "empty"]

ASKS = re.compile(rf"\b{ASKING}\b", re.IGNORECASE)
LEAST_CLAUSE = 4
"""The number of words from which "and which ..." is a question of its own: "and in which year?" isn't."""
MAX_QUESTION = 2000
"""How many characters of a question are used; the rest of a longer text is left out, with a notice."""


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """A question and what its form asks for.

    Attributes:
        text: The question, white space normalised and at most :data:`MAX_QUESTION` characters.
        kind: How it is to be answered.
        sides: For comparisons, the things compared, as written in the question.
        field: For questions about the bibliography, the field asked for.
        person: For ``papers_by``, the name asked about.
        multi: Whether the wording asks about several papers.
        counts: Whether a list is wanted as a number ("how many papers").
        cut: Whether the question was longer and has been cut.
        records: What the records of the papers asked for must say.
        relation: For lists, the verb of "which papers derive ...", in lower case: it says less than its object.
        alternatives: For lists, the alternatives in "A, B or C", as written in the question.
        limit: For lists, how many papers are asked for; ``None`` if all are.
    """

    text: str
    kind: Kind
    sides: tuple[str, ...] = ()
    field: Field | None = None
    person: str = ""
    multi: bool = False
    counts: bool = False
    cut: bool = False
    alternatives: tuple[str, ...] = ()
    relation: str = ""
    records: RecordQuery | None = None
    limit: int | None = None

    @property
    def names_a_paper(self) -> bool:
        """Whether it is about "the paper on ..."."""
        return THE_PAPER_ON.search(self.text) is not None

    def at_most(self, most: int) -> int:
        """How many papers a list tells: as many as are asked for, if these are fewer than ``most``."""
        return min(most, self.limit or most)


def without_limit(text: str) -> tuple[str, int | None]:
    """A cleaned question without the number of papers that it asks for, and that number: "Which papers are on music?
    Give me three.", "the next two"."""
    for limit in LIMITS if len(text) <= LONGEST else ():
        if (match := limit.search(text)) and (asked := number(match["n"])):
            instead = "more" if limit is LIMITS[2] else ""
            return clean(f"{text[: match.start('said')]}{instead}{text[match.end('said') :]}"), asked
    return text, None


def clean(text: str) -> str:
    """One line of valid text: without terminal escapes, with spaces for control characters and lone surrogates, and
    with white space collapsed."""
    return re.sub(
        r"\s+",
        " ",
        re.sub(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", " ", without_escapes(text)),
    ).strip()


def analyse(question: str) -> QuestionForm:
    """The form of a question. Never fails: a question that fits no other kind is a ``fact``."""
    text = clean(question)
    cut = len(text) > MAX_QUESTION
    text = text[:MAX_QUESTION]
    if not any(character.isalnum() for character in text):
        return QuestionForm(text, "empty", cut=cut)
    if is_greeting(text):
        return QuestionForm(text, "greeting")
    if asks_for_all(text):
        return QuestionForm(text, "bibliography", field="records", multi=True, records=RecordQuery((), None, "", False))
    if not cut:
        records = record_query(text)
        if records is not None and not _of_a_person(records):
            return _of_records(text, records)
        for field, pattern in BIBLIOGRAPHY:
            if match := pattern.search(text):
                person = _person(match.groupdict().get("who") or "")
                if field == "papers_by" and not _is_name(person):
                    continue
                return QuestionForm(text, "bibliography", field=field, person=person)
        if records is not None:
            return _of_records(text, records)
    if LIST.match(LEADING.sub("", text)):
        counts = bool(re.search(r"\bhow\s+many\b", text, re.IGNORECASE))
        return QuestionForm(
            text,
            "list",
            multi=True,
            counts=counts,
            cut=cut,
            alternatives=_alternatives(text),
            relation=_relation(text),
        )
    multi = bool(MULTI.search(text))
    for pattern in () if COUNTING.match(text) else COMPARISON:
        if (match := pattern.search(text)) and all(content_words(subject) for subject in (match["a"], match["b"])):
            compared = (_subject(match["a"]), _subject(match["b"]))
            return QuestionForm(text, "comparison", sides=compared, multi=True, cut=cut)
    if YESNO.match(text):
        return QuestionForm(text, "yesno", multi=multi, cut=cut)
    return QuestionForm(text, "fact", multi=multi, cut=cut)


def is_greeting(text: str) -> bool:
    """Whether a text says hello or thanks, or asks what one can ask."""
    return len(text) <= LONGEST and GREETING.fullmatch(text) is not None


def says_thanks(text: str) -> bool:
    """Whether a greeting says thanks for an answer."""
    return bool((match := GREETING.fullmatch(text)) and match["thanks"])


def asks_for_all(text: str) -> bool:
    """Whether a text asks for all papers, without a condition or a topic."""
    return len(text) <= LONGEST and ALL_PAPERS.match(LEADING.sub("", text)) is not None


def _of_a_person(records: RecordQuery) -> bool:
    """Whether an author is the only condition: such questions may name several people, with initials."""
    plain = [c for c in records.conditions if c.field == "author" and not c.negated and " or " not in c.name]
    return not records.topic and not records.without and len(plain) == len(records.conditions) == 1


def list_on(topic: str, *, counts: bool = False) -> QuestionForm:
    """The form of a question for a list of the papers on a topic."""
    return analyse(f"{'How many' if counts else 'Which'} papers are about {topic}?")


def _of_records(text: str, records: RecordQuery) -> QuestionForm:
    if records.without:
        return QuestionForm(text, "bibliography", field="without", multi=True, counts=records.counts, records=records)
    if not content_words(records.topic):
        return QuestionForm(text, "bibliography", field="records", multi=True, counts=records.counts, records=records)
    return replace(list_on(records.topic, counts=records.counts), records=records)


def asked_part(text: str) -> str:
    """Only the sentences of a text that ask, if these say enough by themselves; else the whole text.

    What people put before a question (greetings, instructions, pasted text) isn't what they are looking for.
    """
    pieces = _sentences(text)
    asking = [
        piece for piece in pieces if piece.endswith(("?", "\uff1f")) or re.fullmatch(SO_MANY, piece, re.IGNORECASE)
    ]
    if not asking or len(asking) == len(pieces):
        return text
    said = " ".join(asking)
    return said if len(content_words(said)) >= 3 else text


def _sentences(text: str) -> list[str]:
    # In a text all in lower case only the punctuation mark shows where a sentence ends.
    spelt = re.sub(r"(?<=[.!?] )[a-z]", lambda match: match[0].upper(), text)
    return [text[start:end] for start, end in sentence_spans(spelt)]


_ENDS = ".,;:!?\u2026\uff1f\"'()"


def without_repetition(text: str) -> str:
    """A cleaned text without repetitions: of the same words over and over, or of an earlier sentence."""
    words = text.split(" ")
    size = _period([word.strip(_ENDS).casefold() for word in words])
    if size < len(words):
        return " ".join(words[:size])
    pieces = [
        piece
        for sentence in _sentences(text[: MAX_QUESTION * 4])
        for piece in re.findall(r"[^?\uff1f]+[?\uff1f]*|[?\uff1f]+", sentence)
    ]
    first: dict[str, str] = {}
    for piece in pieces:
        first.setdefault(piece.strip(f" {_ENDS}").casefold(), piece.strip())
    return text if len(first) == len(pieces) else " ".join(first.values())


def _period(words: list[str]) -> int:
    """The number of words after which a text begins again, if it is nothing but repetition (the last one may be cut
    short); else the number of all its words. Linear, by the failure function of Knuth, Morris and Pratt."""
    borders = [0]
    for word in words[1:]:
        length = borders[-1]
        while length and words[length] != word:
            length = borders[length - 1]
        borders.append(length + (words[length] == word))
    size = len(words) - borders[-1]
    return size if 2 * size <= len(words) else len(words)


def parts(question: str, *, joined: bool = True) -> tuple[str, ...]:
    """The questions in a text that asks several; otherwise one part.

    Args:
        question: The text.
        joined: Whether "What is A, and which B is C?" is split too; a model answers that in one go.
    """
    text = asked_part(clean(question))
    pieces, start = [], 0
    for marks in re.finditer(r"[?\uff1f]+", text):
        pieces.append(text[start : marks.end()].strip())
        start = marks.end()
    rest = text[start:].strip()
    asked = [piece for piece in pieces if content_words(piece) and not is_greeting(piece)]
    if len(asked) < 2:
        if not text:
            return ()
        return _clauses(text) if joined else (text,)
    if content_words(rest) and len(rest.split()) > 3:
        asked.append(rest)
    return tuple(asked)


def _clauses(question: str) -> tuple[str, ...]:
    """The two questions in "What is A, and which B is C?"; otherwise one part."""
    seam = SECOND_CLAUSE.search(question)
    if seam is None:
        return (question,)
    first, second = question[: seam.start()].strip(), question[seam.end() :].strip()
    asks = ASKS.search(first) and len(second.split()) >= LEAST_CLAUSE
    if not asks or not content_words(first) or not content_words(second):
        return (question,)
    return f"{first}?", f"{second[0].upper()}{second[1:]}"


def halves(question: str) -> tuple[str, ...]:
    """The two questions in "What is proved for A and for B?"; none if it asks about one thing, or is pasted text."""
    text = clean(question)
    match = PARALLEL.match(text) if len(text) <= LONGEST else None
    if match is None or not content_words(match["lead"]) or not all(map(content_words, (match["a"], match["b"]))):
        return ()
    return f"{match['lead']}{match['a'].rstrip(' ?.')}?", f"{match['lead']}{match['b'].rstrip(' ?.')}?"


def _subject(text: str) -> str:
    return re.split(r"[?;]|,\s+(?:and|when|in|for|with)\b", text)[0].strip(" ?!.,:;")


def _relation(text: str) -> str:
    if match := RELATION.search(text):
        return match["verb"].lower()
    last = text.rstrip(" ?.!").rsplit(" ", 1)[-1]
    return last.lower() if WHAT_DO.match(text) and ON_A_TOPIC.search(text) and last.isalpha() else ""


def _alternatives(text: str) -> tuple[str, ...]:
    if not re.search(r"\bor\b", text):
        return ()
    pieces = [piece for piece in re.split(r",\s*(?:or\s+)?|\s+or\s+", text.strip(" ?.!")) if piece.strip()]
    # The words before the first alternative belong to all: only the last two can be the alternative itself.
    return (" ".join(pieces[0].split()[-2:]), *pieces[1:]) if len(pieces) > 1 else ()


def _person(text: str) -> str:
    text = re.split(
        r"\s+as\s+an?\b|\b(?:and|&)\s+(?:colleagues|co-?workers|co-?authors|others|team)\b|\bet\s+al\b|\btogether\b|[?!;]",
        text,
    )[0]
    return text.strip(" ?.!,;:'\"")


def _is_name(person: str) -> bool:
    words = person.split()
    return 0 < len(words) <= 12 and words[0][0].isupper() and not is_acronym(words[0])
