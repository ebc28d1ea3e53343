"""RIS, as Zotero, Scopus, ProQuest, Ovid, Rayyan and most others write it: ``TY  - JOUR`` to ``ER  -``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rag_assistant.loaders.base import Form, Problem
from rag_assistant.loaders.exports import names_in_order
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.tagged import TaggedRecord, load_tagged, tagged_records
from rag_assistant.types import Paper

_BEGINS = re.compile(r"^[ \t]*TY {0,2}- ?\S", re.MULTILINE)
_STRICT = re.compile(r"[ \t]*([A-Z][A-Z0-9])  - ?(.*)")
_LENIENT = re.compile(r"[ \t]*([A-Z][A-Z0-9]) ?- ?(.*)")


def load_ris(path: Path) -> Iterator[Paper | Problem]:
    """The papers of a ``.ris`` file. ``ID`` is a running number for most programs and makes no id."""
    yield from load_tagged(path, _records, _record, "RIS ('TY  - ...')")


def _records(text: str) -> Iterator[TaggedRecord]:
    strict = re.search(r"^[ \t]*TY  -", text, re.MULTILINE)
    return tagged_records(text, _STRICT if strict else _LENIENT, lambda tag, *_: tag == "TY", frozenset({"ER"}))


def _record(file: str, record: TaggedRecord) -> Record:
    return Record(
        file=file,
        line=record.line,
        title=record.first("TI", "T1", "CT", "BT", "ST"),
        abstract=max(record.all("AB", "N2", join="\n"), key=len, default=None),
        authors=names_in_order(record.all("AU", "A1")),
        year=record.first("PY", "Y1", "DA"),
        venue=record.first("T2", "JO", "JF", "JA", "J2", "BT", "C3"),
        url=record.all("UR", "L1", "L2", "L3", "LK"),
        doi=record.first("DO"),
    )


RIS = Form(load_ris, lambda head: bool(_BEGINS.search(head)), ("ris",))
