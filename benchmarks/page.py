"""How soon the chat page is there and answers: ``python -m benchmarks.page [--rounds N]``.

The page's start is given as a ratio to importing the two libraries it can't do without, measured in turns in one run;
text is timed from the question sent to its first words received, over the bundled papers.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BARE = "import gradio, chromadb"
QUESTIONS = (
    "Does DPO keep its advantage when the true reward is not realizable?",
    "Which papers are about language models?",
    "What is CTMA?",
    "How do RLHF and DPO compare?",
)


@contextmanager
def page(folder: Path) -> Iterator[tuple[str, float]]:
    """The page's address, and the seconds from the start of its process until it was served whole."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    command = [sys.executable, "-m", "rag_assistant.cli", "ui", "--port", str(port), "--index", str(folder / "index")]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not served(url):
            if process.poll() is not None:
                raise SystemExit("the page didn't start; run rag-assistant ui to see why")
            time.sleep(0.01)
        yield url, time.perf_counter() - started
    finally:
        process.terminate()
        process.wait()


def served(url: str) -> bool:
    """Whether the page answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return reply.status == 200 and bool(reply.read())
    except OSError:
        return False


def bare() -> float:
    """Seconds that importing the bare libraries takes."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", BARE], check=True)
    return time.perf_counter() - started


def first_text(url: str, question: str, visitor: str) -> float:
    """Seconds from sending a question, as the page does, to the first words of its answer."""
    with urllib.request.urlopen(f"{url}config", timeout=30) as reply:
        config = json.load(reply)
    ask = next(one for one in config["dependencies"] if one["api_name"] == "page_ask")
    values: dict[int, Any] = {one["id"]: one["props"].get("value") for one in config["components"]}
    data = [values[component] for component in ask["inputs"]]
    body = {"data": data, "event_data": {"question": question}, "fn_index": ask["id"], "session_hash": visitor}
    started = time.perf_counter()
    request = urllib.request.Request(
        f"{url}gradio_api/queue/join", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=60).close()
    with urllib.request.urlopen(f"{url}gradio_api/queue/data?session_hash={visitor}", timeout=60) as stream:
        for line in stream:
            if b'class=\\"answer' in line:
                return time.perf_counter() - started
    raise SystemExit("the answer never came")


def main() -> None:
    """Prints one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (default: 5)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        index = [sys.executable, "-m", "rag_assistant.cli", "index", "--index", str(folder / "index")]
        subprocess.run(index, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with page(folder) as (url, _):
            first_text(url, QUESTIONS[0], "warm")
        bare()
        pairs, cold, warm = [], [], []
        for number in range(rounds):
            with page(folder) as (url, seconds):
                cold.append(first_text(url, QUESTIONS[0], f"cold{number}"))
                warm += [first_text(url, question, f"v{number}x{i}") for i, question in enumerate(QUESTIONS)]
            pairs.append((seconds, bare()))
        ratio = statistics.median(ours / theirs for ours, theirs in pairs)
        print(f"page served: {statistics.median(o for o, _ in pairs):.2f} s;", end=" ")
        print(f"{BARE}: {statistics.median(b for _, b in pairs):.2f} s; ratio {ratio:.2f} (aim: at most 1.5)")
        print(f"first text: {statistics.median(warm):.2f} s, slowest {max(warm):.2f} s (aim: under 0.5)", end="; ")
        print(f"asked the moment the page is served: {statistics.median(cold):.2f} s")


if __name__ == "__main__":
    main()
