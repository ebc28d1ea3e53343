"""``doctor`` on what is whole and on what is broken."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.backends.chat_server import Script, serving
from tests.cli.conftest import Result, Run, run_command


def _check(told: dict[str, object], name: str) -> dict[str, str]:
    return next(check for check in told["checks"] if check["name"] == name)  # type: ignore[attr-defined]


def test_all_is_well(rag: Run, built: Path) -> None:
    done = rag("doctor", "--json")
    assert done.code == 0, done.out
    assert done.json["healthy"]
    assert "19 papers" in _check(done.json, "index")["detail"]
    assert "sha256" in _check(done.json, "embedder")["detail"]
    assert "nothing leaves" in _check(done.json, "privacy")["detail"]
    plain = rag("doctor")
    assert plain.code == 0
    assert "BAD" not in plain.out


def test_doctor_only_looks(rag_alone: Run, tmp_path: Path) -> None:
    done = rag_alone("doctor", "--json")
    assert done.code == 0
    assert not (tmp_path / "index").exists()
    assert "rag-assistant index" in _check(done.json, "index")["hint"]


def test_a_setting_that_sends_text_away_is_told(rag: Run) -> None:
    done = rag("doctor", "--json", "--embedder", "openai")
    assert "openai" in _check(done.json, "privacy")["detail"]
    assert _check(done.json, "embedder")["status"] == "bad"
    assert "OPENAI_API_KEY" in _check(done.json, "embedder")["hint"] + _check(done.json, "embedder")["detail"]
    assert done.code == 1


def test_a_server_on_this_machine_keeps_text_here(rag: Run, offline_attempts: Callable[[], str]) -> None:
    flags = ("--backend", "openai-like", "--model", "m", "--base-url")
    here = rag("doctor", "--json", *flags, "http://127.0.0.1:9/v1")
    assert _check(here.json, "privacy") == {
        "name": "privacy",
        "status": "ok",
        "detail": "nothing leaves this machine; the model's server is on it: http://127.0.0.1:9/v1",
        "hint": "",
    }
    there = rag("doctor", "--json", *flags, "https://llm.example/v1")
    assert "go to the backend openai-like" in _check(there.json, "privacy")["detail"]
    assert "llm.example" in offline_attempts()
    assert _check(there.json, "backend")["status"] == "bad"


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    with serving() as script:
        yield script


def test_the_server_is_asked_whether_it_is_there(rag: Run, server: Script) -> None:
    flags = ("doctor", "--json", "--backend", "openai-like", "--model", "mine", "--base-url")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    dead = rag(*flags, nobody)
    assert dead.code == 1
    assert _check(dead.json, "backend")["status"] == "bad"
    assert nobody.removesuffix("/v1") in _check(dead.json, "backend")["detail"]
    for switch in (("--fallback",), ("--fallback", "extractive"), ("--fallback=extractive",)):
        stood_in_for = rag(*flags, nobody, *switch)
        assert (stood_in_for.code, _check(stood_in_for.json, "backend")["status"]) == (0, "note")
        assert "; the abstracts answer instead" in _check(stood_in_for.json, "backend")["detail"]
    assert rag(*flags, nobody, "--no-fallback", RAG_FALLBACK="extractive").code == 1
    server.say("never asked")
    server.models = [{"id": "mine"}]
    assert _check(rag(*flags, server.url).json, "backend")["status"] == "ok"
    server.models = [{"id": "another"}]
    another = _check(rag(*flags, server.url).json, "backend")
    assert (another["status"], another["hint"]) == ("note", "it has another")
    server.models = None
    assert _check(rag(*flags, server.url).json, "backend")["status"] == "note"
    assert server.seen == []
    its = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": nobody}
    embedder = _check(rag("doctor", "--json", "--embedder", "openai", **its).json, "embedder")
    assert embedder["status"] == "bad"


def test_a_model_s_file_that_is_not_there(rag: Run) -> None:
    done = rag("doctor", "--json", "--backend", "llamacpp", "--model", "absent.gguf")
    assert "There is no file absent.gguf" in _check(done.json, "backend")["detail"]


_NO_CAPABILITIES = "-dac_override,-dac_read_search"
_AS_A_USER = ("setpriv", f"--inh-caps={_NO_CAPABILITIES}", f"--bounding-set={_NO_CAPABILITIES}")


@pytest.fixture
def as_a_user(tmp_path: Path) -> Run:
    """Runs a command as one who may not read everything, which root may."""
    before: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if not shutil.which("setpriv") or subprocess.run([*_AS_A_USER, "true"], capture_output=True).returncode:
            pytest.skip("root's rights can't be dropped here")
        before = _AS_A_USER

    def run(*arguments: object) -> Result:
        return run_command(*arguments, cwd=tmp_path, before=before, RAG_INDEX=str(tmp_path / "index"))

    return run


@pytest.mark.parametrize("name", ["", "CURRENT", "generations", "generations/*", "generations/*/papers.jsonl"])
def test_an_index_that_may_not_be_read(as_a_user: Run, built: Path, tmp_path: Path, name: str) -> None:
    index = tmp_path / "index"
    shutil.copytree(built, index)
    (hidden,) = index.glob(name) if name else [index]
    rights = hidden.stat().st_mode
    hidden.chmod(0)
    try:
        told = as_a_user("doctor", "--json")
        assert told.code == 1, told.out
        checked = _check(told.json, "index")
        assert checked["status"] == "bad"
        assert f"The index {index} can't be read: Permission denied" in checked["detail"]
        if not name:
            assert _check(told.json, "place") | {"hint": ""} == {
                "name": "place",
                "status": "bad",
                "detail": f"{index} may not be read",
                "hint": "",
            }
        for command in (("ask", "What is CTMA?"), ("papers",), ("index",), ("index", "--dry-run")):
            done = as_a_user(*command)
            assert (done.code, done.out) == (1, "")
            assert "Permission denied" in done.err
            assert "Unexpected" not in done.err
    finally:
        hidden.chmod(rights)
    assert as_a_user("doctor").code == 0


def test_a_newer_index_is_no_fault_of_its_place(rag_alone: Run, built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "index")
    (manifest,) = (tmp_path / "index").glob("generations/*/manifest.json")
    content = json.loads(manifest.read_text())
    del content["checksum"]
    content["schema_version"] += 1
    content["checksum"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    manifest.write_text(json.dumps(content))
    told = rag_alone("doctor", "--json").json
    assert _check(told, "place")["status"] == "ok"
    assert "newer version" in _check(told, "index")["detail"]


def test_a_backend_that_lacks_what_it_needs_is_bad(rag: Run) -> None:
    done = rag("doctor", "--json", "--backend", "openai")
    assert done.code == 1
    assert "OPENAI_API_KEY is not set" in _check(done.json, "backend")["detail"]


def test_a_key_that_nothing_was_asked_of_is_told(rag: Run) -> None:
    told = _check(rag("doctor", "--json", OPENAI_API_KEY="sk-x").json, "key")
    assert told["status"] == "note"
    assert "--backend openai" in told["detail"]
    silent = rag("doctor", "--json", OPENAI_API_KEY="sk-x", RAG_BACKEND="extractive")
    assert "key" not in [check["name"] for check in silent.json["checks"]]


def test_bad_settings(rag: Run) -> None:
    done = rag("doctor", RAG_K="many")
    assert done.code == 1
    assert "BAD   settings" in done.out
    assert "RAG_K" in done.out


def test_a_damaged_index_is_found_and_repaired(rag_alone: Run, tmp_path: Path) -> None:
    assert rag_alone("index").code == 0
    stores = list((tmp_path / "index").rglob("chroma.sqlite3"))
    assert stores
    for store in stores:
        store.write_bytes(b"")
        for folder in store.parent.iterdir():
            if folder.is_dir():
                shutil.rmtree(folder)
    looked = rag_alone("doctor", "--json")
    assert looked.code == 1
    assert _check(looked.json, "index")["status"] == "bad"
    assert "doctor --repair" in _check(looked.json, "index")["hint"]
    mended = rag_alone("doctor", "--repair", "--json")
    assert mended.code == 0, mended.out
    assert "19 papers" in _check(mended.json, "index")["detail"]
    assert rag_alone("doctor").code == 0


def test_an_index_of_which_nothing_can_be_read_is_to_be_made_again_from_files(rag_alone: Run, tmp_path: Path) -> None:
    papers = tmp_path / "papers.jsonl"
    papers.write_text('{"id": "a", "title": "On ants", "abstract": "Ants work."}\n')
    assert rag_alone("index", papers).code == 0
    for path in (tmp_path / "index").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\x00garbage")
    found = _check(rag_alone("doctor", "--json").json, "index")
    assert found["status"] == "bad"
    assert "rag-assistant index PATH" in found["hint"]
    assert rag_alone("index", papers).code == 0
    assert rag_alone("doctor").code == 0
