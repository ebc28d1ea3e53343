from __future__ import annotations

from pathlib import Path

import pytest

from .hashing import HashingEmbedder


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"
