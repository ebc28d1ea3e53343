"""How much of a text that is still arriving will stay as it is, whatever comes next."""

from __future__ import annotations

import re

from rag_assistant.sentences import protected_spans
from rag_assistant.writers.markers import open_marker

LONGEST_FORMULA = 400
"""A mark that would open a formula or code, but isn't closed within this many characters, opens none."""
_LONGEST_EMPHASIS = 120
_LONGEST_BRACKET = 80
_OPENER = re.compile(r"(?<!\\)(?:\$|`)|\\[(\[]")
_BRACKET = re.compile(rf"!?\\?[\[【][^\[\]【】\n]{{0,{_LONGEST_BRACKET}}}\Z")
_EMPHASIS = re.compile(r"(?P<mark>(?<![*\\])\*{2,3}|(?<![\w*\\])(?:\*|_{1,3}))(?=[^\s*_])")
# Whether a sentence or a block ends here is known once the next word is.
_BOUNDARY = re.compile(r"(?P<stop>[.!?\u2026]++(?:[\"'\u201d\u2019)\]}*_$]|'')*+(?=\s)|(?=\n))\s++\W*+\w*+\Z")
_LONGEST_BOUNDARY = 200
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")


def partial_word(text: str) -> str:
    """The part of an incomplete word that is certain: the letters it begins with; anything else waits for its end."""
    word = _WORD.match(text)
    return word[0] if word else ""


def stable_end(text: str, papers: int) -> int:
    """The end of the stable prefix: after it something may be a marker, or has been opened and not closed.

    Args:
        text: What has arrived, up to white space or the first letters of the next word.
        papers: How many papers the model was sent.
    """
    ends = [open_marker(text, papers), open_formula(text), _open_emphasis(text), len(text)]
    if (bracket := _BRACKET.search(text, max(0, len(text) - _LONGEST_BRACKET - 4))) is not None:
        ends.append(bracket.start())
    boundary = _BOUNDARY.search(text, max(0, len(text) - _LONGEST_BOUNDARY))
    if boundary is not None and text[: boundary.end("stop")].strip():
        ends.append(boundary.end("stop"))
    return min(ends)


def open_formula(text: str) -> int:
    """Where a formula or code was opened that further text may close; the length of the text if there is none."""
    protected = protected_spans(text)
    for match in _OPENER.finditer(text, max(0, len(text) - LONGEST_FORMULA + 1)):
        no_opener = match[0] in "$`" and text[match.end() : match.end() + 1].isspace()
        if not no_opener and not any(a <= match.start() < b for a, b in protected):
            return match.start()
    return len(text)


def _open_emphasis(text: str) -> int:
    for a, b in protected_spans(text):
        text = f"{text[:a]}{'x' * (b - a)}{text[b:]}"
    start = max(0, len(text) - _LONGEST_EMPHASIS, text.rfind("\n") + 1)
    while (match := _EMPHASIS.search(text, start)) is not None:
        close = text.find(match["mark"], match.end())
        if close < 0:
            return match.start()
        start = close + len(match["mark"])
    return len(text)
