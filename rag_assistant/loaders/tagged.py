"""Lines that begin with a tag, as most reference managers write them: RIS, MEDLINE, EndNote, RefWorks, Web of Science.

One reader for all of them, which knows the line that a record begins in and forgives what files in the wild have:
wrapped lines without indent, records without an end, lines of another program before the first record and between two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rag_assistant.loaders.base import Problem, display, readable_text
from rag_assistant.loaders.exports import papers_of_export
from rag_assistant.loaders.fields import Record
from rag_assistant.types import Paper


@dataclass(frozen=True, slots=True)
class TaggedRecord:
    """One record: the line that it begins in, and each tag with its lines, in order."""

    line: int
    fields: list[tuple[str, list[str]]] = field(default_factory=list)

    def has(self, tag: str) -> bool:
        """Whether a line of the record bears the tag."""
        return any(name == tag for name, _ in self.fields)

    def all(self, *tags: str, join: str = " ") -> list[str]:
        """What stands behind these tags, in their order, each with its wrapped lines joined; nothing blank."""
        texts = [join.join(lines).strip() for tag in tags for name, lines in self.fields if name == tag]
        return [text for text in texts if text]

    def first(self, *tags: str, join: str = " ") -> str | None:
        """The first of them, the first tag before the second."""
        return next(iter(self.all(*tags, join=join)), None)

    def each_line(self, *tags: str) -> list[str]:
        """What stands behind the first of these tags that is there, a line each."""
        for tag in tags:
            lines = [line.strip() for name, lines in self.fields if name == tag for line in lines if line.strip()]
            if lines:
                return lines
        return []


def tagged_records(
    text: str,
    tag: re.Pattern[str],
    begins: Callable[[str, TaggedRecord | None, bool], bool],
    ends: frozenset[str] = frozenset(),
) -> Iterator[TaggedRecord]:
    """The records of a text.

    Args:
        text: With LF line ends.
        tag: Matches a line that begins with a tag: group 1 is the tag, group 2 what follows. Any other line goes on
            with the field before it.
        begins: Whether a tag begins a record, given the record under way and whether a blank line went before.
        ends: Tags that end a record.
    """
    record: TaggedRecord | None = None
    blank = True
    for number, line in enumerate(text.split("\n"), 1):
        found = tag.match(line)
        if found is None:
            if record is not None and record.fields:
                record.fields[-1][1].append(line.strip())
            blank = not line.strip()
            continue
        name, value = found[1], (found[2] or "").strip()
        if name in ends:
            if record is not None:
                yield record
            record = None
        elif begins(name, record, blank):
            if record is not None:
                yield record
            record = TaggedRecord(number)
        if record is not None and name not in ends:
            record.fields.append((name, [value]))
        blank = False
    if record is not None:
        yield record


def load_tagged(
    path: Path,
    records: Callable[[str], Iterable[TaggedRecord]],
    record_of: Callable[[str, TaggedRecord], Record],
    what: str,
) -> Iterator[Paper | Problem]:
    """The papers of a file of tagged lines.

    Args:
        path: The file.
        records: Finds them in its text.
        record_of: Makes of one what all forms have in common, given the name of the file.
        what: A line of, for the message that there is none.
    """
    text = yield from readable_text(path)
    if text is None:
        return
    file = display(path)
    found = False
    for record in records(text):
        found = True
        yield from papers_of_export(record_of(file, record))
    if not found:
        yield Problem(file, None, "", f"holds no record of {what}" if text.strip() else "is empty")
