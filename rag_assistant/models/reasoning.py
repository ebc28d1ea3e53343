"""The tags between which some models reason in their reply, and the reply without what stands there."""

from __future__ import annotations

import re

TAG = re.compile(r"<(?P<close>/?)(?:think|thinking|reasoning)>", re.IGNORECASE)


def without_reasoning(reply: str) -> str:
    """A whole reply without its reasoning; the tag that opens it may have been in the prompt."""
    told, start, reasons = "", 0, False
    for tag in TAG.finditer(reply):
        if not reasons:
            told = "" if tag["close"] else told + reply[start : tag.start()]
        start, reasons = tag.end(), not tag["close"]
    return told if reasons else told + reply[start:]
