"""``doctor`` on what is whole and on what is broken."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.conftest import Run


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


def test_a_server_on_this_machine_keeps_text_here(rag: Run) -> None:
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
