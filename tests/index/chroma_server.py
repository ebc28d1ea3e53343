"""A real Chroma server on loopback, and what people put before one: TLS, and a check of a token."""

from __future__ import annotations

import http.client
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import Any

from rag_assistant.index.server import IndexServer, server_of
from rag_assistant.index.store import Address, Database
from rag_assistant.settings import Settings

CERTIFICATE = Path(__file__).with_name("loopback.pem")
"""Of 127.0.0.1, with its key: good for nothing else."""
TOKEN = "tk-very-private"


class ChromaServer:
    """``chroma run`` in a folder, always on the same port; it may be killed and started again."""

    def __init__(self, folder: Path) -> None:
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(self._folder)]
        self._process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=5).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise TimeoutError("chroma run didn't come up")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def database(self, name: str) -> Database:
        """For what people do to a server by hand."""
        return Database(Address("http", "127.0.0.1", self.port, "default_tenant", name))

    def new_database(self) -> str:
        """The name of an empty one."""
        name = f"db-{uuid.uuid4().hex[:8]}"
        request = urllib.request.Request(
            f"{self.url}/api/v2/tenants/default_tenant/databases",
            data=f'{{"name": "{name}"}}'.encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=30).close()
        return name


def served(url: str, database: str = "default_database", **settings: Any) -> IndexServer:
    """An index in a database of a server."""
    made = server_of(Settings(chroma_url=url, chroma_database=database, **settings))
    assert made is not None
    return made


class Gate:
    """Stands before a Chroma server: lets through who has the token, and keeps the paths that were asked for.

    Attributes:
        paths: Of the requests so far.
        seconds: How long each waits first.
    """

    def __init__(self, chroma: ChromaServer, *, token: str = "", tls: bool = False) -> None:
        gate, self.paths, self.seconds = self, list[str](), 0.0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                gate.paths.append(self.path)
                time.sleep(gate.seconds)
                if token and self.headers.get("Authorization") != f"Bearer {token}":
                    self.reply(401, b"<html>no: " + (self.headers.get("Authorization") or "").encode() + b"</html>")
                    return
                with closing(http.client.HTTPConnection("127.0.0.1", chroma.port, timeout=60)) as there:
                    there.request(self.command, self.path, body, {"Content-Type": "application/json"})
                    found = there.getresponse()
                    self.reply(found.status, found.read())

            def reply(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - the library's names

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A client that didn't wait, or didn't trust the certificate."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
