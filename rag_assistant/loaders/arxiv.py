"""``arxiv:ID`` or ``arxiv:ID,ID,...``: papers by their arXiv ids, from arXiv's API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, ParseError

from rag_assistant.errors import LoadError
from rag_assistant.loaders.base import Problem
from rag_assistant.loaders.fields import Record, papers_from
from rag_assistant.loaders.identity import arxiv_id
from rag_assistant.types import Paper

if TYPE_CHECKING:
    from rag_assistant.loaders.web import Web

_BATCH = 100
_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"


def arxiv_page(paper: str) -> str:
    """The address of a paper's page."""
    return f"https://arxiv.org/abs/{paper}"


def paper_id(preprint: str | None, doi: str | None) -> str | None:
    """The id of a preprint that has no DOI but arXiv's own; else ``None``, which makes it the DOI's."""
    return f"arxiv:{preprint}" if preprint and (not doi or arxiv_id(doi)) else None


def fetch_arxiv(name: str, web: Web) -> Iterator[Paper | Problem]:
    """The papers of these ids, in their order; a hundred a request, one request in three seconds.

    Raises:
        LoadError: arXiv can't be reached, or what it sends is no feed.
    """
    asked = [part.strip() for part in name.split(",") if part.strip()]
    wanted = []
    for part in asked:
        paper = arxiv_id(f"arxiv:{part}")
        if paper is None:
            yield Problem(f"arxiv:{part}", None, "", "is no arXiv id, such as arxiv:1707.08567")
        elif paper not in wanted:
            wanted.append(paper)
    for start in range(0, len(wanted), _BATCH):
        yield from _batch(wanted[start : start + _BATCH], web)
        web.reading("arXiv", min(start + _BATCH, len(wanted)), len(wanted))
    web.finished()


def _batch(wanted: list[str], web: Web) -> Iterator[Paper | Problem]:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    from rag_assistant.loaders.web import PaperService

    service = PaperService("arXiv", "https://export.arxiv.org", "RAG_ARXIV_URL", 3.0)
    path = f"/api/query?id_list={','.join(wanted)}&max_results={len(wanted)}"
    body = web.get(service, path, accept="application/atom+xml", keep=True)
    try:
        entries = fromstring(body or b"").findall(f"{_ATOM}entry")
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        web.finished()
        raise LoadError("arXiv sent something that is no feed.", hint="run it again later") from error
    found = {}
    for entry in entries:
        if paper := arxiv_id(entry.findtext(f"{_ATOM}id")):
            found[paper] = entry
    for paper in wanted:
        if paper in found:
            yield from papers_from(_record(paper, found[paper]))
        else:
            yield Problem(f"arxiv:{paper}", None, "", "is not known to arXiv")


def _record(paper: str, entry: Element) -> Record:
    doi = entry.findtext(f"{_ARXIV}doi")
    # A line that begins with white space begins a paragraph; other line ends are where arXiv wraps.
    paragraphs = re.split(r"\n[ \t]+", (entry.findtext(f"{_ATOM}summary") or "").strip())
    return Record(
        file=f"arxiv:{paper}",
        line=1,
        id=paper_id(paper, doi),
        title=entry.findtext(f"{_ATOM}title"),
        abstract="\n".join(" ".join(paragraph.split()) for paragraph in paragraphs),
        authors=[name for author in entry.iter(f"{_ATOM}author") if (name := author.findtext(f"{_ATOM}name"))],
        year=(entry.findtext(f"{_ATOM}published") or "")[:4],
        venue=entry.findtext(f"{_ARXIV}journal_ref") or "arXiv",
        url=arxiv_page(paper),
        doi=doi,
        links=(("arxiv", arxiv_page(paper)),),
    )
