"""The command ``rag-assistant``: answers on stdout, everything else on stderr, one clear sentence for an error.

Heavy imports happen inside commands, so that ``--help`` is quick and ``ask`` pays only for what it uses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from rag_assistant.cli.state import State, say

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    0: done, refusals included. 1: an error, with ``error: ...`` and ``hint: ...`` on stderr. 2: the command line can't
    be understood. 130: interrupted by Ctrl-C. 141: the reader of stdout went away.
    """
    state = State()
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: the next file opened would get its number, and with it what libraries print
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a letter that the terminal can't show is no reason to fail
    with suppress(OSError):  # a folder deleted under us has no plug-ins
        if not {"", str(Path.cwd())} & set(sys.path):
            sys.path.append(str(Path.cwd()))  # so that module:Class also names a plug-in in the current folder
    try:
        from rag_assistant.cli.app import app

        code = app(args=_as_switch(argv), prog_name="rag-assistant", standalone_mode=False, obj=state)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        code = _failed(error, state)
    if code == INTERRUPTED:
        say("interrupted")
    return code if isinstance(code, int) else 0


def _as_switch(argv: Sequence[str] | None) -> Sequence[str] | None:
    """``--fallback extractive``, once the form of the switch, as ``--fallback``."""
    words = list(sys.argv[1:] if argv is None else argv)
    kept = [word for before, word in pairwise(("", *words)) if (before, word) != ("--fallback", "extractive")]
    kept = ["--fallback" if word == "--fallback=extractive" else word for word in kept]
    return argv if kept == words else kept  # given None, Typer also expands patterns on Windows


def _failed(error: Exception, state: State) -> int:
    if type(error).__name__ == "Abort":  # how some versions of Typer report Ctrl-C
        return INTERRUPTED
    if state.debug:
        import traceback

        traceback.print_exception(error)
    # Typer's own errors: their class moved between its versions, their two members didn't.
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        say(f"error: {error.format_message()}")
        command = getattr(getattr(error, "ctx", None), "command_path", "rag-assistant")
        say(f"hint: see {command} --help")
        return int(error.exit_code)
    state.error(error)
    return 1
