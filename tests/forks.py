"""Commands of ``rag-assistant`` without their imports: forks of a process that has imported everything once.

A command spends seconds on its imports and a fraction of one on what it is asked. Here a server, one for each pytest
worker, has imported all that commands use, and is forked for each: the fork gets its own folder, environment, streams
and process, its output and exit code come back as from ``subprocess.run``, and it ends the way Python ends.

Three things are not as in a process of its own. Modules are there before anybody asks for them; what they read from
the environment while they were imported was the server's; the seed of hashes is the same for all forks of a server.
So a command whose environment differs from the server's in more than what is read late gets a process of its own, and
tests that are about the start, imports, signals, terminals or closed streams start one themselves.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

COMMAND = (sys.executable, "-m", "rag_assistant.cli")
_READ_LATE = ("RAG_", "XDG_", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OFFLINE_GUARD_LOG", "PYTEST_")
_SECONDS = 180.0
_MOST = 1 << 20
# Not onnxruntime, which starts a thread as soon as it is imported: a fork has none of its parent's threads.
_HEAVY = """bm25s chromadb jinja2 llama_index.core.node_parser llama_index.embeddings.openai
    llama_index.vector_stores.chroma numpy openai.resources.chat rich.console scipy.stats spellchecker tokenizers
    """.split()


def run(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: bytes = b"",
    before: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[bytes]:
    """What the command leaves. ``before`` is put before it, as ``setpriv`` and its flags.

    Raises:
        subprocess.TimeoutExpired: It took too long, and was killed.
    """
    if sys.platform == "linux":
        server = _server(before)
        # Chroma reads the file .env of the current folder while it is imported.
        if server.has_the_environment(environment) and not (cwd / ".env").exists():
            return server.run(arguments, cwd, environment, stdin)
    command = [*before, *COMMAND, *arguments]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, env=environment, timeout=_SECONDS)


class _Server:
    """The server as its tests see it."""

    def __init__(self, before: tuple[str, ...]) -> None:
        self._environment = dict(os.environ)
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
        with theirs:
            self._process = subprocess.Popen(
                [*before, sys.executable, __file__, str(theirs.fileno())],
                # Pipes, as the commands' own streams are: Python's are made for what it finds at its start.
                **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
                cwd=Path(__file__).parent,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.close)

    def has_the_environment(self, environment: Mapping[str, str]) -> bool:
        """But for what is read late."""
        return all(
            environment.get(name) == self._environment.get(name)
            for name in {*environment, *self._environment}
            if not name.startswith(_READ_LATE)
        )

    def run(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: bytes
    ) -> subprocess.CompletedProcess[bytes]:
        status, its_status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (its_stdin, feeding), (out, its_out), (err, its_err) = os.pipe(), os.pipe(), os.pipe()
        given = [its_stdin, its_out, its_err, its_status.detach()]
        message = json.dumps([list(arguments), str(cwd), dict(environment)]).encode()
        try:
            socket.send_fds(self._channel, [message], given)
        finally:
            for descriptor in given:
                os.close(descriptor)
        with status, ThreadPoolExecutor(3) as pool:
            pool.submit(_feed, feeding, stdin)
            told = [pool.submit(_read, descriptor) for descriptor in (out, err)]
            status.settimeout(_SECONDS)
            pid = self._told(status)
            try:
                code = self._told(status)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired([*COMMAND, *arguments], _SECONDS) from None
            return subprocess.CompletedProcess([*COMMAND, *arguments], code, told[0].result(), told[1].result())

    def _told(self, status: socket.socket) -> int:
        number = status.recv(20)
        if not number:
            raise RuntimeError(f"the server of forks has died:\n{self._process.communicate()[1].decode()}")
        return int(number)

    def close(self) -> None:
        self._channel.close()
        self._process.communicate(timeout=60)


@cache
def _server(before: tuple[str, ...]) -> _Server:
    return _Server(before)


def _feed(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb") as file:
        file.write(data)


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


_exit_code: int | None = None


def _leave() -> None:
    """The last thing that runs at exit: leaves before Python takes itself apart, which would copy all its memory."""
    if _exit_code is None:
        return
    with suppress(OSError, ValueError):  # then Python goes on as it does, and tells it
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(_exit_code)


def _import_all() -> None:
    import rag_assistant

    for name in _HEAVY:
        with suppress(ImportError):  # an extra
            import_module(name)
    for module in pkgutil.walk_packages(rag_assistant.__path__, "rag_assistant."):
        if not module.name.endswith(".__main__") and not module.name.startswith("rag_assistant.ui"):
            import_module(module.name)
    assert threading.active_count() == 1
    assert "onnxruntime" not in sys.modules


def _serve(channel: socket.socket) -> tuple[list[str], str, dict[str, str]] | None:
    """Forks for each command that is sent; returns with it in the fork, and with none at the end."""
    running: dict[int, tuple[int, socket.socket]] = {}
    polled = select.poll()
    polled.register(channel, select.POLLIN)
    while True:
        for ready, _ in polled.poll():
            if ready != channel.fileno():
                pid, status = running.pop(ready)
                polled.unregister(ready)
                os.close(ready)
                _, ended = os.waitpid(pid, 0)
                with status, suppress(BrokenPipeError):
                    status.send(str(os.waitstatus_to_exitcode(ended)).encode())
                continue
            message, descriptors, _, _ = socket.recv_fds(channel, _MOST, 4)
            if not message:
                return None
            pid = os.fork()
            if not pid:
                channel.close()
                for number, descriptor in enumerate(descriptors[:3]):
                    os.dup2(descriptor, number)
                for descriptor in descriptors:
                    os.close(descriptor)
                return tuple(json.loads(message))
            for descriptor in descriptors[:3]:
                os.close(descriptor)
            status = socket.socket(fileno=descriptors[3])
            status.send(str(pid).encode())
            ended_or_not = os.pidfd_open(pid)
            running[ended_or_not] = pid, status
            polled.register(ended_or_not, select.POLLIN)


def _main() -> None:
    global _exit_code
    atexit.register(_leave)  # before all others, so that it comes after them
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which then closes the channel
    sys.path[:] = [folder for folder in sys.path if folder != str(Path(__file__).parent)]
    before = dict(os.environ)
    _import_all()
    set_by_imports = {name: value for name, value in os.environ.items() if before.get(name) != value}
    gc.collect()
    gc.freeze()
    command = _serve(socket.socket(fileno=int(sys.argv[1])))
    if command is None:
        return
    arguments, cwd, environment = command
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update({**set_by_imports, **environment})
    sys.path.insert(0, str(Path.cwd()))
    sys.argv[1:] = arguments
    try:
        runpy.run_module("rag_assistant.cli", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            _exit_code = (ended.code or 0) & 0xFF
        raise


if __name__ == "__main__":
    _main()
