"""JSON Lines: one object a line. Reads this project's names, BEIR's, the usual ones of conference lists, and those of
other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_assistant.loaders.base import LEFT_OUT, Form, Problem, display, readable_text
from rag_assistant.loaders.dialects import foreign_record, is_foreign
from rag_assistant.loaders.exports import papers_of_export
from rag_assistant.loaders.fields import Record, papers_from
from rag_assistant.types import Paper

_NAMES = {
    "id": ("id", "_id"),
    "title": ("title",),
    "abstract": ("abstract", "text"),
    "authors": ("authors", "author"),
    "year": ("year",),
    "venue": ("venue",),
    "url": ("url",),
    "doi": ("doi",),
}
_DECODER = json.JSONDecoder()
_LINKS = {"openreview": "openreview", "proceedings": "proceedings", "pmlr": "proceedings"}


def load_jsonl(path: Path) -> Iterator[Paper | Problem]:
    """The papers of a ``.jsonl`` file.

    Keys: ``id`` (or ``_id``), ``title``, ``abstract`` (or ``text``), ``authors`` (a list, or one text), ``year``,
    ``venue``, ``url``, ``doi``, ``links`` (an object of addresses), ``openreview``, ``proceedings`` (or ``pmlr``). A
    title or an abstract is required; other keys are passed over, and what of these can't be used is left out with a
    note. A record of OpenReview, Semantic Scholar, Crossref or CSL is read as such.
    """
    text = yield from readable_text(path)
    if text is None:
        return
    file = display(path)
    lines = text.split("\n")  # not splitlines(): U+2028 may stand in a JSON string
    first = next((number for number, line in enumerate(lines) if line.strip("\ufeff \t")), None)
    if first is None:
        yield Problem(file, None, "", "is empty")
        return
    for number, line in enumerate(lines, 1):
        record = line.strip("\ufeff \t")
        if record:
            value, end = decoded(file, number, record)
            if isinstance(value, Problem):
                yield value
            elif record[end:].strip():
                yield Problem(file, number, "", f"is not JSON: Extra data at column {end + 1}")
            else:
                yield from papers_of_object(file, number, value)


def decoded(file: str, line: int, text: str, at: int = 0) -> tuple[Any, int]:
    """The JSON value that begins there and where it ends; a problem in its place where there is none."""
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} at column {error.colno}"
        line += error.lineno - 1 - text.count("\n", 0, at)
    except RecursionError:
        message = "is not a record: its JSON is nested too deep"
    except ValueError:  # an integer of thousands of digits
        message = "is not a record: it holds a number too long to read"
    return Problem(file, line, "", message), at


def papers_of_object(file: str, line: int, value: Any) -> Iterator[Paper | Problem]:
    """The paper of a decoded object."""
    if not isinstance(value, dict):
        yield Problem(file, line, "", "is not a record: every record must be an object, {...}")
        return
    if is_foreign(value):
        record = foreign_record(file, line, value)
        if record is not None:
            yield from papers_of_export(record)
        else:
            yield Problem(file, line, "", "passed over: a note of OpenReview that is no paper", note=True)
        return
    links = value.get("links")
    if links is not None and not isinstance(links, dict):
        yield Problem(file, line, "links", f"must be an object of names and web addresses{LEFT_OUT}", note=True)
        links = None
    named = {known: value[key] for key, known in _LINKS.items() if value.get(key) is not None}
    yield from papers_from(
        Record(
            file=file,
            line=line,
            links=tuple({**(links or {}), **named}.items()),
            **{field: _first(value, keys) for field, keys in _NAMES.items()},
        )
    )


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """What the first key holds that is there and not blank; the others are its aliases."""
    present = [value[key] for key in keys if value.get(key) is not None]
    return next(
        (found for found in present if not isinstance(found, str) or found.strip()), present[0] if present else None
    )


def _recognises(head: str) -> bool:
    """Whether the first of several lines is an object; one line alone is JSON as well."""
    first, *others = [line.strip() for line in head.lstrip("\ufeff").split("\n") if line.strip()] or [""]
    value, end = decoded("", 1, first)
    return bool(others) and isinstance(value, dict) and end == len(first)


JSONL = Form(load_jsonl, _recognises, ("jsonl", "ndjson"))
