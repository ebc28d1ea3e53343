"""What the tests of backends share: a scripted server, and an index of a module's own papers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assistant import Assistant

from .chat_server import Script, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    """A server that replies as it is told."""
    with serving() as script:
        yield script


@pytest.fixture(scope="module")
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the papers that the module has as ``PAPERS``."""
    folder = tmp_path_factory.mktemp("papers")
    lines = map(json.dumps, request.module.PAPERS)
    (folder / "papers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    Assistant.open(folder / "index", corpus=folder / "papers.jsonl").close()
    return folder / "index"
