"""The tags between which some models put their reasoning, and replies without it."""

from __future__ import annotations

import re

TAG = re.compile(r"<(?P<close>/?)(?:think|thinking|reasoning)>", re.IGNORECASE)


def without_reasoning(reply: str) -> str:
    """A whole reply without its reasoning; the tag that opens it may have been in the prompt."""
    answer, start, reasons = "", 0, False
    for tag in TAG.finditer(reply):
        if not reasons:
            answer = "" if tag["close"] else answer + reply[start : tag.start()]
        start, reasons = tag.end(), not tag["close"]
    return answer if reasons else answer + reply[start:]
