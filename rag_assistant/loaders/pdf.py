"""PDFs: what stands on a paper's first pages. Needs the extra ``pdf``.

What can't be told for certain is left out and said: half a list of authors would be worse than none.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from rag_assistant.loaders.base import Form, Problem, display
from rag_assistant.loaders.exports import papers_of_export
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.identity import arxiv_id, arxiv_page
from rag_assistant.types import Paper

_PAGES = 3
_MOST = 6_000
_SAME = 0.6  # of a font's size, in points
_ABSTRACT = re.compile(r"a ?b ?s ?t ?r ?a ?c ?t\s*(?:$|[.:\u2013\u2014-]+\s*)", re.IGNORECASE)
_END = re.compile(
    r"(?:(?:\d|[IVX]+)\s?[.)]?\s+)?introduction\W*$|(?:keywords|key words|index terms|ccs concepts)\b"
    r"|1\s?[.)]?\s+[A-Z]\w+(?:\s\w+){0,5}$",
    re.IGNORECASE,
)
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>{}]*[^\s\"<>{}.,;:)\]]")
_STAMP = re.compile(r"arXiv:\s*\S+\s*\[[\w.-]+\]")
_MARKS = "*\u2217\u2020\u2021\u00a7\u00b6\u22c6#"
_BETWEEN = re.compile(rf"\s{{3,}}|[,;&{re.escape(_MARKS)}]|(?<=[^\W\d_])\d+|\band\b", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_][\w.'\u2019-]*(?: [\w.'\u2019-]+){0,3} [^\W\d_][\w.'\u2019-]*")
_ACCENTS = {"\u00b4": "\u0301", "`": "\u0300", "\u00a8": "\u0308", "\u02c6": "\u0302", "\u02dc": "\u0303"}
_ACCENTS |= {"\u02c7": "\u030c", "\u02d8": "\u0306", "\u02da": "\u030a", "\u00af": "\u0304"}
_ACCENTED = re.compile(rf"([{''.join(_ACCENTS)}])([^\W\d_])")
_LIGATURE = re.compile("[\ufb00-\ufb06]")


@dataclass(slots=True)
class _PrintedLine:
    """A line as it is printed: pieces of text, each with the size and the name of its font."""

    pieces: list[tuple[str, float, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(text for text, _, _ in self.pieces).split())

    @property
    def font(self) -> tuple[float, str]:
        """Size and name of the font of most of it."""
        count: Counter[tuple[float, str]] = Counter()
        for text, size, name in self.pieces:
            count[size, name] += len(text.strip())
        return max(count, key=count.__getitem__, default=(0.0, ""))

    @property
    def size(self) -> float:
        return self.font[0]


def load_pdf(path: Path) -> Iterator[Paper | Problem]:
    """The one paper of a PDF: its abstract, and as far as they are found title, authors, DOI and arXiv id.

    The title is what stands in the largest letters above the abstract, or what the file says of itself where that
    stands there too. A year is that of the arXiv id.
    """
    file = display(path)
    try:
        import pypdf
        from pypdf.errors import DependencyError, FileNotDecryptedError
    except ImportError:
        yield Problem(file, None, "", "is a PDF; to read PDFs: pip install 'rag-assistant[pdf]'")
        return
    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # its warnings are on how files are made
    with path.open("rb") as stream:
        if not stream.read(1):
            yield Problem(file, None, "", "is empty")
            return
        try:
            reader = pypdf.PdfReader(stream)
            if reader.is_encrypted and not reader.decrypt(""):
                raise FileNotDecryptedError
            about = " ".join(str(value) for value in (reader.metadata or {}).values())
            named = (reader.metadata and reader.metadata.title) or ""
            pages = [_lines(page) for page in reader.pages[:_PAGES]]
            wanted = any(_ABSTRACT.match(line.text) for lines, _ in pages for line in lines)
            wide = reader.pages[0].extract_text(extraction_mode="layout") if wanted else ""
        except (FileNotDecryptedError, DependencyError):
            yield Problem(file, None, "", "is encrypted; save a copy without a password")
            return
        except Exception:  # pypdf raises whatever a damaged file leads it to
            yield Problem(file, None, "", "is damaged, or no PDF")
            return
    if not any(line.text for lines, _ in pages for line in lines):
        yield Problem(file, None, "", "holds no text, as scans don't; run OCR on it, for example ocrmypdf")
        return
    yield from _paper(file, pages, about, named, wide)


def _paper(
    file: str, pages: list[tuple[list[_PrintedLine], str]], about: str, named: str, wide: str
) -> Iterator[Paper | Problem]:
    places = ((n, m) for n, (page, _) in enumerate(pages) for m, line in enumerate(page) if _ABSTRACT.match(line.text))
    at, start = next(places, (None, 0))
    if at is None:
        yield Problem(file, None, "abstract", "was not found")
        return
    lines, number = pages[at][0], at + 1
    abstract = _abstract(lines[start:])
    if abstract is None:
        yield Problem(file, number, "abstract", f"has no end within {_MOST:,} characters")
        return
    first = " ".join(line.text for line in pages[0][0])
    preprint = arxiv_id(about, *_STAMP.findall(f"{pages[0][1]} {first}"))
    dois = {doi.lower() for doi in _DOI.findall(about) or _DOI.findall(first)}
    doi = dois.pop() if len(dois) == 1 else None
    above = [line for before, _ in pages[:at] for line in before] + lines[:start]
    title, below = _title([] if at else above, named, " ".join(line.text for line in above))
    authors = _authors(below, wide) if title else []
    for name, found in (("title", title), ("authors", authors), ("doi", doi or preprint)):
        if not found:
            what = "names several; none was taken" if name == "doi" and dois else "not found on its first page"
            yield Problem(file, number, name, what, note=True)
    yield from papers_of_export(
        Record(
            file=file,
            line=number,
            title=title,
            abstract=abstract,
            authors=authors,
            year=f"20{preprint[:2]}" if preprint and preprint[0].isdigit() else None,
            doi=doi,
            url=arxiv_page(preprint) if preprint else None,
        )
    )


def _lines(page: Any) -> tuple[list[_PrintedLine], str]:
    """The lines of a page, and apart from them what is turned, such as arXiv's stamp in the margin."""
    lines, turned = [_PrintedLine()], []

    def visit(text: str, cm: list[float], tm: list[float], font: Any, size: float) -> None:
        if tm[1] * tm[2] < 0 or cm[1] * cm[2] < 0:
            turned.append(text)
            return
        name = str((font or {}).get("/BaseFont", ""))
        height = round(abs(size * tm[3] * cm[3]), 1)
        head, *rest = _readable(text).split("\n")
        lines[-1].pieces.append((head, height, name))
        lines.extend(_PrintedLine([(part, height, name)]) for part in rest)

    page.extract_text(visitor_text=visit)
    return [line for line in lines if line.text], " ".join("".join(turned).split())


def _readable(text: str) -> str:
    """With the letters that fonts put together, or apart, as they are written."""
    text = _LIGATURE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return _ACCENTED.sub(lambda found: unicodedata.normalize("NFC", found[2] + _ACCENTS[found[1]]), text)


def _abstract(lines: list[_PrintedLine]) -> str | None:
    """From its heading to the next one, to letters of another size, or to the end of the page."""
    rest = _ABSTRACT.sub("", lines[0].text, count=1)
    body = lines[1:]
    size = body[0].size if body else 0.0
    inside = takewhile(lambda line: abs(line.size - size) < _SAME and not _END.match(line.text), body)
    text = _joined([rest, *(line.text for line in inside)])
    return text if len(text) <= _MOST else None


def _joined(lines: list[str]) -> str:
    """One text; a hyphen at the end of a line goes unless the same word stands there with it."""
    text = "\n".join(line for line in lines if line)
    words = text.replace("\n", " ")

    def join(found: re.Match[str]) -> str:
        whole = f"{found[1]}-{found[2]}"
        return whole if re.search(rf"\b{re.escape(whole)}\b", words) else found[1] + found[2]

    return re.sub(r"(\w+)-\n([a-z]\w*)", join, text).replace("-\n", "-").replace("\n", " ")


def _title(head: list[_PrintedLine], named: str, above: str) -> tuple[str | None, list[_PrintedLine]]:
    """The title, if it is found, and the lines between it and the abstract.

    Args:
        head: What stands above the abstract on the first page.
        named: The title that the file says it has; often its maker's, so it must stand in ``above``.
        above: What stands above the abstract on all pages.
    """
    size = max((line.size for line in head if len(_letters(line.text)) > 3), default=0.0)
    start = next((n for n, line in enumerate(head) if line.size > size - _SAME), 0)
    largest = list(takewhile(lambda line: line.size > size - _SAME, head[start:]))
    below = head[start + len(largest) :]
    if len(_letters(named)) > 3 and _letters(named) in _letters(above):
        return named, below
    if len(largest) == len(head) > 1:  # all of one size, so that nothing stands out
        return None, []
    return _joined([line.text for line in largest]).rstrip(_MARKS + " ") or None, below


def _letters(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if c.isalnum())


def _authors(below: list[_PrintedLine], wide: str) -> list[str]:
    """The names in the first line below the title and where that goes on; none where it could be more, or others."""
    if not below:
        return []
    names: list[str] = []
    first = below[0]
    count = 0
    for line in below:
        found = _names(line, wide)
        goes_on = count and (re.search(r"(?:,|\band)$", below[count - 1].text) or line.text.startswith("and "))
        if count and not goes_on:
            break
        if not found:
            return []
        names += found
        count += 1
    others = below[count:]
    telling = any(line.font != first.font for line in others)
    for line in others:
        alike = _names(line, wide) if line.font == first.font else []
        if len(alike) > 1 or (alike and (telling or len(names) == 1)):
            return []  # that may be affiliations or more authors
    return names


def _names(line: _PrintedLine, wide: str) -> list[str]:
    """The names of a line that holds nothing else. What is smaller is a mark, and a mark or a gap ends a name."""
    small = any(size < line.size - _SAME and text.strip() for text, size, _ in line.pieces)
    text = "".join(", " if size < line.size - _SAME and piece.strip() else piece for piece, size, _ in line.pieces)
    squeezed = re.sub(r"\s", "", line.text)
    gaps = next((one for one in wide.split("\n") if re.sub(r"\s", "", _readable(one)) == squeezed), None)
    if gaps is not None and not small:
        text = _readable(gaps)
    parts = [" ".join(part.split()) for part in _BETWEEN.split(text.strip())]
    parts = [part for part in parts if part]
    whole = all(_NAME.fullmatch(part) and part[0].isupper() and part.split()[-1][0].isupper() for part in parts)
    return parts if whole else []


PDF = Form(load_pdf, lambda head: head.startswith("%PDF"), ("pdf",))
