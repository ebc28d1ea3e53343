"""arXiv's Atom feed, as its API sends it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from rag_assistant.loaders.base import Form, Problem
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.identity import known_page
from rag_assistant.loaders.xml_records import load_xml, papers_of_xml, text_of, texts_of
from rag_assistant.types import Paper

ENTRIES = ("entry",)
_BEGINS = re.compile(r"<feed[\s>]")


def load_atom(path: Path) -> Iterator[Paper | Problem]:
    """The entries of a feed. A preprint without a DOI of a publisher has ``arxiv:`` and its number for an id."""
    yield from load_xml(path, ENTRIES, record_of_entry)


def papers_of_feed(file: str, text: str) -> Iterator[Paper | Problem]:
    """The same, given the text."""
    yield from papers_of_xml(file, text, ENTRIES, record_of_entry)


def record_of_entry(file: str, line: int, entry: Element) -> Record:
    """One entry, whose address is without the version, as its id is."""
    # A line that begins with white space begins a paragraph; other line ends are where arXiv wraps.
    paragraphs = re.split(r"\n[ \t]+", (text_of(entry.find("summary")) or "").strip())
    page = entry.findtext("id") or ""
    venue = entry.findtext("journal_ref") or ("arXiv" if "arxiv.org/" in page else None)
    return Record(
        file=file,
        line=line,
        title=text_of(entry.find("title")),
        abstract="\n".join(" ".join(paragraph.split()) for paragraph in paragraphs),
        authors=texts_of(entry.findall("author/name")),
        year=(entry.findtext("published") or entry.findtext("updated") or "")[:4],
        venue=venue,
        url=[known_page(page)[1] or page, *(link.get("href", "") for link in entry.findall("link"))],
        doi=entry.findtext("doi"),
    )


ATOM = Form(load_atom, lambda head: bool(_BEGINS.search(head)) and "<entry" in head, ("atom", "xml"))
