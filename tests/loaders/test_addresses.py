"""Papers at addresses of the web: a loopback server stands for it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rag_assistant.errors import LoadError
from rag_assistant.loaders import download as download_module
from rag_assistant.loaders import load_papers

from .pdfs import write_pdf
from .test_pdf import ABSTRACT, page

RIS = b"TY  - JOUR\nTI  - Ants\nAB  - We do.\nER  - \nTY  - JOUR\nER  - \n"


class Site(BaseHTTPRequestHandler):
    """Serves an export, and replies that go wrong."""

    def do_GET(self) -> None:
        name = self.path.partition("?")[0]
        if name.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif name == "/loop":
            self.send_response(301)
            self.send_header("Location", "/loop")
            self.end_headers()
        elif name in ("/papers.ris", "/export", "/a%20b.ris", "/papers.pdf"):
            self._send(b"%PDF-1.7\n\0\1\2\3\4\5\6\7\x08\x0e\x0f" if name.endswith("pdf") else RIS)
        elif name.startswith("/bib/"):
            self._send(f"@article{{ants, title={{Ants}}, file={{:{name.removeprefix('/bib')}:PDF}}}}".encode())
        elif name == "/large":
            self.send_response(200)
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b"x" * 1000)
        elif name == "/short":
            self._send(RIS, length=len(RIS) + 10)
        elif name == "/slow":
            self.send_response(200)
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
        elif name == "/garbage":
            self.wfile.write(b"\x00\x01 nothing like HTTP\r\n\r\n")
        else:
            self.send_error(404)

    def _send(self, body: bytes, length: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        with suppress(OSError):  # the client may have gone
            super().handle()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["/papers.ris", "/export?format=ris&id=3", "/to//papers.ris", "/a%20b.ris"])
def test_a_file_is_read_as_if_it_were_here_and_named_by_its_address(site: str, name: str) -> None:
    address = site + name
    report = load_papers(address, allow_private=True)
    (paper,) = report.papers
    assert (paper.title, paper.source) == ("Ants", f"{address}:1")
    assert [str(problem) for problem in report.problems] == [
        f"{address}:5: abstract: is missing, and there is no title either"
    ]


def test_a_file_of_the_web_gets_no_file_of_this_machine_read(site: str, tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "secret.pdf", page())
    address = f"{site}/bib{path}"
    assert [paper.abstract for paper in load_papers(address, allow_private=True).papers] == [""]
    bib = tmp_path / "papers.bib"
    bib.write_text(f"@article{{ants, title={{Ants}}, file={{:{path}:PDF}}}}")
    assert load_papers(bib).papers[0].abstract == ABSTRACT


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:9/x.ris", "http://localhost/x.ris", "http://[::1]/x", "http://[::ffff:127.0.0.1]/x",
                "http://10.0.0.1/x", "http://192.168.1.1/x", "http://169.254.169.254/latest/meta-data", "http://0.0.0.0/x",
                "http://[2002:7f00:1::]/x", "http://224.0.0.1/x"]
)  # fmt: skip
def test_a_host_that_is_not_public_is_not_asked(address: str) -> None:
    started = time.monotonic()
    with pytest.raises(LoadError, match="is not asked: it is this machine or one of a private network") as caught:
        load_papers(address)
    assert "--allow-private" in caught.value.hint
    assert time.monotonic() - started < 5


def test_a_name_of_a_private_host_is_not_asked(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def looked_up(host: str, *args: object, **options: object) -> object:
        return real("127.0.0.1" if host == "public.example" else host, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    with pytest.raises(LoadError, match=r"public\.example is not asked"):
        load_papers(site.replace("127.0.0.1", "public.example") + "/papers.ris")


def test_a_redirect_to_a_private_host_is_not_followed(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_assistant.loaders.hosts.is_public", lambda host: host == "127.0.0.1")
    assert load_papers(f"{site}/papers.ris").papers[0].title == "Ants"
    with pytest.raises(LoadError, match=r"10\.0\.0\.1 is not asked"):
        load_papers(f"{site}/to/http://10.0.0.1/papers.ris")


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "ftp://x.org/a.ris", "gopher://x.org/1", "http:///x", "http://x.org:port/"]
)
def test_only_http_and_https_are_read(address: str) -> None:
    with pytest.raises(LoadError, match="only http:// and https:// addresses can"):
        load_papers(address)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("/gone.ris", "the server says 404 Not Found"),
        ("/loop", "leads from one address to another"),
        ("/to/file:///etc/passwd", "only http:// and https:// addresses can"),
        ("/short", "broke off after"),
        ("/garbage", "can't be read"),
        ("/papers.pdf", "papers.pdf: is damaged, or no PDF"),
    ],
)
def test_what_goes_wrong_is_told_in_a_sentence(site: str, name: str, told: str) -> None:
    with pytest.raises(LoadError) as caught:
        load_papers(site + name, allow_private=True)
    assert told in caught.value.message
    assert caught.value.hint


def test_size_and_time_have_limits(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_module, "MOST_BYTES", 50_000)
    with pytest.raises(LoadError, match="sends more than"):
        load_papers(f"{site}/large", allow_private=True)
    monkeypatch.setattr(download_module, "MOST_SECONDS", 0.5)
    with pytest.raises(LoadError, match="takes too long"):
        load_papers(f"{site}/slow", allow_private=True)


def test_nobody_there(tmp_path: Path) -> None:
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(LoadError, match="can't be read: Connection refused"):
            load_papers(f"http://127.0.0.1:{bound.getsockname()[1]}/x.ris", allow_private=True)
