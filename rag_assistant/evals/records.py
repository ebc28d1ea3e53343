"""From a line of an eval set to a :class:`Case`, with every fault named by its field.

Checked by hand, so that evals need no schema library; ``evals/questions.schema.json`` says the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from rag_assistant.evals.case import CATEGORIES, STATUSES, Case, Evidence, Nugget, Number

Fault = tuple[str, str]
"""A field's path and what is wrong with it."""

EVIDENCE_FIELDS = ("abstract", "title", "authors", "year", "venue", "url", "doi", "links")
_REQUIRED = ("id", "category", "split", "question", "answerable", "expected_status", "papers")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*\Z")


def case_of(record: object, line: int = 0) -> tuple[Case | None, tuple[Fault, ...]]:
    """The case in a decoded JSON record, or ``None`` and what is wrong with the record."""
    if not isinstance(record, Mapping):
        return None, (("", "not an object"),)
    faults: list[Fault] = [(name, "missing") for name in _REQUIRED if name not in record]
    faults += [(str(name), "unknown field") for name in record if name not in _CHECKS]
    for name, check in _CHECKS.items():
        if name in record:
            faults += [(name + path, message) for path, message in check(record[name])]
    if faults:
        return None, tuple(faults)
    return _built(record, line), ()


def _built(record: Mapping[str, Any], line: int) -> Case:
    values = dict(record)
    values["history"] = tuple((turn[0], turn[1]) for turn in record.get("history", ()))
    values["nuggets"] = tuple(Nugget(tuple(n["any"]), n["vital"]) for n in record.get("nuggets", ()))
    values["numbers"] = tuple(
        Number(float(n["value"]), n.get("unit", ""), float(n.get("tolerance", 0))) for n in record.get("numbers", ())
    )
    values["evidence"] = tuple(
        Evidence(e["paper"], e["quote"], e.get("field", "abstract")) for e in record.get("evidence", ())
    )
    values["reviewed"] = record.get("reviewed") or ""
    for name in ("also_ok", "expected_status", "must_not", "wrong"):
        values[name] = tuple(record.get(name, ()))
    return Case(**values, line=line)


def _text(value: object) -> list[Fault]:
    return [] if isinstance(value, str) else [("", "not a text")]


def _filled(value: object) -> list[Fault]:
    return [] if isinstance(value, str) and value.strip() else [("", "not a text with something in it")]


def _id(value: object) -> list[Fault]:
    if isinstance(value, str) and _ID.match(value):
        return []
    return [("", "not an id of letters, digits and . _ / -")]


def _truth(value: object) -> list[Fault]:
    return [] if isinstance(value, bool) else [("", "not true or false")]


def _review(value: object) -> list[Fault]:
    return [] if isinstance(value, str) or value is False else [("", "not a text or false")]


def _one_of(allowed: tuple[str, ...]) -> Callable[[object], list[Fault]]:
    def check(value: object) -> list[Fault]:
        return [] if isinstance(value, str) and value in allowed else [("", f"not one of {', '.join(allowed)}")]

    return check


def _list_of(item: Callable[[object], list[Fault]], *, least: int = 0) -> Callable[[object], list[Fault]]:
    def check(value: object) -> list[Fault]:
        if not isinstance(value, list):
            return [("", "not a list")]
        if len(value) < least:
            return [("", f"has fewer than {least} entries")]
        return [(f"[{n}]{path}", message) for n, entry in enumerate(value) for path, message in item(entry)]

    return check


def _pattern(value: object) -> list[Fault]:
    if not isinstance(value, str) or not value:
        return [("", "not a pattern")]
    try:
        compiled = re.compile(value, re.IGNORECASE | re.DOTALL)
    except re.error as error:
        return [("", f"not a regular expression: {error}")]
    return [("", "matches the empty text")] if compiled.search("") else []


def _object(
    checks: Mapping[str, Callable[[object], list[Fault]]], required: tuple[str, ...]
) -> Callable[[object], list[Fault]]:
    def check(value: object) -> list[Fault]:
        if not isinstance(value, Mapping):
            return [("", "not an object")]
        faults = [(f".{name}", "missing") for name in required if name not in value]
        faults += [(f".{name}", "unknown field") for name in value if name not in checks]
        for name, of in checks.items():
            if name in value:
                faults += [(f".{name}{path}", message) for path, message in of(value[name])]
        return faults

    return check


def _number(value: object) -> list[Fault]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return [] if is_number and value >= 0 else [("", "not a number of at least 0")]  # type: ignore[operator]


def _turn(value: object) -> list[Fault]:
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value):
        return []
    return [("", "not a pair of question and answer")]


def _grades(value: object) -> list[Fault]:
    if not isinstance(value, Mapping):
        return [("", "not an object of paper ids and grades")]
    return [
        (f".{paper}", "not a grade of 1 or 2")
        for paper, grade in value.items()
        if isinstance(grade, bool) or grade not in (1, 2)
    ]


_CHECKS: Mapping[str, Callable[[object], list[Fault]]] = {
    "id": _id,
    "category": _one_of(CATEGORIES),
    "split": _one_of(("dev", "test")),
    "lang": _filled,
    "question": _filled,
    "history": _list_of(_turn),
    "standalone_question": _text,
    "answerable": _truth,
    "expected_status": _list_of(_one_of(STATUSES), least=1),
    "papers": _grades,
    "also_ok": _list_of(_filled),
    "nuggets": _list_of(_object({"vital": _truth, "any": _list_of(_pattern, least=1)}, ("vital", "any"))),
    "numbers": _list_of(_object({"value": _number, "unit": _text, "tolerance": _number}, ("value",))),
    "evidence": _list_of(
        _object({"paper": _filled, "field": _one_of(EVIDENCE_FIELDS), "quote": _filled}, ("paper", "quote"))
    ),
    "must_not": _list_of(_pattern),
    "paraphrase": _text,
    "wrong": _list_of(_filled),
    "twin": _text,
    "variant_of": _text,
    "notes": _text,
    "author": _text,
    "reviewed": _review,
}
