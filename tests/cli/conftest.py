"""The command as a user runs it: another process, its own folder, the network shut.

:func:`run_command` and the fixtures fork it off a process that has its imports; ``COMMAND`` starts one of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.forks import COMMAND, run

__all__ = ["COMMAND", "Result", "Run", "run_command"]
Run = Callable[..., "Result"]


@dataclass(frozen=True)
class Result:
    """What a command left: its exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_command(
    *arguments: object, cwd: Path, stdin: str | bytes = "", before: tuple[str, ...] = (), **environment: str
) -> Result:
    done = run(
        [str(argument) for argument in arguments],
        cwd=cwd,
        environment={**os.environ, **environment},
        stdin=stdin.encode() if isinstance(stdin, str) else stdin,
        before=before,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="session")
def built(bundled_index: Path) -> Path:
    """The index of the bundled corpus; tests read it only."""
    return bundled_index


@pytest.fixture
def rag(tmp_path: Path, built: Path) -> Run:
    """Runs a command on the bundled index."""

    def run(*arguments: object, stdin: str | bytes = "", **environment: str) -> Result:
        return run_command(*arguments, cwd=tmp_path, stdin=stdin, **{"RAG_INDEX": str(built), **environment})

    return run


@pytest.fixture
def rag_alone(tmp_path: Path) -> Run:
    """Runs a command on an index of the test's own, which isn't there yet."""

    def run(*arguments: object, stdin: str | bytes = "", **environment: str) -> Result:
        own = {"RAG_INDEX": str(tmp_path / "index"), **environment}
        return run_command(*arguments, cwd=tmp_path, stdin=stdin, **own)

    return run
