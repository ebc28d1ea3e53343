"""The commands in a network namespace that holds nothing, where native code can't reach out either."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND

_EMPTY = (
    ("unshare", "--net") if hasattr(os, "geteuid") and os.geteuid() == 0 else ("unshare", "--map-root-user", "--net")
)


def _can_unshare() -> bool:
    return bool(shutil.which("unshare")) and subprocess.run([*_EMPTY, "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not _can_unshare(), reason="no network namespace can be made here")
def test_everything_works_without_any_network(tmp_path: Path) -> None:
    environment = {**os.environ, "RAG_INDEX": str(tmp_path / "index")}
    for arguments in (
        ("index",),
        ("ask", "What is CTMA?"),
        ("search", "reward"),
        ("papers",),
        ("doctor",),
        ("config",),
        ("chat",),
    ):
        done = subprocess.run(
            [*_EMPTY, *COMMAND, *arguments],
            cwd=tmp_path,
            env=environment,
            input=b"What is CTMA?\n",
            capture_output=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout
