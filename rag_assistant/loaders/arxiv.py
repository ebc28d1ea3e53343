"""``arxiv:ID`` or ``arxiv:ID,ID,...``: papers by their arXiv ids, from arXiv's API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from rag_assistant.errors import LoadError
from rag_assistant.loaders.atom import ENTRIES, record_of_entry
from rag_assistant.loaders.base import Problem
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.identity import arxiv_id
from rag_assistant.loaders.xml_records import papers_of_xml
from rag_assistant.types import Paper

if TYPE_CHECKING:
    from rag_assistant.loaders.web import Web

_BATCH = 100
_FEED = "arXiv"


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
    from rag_assistant.loaders.web import PaperService

    service = PaperService("arXiv", "https://export.arxiv.org", "RAG_ARXIV_URL", 3.0)
    path = f"/api/query?id_list={','.join(wanted)}&max_results={len(wanted)}"
    body = web.get(service, path, accept="application/atom+xml", keep=True)
    text = (body or b"").decode("utf-8", "replace")
    found: defaultdict[str, list[Paper | Problem]] = defaultdict(list)
    for item in papers_of_xml(_FEED, text, ENTRIES, _record):
        found[item.file if isinstance(item, Problem) else item.source.rpartition(":")[0]].append(item)
    broken = any(isinstance(problem, Problem) and problem.line for problem in found[_FEED])
    if broken or "<feed" not in text:
        web.finished()
        raise LoadError("arXiv sent something that is no feed.", hint="run it again later")
    for name in (f"arxiv:{paper}" for paper in wanted):
        yield from found.get(name) or [Problem(name, None, "", "is not known to arXiv")]


def _record(_: str, __: int, entry: Element) -> Record | None:
    """Under the name that it was asked for by; ``None`` for an entry that tells of an error."""
    paper = arxiv_id(entry.findtext("id"))
    return record_of_entry(f"arxiv:{paper}", 1, entry) if paper else None
