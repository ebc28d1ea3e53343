"""Replies of models that write JSON where text was asked for: the text in the JSON, followed by its labels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_FENCE = re.compile(r"\A```[a-z]*\s*\n(?P<inside>.*?)\n?\s*(?:```\s*)?\Z", re.DOTALL | re.IGNORECASE)
_BEGINS = re.compile(r"\s*(?:`{1,2}\Z|```|\{|\[\s*(?:[{\"]|\Z))")
_TEXTS = ("answer", "text", "statement", "sentence", "claim", "response", "content", "reply")
_LABELS = ("labels", "label", "citations", "citation", "sources", "source", "cites", "references", "refs")
_LABEL = re.compile(r"\d{1,4}(?:\s*\.\s*s\s*\d{1,4})?", re.IGNORECASE)
_ENDED = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]*\Z")


def may_be_json(text: str) -> bool:
    """Whether the beginning of a reply looks like JSON or a fenced block, so that one has to wait for its end."""
    return _BEGINS.match(text) is not None


def unpacked(text: str, sentinel: str) -> str:
    """The text of a reply that is JSON or fenced; any other reply as it is.

    Args:
        text: The whole reply.
        sentinel: Stands for an answer that is present but empty.
    """
    fenced = _FENCE.match(text.strip())
    inside = fenced["inside"] if fenced else text
    try:
        value = json.loads(inside)
        joined = " ".join(_texts(value, sentinel)) if isinstance(value, dict | list) else ""
    except (ValueError, RecursionError):  # not JSON, or nested deeper than any answer
        return inside
    return joined or inside


def _texts(value: Any, sentinel: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _text(item, "", sentinel)
        return
    names = {str(name).lower(): name for name in value}
    markers = "".join(_markers(value[names[name]]) for name in _LABELS if name in names)
    for lowered, name in names.items():
        if lowered in _TEXTS:
            yield from _text(value[name], markers, sentinel)
        elif lowered not in _LABELS and isinstance(value[name], dict | list):
            yield from _texts(value[name], sentinel)


def _text(value: Any, markers: str, sentinel: str) -> Iterator[str]:
    if isinstance(value, dict | list):
        yield from _texts(value, sentinel)
    elif value is None or value == "":
        yield sentinel
    elif isinstance(value, str):
        text = value.strip()
        if not markers or "[" in text:
            yield text if _ENDED.search(text) or text == sentinel else f"{text}."
        else:
            yield f"{text} {markers}" if _ENDED.search(text) else f"{text} {markers}."


def _markers(value: Any) -> str:
    """The labels in a field for labels, and nothing else in it."""
    if isinstance(value, list):
        return "".join(_markers(item) for item in value)
    if isinstance(value, dict):
        return "".join(_markers(value[name]) for name in value if str(name).lower() in (*_LABELS, "id"))
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return "".join(f"[{label}]" for label in _LABEL.findall(str(value)) if re.fullmatch(r"[\W\d.s]*", str(value), re.I))
