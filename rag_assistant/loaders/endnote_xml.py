"""EndNote's XML (``<xml><records><record>``), which Zotero and Mendeley write too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from rag_assistant.loaders.base import Form, Problem
from rag_assistant.loaders.exports import names_in_order
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.xml_records import load_xml, text_of, texts_of
from rag_assistant.types import Paper

_BEGINS = re.compile(r"<records>\s*<record[\s>]")


def load_endnote_xml(path: Path) -> Iterator[Paper | Problem]:
    """The records of a file. The number that a library gives a record makes no id."""
    yield from load_xml(path, ("record",), _record)


def _record(file: str, line: int, element: Element) -> Record:
    def first(*paths: str) -> str | None:
        return next((text for path in paths if (text := (text_of(element.find(path)) or "").strip())), None)

    return Record(
        file=file,
        line=line,
        title=first("titles/title"),
        abstract=first("abstract"),
        authors=names_in_order(texts_of(element.findall("contributors/authors/author"))),
        year=first("dates/year", "dates/pub-dates/date"),
        venue=first(
            "periodical/full-title", "titles/secondary-title", "periodical/abbr-1", "alt-periodical/full-title"
        ),
        url=texts_of(element.findall("urls/*/url")),
        doi=first("electronic-resource-num"),
    )


ENDNOTE_XML = Form(load_endnote_xml, lambda head: bool(_BEGINS.search(head)), ("xml",))
