"""JSON: one document that holds records, as APIs answer and reference managers export."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_assistant.loaders.atom import papers_of_feed
from rag_assistant.loaders.base import Form, Problem, display, readable_text
from rag_assistant.loaders.jsonl import decoded, papers_of_object
from rag_assistant.types import Paper

_LISTS = "notes|items|data|papers|results|records|references"
_OPENS = re.compile(rf'"(?:{_LISTS})"\s*:\s*(\[)')
_GAP = re.compile(r"[\s,]*")
_BEGINS = re.compile(r"\ufeff?\s*(?:\[\s*(?:\{|\]|\Z)|\{\s*(?:[\"}]|\Z))")


def load_json(path: Path) -> Iterator[Paper | Problem]:
    """The papers of a ``.json`` file: one object, a list of them, or the answer of an API that holds a list.

    Objects are this project's own, or records of OpenReview, Semantic Scholar, Crossref, CSL or Publish or Perish. Of a
    list that is cut short, the records before the cut are read.
    """
    text = yield from readable_text(path)
    if text is None:
        return
    file = display(path)
    text = text.lstrip("\ufeff")
    at = _GAP.match(text).end()  # type: ignore[union-attr]
    if at == len(text):
        yield Problem(file, None, "", "is empty")
    elif text[at] == "[":
        yield from _each(file, text, at)
    else:
        yield from _answer(file, text, at)


def _answer(file: str, text: str, at: int) -> Iterator[Paper | Problem]:
    """The papers of an object, which may be one of them or hold a list of them."""
    value, end = decoded(file, _line(text, at), text, at)
    if isinstance(value, Problem):
        cut = _OPENS.search(text)
        yield from _each(file, text, cut.start(1)) if cut else [value]
        return
    body = value.get("body") if isinstance(value, dict) else None
    if isinstance(body, str) and "<feed" in body:  # arXiv's answer, in the record that a client kept of it
        yield from papers_of_feed(file, body)
        return
    inner = value.get("message") if isinstance(value, dict) and isinstance(value.get("message"), dict) else value
    listed = _list(inner)
    if listed is None:
        yield from papers_of_object(file, _line(text, at), inner)
    else:
        opens = (found.start(1) for found in _OPENS.finditer(text))
        start = next((one for one in opens if decoded(file, 1, text, one)[0] == listed), None)
        yield from _each(file, text if start is not None else json.dumps(listed), start or 0)
    if text[end:].strip():
        yield Problem(file, _line(text, end), "", "is no part of the JSON before it; was it meant to be JSON Lines?")


def _list(value: Any) -> list[Any] | None:
    """The records that an object holds, by the name under which APIs list them."""
    if not isinstance(value, dict) or "title" in value:
        return None
    lists = (value.get(name) for name in _LISTS.split("|"))
    return next((one for one in lists if isinstance(one, list) and all(isinstance(item, dict) for item in one)), None)


def _each(file: str, text: str, start: int) -> Iterator[Paper | Problem]:
    """The papers of the list that begins there, as far as it can be read."""
    line = _line(text, start)
    at, counted = start + 1, start
    found = False
    while True:
        at = _GAP.match(text, at).end()  # type: ignore[union-attr]
        line, counted = line + text.count("\n", counted, at), at
        if at >= len(text):
            yield Problem(file, line, "", "is cut short: the list of records has no end")
            return
        if text[at] == "]":
            break
        value, at = decoded(file, line, text, at)
        found = True
        if isinstance(value, Problem):
            yield value
            return
        yield from papers_of_object(file, line, value)
    if not found:
        yield Problem(file, None, "", "holds an empty list of records")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


JSON = Form(load_json, lambda head: bool(_BEGINS.match(head)), ("json",))
