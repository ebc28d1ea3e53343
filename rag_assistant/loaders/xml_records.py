"""The records of an XML file, one at a time, each with its line. Entities never expand, and nothing is fetched."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from rag_assistant.escapes import without_escapes
from rag_assistant.loaders.base import Problem, display, readable_text
from rag_assistant.loaders.exports import papers_of_export
from rag_assistant.loaders.fields import Record
from rag_assistant.types import Paper

_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,30});")
_OWN_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_CHUNK = 65_536
_DEEPEST = 200
_RAISED = {"sup", "superscript"}


def load_xml(
    path: Path, wanted: Iterable[str], record_of: Callable[[str, int, Element], Record | None]
) -> Iterator[Paper | Problem]:
    """The papers of an XML file.

    Args:
        path: The file.
        wanted: Names of the elements that hold a record each, without namespaces.
        record_of: Makes a record of one, given the name of the file and its line; ``None`` where it is none.
    """
    text = yield from readable_text(path)
    if text is None:
        return
    yield from papers_of_xml(display(path), text, wanted, record_of)


def papers_of_xml(
    file: str, text: str, wanted: Iterable[str], record_of: Callable[[str, int, Element], Record | None]
) -> Iterator[Paper | Problem]:
    """The same, given the text."""
    if not text.strip():
        yield Problem(file, None, "", "is empty")
        return
    found = False
    for item in _elements(file, text, frozenset(wanted)):
        found = True
        if isinstance(item, Problem):
            yield item
            continue
        record = record_of(file, *item)
        if record is not None:
            yield from papers_of_export(record)
    if not found:
        yield Problem(file, None, "", "holds no record of PubMed, EndNote, arXiv or TEI, of which XML is read")


def text_of(element: Element | None) -> str | None:
    """All text of an element, with what is raised or lowered in tags that ``plain`` reads."""
    if element is None:
        return None
    pieces = [element.text or ""]
    for child in element:
        inner = text_of(child) or ""
        name = child.tag.lower()
        tag = "sup" if name in _RAISED else "p" if name == "p" else ""
        pieces += [f"<{tag}>{inner}</{tag}>" if tag else inner, child.tail or ""]
    return "".join(pieces)


def texts_of(elements: Iterable[Element]) -> list[str]:
    """Those of several, on one line each; nothing blank."""
    lines = (" ".join((text_of(element) or "").split()) for element in elements)
    return [line for line in lines if line]


class _Refused(ValueError):
    """Too deep for a record."""


class _Records:
    """The target of a parser: builds the wanted elements only, and hands them over as they end."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self.done: list[tuple[int, Element]] = []
        self.line: Callable[[], int] = lambda: 1
        self._wanted = wanted
        self._builder: TreeBuilder | None = None
        self._depth = self._within = self._begun = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition("}")[2]
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Refused
        if self._builder is None and name in self._wanted:
            self._builder, self._within, self._begun = TreeBuilder(), self._depth, self.line()
        if self._builder is not None:
            self._builder.start(name, {key.rpartition("}")[2]: value for key, value in attributes.items()})

    def data(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)

    def end(self, tag: str) -> None:
        if self._builder is not None:
            self._builder.end(tag.rpartition("}")[2])
            if self._depth == self._within:
                self.done.append((self._begun, self._builder.close()))
                self._builder = None
        self._depth -= 1

    def close(self) -> None:
        """Nothing is left to be done at the end of a file."""


def _elements(file: str, text: str, wanted: frozenset[str]) -> Iterator[tuple[int, Element] | Problem]:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    shift = text[: len(text) - len(text.lstrip())].count("\n")  # a declaration must be what a file begins with
    text = _ENTITY.sub(_character, _ILLEGAL.sub("\ufffd", without_escapes(text.lstrip())))
    records = _Records(wanted)
    parser: Any = DefusedXMLParser(target=records, forbid_dtd=False, forbid_entities=True, forbid_external=True)
    records.line = lambda: parser.parser.CurrentLineNumber + shift
    message = ""
    try:
        for start in range(0, len(text), _CHUNK):
            parser.feed(text[start : start + _CHUNK])
            yield from records.done
            records.done.clear()
        parser.close()
    except DefusedXmlException:
        message = "declares entities of its own, which are never expanded; remove its <!ENTITY ...> lines"
    except _Refused:
        message = f"has elements in more than {_DEEPEST} others, as no record has"
    except ParseError as error:
        message = f"is not XML from here on: {str(error).partition(':')[0]}"
    yield from records.done
    if message:
        yield Problem(file, records.line(), "", message)


def _character(found: re.Match[str]) -> str:
    """HTML's named characters, which a DTD that is never fetched may declare."""
    return found[0] if found[1] in _OWN_ENTITIES else html.unescape(found[0])
