"""``python -m rag_assistant.cli.probe INDEX EMBEDDER [MODEL]``: opens an index without repair and makes one search.

``doctor`` runs this in a separate process, since a damaged store may crash or hang the process that reads it.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from rag_assistant.errors import IndexMissing, RagError

if TYPE_CHECKING:
    from rag_assistant.index.server import IndexServer


def probe(path: str, embedder: str, model: str | None = None, *, server: IndexServer | None = None) -> dict[str, str]:
    """What was found, as ``status``, ``detail`` and ``hint``."""
    from rag_assistant.embedders.resolve import resolve_embedder
    from rag_assistant.index.open import open_index

    try:
        with open_index(path, resolve_embedder(embedder, model=model), repair=False, server=server) as opened:
            known = next(iter(opened.papers))
            vector = opened.encoded_windows(known)[0].vector
            found = [passage.paper_id for passage, _ in opened.search_vectors(vector, min(10, len(opened.windows)))]
            notices = opened.notices
            count = f"{len(opened.papers)} papers, {len(opened.windows)} passages at {server.shown if server else path}"
    except IndexMissing as error:
        return {"status": "note", "detail": error.message, "hint": error.hint}
    except RagError as error:
        return {"status": "bad", "detail": error.message, "hint": error.hint}
    if known not in found:
        hint = server.hint if server else "run: rag-assistant doctor --repair"
        return {"status": "bad", "detail": f"{count}; a search for {known} doesn't find it", "hint": hint}
    if notices:
        return {"status": "note", "detail": f"{count}; {' '.join(notices)}", "hint": server.hint if server else ""}
    return {"status": "ok", "detail": count, "hint": ""}


if __name__ == "__main__":
    print(json.dumps(probe(*sys.argv[1:])))  # noqa: T201
