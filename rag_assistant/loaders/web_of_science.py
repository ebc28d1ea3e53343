"""Web of Science's tagged form (``.ciw``, ``.txt``): ``PT J`` to ``ER``, a field's further lines indented or not."""

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
    FN VR PT AU AF BA BF CA GP BE TI SO SE BS LA DT CT CY CL SP HO DE ID AB C1 C3 RP EM RI OI FU FX CR NR TC Z9 U1 U2 PU
    PI PA SN EI BN J9 JI PD PY VL IS SI PN SU MA BP EP AR DI D2 EA EY PG P2 WC WE SC GA PM OA HC HP DA UT FP PS MC CC TM
    OR DS MI SF PR MQ AN NT ER EF
"""
# Only what is a tag: a wrapped line that isn't indented may begin with two capitals of its own.
_TAG = re.compile(rf"({'|'.join(_TAGS.split())})(?: (.*))?$")
_BEGINS = re.compile(r"^PT [A-Z]$", re.MULTILINE)
_ANOTHER = re.compile(r"^(?:AU|TI|SO) \S", re.MULTILINE)
_ADDRESS = re.compile(r"\s*\([^()]*@[^()]*\)")


def load_web_of_science(path: Path) -> Iterator[Paper | Problem]:
    """The papers of a file of Web of Science's tagged lines."""
    yield from load_tagged(path, _records, _record, "Web of Science ('PT J')")


def _records(text: str) -> Iterator[TaggedRecord]:
    return tagged_records(text, _TAG, lambda tag, *_: tag == "PT", frozenset({"ER", "EF"}))


def _record(file: str, record: TaggedRecord) -> Record:
    return Record(
        file=file,
        line=record.line,
        title=record.first("TI"),
        abstract=record.first("AB"),
        authors=names_in_order(_ADDRESS.sub("", name) for name in record.each_line("AF", "AU", "CA")),
        year=record.first("PY", "PD", "EA"),
        venue=record.first("SO"),
        url=None,
        doi=record.first("DI", "D2"),
    )


WEB_OF_SCIENCE = Form(
    load_web_of_science,
    lambda head: bool(_BEGINS.search(head) and _ANOTHER.search(head)),
    ("ciw",),
)
