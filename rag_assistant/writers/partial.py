"""Whether text that is still arriving may yet match a pattern."""

from __future__ import annotations

import re
from functools import cache
from typing import Any


def may_match(pattern: re.Pattern[str], text: str, *, whole: bool = False) -> bool:
    """Whether ``pattern`` matches at the start of ``text``, or may once more text has arrived.

    Args:
        pattern: What is looked for.
        text: What has arrived so far.
        whole: Whether it must match all of the text.
    """
    matcher = _compiled(pattern)
    return (matcher.fullmatch if whole else matcher.match)(text, partial=True) is not None


def open_at(pattern: re.Pattern[str], text: str) -> int:
    """Where the end of ``text`` begins that may become a match with what comes next; its length if there is none."""
    return next((m.start() for m in _compiled(pattern).finditer(text, partial=True) if m.partial), len(text))


@cache
def _compiled(pattern: re.Pattern[str]) -> Any:
    import regex  # not in the standard library, and only needed where a model writes

    flags = pattern.flags & (re.IGNORECASE | re.DOTALL | re.VERBOSE | re.MULTILINE)
    return regex.compile(pattern.pattern, int(flags))
