"""A command that is forked off behaves as one in a process of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import forks
from tests.cli.conftest import COMMAND, run_command


def _both(*arguments: object, cwd: Path, stdin: bytes = b"", **environment: str) -> tuple[int, str, str]:
    """What a fork and a process of its own leave, which is the same."""
    forked = run_command(*arguments, cwd=cwd, stdin=stdin, **environment)
    command = [*COMMAND, *map(str, arguments)]
    own = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, env={**os.environ, **environment})
    assert (forked.code, forked.out, forked.err) == (own.returncode, own.stdout.decode(), own.stderr.decode())
    return forked.code, forked.out, forked.err


def test_folder_environment_and_stdin_are_its_own(built: Path, tmp_path: Path) -> None:
    (tmp_path / "rag.toml").write_text("k = 7\n")
    code, out, _ = _both("config", cwd=tmp_path, RAG_MODEL="mine")
    assert (code, "rag.toml" in out, "environment (RAG_MODEL)" in out) == (0, True, True)
    code, out, _ = _both("verify", "-", cwd=tmp_path, stdin=b"Salmon is grilled.\n", RAG_INDEX=str(built))
    assert (code, "not said (" in out) == (0, True)


def test_errors_and_their_codes(tmp_path: Path) -> None:
    assert _both("aks", cwd=tmp_path)[0] == 2
    code, _, err = _both("ask", "--debug", "--year", "soon", "x", cwd=tmp_path)
    assert (code, "Traceback" in err) == (1, True)


@pytest.mark.parametrize(
    ("last", "code", "said"),
    [
        ("sys.stdout.write('unflushed')", 1, "unflushed"),
        ("sys.exit('left')", 1, "left"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
        ("os.kill(os.getpid(), signal.SIGINT)", 130, "interrupted"),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15, ""),
        ("sys.stdout = io.StringIO('lost')", 1, "broken"),
        ("sys.stdout = open(1, 'w', closefd=False, buffering=9); sys.stdout.write('x'); os.close(1)", 120, "Bad file"),
    ],
)
def test_it_ends_as_python_does(built: Path, tmp_path: Path, last: str, code: int, said: str) -> None:
    (tmp_path / "mine.py").write_text(
        "import atexit, io, os, signal, sys, threading, time\n"
        "atexit.register(print, 'at exit', file=sys.stderr)\n"
        "threading.Thread(target=lambda: (time.sleep(0.3), print('thread', file=sys.stderr))).start()\n"
        f"def backend(**_):\n    {last}\n    raise ValueError('broken')\n"
    )
    left, out, err = _both("ask", "--backend", "mine:backend", "What is CTMA?", cwd=tmp_path, RAG_INDEX=str(built))
    assert left == code
    assert said in out + err
    assert ("thread\nat exit\n" in err) == (code >= 0)


def test_what_is_read_at_the_start_gets_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(forks.subprocess, "run", lambda command, **_: started.append(command) or None)
    assert forks.run(["--version"], cwd=tmp_path, environment=os.environ | {"RAG_K": "3"}) is not None
    assert started == []
    assert forks.run(["--version"], cwd=tmp_path, environment=os.environ | {"PYTHONUTF8": "1"}) is None
    (tmp_path / ".env").touch()
    assert forks.run(["--version"], cwd=tmp_path, environment=os.environ) is None
    assert started == [[*COMMAND, "--version"]] * 2


def test_one_that_takes_too_long_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_command("--version", cwd=tmp_path)
    monkeypatch.setattr(forks, "_SECONDS", 0.5)
    with pytest.raises(subprocess.TimeoutExpired):
        forks.run(["index", "--index", str(tmp_path / "i")], cwd=tmp_path, environment=os.environ)
