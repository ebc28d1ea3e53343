"""RefWorks' tagged form: ``RT Journal Article``, ``T1 Title``, behind a legend of its tags or without one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rag_assistant.loaders.base import Form, Problem
from rag_assistant.loaders.exports import names_in_order
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.tagged import TaggedRecord, load_tagged, tagged_records
from rag_assistant.types import Paper

_TAGS = """
    RT SR ID A1 A2 A3 A4 A5 A6 T1 T2 T3 JF JO YR FD VO IS SP OP K1 AB NO ED PB PP SN AV AD AN LA CL SF OT LK DO CN DB DS
    IP RD ST UL SL LL CR WT WV WP OL U1 U2 U3 U4 U5 U6 U7 U8 U9 PMID PMCID
"""
# Only what is a tag: a wrapped line may begin with two capitals of its own.
_TAG = re.compile(rf"({'|'.join(_TAGS.split())})(?: (.*))?$")
_BEGINS = re.compile(r"^RT [A-Z]", re.MULTILINE)
_TITLE = re.compile(r"^T1 \S", re.MULTILINE)


def load_refworks(path: Path) -> Iterator[Paper | Problem]:
    """The papers of a file of RefWorks' tagged lines."""
    yield from load_tagged(path, _records, _record, "RefWorks ('RT ...')")


def _records(text: str) -> Iterator[TaggedRecord]:
    return tagged_records(text, _TAG, lambda tag, *_: tag == "RT")


def _record(file: str, record: TaggedRecord) -> Record:
    noted = next((text for text in record.all("NO") if "doi:" in text.lower()), None)
    return Record(
        file=file,
        line=record.line,
        title=record.first("T1", "OT"),
        abstract=record.first("AB"),
        authors=names_in_order(record.all("A1")),
        year=record.first("YR", "FD"),
        venue=record.first("JF", "JO", "T2"),
        url=record.all("UL", "LK"),
        doi=record.first("DO") or noted,
    )


REFWORKS = Form(load_refworks, lambda head: bool(_BEGINS.search(head) and _TITLE.search(head)), ("refworks",))
