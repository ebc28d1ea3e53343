"""TEI, as GROBID makes it of a PDF: the header of each document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from rag_assistant.loaders.base import Form, Problem
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.xml_records import load_xml, text_of, texts_of
from rag_assistant.types import Paper

_BEGINS = re.compile(r"<(?:\w+:)?(?:TEI|teiCorpus)[\s>]")
_SOURCE = "fileDesc/sourceDesc/biblStruct"


def load_tei(path: Path) -> Iterator[Paper | Problem]:
    """The document of a ``.tei.xml`` file, or those of a corpus."""
    yield from load_xml(path, ("teiHeader",), _record)


def _record(file: str, line: int, header: Element) -> Record:
    def first(*paths: str) -> str | None:
        return next(iter(text for path in paths for text in texts_of(header.findall(path))), None)

    authors = header.findall(f"{_SOURCE}/analytic/author/persName") or header.findall(
        f"{_SOURCE}/monogr/author/persName"
    )
    dates = [date.get("when", "") or (text_of(date) or "") for date in header.iter("date")]
    return Record(
        file=file,
        line=line,
        title=first("fileDesc/titleStmt/title", f"{_SOURCE}/analytic/title", f"{_SOURCE}/monogr/title"),
        abstract=_abstract(header.find("profileDesc/abstract")),
        authors=[name for author in authors if (name := _name(author))],
        year=next((date for date in dates if date.strip()), None),
        venue=first(f"{_SOURCE}/monogr/title", f"{_SOURCE}/monogr/meeting"),
        url=[target.get("target", "") for target in header.iter("ptr")],
        doi=first(f"{_SOURCE}/idno[@type='DOI']", f"{_SOURCE}/analytic/idno[@type='DOI']"),
    )


def _abstract(element: Element | None) -> str | None:
    """A paragraph a line, and a heading before the paragraph behind it."""
    if element is None:
        return None
    lines: list[str] = []
    heading = ""
    for part in element.iter():
        if part.tag not in ("head", "p"):
            continue
        text = " ".join((text_of(part) or "").split())
        if part.tag == "head":
            heading = text
        elif text:
            lines.append(f"{heading}: {text}" if heading else text)
            heading = ""
    return "\n".join(lines) or text_of(element)


def _name(person: Element) -> str:
    return " ".join(texts_of(part for part in person if part.tag in ("forename", "surname", "genName")))


TEI = Form(load_tei, lambda head: bool(_BEGINS.search(head)), ("tei", "xml"))
