"""Thirty chats at once, each with its own whole and right answer, and a clear word when there are too many."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.served import served

CHATS = 30


@pytest.fixture(scope="module")
def served_here(bundled_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("load")
    with served(folder, index=bundled_index) as address:
        yield address, folder


class _Visitor:
    """What a page does, without a browser: it sends an event and reads the stream of its outputs."""

    def __init__(self, url: str, name: str, ask: int) -> None:
        self._url, self._name, self._ask = url, name, ask

    def ask(self, question: str, stored: Any = None) -> list[Any]:
        """The outputs at the end: store, conversation, under way, sources, chats."""
        body = {
            "data": [stored, None, 5, None, None, None, [], []],
            "event_data": {"question": question},
            "fn_index": self._ask,
            "session_hash": self._name,
        }
        request = urllib.request.Request(
            f"{self._url}gradio_api/queue/join", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as reply:
            reply.read()
        whole: list[Any] = [None] * 5
        with urllib.request.urlopen(
            f"{self._url}gradio_api/queue/data?session_hash={self._name}", timeout=120
        ) as stream:
            for line in stream:
                if not line.startswith(b"data: "):
                    continue
                message = json.loads(line[6:])
                if message["msg"] == "process_completed":
                    assert message["success"], message
                    break
                if message["msg"] == "process_generating":
                    whole = [_patched(old, new) for old, new in zip(whole, message["output"]["data"], strict=True)]
        return whole


def _patched(old: Any, new: Any) -> Any:
    """Gradio sends the first output whole and later ones as changes to it."""
    if not (isinstance(new, list) and all(isinstance(one, list) and len(one) == 3 for one in new)):
        return old if isinstance(new, dict) and new.get("__type__") == "update" else new
    value = old
    for action, path, change in new:
        value = _changed(value, action, path, change)
    return value


def _changed(value: Any, action: str, path: list[Any], change: Any) -> Any:
    if not path:
        return value + change if action == "append" else change
    made = dict(value) if isinstance(value, dict) else list(value)
    key = path[0]
    if len(path) > 1:
        made[key] = _changed(made[key], action, path[1:], change)
    elif action == "append":
        made[key] = made[key] + change
    elif action == "delete":
        del made[key]
    elif action == "add" and isinstance(made, list):
        made.insert(key, change)
    else:
        made[key] = change
    return made


def _endpoint(url: str) -> int:
    with urllib.request.urlopen(f"{url}config", timeout=30) as reply:
        dependencies = json.load(reply)["dependencies"]
    return int(next(one["id"] for one in dependencies if one["api_name"] == "page_ask"))


def _titles(url: str) -> list[str]:
    from rag_assistant.loaders import load_papers
    from tests.ui.served import CORPUS

    return [paper.title for paper in load_papers([CORPUS]).papers]


def _memory(folder: Path) -> int:
    """Resident bytes of the server, found by its index folder."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes():
                return int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    raise AssertionError("the server is gone")


def test_thirty_chats_at_once_and_memory_comes_back(served_here: tuple[str, Path]) -> None:
    url, folder = served_here
    ask = _endpoint(url)
    titles = _titles(url)
    wrong: list[str] = []

    def chat(number: int) -> None:
        visitor = _Visitor(url, f"visitor{number}x{os.getpid()}", ask)
        title = titles[number % len(titles)]
        first = visitor.ask(f"Who wrote “{title}”?")
        again = visitor.ask("What is the capital of France?", first[0])
        exchanges = again[0]["chats"][0]["exchanges"]
        cited = [one["paper"]["title"] for one in exchanges[0]["answer"]["citations"]]
        if cited != [title] or exchanges[1]["answer"]["status"] != "not_in_corpus" or again[2] != "":
            wrong.append(f"{number}: {title!r} gave {cited}")
        if 'id="t0"' not in again[1] or 'id="t1"' not in again[1] or "t0-s1" not in again[3]:
            wrong.append(f"{number}: the page lacks something")

    def round_of_chats() -> None:
        threads = [threading.Thread(target=chat, args=(number,)) for number in range(CHATS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in threads)

    round_of_chats()
    assert wrong == []
    before = _memory(folder)
    round_of_chats()
    assert wrong == []
    assert _memory(folder) - before < 30 * 1024 * 1024
