"""Python in other processes, as users have it: several commands at once on one index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 120


def environment() -> dict[str, str]:
    """This process's, with the package and the tests importable."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Runs Python code with ``sys.argv[1:]``; its output can be read, its input written."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def run(code: str, *arguments: object) -> str:
    """What the code prints. It must end well and say nothing on stderr."""
    process = start(code, *arguments)
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err) == (0, ""), f"{process.returncode}\n{out}\n{err}"
    return out
