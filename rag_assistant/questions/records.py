"""Questions about the records of several papers, as conditions on fields: "2024 papers by more than five authors".

A closed grammar of years, venues, authors and their number; other questions are answered the ordinary way. The rest of
a question, beside its conditions, is its topic, and is left to search and reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from rag_assistant.numerals import NUMBER_WORDS
from rag_assistant.questions.content import BIBLIOGRAPHY_WORDS, content_words
from rag_assistant.questions.patterns import BIBLIOGRAPHY, NUMBER, Field

Order = Literal[
    "most authors", "fewest authors", "newest", "oldest", "longest abstract", "shortest abstract", "longest title",
    "shortest title",
]  # fmt: skip

_YEAR = r"(?P<{}>(?:19|20)\d\d)"
_PAPER = r"(?:papers?|works?|articles?|abstracts?|studies|study|publications?|ones?|anything|everything|something|things|stuff)"
_SAID = r"(?:(?:that|which|who)\s+)?(?:(?:was|were|is|are|has|have|had|been|got|came|come)\s+)*"
_OUT = rf"{_SAID}(?:(?:first\s+)?(?:published|written|released|dated|presented|accepted|appear\w*|out)\s+)?"
_ONE_NAME = r"(?![A-Z]{2,}\b)[A-ZÀ-Þ][\w'’.-]*(?:\s+(?:(?:van|von|de|der|den|la|le|bin|al)\s+)*[A-ZÀ-Þ][\w'’.-]*)*"
_NAME = rf"(?P<who>{_ONE_NAME}(?:\s*(?:,\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+){_ONE_NAME})*)(?i:\s+(?:(?:and|&)\s+(?:colleagues|others|co-?workers|co-?authors|team)|et\s+al\b\.?))?"
_VENUE = r"(?:ICML|ICLR|NeurIPS|NIPS|ACL|EMNLP|NAACL|CVPR|ICCV|ECCV|AAAI|IJCAI|KDD|AISTATS|UAI|COLT|JMLR|TMLR|PMLR)"
_NOT = r"(?P<no>(?:(?:that|which|who)\s+)?(?:(?:(?:is|are|was|were|do|does|did|has|have)\s*)?(?:not|n['’]?t|never)|(?:(?:have|has|having|with)\s+)?no|without|lacking)\s+)?"


def number(text: str) -> int:
    """What ``NUMBER`` matched, as a number."""
    return int(text) if text.isdigit() else NUMBER_WORDS[text.lower()]


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b{_NOT}{_OUT}{pattern}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a field of a record must be.

    Attributes:
        field: ``year`` and ``count`` (of authors) lie between ``low`` and ``high``, both inclusive, or open if
            ``None``; ``author`` and ``venue`` are named by ``name``; one of several authors joined by "or" will do.
        negated: Whether the condition must not hold.
        said: The condition in the question's words.
    """

    field: Literal["year", "count", "author", "venue"]
    low: int | None = None
    high: int | None = None
    name: str = ""
    negated: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class RecordQuery:
    """Which papers are asked for.

    Attributes:
        conditions: All must hold.
        order: In what the papers asked for are extreme.
        topic: The rest of the question; may be empty.
        without: What the papers must not be about: "papers that aren't about alignment", "everything except music".
        counts: Whether their number is asked for.
        shown: The field asked for: "Who wrote the newest paper?"; ``None`` if only the papers are.
    """

    conditions: tuple[Condition, ...]
    order: Order | None
    topic: str
    counts: bool
    without: str = ""
    shown: Field | None = None


def _between(match: re.Match[str]) -> Condition:
    low, high = sorted((int(match["y"]), int(match["z"])))
    return Condition("year", low, high)


def _before(match: re.Match[str]) -> Condition:
    last = match["how"].lower() in ("until", "till", "up to")
    return Condition("year", None, int(match["y"]) - (0 if last else 1))


def _after(match: re.Match[str]) -> Condition:
    return Condition("year", int(match["y"]) + (0 if match["how"].lower().startswith(("since", "from")) else 1), None)


def _in_year(match: re.Match[str]) -> Condition:
    return Condition("year", int(match["y"]), int(match["y"]))


def _authors(match: re.Match[str]) -> Condition:
    said, how = number(match["n"]), f"{match['how'] or ''} {match['more'] or ''}".lower()
    if re.search(r"at most|up to|no more than|or fewer|or less|maximum", how):
        return Condition("count", None, said)
    if re.search(r"at least|or more|\+|minimum|plus", how):
        return Condition("count", said, None)
    if re.search(r"more than|over|above", how):
        return Condition("count", said + 1, None)
    if re.search(r"fewer than|less than|under|below", how):
        return Condition("count", None, said - 1)
    return Condition("count", said, said)


_CONDITIONS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Condition]], ...] = (
    (
        _compile(rf"(?:between|from|in)\s+{_YEAR.format('y')}\s*(?:and|to|until|through|-|–)\s*{_YEAR.format('z')}\b"),
        _between,
    ),
    (_compile(rf"(?P<how>before|prior\s+to|earlier\s+than|older\s+than|until|till|up\s+to)\s+{_YEAR.format('y')}\b"), _before),
    (_compile(rf"(?P<how>after|since|newer\s+than|later\s+than|more\s+recent\s+than)\s+{_YEAR.format('y')}\b"), _after),
    (_compile(rf"(?P<how>from)\s+{_YEAR.format('y')}\s+(?:on(?=\s*[?.,!]|\s*$)|onwards?|and\s+later|or\s+later)"), _after),
    (_compile(rf"(?:in|from)\s+(?:the\s+)?(?:year\s+)?{_YEAR.format('y')}\b"), _in_year),
    (re.compile(rf"(?<=ICML |ICLR |NIPS |CVPR ){_YEAR.format('y')}\b", re.IGNORECASE), _in_year),
    (_compile(rf"{_YEAR.format('y')}(?:['’]s)?\s+(?={_PAPER}\b)"), _in_year),
    (
        _compile(
            rf"(?:with|(?P<wrote>(?:written|authored)\s+by)|by|from|having|have|has|had)?\s*(?:(?:only|just)\s+)?(?P<how>no\s+more\s+than|more\s+than|over|above|fewer\s+than|less\s+than|"
            rf"under|below|at\s+least|at\s+most|up\s+to|exactly|precisely|a\s+minimum\s+of|a\s+maximum\s+of)?\s*"
            rf"{NUMBER}\s*(?P<more>\+|plus|or\s+more|or\s+fewer|or\s+less)?\s*(?:different\s+)?(?:(?:co-?)?(?:authors?|writers?)\b(?!['’])|(?(wrote)(?:people|persons?)\b|(?!)))"
        ),
        _authors,
    ),
    (
        _compile(
            r"(?:by|with|having|have|has)?\s*(?:only\s+)?(?:a\s+|an\s+)?(?:single|sole|lone|solo|one)[\s-]*(?:authors?|authored|writer)\b"
        ),
        lambda _: Condition("count", 1, 1),
    ),
    (
        re.compile(
            rf"\b{_NOT}(?i:{_SAID}(?:(?:co-?)?(?:written|authored)\s+)?by)\s+(?!(?:19|20)\d\d){_NAME}"
        ),
        lambda match: Condition("author", name=match["who"].strip()),
    ),
    (
        _compile(rf"(?:(?:from|at|in)\s+)?(?:the\s+)?(?P<who>{_VENUE})\b(?:'\d\d)?"),
        lambda match: Condition("venue", name=match["who"]),
    ),
    (
        re.compile(
            rf"\b{_NOT}(?i:(?:(?:by|has|have|with)\s+)?(?:an?\s+)?(?:author|someone|somebody|person)?\s*(?:named|called|(?:with|whose)\s+(?:the\s+)?(?:last|first|sur|family)[\s-]?name(?:\s+is)?))\s+(?P<who>{_ONE_NAME})"
        ),
        lambda match: Condition("author", name=match["who"].strip()),
    ),
    (
        re.compile(
            rf"\b{_NOT}(?i:{_SAID}(?:published|presented|accepted|appear\w*)\s+(?:at|in|by)(?:\s+the)?)\s+(?P<who>[A-Z][\w-]*(?:\s+[A-Z][\w-]*)*)"
        ),
        lambda match: Condition("venue", name=match["who"].strip()),
    ),
)  # fmt: skip
_ORDERS: tuple[tuple[Order, re.Pattern[str]], ...] = (
    ("most authors", re.compile(r"\b(?:the\s+)?(?:(?:most|(?:largest|highest|biggest)\s+number\s+of|longest\s+list\s+of)\s+(?:co-?)?authors|(?:longest|largest|biggest)\s+(?:author\s+(?:list|team)|list\s+of\s+authors))\b", re.I)),
    ("fewest authors", re.compile(r"\b(?:the\s+)?(?:(?:fewest|least|(?:smallest|lowest)\s+number\s+of|shortest\s+list\s+of)\s+(?:co-?)?authors|(?:shortest|smallest)\s+(?:author\s+(?:list|team)|list\s+of\s+authors))\b", re.I)),
    ("newest", re.compile(rf"\b(?:the\s+)?(?:newest|latest|most\s+recent|youngest)(?:\s+{_PAPER}\b|\W*$)", re.I)),
    ("oldest", re.compile(rf"\b(?:the\s+)?(?:oldest|earliest)(?:\s+{_PAPER}\b|\W*$)", re.I)),
    ("longest abstract", re.compile(r"\b(?:the\s+)?longest\s+abstract\b", re.I)),
    ("shortest abstract", re.compile(r"\b(?:the\s+)?shortest\s+abstract\b", re.I)),
    ("longest title", re.compile(r"\b(?:the\s+)?longest\s+title\b", re.I)),
    ("shortest title", re.compile(r"\b(?:the\s+)?shortest\s+title\b", re.I)),
)  # fmt: skip
_OF_A_RECORD: frozenset[Field] = frozenset({"authors", "link", "doi", "year", "venue", "title"})
_ASKS_FOR_PAPERS = re.compile(rf"\b{_PAPER}\b", re.IGNORECASE)
_ASKS_OF_ONE = re.compile(r"\b(?:who|when|where|why|how(?!\s+many\s+(?:(?:of\s+(?:the(?:se|m)?|those)\s+)?(?:have|has|are|were)\b)|\s+many\s+(?:of\s+)?(?:the\s+|these\s+)?(?:\w+\s+)?(?:papers|works|articles|abstracts|studies|publications)))\b", re.I)  # fmt: skip
_ASKS_A_FIELD = re.compile(
    r"\b(?:titles?|authors?\s+of|links?|urls?|pages?|doi|pdf|id\s+of|venues?|what\s+year)\b", re.I
)
_COUNTS = re.compile(r"\b(?:how\s+many|number\s+of|count)\b", re.IGNORECASE)
_ASKING = re.compile(
    rf"""\b(?:which|what|how\s+many|list|name|show|find|give|tell|me|us|please|all|any|every|each|are|is|was|were|do|does|did|
    there|have|has|had|you|i|we|can|could|would|want|need|see|the|of|these|those|them|this|here|in|your|our|collection|corpus|
    database|library|and|that|who|count|number|only|just|about|on|for|a|an|some|got|one|also|year|years|published|written|
    {_PAPER})\b""",
    re.IGNORECASE | re.VERBOSE,
)


# Not "work" and "one": "Does it work without labels?", "Is the bound one that doesn't depend on that?".
_OF_THESE = r"(?:papers?|articles?|abstracts?|stud(?:y|ies)|publications?|(?:which|what)\s+works?|(?:all|any|other)\s+works|(?:which|the|any)\s+ones|anything|everything|something|stuff|of\s+(?:these|those|them))"
_VERB = r"(?:(?:be|being)\s+)?(?:about|on|in|of|use[sd]?|using|with|mention\w*|(?:deal|concern|work|engag)\w*\s+(?:with|on|in)|concern\w*|consider\w*|cover\w*|discuss\w*|involv\w*|rel(?:y|ies|ying)\s+on|relat\w+\s+to|need|requir\w*|contain\w*|have|report\w*|includ\w*|stud(?:y|ies|ying)|touch\w*(?:\s+on)?|tackl\w*|address\w*|based\s+on|focus\w*\s+on|look\w*\s+at|the\s+ones?|those|any|do|to)"
_AUX = r"(?:are|is|do|does|did|have|has|was|were)"
_NEGATED = (
    re.compile(
        rf"^(?P<before>.*?\b{_OF_THESE}(?:\s+[^,;]{{1,60}}?(?=\s+(?:that|which|who)\s+{_AUX}\s*(?:not|n['’]?t))|\s+(?:about|of|on|with)\s+(?:(?!(?:that|whether|which|who)\b)[^,;]){{1,60}}?(?=\s+{_AUX}\s*(?:not|n['’]?t)\s+{_VERB}\b))?)\s+(?:(?:that|which|who)\s+)?(?:(?:are|is|do|does|did|have|has|was|were|could|would)\s*)?"
        rf"(?:not|n['’]?t|never)\s+(?P<after>.+)$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^(?P<before>(?:which|what|who|everything|anything|all|those|(?:which|what)\s+else)\s+(?:(?:that|which|who)\s+)?(?:are|is|do|does|did|have|has))\s*(?:not|n['’]?t|never)\s+"
        rf"(?=(?:{_VERB})\b)(?P<after>.+)$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^(?P<before>.*?\b{_OF_THESE}\s*(?:(?:that|which)\s+(?:are|come|go|do|work)\s+)?)(?:without|lacking|that\s+lacks?|which\s+lacks?|with\s+no|,\s*(?:but\s+)?no|(?:that\s+|which\s+)?(?:has|have|having)\s+nothing\s+to\s+do\s+with)\s+(?P<after>.+)$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^(?P<before>(?:.*\b{_OF_THESE}|.*\ball\b).*?),?\s*\b(?:except(?:\s+for)?|excluding|other\s+than|apart\s+from|aside\s+from|besides|but\s+not|save\s+for)\s+(?P<after>.+)$",
        re.IGNORECASE,
    ),
    re.compile(r"^(?P<before>(?!.*\b(?:why|how|when|where)\b).*?),?\s+but\s+not\s+(?P<after>[\w\s-]{1,40})$", re.IGNORECASE),
)  # fmt: skip
_LEADING_VERBS = re.compile(rf"^(?:(?:{_VERB}|the|a|an)\s+)+", re.IGNORECASE)
_TRAILING_NOUN = re.compile(rf"\s*\b(?:{_PAPER}|at\s+all|please|in\s+(?:here|this\s+(?:collection|corpus))|(?:in\s+)?(?:the|your)\s+(?:collection|corpus))\s*$", re.IGNORECASE)  # fmt: skip


MAX_KEYWORDS = 8
LONGEST = 250
"""The longest question for papers by their records, in characters: a longer text is pasted, and may fit by chance."""


def _negated(text: str) -> tuple[str, str]:
    """The part of a question before the scope of its negation, and what it negates; ``""`` if it negates nothing."""
    text = text.strip(" ?.!")
    for pattern in _NEGATED:
        if match := pattern.search(text):
            before, without = match["before"], _LEADING_VERBS.sub("", match["after"])
            while (shorter := _TRAILING_NOUN.sub("", without)) != without:
                without = shorter
            if without and not without.lower().startswith("from "):
                return before, without
    return text, ""


def record_query(text: str) -> RecordQuery | None:
    """The conditions of a question that asks for papers by what their records say; ``None`` if it sets none."""
    order, rest = _order(text)
    # "Who wrote the newest paper?" asks for a field of the papers that are extreme.
    shown = next((field for field, pattern in BIBLIOGRAPHY if field in _OF_A_RECORD and pattern.search(rest)), None)
    of_one = order is None and (_ASKS_OF_ONE.search(text) or _ASKS_A_FIELD.search(text))
    if len(text) > LONGEST or of_one:
        return None
    found = []
    for said, condition in _found(rest):
        found.append(condition)
        rest = rest.replace(said, " ", 1)
    rest, without = _negated(rest)
    if not found and order is None and not without:
        return None
    keywords = "?" not in text and len(text.split()) <= MAX_KEYWORDS
    asks = order or _ASKS_FOR_PAPERS.search(text) or keywords or not _ASKING.sub(" ", rest).strip(" ?.!,;:")
    if not asks:
        return None
    topic = re.sub(r"\s+", " ", _ASKING.sub(" ", rest)).strip(" ?.!,;:-")
    if order and all(word.lower() in BIBLIOGRAPHY_WORDS for word in content_words(topic)):
        topic = ""
    return RecordQuery(tuple(found), order, topic, bool(_COUNTS.search(text)), without, shown)


def _order(text: str) -> tuple[Order | None, str]:
    """The order that a question names, and the rest of the question."""
    for name, pattern in _ORDERS:
        if match := pattern.search(text):
            return name, text.replace(match[0], " ", 1)
    return None, text


def _found(text: str) -> Iterator[tuple[str, Condition]]:
    """The conditions, each with the words that set it; no word sets two."""
    for pattern, read in _CONDITIONS:
        for match in list(pattern.finditer(text)):
            condition = read(match)
            said = re.sub(r"^(?:that|which|who)\s+", "", match[0].strip(), flags=re.IGNORECASE)
            yield (
                match[0],
                Condition(
                    condition.field,
                    condition.low,
                    condition.high,
                    condition.name,
                    bool(match.groupdict().get("no")),
                    said,
                ),
            )
            text = text.replace(match[0], " " * len(match[0]), 1)
