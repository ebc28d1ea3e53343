"""``chat`` with questions on stdin, and at a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import resource
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.cli.readable import readable
from tests.backends.chat_server import Reply, serving
from tests.cli.conftest import COMMAND, Run, run_command

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
    assert done.out.count("[1] Reward Model Learning vs. Direct Policy Optimization") == 2  # under the answer, /sources
    assert done.out.count("“") == 1
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

    def until(self, text: str, times: int = 1, seconds: float = 120) -> str:
        """Reads until the text has come that often."""
        deadline = time.monotonic() + seconds
        while self.plain.count(text) < times and time.monotonic() < deadline:
            if not self._read(max(0.0, deadline - time.monotonic())):
                break
        assert self.plain.count(text) >= times, self.seen
        return self.plain

    def at_prompt(self, count: int = 1) -> None:
        """Reads until chat asks for its next line, for the ``count``-th time.

        What is typed before that can be lost: a Ctrl-D in a line that the terminal had already taken as text is none.
        """
        self.until("\n> ", times=count)

    def press_ctrl_c(self, said: str, times: int) -> None:
        """Ctrl-C once, pressed again only where it was missed."""
        for _ in range(5):
            os.killpg(self._process.pid, signal.SIGINT)
            with contextlib.suppress(AssertionError):
                self.until(said, times, seconds=3)
                return
        raise AssertionError(self.seen)

    def interrupt(self) -> None:
        """Ctrl-C, as often as a person would press it: readline misses one in the moment before it waits for a key."""
        while self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=2)

    def send(self, text: str) -> None:
        os.write(self._end, text.encode())

    def wait(self) -> int:
        while self._read():
            pass
        try:
            return self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            os.close(self._end)

    @property
    def plain(self) -> str:
        """What was seen, without the escapes that style it."""
        return re.sub(r"\x1b(\][^\x1b]*\x1b\\|\[[0-9;?]*[A-Za-z])", "", self.seen)

    def _read(self, seconds: float = 120) -> bool:
        ready, _, _ = select.select([self._end], [], [], seconds)
        try:
            data = os.read(self._end, 65536) if ready else b""
        except OSError:  # how Linux tells that the other end has gone
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)


def test_a_conversation_at_a_terminal(built: Path, tmp_path: Path) -> None:
    terminal = Terminal("chat", "--index", str(built), cwd=tmp_path)
    terminal.until("19 papers. Ask, or /help.")
    terminal.at_prompt()
    terminal.send(f"{DPO}\n")
    terminal.at_prompt(2)
    told = " ".join(terminal.plain.split())
    assert "[1] Reward Model Learning vs. Direct Policy Optimization: A Comparative Analysis" in told
    assert "Andi Nika et al., ICML 2024" in told
    assert "nika24a.html" not in terminal.plain
    assert "“" not in terminal.plain
    terminal.send("/sources\n")
    terminal.at_prompt(3)
    assert "nika24a.html" in terminal.plain
    assert "“Next, we analyze the setting" in terminal.plain
    terminal.send("\x04")
    assert terminal.wait() == 0
    assert "Traceback" not in terminal.seen


def test_ctrl_c_at_the_prompt_clears_the_line_and_twice_leaves(built: Path, tmp_path: Path) -> None:
    terminal = Terminal("chat", "--index", str(built), cwd=tmp_path)
    terminal.at_prompt()
    terminal.send("What is CT")
    terminal.until("> What is CT")
    terminal.press_ctrl_c("Ctrl-C once more leaves.", 1)
    terminal.at_prompt(2)
    terminal.send("/help\n")
    terminal.at_prompt(3)
    assert "/filter: which papers" in terminal.plain
    terminal.press_ctrl_c("Ctrl-C once more leaves.", 2)  # not twice in a row
    terminal.at_prompt(4)
    terminal.interrupt()
    assert terminal.wait() == 0
    assert terminal.plain.rstrip().endswith("Left by Ctrl-C.")
    assert "Traceback" not in terminal.seen


def test_filters_of_the_flags_and_of_the_chat(rag: Run) -> None:
    lines = [
        "/filter",
        DPO,
        "/filter author Nika, Im",
        "/filter year 2024-",
        DPO,
        "/filter author",
        "/filter year 2024-2020",
        "/filter autor Nika",
        "/filter id nika24a",
        "/filter venue ICML",
        "/filter clear",
        DPO,
    ]
    done = rag("chat", "--json", "--id", "le-bars24a", "--year", "2020-", stdin="\n".join(lines))
    assert done.code == 0, done.err
    assert [json.loads(line)["considered"] for line in done.out.splitlines()] == [1, 0, 19]
    told = done.err.splitlines()
    assert told == [
        "year 2020-; id le-bars24a: 1 of 19 papers",
        "year 2020-; author Nika, Im; id le-bars24a: 0 of 19 papers",
        "year 2024-; author Nika, Im; id le-bars24a: 0 of 19 papers",
        "year 2024-; id le-bars24a: 1 of 19 papers",
        "error: The years '2024-2020' end before they start.",
        "hint: /filter year 2020-2024",
        "error: There is no filter autor.",
        "hint: did you mean author? /filter year, author, venue, id or clear",
        "year 2024-; id nika24a: 1 of 19 papers",
        "year 2024-; venue ICML; id nika24a: 1 of 19 papers",
        "no filter: 19 papers",
    ]
    assert rag("chat", "--year", "next", stdin="").code == 1


def test_ask_at_a_terminal_has_links_and_wraps(built: Path, tmp_path: Path) -> None:
    terminal = Terminal("ask", "--index", str(built), DPO, cwd=tmp_path, OPENAI_API_KEY="sk-x")
    terminal.until("OPENAI_API_KEY is set and not used")
    assert terminal.wait() == 0
    assert "\x1b]8;" in terminal.seen
    assert "Reward Model Learning vs. Direct Policy Optimization" in terminal.plain
    lines = [line.rstrip() for line in re.split(r"[\r\n]+", terminal.plain)]
    assert max(len(line) for line in lines if not line.startswith("note: ")) <= 80


def test_formulas_and_emphasis_are_readable_at_a_terminal_and_verbatim_elsewhere(tmp_path: Path) -> None:
    abstract = (
        "We give ziggurats a rate of $O\\left(\\frac{1}{T^{2}}\\right)$ in the $\\ell_2$ norm for $\\mathsf{FedRo}$ by "
        "**U**nified *building* with up to $30\\%$ less clay."
    )
    record = {"id": "z", "title": "Ziggurats of $K \\geq 3$ **levels**", "abstract": abstract}
    (tmp_path / "z.jsonl").write_text(json.dumps(record))
    assert run_command("index", "--index", "index", "z.jsonl", cwd=tmp_path).code == 0
    question = ("ask", "--index", "index", "Which rate do ziggurats have?")
    terminal = Terminal(*question, cwd=tmp_path)
    assert terminal.wait() == 0
    seen = " ".join(terminal.plain.split())
    assert (
        "We give ziggurats a rate of O(1/T²) in the ℓ₂ norm for FedRo by Unified building with up to 30% less" in seen
    )
    assert "Ziggurats of K ≥ 3 levels" in seen
    assert not set("$\\*") & set(terminal.plain)
    for form in ((), ("--markdown",)):
        assert abstract in run_command(*question, *form, cwd=tmp_path).out
    quoted = run_command(*question, "--json", cwd=tmp_path).json["citations"][0]["quotes"][0]["text"]
    assert quoted == abstract


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"$\mathcal{O}(\log{k}/k)$", "𝒪(log k/k)"),
        (r"$\sum_{i=1}^n x_{ij}^2$", "∑ᵢ₌₁ⁿ xᵢⱼ²"),
        (r"$\frac{a+b}{\sqrt{n}}$", "(a+b)/√n"),
        (r"$n^{1/3}$ and $\|x\|_2$", "n^(1/3) and ‖x‖₂"),
        (r"up to $\sim$$30\%$, $\hat{x}$, $\alpha$-stable", "up to ∼30%, x̂, α-stable"),
        ("**UA**$^2$ of *x* and `code`", "UA² of x and code"),
        (r"G\"odel, Erd\H{o}s, \emph{so}, ``it''", "Gödel, Erdős, so, “it”"),
        (r"$\nosuchcommand{x}$ and $\sqrt[3]{x}$", r"$\nosuchcommand{x}$ and $\sqrt[3]{x}$"),
        ("It costs $5 and $6; 2 * 3 * 4, x_1 and a*b [1]", "It costs $5 and $6; 2 * 3 * 4, x_1 and a*b [1]"),
    ],
)
def test_what_is_made_of_tex_and_markdown(text: str, shown: str) -> None:
    assert readable(text) == shown


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sampled_from(r"$ $ \frac { } ^ _ \sqrt \| \mathsf x 1 \( \) ** * ` \left( \H ~ % & # \\".split())).map(
        "".join
    )
)
def test_no_tex_breaks_the_display(text: str) -> None:
    assert isinstance(readable(text), str)
    assert isinstance(readable(f"${text}$"), str)


def test_deep_tex_takes_no_time() -> None:
    started = time.process_time()
    for deep in ("^{" * 900, "\\frac{" * 300, "_" * 1900, "\\sqrt" * 380, "{" * 1900):
        readable(f"${deep}x{'}' * deep.count('{')}$")
    assert time.process_time() - started < 5


def test_a_long_answer_is_not_wrapped_anew_at_each_word(built: Path, tmp_path: Path) -> None:
    said = [f"System {number} is a music generation system finetuned from human feedback [1]." for number in range(250)]
    spent = []
    with serving() as server:
        for sentences in (1, 250):
            server.say(Reply(tuple(f"{word} " for word in " ".join(said[:sentences]).split())))
            flags = ("--backend", "openai-like", "--model", "m", "--base-url", server.url, "--max-tokens", "9000")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            terminal = Terminal("ask", "What is MusicRL?", *flags, cwd=tmp_path, RAG_INDEX=str(built))
            assert terminal.wait() == 0
            assert "finetuned from human feedback" in terminal.plain
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert spent[1] - spent[0] < 6, "seconds of the processor for 3,000 words, of which each took its share of 16"


def test_no_color_is_respected(built: Path, tmp_path: Path) -> None:
    terminal = Terminal("papers", "--index", str(built), cwd=tmp_path, NO_COLOR="1")
    assert terminal.wait() == 0
    assert not re.search(r"\x1b\[3[0-7]m", terminal.seen)
    assert "nika24a" in terminal.plain
