from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from index.processes import environment


class Prober:
    """Carries out commands in processes of their own; see ``faults.prober``."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.prober"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            cwd=Path(__file__).parents[1],
        )

    def together(self, commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All at once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(commands), file=self._process.stdin, flush=True)
        return list(json.loads(self._process.stdout.readline()))

    def __call__(self, action: str, **arguments: Any) -> dict[str, Any]:
        return self.together([{"action": action, **{k: v for k, v in arguments.items() if v is not None}}])[0]

    def close(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture(scope="session")
def prober() -> Iterator[Prober]:
    """One for all tests: its imports take longest."""
    started = Prober()
    yield started
    started.close()
