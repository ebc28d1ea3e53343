"""``openreview:VENUE/YEAR``: the accepted papers of a venue, from OpenReview's API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rag_assistant.errors import LoadError
from rag_assistant.loaders.base import Problem
from rag_assistant.loaders.dialects import foreign_record
from rag_assistant.loaders.exports import papers_of_export
from rag_assistant.types import Paper

if TYPE_CHECKING:
    from rag_assistant.loaders.web import PaperService, Web

_PAGE = 1000
_MOST = 100_000


def fetch_openreview(name: str, web: Web) -> Iterator[Paper | Problem]:
    """The papers whose venue is this one, once all of the list is there.

    ``ICLR/2024`` is short for ``ICLR.cc/2024/Conference``; anything else is OpenReview's own id of a venue, such as
    ``TMLR`` or ``auai.org/UAI/2024/Conference``. Venues of before 2023 are in the older of its two APIs.

    Raises:
        LoadError: OpenReview can't be reached, or what it sends is no list.
    """
    from rag_assistant.loaders.web import PaperService

    short = re.fullmatch(r"(\w+)/(\d{4})", name)
    venue = f"{short[1]}.cc/{short[2]}/Conference" if short else name
    for service in (
        PaperService("OpenReview", "https://api2.openreview.net", "RAG_OPENREVIEW_URL", 1.0),
        PaperService("OpenReview", "https://api.openreview.net", "RAG_OPENREVIEW_V1_URL", 1.0),
    ):
        notes = _listed(service, venue, web)
        if notes:
            break
    else:
        message = f"OpenReview lists no paper of {venue}; ids of venues stand in the addresses of their pages"
        yield Problem(f"openreview:{name}", None, "", message)
    for number, note in enumerate(notes, 1):
        record = foreign_record(f"openreview:{name}", number, {"content": {}, **note})
        if record is not None:
            yield from papers_of_export(record)
        else:
            yield Problem(f"openreview:{name}", number, "", "is no paper: it has neither authors nor an abstract")


def _listed(service: PaperService, venue: str, web: Web) -> list[dict[str, Any]]:
    notes: dict[str, dict[str, Any]] = {}
    for offset in range(0, _MOST, _PAGE):
        path = f"/notes?content.venueid={quote(venue, safe='')}&sort=number:asc&limit={_PAGE}&offset={offset}"
        page = _page(web.get(service, path, keep=True))
        if page is None:
            web.finished()
            raise LoadError("OpenReview sent something that is no list of papers.", hint="run it again later")
        found, total = page
        notes.update((str(note.get("id")), note) for note in found)
        web.reading("OpenReview", len(notes), total or 0)
        if len(found) < _PAGE:
            break
    web.finished()
    return list(notes.values())


def _page(body: bytes | None) -> tuple[list[dict[str, Any]], int | None] | None:
    """The notes of a reply and how many there are in all; ``None`` where it isn't such a reply."""
    try:
        reply = json.loads(body or b'{"notes": []}')
    except (ValueError, RecursionError):
        return None
    if not isinstance(reply, dict) or not isinstance(reply.get("notes"), list):
        return None
    total = reply.get("count")
    notes = [note for note in reply["notes"] if isinstance(note, dict)]
    return notes, total if isinstance(total, int) else None
