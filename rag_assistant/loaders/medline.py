"""MEDLINE, as PubMed and ERIC write it (``.nbib``): tags of two to four letters before ``- ``, lines wrapped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rag_assistant.loaders.base import Form, Problem
from rag_assistant.loaders.exports import names_in_order
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.identity import pubmed_page
from rag_assistant.loaders.tagged import TaggedRecord, load_tagged, tagged_records
from rag_assistant.types import Paper

_TAG = re.compile(r"([A-Z]{2,4}) {0,2}- ?(.*)")
_BEGINS = re.compile(r"^(?:PMID|OWN) ?- ?\S", re.MULTILINE)
_TITLE = re.compile(r"^TI  - ", re.MULTILINE)


def load_medline(path: Path) -> Iterator[Paper | Problem]:
    """The papers of a ``.nbib`` file. One without a DOI has ``pmid:`` and its number for an id."""
    yield from load_tagged(path, _records, _record, "MEDLINE ('PMID- ...')")


def _records(text: str) -> Iterator[TaggedRecord]:
    return tagged_records(text, _TAG, _begins)


def _begins(tag: str, record: TaggedRecord | None, blank: bool) -> bool:
    if tag == "PMID":
        return record is None or record.has("PMID") or record.has("TI")
    return blank and tag in ("OWN", "TI") and (record is None or record.has(tag))


def _record(file: str, record: TaggedRecord) -> Record:
    identifiers = record.all("LID", "AID", "DOI")
    dois = [text for text in identifiers if text.endswith("[doi]") or "doi.org/" in text]
    return Record(
        file=file,
        line=record.line,
        title=record.first("TI", "BTI"),
        abstract=record.first("AB"),
        authors=names_in_order(record.all("FAU") or record.all("AU")) + record.all("CN"),
        year=record.first("DP", "DEP"),
        venue=record.first("JT", "TA"),
        url=[*identifiers, pubmed_page(record.first("PMID"))],
        doi=next(iter(dois or record.all("DOI")), None),
    )


MEDLINE = Form(load_medline, lambda head: bool(_BEGINS.search(head) and _TITLE.search(head)), ("nbib", "medline"))
