"""What a loader gives and how every loader reads its file."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
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
_MAX_CONTROL_SHARE = 0.05  # of the first 4 KB; compressed or compiled files have two to six times as much
_HEAD = 65_536
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_PACKED = {
    b"PK\x03\x04": "is a zip archive, or a document packed like one; unpack it, or export its records as text",
    b"\x1f\x8b": "is packed with gzip; unpack it first",
    b"\xd0\xcf\x11\xe0": "is a document of an older Office; save it as .xlsx or .csv",
}
_NAMES = re.compile(rb"[!-~]{2,}")
_DECLARED = re.compile(rb"\s*<\?xml[^<>]{0,100}?encoding\s*=\s*[\"']([\w.\-]{1,40})[\"']")
_FEW_FOREIGN_BYTES = 0.3
"""Of all bytes: European languages have fewer beyond ASCII, other scripts more."""
_CYRILLIC = ("cp1251", "koi8_r")
_FOREIGN = (*_CYRILLIC, "cp1253", "cp1255", "cp1256", "gb18030", "big5", "shift_jis", "euc_jp", "cp949")


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
class Form:
    """A loader whose files are known by their content, whatever they are called.

    Attributes:
        load: The loader.
        recognises: Whether a file is of this form, by its first 64 KB as text with LF line ends.
        extensions: Of such files, without full stops, for those that aren't recognised.
        map_columns: The loader for a table whose columns the user names, by field.
        with_files: The loader for a file on this machine, which may name others on it to be read as well.
    """

    load: Loader
    recognises: Callable[[str], bool]
    extensions: tuple[str, ...]
    map_columns: Callable[[Path, Mapping[str, str]], Iterator[Paper | Problem]] | None = None
    with_files: Loader | None = None

    def __call__(self, path: Path) -> Iterator[Paper | Problem]:
        """As a plain loader."""
        return self.load(path)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What came of loading.

    Attributes:
        papers: In the order of the files and within a file; no id occurs twice.
        problems: What was not loaded, and why: a record or a file each.
        notes: What was loaded but not exactly as it stood, and what was passed over as being no paper.
        files: What was read, in order.
        sources: Which services and addresses were asked for what, in order.
        merged: Which of the notes are records of a paper that was there, and by what it is known.
    """

    papers: tuple[Paper, ...]
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    files: tuple[Path, ...] = ()
    sources: tuple[str, ...] = ()
    merged: tuple[Problem, ...] = ()

    @property
    def without_abstract(self) -> tuple[Paper, ...]:
        """The papers whose record has no abstract: they are listed and filtered, but nothing of them is searched."""
        return tuple(paper for paper in self.papers if not paper.abstract)


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


def read_head(path: Path) -> str:
    """How a file begins, with LF line ends, for telling its form; of what is no text only the words in it.

    Raises:
        OSError: It can't be read.
    """
    with path.open("rb") as file:
        data = file.read(_HEAD)
    encoding = _marked(data)
    if data.startswith(b"%PDF") or (not encoding and is_binary(data)):
        return " ".join(word.decode("ascii") for word in _NAMES.findall(data[: 4 if data[:1] == b"%" else None]))
    return with_lf(data.decode(encoding or "utf-8-sig", "replace"))


def read_text(path: Path) -> tuple[str, list[Problem]]:
    """The text of a file, with LF line ends, and what had to be guessed to get it.

    UTF-8, and UTF-16 or UTF-32 where a byte order mark says so, or UTF-16 where every other byte is 0; the encoding
    that an XML declaration names. Else single broken bytes in what is UTF-8 become U+FFFD; a file that isn't UTF-8 is
    read as Windows-1252, of which Latin-1 text is a part, or as what fits where most of it is in another script. Both
    give a note. A file that is no text at all gives an empty text and a problem.

    Raises:
        OSError: It can't be read.
    """
    data = path.read_bytes()
    file = display(path)
    encoding = _marked(data)
    if encoding:
        return with_lf(data.decode(encoding, "replace")), []
    if is_binary(data):
        told = next((message for magic, message in _PACKED.items() if data.startswith(magic)), "is not a text file")
        return "", [Problem(file, None, "", told)]
    declared = _declared(data)
    if declared:
        return with_lf(data.decode(declared, "replace")), []
    try:
        return with_lf(data.decode("utf-8-sig")), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    lenient = data.decode("utf-8-sig", "replace")
    broken = lenient.count("\ufffd")
    if broken < sum(character > "\x7f" for character in lenient) - broken:
        message = f"{broken} broken UTF-8 byte sequences were replaced with U+FFFD, the first in this line"
        return with_lf(lenient), [Problem(file, line, "", message, note=True)]
    encoding = _guessed(data)
    if encoding:
        message = f"is not UTF-8; read as {encoding}, which is a guess"
        return with_lf(data.decode(encoding, "replace")), [Problem(file, line, "", message, note=True)]
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    message = "is not UTF-8; read as Windows-1252 (Latin-1), so check accented letters"
    return with_lf(text), [Problem(file, line, "", message, note=True)]


def with_lf(text: str) -> str:
    """The text with LF for each CRLF and each CR, also where a file mixes them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_binary(data: bytes) -> bool:
    """Whether the first 4 KB of a file hold more control characters than a text does."""
    head = data[:4096]
    control = sum(byte < 32 and byte not in b"\t\n\v\f\r\x1b" for byte in head)
    return control > max(_FEW_CONTROL, _MAX_CONTROL_SHARE * len(head))


def readable_text(path: Path) -> Generator[Problem, None, str | None]:
    """As :func:`read_text`, but yields the problems; ``None`` where the file is no text."""
    text, problems = read_text(path)
    yield from problems
    return text if all(problem.note for problem in problems) else None


def _marked(data: bytes) -> str:
    """The encoding that a byte order mark names, or the zeros of UTF-16 give away; else nothing."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    head = data[:4096]
    for encoding, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if len(head) > 4 * _FEW_CONTROL and zeros.count(0) > 0.7 * len(zeros) and not others.count(0):
            return encoding
    return ""


def _declared(data: bytes) -> str:
    found = _DECLARED.match(data)
    if found is None:
        return ""
    try:
        codec = codecs.lookup(found[1].decode("ascii", "replace"))
        b"<".decode(codec.name)  # not "rot13", nor UTF-16, which this byte would be no part of
    except (LookupError, ValueError):
        return ""
    return "" if codec.name == "utf-8" else codec.name


def _guessed(data: bytes) -> str:
    """The encoding of a text that is mostly in a script of its own, such as Cyrillic or Chinese; else nothing."""
    head = data[:_HEAD]
    if sum(byte > 0x7F for byte in head) < _FEW_FOREIGN_BYTES * len(head):
        return ""
    from charset_normalizer import from_bytes

    best = from_bytes(head, cp_isolation=list(_FOREIGN)).best()
    if best is not None and best.encoding in _CYRILLIC:  # one has capitals where the other has small letters
        return max(_CYRILLIC, key=lambda encoding: sum(map(str.islower, head.decode(encoding, "replace"))))
    return best.encoding if best is not None else ""
