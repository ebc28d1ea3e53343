"""EndNote's tagged form (``.enw``, ``.enl`` as text, also from bibliographic sites): ``%T Title``, ``%X Abstract``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rag_assistant.loaders.base import Form, Problem
from rag_assistant.loaders.exports import names_in_order
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.tagged import TaggedRecord, load_tagged, tagged_records
from rag_assistant.types import Paper

_TAG = re.compile(r"%([0-9A-Z!#$&()*+<>?@\[\]^~=|])(?: (.*))?$")
_BEGINS = re.compile(r"^%[0T] \S", re.MULTILINE)
_ANOTHER = re.compile(r"^%[A-Z0-9&@] \S", re.MULTILINE)


def load_endnote(path: Path) -> Iterator[Paper | Problem]:
    """The papers of a file of tagged lines with a ``%``. A record begins at ``%0`` or ``%T``, whichever is first."""
    yield from load_tagged(path, _records, _record, "EndNote ('%T ...')")


def _records(text: str) -> Iterator[TaggedRecord]:
    return tagged_records(text, _TAG, lambda tag, record, _: tag in "0T" and (record is None or record.has(tag)))


def _record(file: str, record: TaggedRecord) -> Record:
    return Record(
        file=file,
        line=record.line,
        title=record.first("T"),
        abstract=record.first("X"),
        authors=names_in_order(record.all("A")),
        year=record.first("D", "8"),
        venue=record.first("J", "B"),
        url=record.all("U"),
        doi=record.first("R"),
    )


ENDNOTE = Form(
    load_endnote,
    lambda head: bool(_BEGINS.search(head)) and len(_ANOTHER.findall(head)) > 1,
    ("enw", "enl"),
)
