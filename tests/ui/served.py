"""A server for tests: the real command, in a process of its own, on a free port of loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
CORPUS = ROOT / "corpus"
_START = 60.0


@contextmanager
def served(
    folder: Path,
    *flags: str,
    index: Path | None = None,
    corpus: Path = CORPUS,
    port: int | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The address of ``rag-assistant ui`` with an index in ``folder``: a copy of ``index``, else what it makes."""
    if index is not None:
        shutil.copytree(index, folder / "index")
    port = port or free_port()
    command = [sys.executable, "-m", "rag_assistant.cli", "ui", "--port", str(port), "--index", str(folder / "index")]
    settings = {"RAG_CORPUS": str(corpus), "OMP_NUM_THREADS": "1", **(env or {})}
    log = folder / "server.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*command, *flags], cwd=ROOT, env={**os.environ, **settings}, stderr=output, stdout=output
        )
        try:
            url = f"http://127.0.0.1:{port}/"
            until = time.monotonic() + _START
            while not _answers(url):
                if process.poll() is not None or time.monotonic() > until:
                    raise AssertionError(f"the server didn't start:\n{log.read_text()}")
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.wait(20)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as page:
            return page.status == 200
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
