"""Does things to an index in processes that may crash, hang or be killed; run as ``python -m faults.prober``.

The heavy libraries are imported once; each command is then carried out in a fork, so that a check takes a fraction of a
second. Commands come as JSON lines on stdin, one answer each goes to stdout.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import bm25s  # noqa: F401 - imported before forking
import chromadb  # noqa: F401
import llama_index.core.node_parser
import llama_index.vector_stores.chroma  # noqa: F401
from index.hashing import HashingEmbedder, paper, papers

from rag_assistant.errors import InputError, RagError
from rag_assistant.index.build import build_index, remove
from rag_assistant.index.open import OpenIndex, open_index
from rag_assistant.types import Paper

_SECONDS = 60.0
_SAMPLE = 8


def _papers(spec: list[list[Any]]) -> list[Paper]:
    """From ``[[count, start, version], ...]``."""
    return [one for count, start, version in spec for one in papers(count, start, version)]


def verify(index: OpenIndex, embedder: HashingEmbedder) -> None:
    """Every way of reading the index gives what its papers say."""
    ids = list(index.papers)
    for name in ids[:: max(1, len(ids) // _SAMPLE)]:
        it = index.papers[name]
        vector = embedder.encode_question(f"{it.title}. {it.abstract}").vector
        (window, cosine), *_ = index.search_vectors(vector, 3)
        assert (window.paper_id, window.text) == (name, it.abstract), (name, window)
        assert cosine > 0.999
        assert index.exact_cosines(vector, [name])[0][0] == window
        assert ids[int(index.lexical.scores([f"setting{name[5:]}"]).argmax())] == name
        assert index.document_frequency(f"setting{name[5:]}") == 1
        _, sentences = index.encoded_texts([name])[name]
        for passage, encoded in zip(index.sentences(name), sentences, strict=True):
            assert it.abstract[passage.start : passage.end] == passage.text
            assert (encoded.vector == embedder.encode_question(passage.text).vector).all()
            assert encoded.words is not None
            assert len(encoded.words.spans) == len(encoded.words.vectors) > 0


def probe(path: str, states: list[list[list[Any]]], bundled: list[list[Any]] | None = None) -> dict[str, Any]:
    """Opens the index, which must hold exactly one of the states, reads it every way, and again as the next user."""
    embedder = HashingEmbedder()
    corpus = (lambda: _papers(bundled)) if bundled is not None else None
    try:
        first = open_index(path, embedder, corpus=corpus)
    except RagError as error:
        return {"result": "refused", "error": type(error).__name__, "told": str(error), "hint": error.hint}
    held = dict(first.papers)
    state = next((n for n, spec in enumerate(states) if held == {p.id: p for p in _papers(spec)}), None)
    assert state is not None, sorted(held)
    verify(first, embedder)
    notices = first.notices
    first.close()
    with open_index(path, embedder) as second:
        assert dict(second.papers) == held
        assert second.notices == (), second.notices
        verify(second, embedder)
    rebuilt = any("rebuilt" in notice for notice in notices)
    return {"result": "rebuilt" if rebuilt else "mended" if notices else "answered", "state": state, "told": notices}


def ruin_while_open(path: str, file: str, damage: str, asked: bool) -> dict[str, Any]:
    """An index whose file is ruined while it is open goes on answering, from what it has or exactly."""
    from faults.damages import DAMAGES

    embedder = HashingEmbedder()
    with open_index(path, embedder) as index:
        if asked:
            verify(index, embedder)
        DAMAGES[damage](Path(path) / file)
        verify(index, embedder)
        return {"result": "answered", "told": index.notices}


def change(path: str, do: str, spec: list[list[Any]]) -> dict[str, Any]:
    """Indexes, adds or removes."""
    embedder = HashingEmbedder()
    if do == "remove":
        done = remove(path, [p.id for p in _papers(spec)], embedder)
    else:
        done = build_index(path, _papers(spec), embedder, add=do == "add")
    return {"result": "done", "papers": done.papers}


def mend(path: str) -> dict[str, Any]:
    """Opens it as a user would."""
    with open_index(path, HashingEmbedder()) as index:
        return {"result": "done", "papers": len(index.papers)}


def write_for(path: str, seconds: float, seed: int) -> dict[str, Any]:
    """Changes the index in random ways, again and again."""
    rng, embedder, times, until = random.Random(seed), HashingEmbedder(), 0, time.monotonic() + seconds
    while not times or time.monotonic() < until:
        chosen = [paper(n, rng.choice(["a", "b"])) for n in sorted(rng.sample(range(40), rng.randint(2, 25)))]
        kind = rng.random()
        if kind < 0.4:
            build_index(path, chosen, embedder)
        elif kind < 0.8:
            build_index(path, chosen[:5], embedder, add=True)
        else:
            with suppress(InputError):  # another writer has taken it out, or it is the last one
                remove(path, [chosen[0].id], embedder)
        times += 1
    return {"result": "done", "times": times}


def read_for(path: str, seconds: float, reopen: bool) -> dict[str, Any]:
    """Asks again and again; whatever is open must be whole, and the current index is taken up."""
    embedder, times, opened, until = HashingEmbedder(), 0, 0, time.monotonic() + seconds
    index: OpenIndex | None = None
    while not times or time.monotonic() < until:
        if index is None or not index.is_current() or reopen:
            if index is not None:
                index.close()
            index = open_index(path, embedder)
            opened += 1
            assert index.notices == (), index.notices
        for name, it in index.papers.items():
            assert it in (paper(int(name[5:]), "a"), paper(int(name[5:]), "b")), it
        verify(index, embedder)
        times += 1
    return {"result": "done", "times": times, "opened": opened}


_ACTIONS = {action.__name__: action for action in (probe, ruin_while_open, change, mend, write_for, read_for)}


_ON_DISK = ("open", "os.", "shutil.", "tempfile.", "sqlite3.", "fcntl.")


class _Steps:
    """Counts what this process does on disk, and kills it at the step that is asked for."""

    def __init__(self, kill_at: int | None) -> None:
        self.taken = 0
        self._kill_at = kill_at
        sys.addaudithook(self._step)

    def _step(self, event: str, _: object) -> None:
        if event.startswith(_ON_DISK):
            self.taken += 1
            if self.taken == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)


def _fork(command: dict[str, Any]) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        try:
            steps = _Steps(command.get("kill_at"))
            own = ("action", "kill_after", "kill_at")
            answer = _ACTIONS[command["action"]](**{k: v for k, v in command.items() if k not in own})
            answer["steps"] = steps.taken
        except BaseException as error:
            answer = {"result": "lost", "told": f"{type(error).__name__}: {error}"}
        os.write(writing, json.dumps(answer).encode())
    finally:
        os._exit(0)


def _wait(pid: int, reading: int, command: dict[str, Any]) -> dict[str, Any]:
    kill_after = command.get("kill_after")
    deadline = time.monotonic() + (_SECONDS if kill_after is None else kill_after)
    content = b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            break
        block = os.read(reading, 1 << 16)
        if not block:
            break
        content += block
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    if content:
        return dict(json.loads(content))
    if not os.WIFSIGNALED(status):
        return {"result": "lost", "told": "no answer"}
    if os.WTERMSIG(status) == signal.SIGKILL:
        meant = {"kill_after", "kill_at"} & command.keys()
        return {"result": "killed" if meant else "lost", "told": "took too long"}
    return {"result": "lost", "told": f"killed by {signal.Signals(os.WTERMSIG(status)).name}"}


def main() -> None:
    """Carries out each line's commands, all at once, and answers with the list of their answers."""
    for line in sys.stdin:
        commands = json.loads(line)
        children = [(_fork(command), command) for command in commands]
        print(json.dumps([_wait(*child, command) for child, command in children]), flush=True)


if __name__ == "__main__":
    main()
