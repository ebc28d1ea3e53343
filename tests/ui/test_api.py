"""The named endpoints give the JSON of the command line; nothing else is public."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.forks import run
from tests.ui.served import CORPUS, ROOT, served

DPO = "Does DPO keep its advantage when the true reward is not realizable?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.fixture(scope="module")
def url(folder: Path, bundled_index: Path) -> Iterator[str]:
    with served(folder, index=bundled_index) as address:
        yield address


def _call(url: str, name: str, **body: Any) -> Any:
    """One call over plain HTTP; the last event's data."""
    request = urllib.request.Request(
        f"{url}gradio_api/call/v2/{name}", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        event = json.load(reply)["event_id"]
    with urllib.request.urlopen(f"{url}gradio_api/call/{name}/{event}", timeout=60) as stream:
        lines = stream.read().decode().splitlines()
    kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return kinds[-1], json.loads(data[-1])


def _status(url: str, path: str, body: bytes | None = None) -> int:
    request = urllib.request.Request(url + path, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_ask_gives_what_the_command_line_gives(url: str, folder: Path) -> None:
    kind, data = _call(url, "ask", question=DPO)
    assert kind == "complete"
    environment = {**os.environ, "RAG_CORPUS": str(CORPUS)}
    printed = run(["ask", "--json", "--index", str(folder / "index"), DPO], cwd=ROOT, environment=environment)
    told = json.loads(printed.stdout)
    answer = data[0]
    for one in (answer, told):
        one.pop("timings_ms")
    assert answer == told
    assert answer["citations"][0]["quotes"]


def test_the_length_is_as_asked_for(url: str) -> None:
    short, long = (_call(url, "ask", question="What is CTMA?", length=name)[1][0] for name in ("short", "long"))
    assert len(short["statements"]) == 1 < len(long["statements"])


def test_search_and_papers(url: str) -> None:
    _, found = _call(url, "search", question="federated learning", k=3)
    assert len(found[0]["hits"]) == 3
    _, papers = _call(url, "papers")
    assert len(papers[0]["papers"]) == 19
    _, one = _call(url, "papers", authors=["Sharon Li"])
    assert 1 <= len(one[0]["papers"]) < 19


@pytest.mark.parametrize(
    "body",
    [
        {"question": "x", "k": 0},
        {"question": "x", "years": [1]},
        {"question": "x", "k": 10**9},
        {"question": "x", "length": "epic"},
    ],
)
def test_a_wrong_parameter_is_told(url: str, body: dict[str, Any]) -> None:
    kind, data = _call(url, "ask", **body)
    assert kind == "error"
    assert "wrong form" in json.dumps(data)


def test_only_three_endpoints_are_public(url: str) -> None:
    with urllib.request.urlopen(f"{url}gradio_api/info", timeout=30) as reply:
        info = json.load(reply)
    assert sorted(info["named_endpoints"]) == ["/ask", "/papers", "/search"]
    assert info["unnamed_endpoints"] == {}


@pytest.mark.parametrize(
    "path",
    [
        "gradio_api/upload",
        "gradio_api/file=/etc/passwd",
        "gradio_api/file=corpus/README.md",
        "file=/etc/passwd",
        "gradio_api/proxy=https://example.invalid/",
        "gradio_api/call/page_ask",
        "gradio_api/run/page_act",
        "gradio_api/component_server",
        "gradio_api/runs",
        "gradio_api/run-history/records",
        "gradio_api/vibe-edit",
        "gradio_api/deep_link",
        "gradio_api/dev/reload",
        "gradio_api/mcp/sse",
        "monitoring/summary",
        "docs",
        "redoc",
        "static/../../../../etc/passwd",
        "assets/%2e%2e/%2e%2e/index.html",
    ],
)
def test_other_routes_are_closed(url: str, path: str) -> None:
    assert _status(url, path) in (400, 403, 404, 405)
    assert _status(url, path, b"{}") in (400, 403, 404, 405)


def test_an_upload_is_refused_in_words(url: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(f"{url}gradio_api/upload", b"x"), timeout=30)
    with refused.value as reply:
        assert "rag-assistant index" in reply.read().decode()


def test_the_client_works(url: str) -> None:
    script = (
        "import sys, json; from gradio_client import Client; c = Client(sys.argv[1], verbose=False);"
        "print(json.dumps(c.predict('What is CTMA?', api_name='/ask')['status']))"
    )
    quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_DISABLE_TELEMETRY": "1"}
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, timeout=90, env=quiet)
    assert done.stdout.strip().strip('"') in ("answered", "partial", "not_in_corpus", "not_in_abstracts"), done.stderr
