"""Replies of a model with what grounding must make of each: written by hand in JSON Lines, and changed by code.

Of a reply in ``right.jsonl`` everything is told by what it cites; of one in ``wrong.jsonl`` nothing is. Their halves:
``tune`` and ``fresh`` were looked at while grounding was worked on; ``apart`` (in two rounds), ``held out`` and
``last`` were written before the work that they measure, read once at its end, and what they showed was then worked on
too. Seen for the first time:

- ``apart``, first round: 92% of right answers without alarm, 53% of exchanges and 84% of flipped negations caught;
  second round, worded more freely: 88%, 30% and 87%.
- ``held out`` (36 right, 34 exchanges, 16 negations; none about a paper of ``fresh``): 92%, 65% and 75%. Without the
  work on ``fresh`` it would have been 92%, 53% and 69%.
- ``last`` (23, 29, 10): 91%, 59% and 100%; 91%, 34% and 100% without the work on ``fresh`` and ``held out``.

So exchanges that are worded in a new way pass more often than the floors of this suite say. In ``forms.jsonl`` stand
the shapes that a reply can have. Labels count the papers of the case in their order.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_assistant.writers.markers import markers

FOLDER = Path(__file__).parent
RIGHT = "right answer"
STYLED = "right answer, other citation style"
NUMBER = "number changed"
WRONG_PAPER = "wrong paper"
NO_SUCH_MARKER = "marker that doesn't exist"
SEED = 20240721

_LABEL = re.compile(r"\[(?P<paper>\d)\.s(?P<sentence>\d+)\]")
_FIGURE = re.compile(r"(?<!\d)\d+(?:,\d{3})*(?!\d)|\b(?:two|three|four|five)\b")
_WORDS = ("two", "three", "four", "five")
_STYLES = (
    "[{paper}]",
    "【{paper}】",
    "({paper})",
    "<sup>{paper}</sup>",
    "[Paper {paper}]",
    "[^{paper}]",
    "({paper}.s{sentence})",
    "【{paper}.s{sentence}†abstract】",
    "[{paper}. s{sentence}]",
)


@dataclass(frozen=True)
class Case:
    """A reply to a question about two papers.

    Attributes:
        half: See above; ``real`` for what a model wrote; empty where there is only one.
        supports: What each statement must be: ``supported`` or ``caught``, which is anything else. ``None``: where the
            answer is right, all must be supported; else none may be.
        right: Whether everything in it is right, so that whatever is held against it is a false alarm.
        changed: For one changed by code, what is wrong in it: the statement with it must be caught.
        dropped: How many markers must be dropped; ``None``: none of a right answer's.
        cites: The papers that must be cited, and no others; ``None``: any.
        keeps: What must be left in the text as it is.
        status: The answer's, where that is fixed.
        error: The name of the error that must be raised instead.
    """

    kind: str
    papers: tuple[str, ...]
    question: str
    reply: str
    half: str = ""
    right: bool = False
    supports: tuple[str, ...] | None = None
    changed: str = ""
    dropped: int | None = None
    cites: tuple[str, ...] | None = None
    keeps: tuple[str, ...] = ()
    status: str = ""
    error: str = ""


def all_cases() -> list[Case]:
    """Every case, in a fixed order."""
    right = [replace(case, right=True) for name in ("right.jsonl", "real.jsonl") for case in _read(name)]
    return [
        *right,
        *_read("wrong.jsonl"),
        *_forms(),
        *(made for at, case in enumerate(right) for made in _made(case, at)),
    ]


def _forms() -> Iterator[Case]:
    for case in _read("forms.jsonl"):
        told = case.supports is None and case.cites is not None
        yield replace(case, right=told or (case.supports is not None and "caught" not in case.supports))


def _read(name: str) -> list[Case]:
    return [_case(json.loads(line)) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def _case(record: dict[str, Any]) -> Case:
    if isinstance(record["reply"], dict):
        record["reply"] = record["reply"]["repeat"] * record["reply"]["times"]
    return Case(**{key: tuple(value) if isinstance(value, list) else value for key, value in record.items()})


def _made(case: Case, at: int) -> Iterator[Case]:
    """What code makes of a right answer: its numbers changed one by one, its labels written otherwise or made wrong."""
    chance = random.Random(SEED + at)
    thought = case.reply.rfind("</think>")
    taken = [(marker.start, marker.end) for marker in markers(case.reply, len(case.papers))]
    for match in _FIGURE.finditer(case.reply):
        label = re.match(r"\.s\d", case.reply[match.end() :]) or case.reply[: match.start()].endswith((".s", "[^"))
        if label or match.start() < thought or any(start <= match.start() < end for start, end in taken):
            continue
        for other in _other_numbers(match[0], chance):
            reply = case.reply[: match.start()] + other + case.reply[match.end() :]
            yield replace(case, kind=NUMBER, reply=reply, right=False, changed=other)
    labels = _LABEL.findall(case.reply)
    if not labels or len(labels) != len(taken):
        return
    style = _STYLES[at % len(_STYLES)]
    yield replace(case, kind=STYLED, reply=_LABEL.sub(lambda label: style.format(**label.groupdict()), case.reply))
    if at % 2:
        gone = _LABEL.sub(r"[\g<paper>1.s\g<sentence>]", case.reply)
        yield replace(case, kind=NO_SUCH_MARKER, reply=gone, right=False)
    else:
        turned = _LABEL.sub(lambda label: f"[{3 - int(label['paper'])}.s{1 + int(label['sentence']) % 5}]", case.reply)
        yield replace(case, kind=WRONG_PAPER, reply=turned, right=False)


def _other_numbers(number: str, chance: random.Random) -> list[str]:
    """Two others: of the same order, and of another."""
    if number in _WORDS:
        return chance.sample([word for word in _WORDS if word != number], 2)
    value = int(number.replace(",", ""))
    others = (max(1, value + chance.choice([-1, 1, 2, 7])), value * 10 if value else 3)
    return [f"{other:,}" if "," in number else str(other) for other in dict.fromkeys(others) if other != value]
