"""What a loader gives and how every loader reads its file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rag_assistant.types import Paper

if TYPE_CHECKING:
    from rag_assistant.loaders.web import Web

LEFT_OUT = "; left out"
"""How a note ends that tells which field of a paper, or which of its authors, can't be used."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_FEW_CONTROL = 8  # strays of a copy from a PDF, even in a short file
_NO_ABSTRACT = ("is missing", "is empty", "has no words", "was not found")
_MAX_CONTROL_SHARE = 0.05  # of the first 4 KB; compressed or compiled files have two to six times as much


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about a file that its owner should know.

    Attributes:
        file: As named by the caller, or below a folder that the caller named.
        line: From 1; ``None`` where it concerns the file as a whole.
        field: Of the record, e.g. ``"year"``; empty where it concerns the record or the file as a whole.
        message: What is wrong, without the place, in one line.
        note: True where nothing was lost: a guess at an encoding, a heading passed over, a copy of a known paper.
    """

    file: str
    line: int | None
    field: str
    message: str
    note: bool = False

    @property
    def place(self) -> str:
        """The file, with the line where there is one."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def left_out(self) -> bool:
        """Whether it tells of a field that the paper was loaded without."""
        return self.note and self.message.endswith(LEFT_OUT)

    def __str__(self) -> str:
        """One line, ``file:line: field: message``, without control characters."""
        return _CONTROL.sub(" ", ": ".join(part for part in (self.place, self.field, self.message) if part))


Loader: TypeAlias = Callable[[Path], Iterator[Paper | Problem]]
"""Reads one file. Yields papers and problems in the order of the file, each with its line; raises ``OSError`` where
the file can't be read and nothing else. A bad record is a problem and the rest of the file is still read."""

Source: TypeAlias = Callable[[str, "Web"], Iterator[Paper | Problem]]
"""Asks a service. Takes what stands behind the colon of ``arxiv:1707.08567``, and yields as a loader does; raises
``LoadError`` where the service fails, since an index of half of a list would drop the other half."""
OnProgress: TypeAlias = Callable[[str, int, int], None]
"""Told of work as ``(stage, done, total)``; ``total`` is 0 where it isn't known."""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What came of loading.

    Attributes:
        papers: In the order of the files and within a file; no id occurs twice.
        problems: What was not loaded, and why: a record or a file each.
        notes: What was loaded but not exactly as it stood, and what was passed over as being no paper.
        files: What was read, in order.
        sources: Which services were asked for what, in order.
        merged: Which of the notes are copies of a paper that was there.
    """

    papers: tuple[Paper, ...]
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    files: tuple[Path, ...] = ()
    sources: tuple[str, ...] = ()
    merged: tuple[Problem, ...] = ()

    @property
    def without_abstract(self) -> tuple[Problem, ...]:
        """Which of the problems are papers that have no abstract."""
        return tuple(p for p in self.problems if p.field == "abstract" and p.message in _NO_ABSTRACT)


def grouped(problems: Iterable[Problem], places: int = 3) -> list[str]:
    """The problems in lines of which each says a thing once, with the first of its places."""
    where: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        where.setdefault((problem.field, problem.message), []).append(problem)
    lines = []
    for (name, message), alike in where.items():
        more = f" and {len(alike) - places:,} more" if len(alike) > places else ""
        place = ", ".join(problem.place for problem in alike[:places]) + more
        lines.append(str(Problem(place, None, name, message)))
    return lines


def display(path: Path) -> str:
    """The path as text that can be printed and stored, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_text(path: Path) -> tuple[str, list[Problem]]:
    """The text of a file, with LF line ends, and what had to be guessed to get it.

    UTF-8, and UTF-16 or UTF-32 where a byte order mark says so. Else single broken bytes in what is UTF-8 become
    U+FFFD; a file that isn't UTF-8 is read as Windows-1252, of which Latin-1 text is a part. Both give a note. A file
    that is no text at all gives an empty text and a problem.

    Raises:
        OSError: It can't be read.
    """
    data = path.read_bytes()
    file = display(path)
    for mark, encoding in (
        (b"\xff\xfe\x00\x00", "utf-32"),
        (b"\x00\x00\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            return _with_lf(data.decode(encoding, "replace")), []
    if _is_binary(data[:4096]):
        return "", [Problem(file, None, "", "is not a text file, or is UTF-16 without a byte order mark")]
    try:
        return _with_lf(data.decode("utf-8-sig")), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    lenient = data.decode("utf-8-sig", "replace")
    broken = lenient.count("\ufffd")
    if broken < sum(character > "\x7f" for character in lenient) - broken:
        message = f"{broken} broken UTF-8 byte sequences were replaced with U+FFFD, the first in this line"
        return _with_lf(lenient), [Problem(file, line, "", message, note=True)]
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    message = "is not UTF-8; read as Windows-1252 (Latin-1), so check accented letters"
    return _with_lf(text), [Problem(file, line, "", message, note=True)]


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")


def _is_binary(head: bytes) -> bool:
    control = sum(byte < 32 and byte not in b"\t\n\v\f\r\x1b" for byte in head)
    return control > max(_FEW_CONTROL, _MAX_CONTROL_SHARE * len(head))
