"""No public address without a login; a login that is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from rag_assistant.errors import InputError
from rag_assistant.ui.login import checker, credentials, require_login
from tests.ui.served import ROOT, free_port, served


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"])
def test_this_machine_needs_no_login(host: str) -> None:
    require_login(host, {}, allow_public=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_other_addresses_do(host: str) -> None:
    with pytest.raises(InputError, match="no login") as refused:
        require_login(host, {}, allow_public=False)
    assert "--allow-public" in refused.value.hint
    require_login(host, {}, allow_public=True)
    require_login(host, {"ada": "x"}, allow_public=False)


def test_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert credentials() == {}
    monkeypatch.setenv("RAG_UI_USER", "ada")
    with pytest.raises(InputError, match="only a name"):
        credentials()
    monkeypatch.setenv("RAG_UI_PASSWORD", "pass:word")
    assert credentials() == {"ada": "pass:word"}
    file = tmp_path / "login"
    file.write_text("# who\nbob:pass:word\n\neve:x\n")
    assert credentials(file) == {"bob": "pass:word", "eve": "x"}
    file.write_text("bob\n")
    with pytest.raises(InputError, match="not name:password"):
        credentials(file)
    with pytest.raises(InputError, match="can't be read"):
        credentials(tmp_path / "none")


def test_the_check() -> None:
    check = checker({"ada": "secret"})
    assert check("ada", "secret")
    assert not check("ada", "wrong")
    assert not check("eve", "")


def test_the_command_refuses_a_public_address() -> None:
    command = [sys.executable, "-m", "rag_assistant.cli", "ui", "--host", "0.0.0.0", "--port", str(free_port())]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, env=dict(os.environ))
    assert done.returncode == 1
    assert "no login" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "rag_assistant.cli", "ui", "--port", str(port), "--index", str(tmp_path / "i")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "hint: choose another with --port" in done.stderr


_VARIABLES = {"RAG_UI_USER": "ada", "RAG_UI_PASSWORD": "secret"}


@pytest.mark.parametrize("by_file", [True, False])
def test_a_login_is_asked_for(tmp_path: Path, bundled_index: Path, by_file: bool) -> None:
    file = tmp_path / "login"
    file.write_text("ada:secret\n")
    flags = ["--login", str(file)] if by_file else []
    with served(tmp_path, *flags, index=bundled_index, env={} if by_file else _VARIABLES) as url:
        for path in ("gradio_api/info", "config", "gradio_api/queue/join"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(url + path, b"{}" if "join" in path else None, timeout=30)
            with refused.value as reply:
                assert reply.code in (401, 405)
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        form = urllib.parse.urlencode({"username": "ada", "password": "secret"}).encode()
        with opener.open(f"{url}login", form, timeout=30) as reply:
            assert reply.status == 200
        with opener.open(f"{url}gradio_api/info", timeout=30) as reply:
            assert reply.status == 200
