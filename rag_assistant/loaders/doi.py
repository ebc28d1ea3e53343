"""``doi:DOI``: the record of a DOI, from the agency that registered it (Crossref, DataCite, ...)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rag_assistant.errors import LoadError
from rag_assistant.loaders.arxiv import arxiv_page, paper_id
from rag_assistant.loaders.base import Problem
from rag_assistant.loaders.fields import Record, papers_from
from rag_assistant.loaders.identity import arxiv_id
from rag_assistant.loaders.markup import plain
from rag_assistant.types import Paper

if TYPE_CHECKING:
    from rag_assistant.loaders.web import Web

_DOI = re.compile(r"10\.\d{4,9}/\S+")
_CSL = "application/vnd.citationstyles.csl+json"


def fetch_doi(name: str, web: Web) -> Iterator[Paper | Problem]:
    """The paper of a DOI, by content negotiation: doi.org leads to the agency, which sends CSL JSON.

    Raises:
        LoadError: doi.org or the agency can't be reached.
    """
    from rag_assistant.loaders.web import PaperService

    service = PaperService("doi.org", "https://doi.org", "RAG_DOI_URL", 0.5)
    found = _DOI.search(name)
    if found is None:
        yield Problem(f"doi:{name}", None, "", "is no DOI, such as doi:10.1145/3292500.3330701")
        return
    doi = found[0]
    body = web.get(service, f"/{quote(doi, safe='/:;().-_')}", accept=_CSL)
    if body is None:
        yield Problem(f"doi:{doi}", None, "", "is not registered, or its agency tells nothing of it")
        return
    try:
        work = json.loads(body)
    except (ValueError, RecursionError):
        work = None
    if not isinstance(work, dict):
        raise LoadError(f"The agency of doi:{doi} sent something that is no record.", hint="run it again later")
    yield from papers_from(_record(doi, work))


def _record(doi: str, work: dict[str, Any]) -> Record:
    preprint = arxiv_id(doi)
    abstract = work.get("abstract")
    title = _first(work.get("title"))
    return Record(
        file=f"doi:{doi}",
        line=1,
        id=paper_id(preprint, doi),
        title=plain(title) if isinstance(title, str) else title,
        abstract=plain(" ".join(abstract.split())) if isinstance(abstract, str) else abstract,  # lines mean nothing
        authors=_names(work.get("author")),
        year=_year(work),
        venue=_first(work.get("container-title")) or work.get("publisher"),
        doi=doi,
        links=(("arxiv", arxiv_page(preprint)),) if preprint else (),
    )


def _first(value: Any) -> Any:
    """Crossref's own API lists what CSL has once."""
    return next(iter(value), None) if isinstance(value, list) else value


def _names(authors: Any) -> list[str]:
    parts = ("given", "non-dropping-particle", "family", "suffix", "literal", "name")
    people = [author for author in authors if isinstance(author, dict)] if isinstance(authors, list) else []
    return [" ".join(str(person[part]) for part in parts if person.get(part)) for person in people]


def _year(work: dict[str, Any]) -> object:
    for name in ("published-print", "issued", "published-online", "published"):
        try:
            year = work[name]["date-parts"][0][0]
        except (KeyError, IndexError, TypeError):
            continue
        if year:
            return year
    return None
