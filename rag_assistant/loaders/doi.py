"""``doi:DOI``: the record of a DOI, from the agency that registered it (Crossref, DataCite, ...)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from rag_assistant.errors import LoadError
from rag_assistant.loaders.base import Problem
from rag_assistant.loaders.dialects import foreign_record
from rag_assistant.loaders.exports import papers_of_export
from rag_assistant.loaders.identity import DOI
from rag_assistant.types import Paper

if TYPE_CHECKING:
    from rag_assistant.loaders.web import Web

_CSL = "application/vnd.citationstyles.csl+json"


def fetch_doi(name: str, web: Web) -> Iterator[Paper | Problem]:
    """The paper of a DOI, by content negotiation: doi.org leads to the agency, which sends CSL JSON.

    Raises:
        LoadError: doi.org or the agency can't be reached.
    """
    from rag_assistant.loaders.web import PaperService

    service = PaperService("doi.org", "https://doi.org", "RAG_DOI_URL", 0.5)
    found = DOI.search(name)
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
    record = foreign_record(f"doi:{doi}", 1, {**work, "DOI": doi, "id": None})
    if record is not None:
        yield from papers_of_export(record)
