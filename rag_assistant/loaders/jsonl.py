"""JSON Lines: one object a line. Reads this project's names, BEIR's, and the usual ones of conference lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_assistant.loaders.base import LEFT_OUT, Problem, display, read_text
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
_LINKS = {"openreview": "openreview", "proceedings": "proceedings", "pmlr": "proceedings"}


def load_jsonl(path: Path) -> Iterator[Paper | Problem]:
    """The papers of a ``.jsonl`` file.

    Keys: ``id`` (or ``_id``), ``title``, ``abstract`` (or ``text``), ``authors`` (a list, or one text), ``year``,
    ``venue``, ``url``, ``doi``, ``links`` (an object of addresses), ``openreview``, ``proceedings`` (or ``pmlr``). Only
    the abstract is required; other keys are passed over, and what of these can't be used is left out with a note.
    """
    text, problems = read_text(path)
    yield from problems
    if any(not problem.note for problem in problems):
        return
    file = display(path)
    lines = text.split("\n")  # not splitlines(): U+2028 may stand in a JSON string
    first = next((number for number, line in enumerate(lines) if line.strip("\ufeff \t")), None)
    if first is None:
        yield Problem(file, None, "", "is empty")
        return
    if lines[first].strip() in {"{", "["} or lines[first].lstrip().startswith("[{"):
        yield Problem(file, first + 1, "", "is JSON but not JSON Lines: every record must be an object on one line")
        return
    for number, line in enumerate(lines, 1):
        if line.strip("\ufeff \t"):
            yield from _parse(file, number, line.strip("\ufeff \t"))


def _parse(file: str, number: int, line: str) -> Iterator[Paper | Problem]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        yield Problem(file, number, "", f"is not JSON: {error.msg} at column {error.colno}")
        return
    except RecursionError:
        yield Problem(file, number, "", "is not a record: its JSON is nested too deep")
        return
    except ValueError:  # an integer of thousands of digits
        yield Problem(file, number, "", "is not a record: it holds a number too long to read")
        return
    if not isinstance(value, dict):
        yield Problem(file, number, "", "is not a record: every line must be an object, {...}")
        return
    links = value.get("links")
    if links is not None and not isinstance(links, dict):
        message = f"must be an object of names and web addresses{LEFT_OUT}"
        yield Problem(file, number, "links", message, note=True)
        links = None
    named = {known: value[key] for key, known in _LINKS.items() if value.get(key) is not None}
    yield from papers_from(
        Record(
            file=file,
            line=number,
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
