"""BibTeX and BibLaTeX, as JabRef, Zotero, Mendeley, ACM, Crossref and PMLR write it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rag_assistant.escapes import without_escapes
from rag_assistant.loaders.attachments import with_abstract
from rag_assistant.loaders.base import Form, Problem, display, readable_text
from rag_assistant.loaders.exports import KEPT, in_order, papers_of_export, restored
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.identity import arxiv_page
from rag_assistant.types import Paper

_ENTRY = re.compile(r"^[ \t]*@[A-Za-z]+[ \t]*[{(][^\n{}\"=]*,[ \t]*(?:\n|[A-Za-z_\-]+[ \t]*=)", re.MULTILINE)
_MONTHS = dict.fromkeys("jan feb mar apr may jun jul aug sep oct nov dec".split(), "")
_NO_PAPERS = frozenset({"xdata", "set", "customa", "control", "ieeetranbstctl"})
_PART = re.compile(r"\s*(?:(?P<mark>[{\"])|(?P<bare>[^\s\"{}#,=]+))")
_JOINED = re.compile(r"\s*#")
_NAME = re.compile(r"\s*([A-Za-z][\w\-]*)\s*=")
_ENDS = re.compile(r"\\.|[{}\"]", re.DOTALL)
_FORUM = re.compile(r"[\w\-]{6,20}")


def load_bibtex(path: Path, *, with_files: bool = False) -> Iterator[Paper | Problem]:
    """The papers of a ``.bib`` file, each under its key.

    Accents and escapes of TeX become what they stand for, formulas stay. An entry that can't be parsed is a problem,
    and the next is read. Where a file has one ``@proceedings``, its entries without a year or a book are taken to be of
    it.

    Args:
        path: The file.
        with_files: Whether a paper without an abstract gets that of a PDF that its entry names, which needs the extra
            ``pdf``.
    """
    text = yield from readable_text(path)
    if text is not None:
        yield from papers_of_bibtex(display(path), text, path.parent if with_files else None)


def papers_of_bibtex(file: str, text: str, folder: Path | None = None) -> Iterator[Paper | Problem]:
    """The papers of such a text.

    Args:
        file: What problems call it.
        text: The text.
        folder: Where PDFs that its entries name are looked for; ``None`` looks for none.
    """
    from bibtexparser.entrypoint import parse_string

    logging.getLogger("bibtexparser").addHandler(logging.NullHandler())
    library = parse_string(without_escapes(text), parse_stack=[])
    strings = _MONTHS | {string.key.lower(): _value(string.value, _MONTHS)[0] for string in library.strings}
    entries: list[Problem | tuple[Any, dict[str, str], str]] = []
    for block in library.blocks:
        entry = getattr(block, "ignore_error_block", None) or block  # of one whose key, or field, is there twice
        if hasattr(entry, "entry_type"):
            if entry.entry_type.lower() not in _NO_PAPERS:
                entries.append((entry, *_fields(entry, strings)))
        elif block in library.failed_blocks:
            message = "is no entry of BibTeX: a brace, quote or comma is missing"
            entries.append(Problem(file, (block.start_line or 0) + 1, "", message))
    found = [entry for entry in entries if not isinstance(entry, Problem)]
    books = [fields for entry, fields, _ in found if entry.entry_type.lower() == "proceedings"]
    book = books[0] if len(books) == 1 else {}
    for one in entries:
        if isinstance(one, Problem):
            yield one
            continue
        entry, fields, uncut = one
        if uncut:
            yield Problem(file, entry.start_line + 1, uncut, "a comma is missing behind this field", note=True)
        record = _record(file, entry, fields, book)
        for item in restored(papers_of_export(record, tex=True), fields.get(KEPT), record):
            if folder is not None and isinstance(item, Paper) and not item.abstract and "file" in fields:
                yield from with_abstract(item, record.line, file, fields["file"], folder)
            else:
                yield item
    if not entries:
        yield Problem(file, None, "", "holds no entry of BibTeX" if text.strip() else "is empty")


def _fields(entry: Any, strings: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The fields under their names in lower case, the first where one is there twice; and one without its comma."""
    fields: dict[str, str] = {}
    uncut = ""
    for one in entry.fields:
        name: str | None = one.key
        rest = str(one.value)
        while name is not None:
            value, end = _value(rest, strings)
            if value:
                fields.setdefault(name.lower(), value)
            following = _NAME.match(rest, end)
            if following:
                uncut, rest = name, rest[following.end() :]
            name = following[1] if following else None
    return fields, uncut


def _value(text: str, strings: Mapping[str, str]) -> tuple[str, int]:
    """A value's parts, joined by ``#``, without what encloses them; and where it ends."""
    parts: list[str] = []
    end = 0
    part = _PART.match(text)
    while part:
        if part["mark"]:
            end = _closing(text, part.end(), "}" if part["mark"] == "{" else '"')
            parts.append(text[part.end() : end])
            end += 1
        else:
            parts.append(strings.get(part["bare"].lower(), part["bare"]))
            end = part.end()
        joined = _JOINED.match(text, end)
        part = _PART.match(text, joined.end()) if joined else None
    return "".join(parts).strip(), end


def _closing(text: str, at: int, mark: str) -> int:
    """Where what was opened before ``at`` is closed; the end of the text where it isn't."""
    depth = 0
    for found in _ENDS.finditer(text, at):
        if found[0] == mark and not depth:
            return found.start()
        depth += (found[0] == "{") - (found[0] == "}")
    return len(text)


def _record(file: str, entry: Any, fields: Mapping[str, str], book: Mapping[str, str]) -> Record:
    own = fields is book

    def first(*names: str) -> str | None:
        return next((fields[name] for name in names if name in fields), None)

    archive = first("eprint", "arxivid")
    kind = (first("archiveprefix", "eprinttype") or ("arxiv" if archive and "arxiv" in fields else "")).lower()
    return Record(
        file=file,
        line=entry.start_line + 1,
        id=entry.key if entry.key and entry.key.isprintable() and len(entry.key) <= 200 else None,
        title=_titled(first("title", "booktitle"), first("subtitle")),
        abstract=first("abstract"),
        authors=_people(first("author", *(("editor",) if own else ())) or ""),
        year=first("year", "date") or book.get("year"),
        venue=first(*(() if own else ("booktitle",)), "journal", "journaltitle", "eventtitle", "school", "institution")
        or (None if own else book.get("booktitle")),
        url=[
            *_addresses(fields),
            *([arxiv_page(archive)] if archive and _is_arxiv(archive, kind) else []),
        ],
        doi=first("doi"),
    )


def _titled(title: str | None, subtitle: str | None) -> str | None:
    return f"{title}: {subtitle}" if title and subtitle else title


def _addresses(fields: Mapping[str, str]) -> list[str]:
    """Addresses are no prose: only the escapes of TeX go. PMLR gives the forum's id for OpenReview's."""
    found = [fields[name] for name in ("url", "openreview", "ee", "link", "pdf", "howpublished") if name in fields]
    plain = [re.sub(r"\\([_%&#~])|\\url|[{}]", r"\1", address) for address in found]
    forum = fields.get("openreview", "")
    return [*plain, *([f"https://openreview.net/forum?id={forum}"] if _FORUM.fullmatch(forum) else [])]


def _is_arxiv(archive: str, kind: str) -> bool:
    return kind == "arxiv" or (not kind and re.fullmatch(r"\d{4}\.\d{4,5}(v\d+)?", archive) is not None)


def _people(text: str) -> list[str]:
    """The names of a list that "and" parts; a name all in braces is an institution's and stays as it is."""
    text = " ".join(text.split())
    cuts = [(0, 0)]
    depth = 0
    for found in re.finditer(r"\\.|[{}]|(?<= )and(?= )", text):
        depth += (found[0] == "{") - (found[0] == "}")
        if found[0] == "and" and depth <= 0:
            cuts.append(found.span())
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    names = [text[start:end].strip() for (_, start), end in zip(cuts, ends, strict=True)]
    return [name if _braced(name) else _ordered(name) for name in names if name and name != "others"]


def _braced(name: str) -> bool:
    return name.startswith("{") and _closing(name, 1, "}") == len(name) - 1


def _ordered(name: str) -> str:
    """ "von Last, Jr, First" with the first name first, whatever braces hold."""
    parts = [part.strip() for part in re.split(r",(?![^{}]*\})", name)]
    return in_order(", ".join((parts[0], parts[2], parts[1]))) if len(parts) == 3 else in_order(name)


BIBTEX = Form(
    load_bibtex,
    lambda head: bool(_ENTRY.search(head)),
    ("bib", "bibtex"),
    with_files=partial(load_bibtex, with_files=True),
)
