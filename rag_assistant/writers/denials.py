"""Sentences in which a model says what the abstracts don't say."""

from __future__ import annotations

import re

from rag_assistant.questions.content import content_stems
from rag_assistant.writers.partial import may_match

_MAX_PART = 160
_IN_QUESTION = 0.6
"""The share of what is denied that must be in the question: otherwise the sentence is a claim like any other."""

_TELL = (
    r"(?:say|state|mention|tell|report|specif(?:y|ie)|describe|provide|contain|give|discuss|address|include|explain|answer|"
    r"cover|indicate|disclose|offer|detail|talk|speak)(?:s|d|ed)?"
)
_OPENING = (
    r"\W*(?:(?:however|but|unfortunately|sorry|i['\u2019]m sorry|i am sorry|nevertheless)[,;]?\s+(?:but\s+)?)?"
    r"(?:(?:based on|according to|from|given)\s+(?:the|these)\s+(?:\w+\s+){0,2}?"
    r"(?:abstracts?|papers?|passages?|sentences?|texts?|context|sources?|information),?\s+)?"
)
_SOURCE = (
    r"(?:given|provided|available|supplied|cited|above)?\s*"
    r"(?:abstracts?|papers?|passages?|sentences?|texts?|context|sources?|information)"
)
_DENIAL = re.compile(
    rf"{_OPENING}(?:"
    rf"(?:the|these|this|those)\s+{_SOURCE}\b[^.]{{0,30}}?\s(?:do(?:es)?\s+not|do(?:es)?n['\u2019]t|did\s+not)\s+"
    rf"(?:\w+ly\s+)?{_TELL}\b"
    rf"|(?:none|neither)\s+of\s+(?:the|these)\s+{_SOURCE}\s+(?:\w+ly\s+)?{_TELL}\b"
    rf"|no\s+{_SOURCE}\s+(?:\w+ly\s+)?{_TELL}\b"
    rf"|(?:the|these)\s+{_SOURCE}\s+(?:contain|have|has|give|gives|provide)s?\s+no\s+(?:information|details?|mention)\b"
    r"|there\s+is\s+no\s+(?:information|mention|details?)\b(?:\s+(?:provided|given|available))?"
    r"|(?:it|this)\s+is\s+not\s+(?:\w+ly\s+)?(?:stated|mentioned|specified|reported|said|given|provided|described)\b"
    r"|i\s+(?:cannot|can\s?not|can['\u2019]t|could\s+not|couldn['\u2019]t|am\s+unable\s+to|do\s+not|don['\u2019]t)\s+"
    r"(?:answer|find|know|determine|tell)\b"
    r")(?P<part>.*)",
    re.IGNORECASE | re.DOTALL,
)
_UNSTATED = re.compile(
    rf"{_OPENING}the\s+(?P<part>(?:(?!\b(?:is|are|was|were)\b)[^.,;:]){{3,80}}?)\s+(?:is|are|was|were)\s+not\s+(?:\w+ly\s+)?"
    r"(?:stated|mentioned|specified|reported|given|provided|described|disclosed|available)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:in|from|by|based on|using)\s+(?:the|these|this|any of the)\s+"
    r"(?:given |provided |available )?(?:abstracts?|papers?|passages?|sentences?|texts?|context|sources?)\b",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^\W*(?:(?:any|enough|sufficient|specific|further|exact|the|number of|amount of)\s+)*"
    r"(?:(?:information|details?|mention|anything|question|answer)\b\W*)?"
    r"(?:(?:about|on|regarding|of|for|to|that|as to)\b\W*)?",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"[^\W_]*\Z")
_PASSED_OVER = content_stems(
    "based according given provided available supplied cited above however unfortunately sorry nevertheless abstracts "
    "papers passages sentences texts context sources information details mention anything question answer enough "
    "sufficient specific further exact number amount using stated mentioned specified reported described disclosed "
    "currently explicitly"
)
"""Known words that a denial may have besides what it denies."""
WHOLE = "the rest of the question"
"""What is missing if a denial names nothing."""


def denied_part(sentence: str, question: str) -> str | None:
    """What a sentence says is not in the abstracts; ``None`` for a sentence that is no denial.

    Only what the question asks for can be denied: a sentence that denies something else is checked as a claim, so that
    no text of a model gets into an answer this way.
    """
    match = _DENIAL.match(sentence) or _UNSTATED.match(sentence)
    if match is None:
        return None
    part = _LEADING.sub("", _PLACE.sub("", match["part"])).strip(" .,;:!?\"'")
    part = re.sub(r"\s+", " ", part)
    words = content_stems(part)
    if not words:
        return WHOLE
    if len(part) > _MAX_PART or len(words & content_stems(question)) < _IN_QUESTION * len(words):
        return None
    return part


def may_deny(beginning: str, question: str) -> bool:
    """Whether a sentence that begins like this may turn out to be a denial of what the question asks for."""
    asked = content_stems(question)
    # With more other words than this, even all the words of the question would be too small a share.
    most = len(asked) * (1 - _IN_QUESTION) / _IN_QUESTION
    whole = _LAST_WORD.sub("", beginning)
    if (match := _DENIAL.match(beginning)) is not None:
        return len(content_stems(whole[match.start("part") :]) - asked - _PASSED_OVER) <= most
    if may_match(_DENIAL, beginning):
        return True
    if _UNSTATED.match(beginning):
        return denied_part(beginning, question) is not None
    return may_match(_UNSTATED, beginning) and len(content_stems(whole) - asked - _PASSED_OVER) <= most
