"""``chat`` with questions on stdin, and at a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

from tests.cli.conftest import COMMAND, Run, heed_ctrl_c

DPO = "Does DPO keep its advantage when the true reward is not realizable?"


def test_a_conversation_in_a_pipe(rag: Run) -> None:
    done = rag("chat", "--json", stdin=f"{DPO}\nAnd RLHF?\n")
    assert done.code == 0, done.err
    first, second = (json.loads(line) for line in done.out.splitlines())
    assert first["question"] == DPO
    assert second["question"] == "And RLHF?"
    assert second["standalone_question"] != "And RLHF?"
    assert [c["paper"]["id"] for c in second["citations"]] == ["nika24a"]


def test_commands(rag: Run) -> None:
    done = rag("chat", stdin=f"/sources\n{DPO}\n/sources\n/new\n/sources\n/help\n/sorces\n\n/quit\nnever asked\n")
    assert done.code == 0
    assert done.out.count("[1] Reward Model Learning vs. Direct Policy Optimization") == 1
    assert "“" in done.out
    assert done.err.count("There is no answer with sources yet.") == 2
    assert "A new conversation." in done.err
    assert "/quit" in done.err
    assert "did you mean /sources?" in done.err
    assert "never asked" not in done.out


def test_new_forgets_what_was_said(rag: Run) -> None:
    done = rag("chat", "--json", stdin=f"{DPO}\n/new\nAnd RLHF?\n")
    assert json.loads(done.out.splitlines()[1])["standalone_question"] == "And RLHF?"


def test_the_end_of_input_ends_it(rag: Run) -> None:
    done = rag("chat", stdin="")
    assert (done.code, done.out, done.err) == (0, "", "")


class Terminal:
    """A command at a pseudo-terminal of 80 columns."""

    def __init__(self, *arguments: str, cwd: Path, **environment: str) -> None:
        import fcntl
        import struct
        import termios

        self._end, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))

        def begin() -> None:
            heed_ctrl_c()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        told = {**os.environ, "TERM": "xterm-256color", **environment}
        self._process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=cwd,
            env=told,
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
            preexec_fn=begin,
        )
        os.close(child)
        self.seen = ""

    def until(self, text: str, seconds: float = 180) -> str:
        """Reads until the text has come."""
        deadline = time.monotonic() + seconds
        while text not in self.plain and time.monotonic() < deadline:
            if not self._read():
                break
        assert text in self.plain, self.seen
        return self.plain

    def send(self, text: str) -> None:
        os.write(self._end, text.encode())

    def wait(self) -> int:
        while self._read():
            pass
        code = self._process.wait(timeout=60)
        os.close(self._end)
        return code

    @property
    def plain(self) -> str:
        """What was seen, without the escapes that style it."""
        return re.sub(r"\x1b(\][^\x1b]*\x1b\\|\[[0-9;?]*[A-Za-z])", "", self.seen)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._end], [], [], 180)
        try:
            data = os.read(self._end, 65536) if ready else b""
        except OSError:  # how Linux tells that the other end has gone
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)


def test_a_conversation_at_a_terminal(built: Path, tmp_path: Path) -> None:
    terminal = Terminal("chat", "--index", str(built), cwd=tmp_path)
    terminal.until("19 papers. Ask, or /help.")
    terminal.until("> ")
    terminal.send(f"{DPO}\n")
    terminal.until("[1]")
    terminal.send("/sources\n")
    terminal.until("nika24a.html")
    terminal.send("\x04")
    assert terminal.wait() == 0
    assert "Traceback" not in terminal.seen


def test_ask_at_a_terminal_has_links_and_wraps(built: Path, tmp_path: Path) -> None:
    terminal = Terminal("ask", "--index", str(built), DPO, cwd=tmp_path)
    assert terminal.wait() == 0
    assert "\x1b]8;" in terminal.seen
    assert "Reward Model Learning vs. Direct Policy Optimization" in terminal.plain
    assert max(len(line.rstrip()) for line in re.split(r"[\r\n]+", terminal.plain)) <= 80


def test_no_color_is_respected(built: Path, tmp_path: Path) -> None:
    terminal = Terminal("papers", "--index", str(built), cwd=tmp_path, NO_COLOR="1")
    assert terminal.wait() == 0
    assert not re.search(r"\x1b\[3[0-7]m", terminal.seen)
    assert "nika24a" in terminal.plain
