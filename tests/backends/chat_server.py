"""A scripted server that speaks Chat Completions and Responses over HTTP on loopback, and keeps what it was sent."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What the server does for one request.

    ``pieces`` are streamed as deltas and closed with ``finish`` and usage. ``breaks``: the connection is cut after the
    pieces, or before all that is announced of ``raw``. ``raw``: this body is sent instead, as ``kind``. With a
    ``status`` other than 200, ``raw`` is the error. ``endless``: ``raw`` is sent again and again, with ``pause``
    between, until the client leaves.
    """

    pieces: tuple[str, ...] = ()
    finish: str | None = "stop"
    breaks: bool = False
    status: int = 200
    raw: str | None = None
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    pause: float = 0.0
    usage: tuple[int, int] = (7, 3)
    cost: float | None = None
    endless: bool = False


@dataclass
class Script:
    """The replies in order; the last one is given again. ``seen`` holds path, headers and body of every request.

    ``models`` is the server's list of models, and ``pages`` what stands at other addresses; without them there is
    nothing. ``got`` holds the addresses that were asked for.
    """

    replies: list[Reply] = field(default_factory=list)
    seen: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    url: str = ""
    models: list[dict[str, Any]] | None = None
    pages: dict[str, str] = field(default_factory=dict)
    got: list[str] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)

    def say(self, *replies: Reply | str) -> None:
        self.replies = [Reply(tuple(r)) if isinstance(r, str) else r for r in replies]
        self.seen.clear()
        self.models = None
        self.pages.clear()
        self.got.clear()


@contextmanager
def serving() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            script.got.append(self.path)
            pages = dict(script.pages)
            if script.models is not None:
                pages["/v1/models"] = json.dumps({"object": "list", "data": script.models})
            self._whole(Reply(status=200 if self.path in pages else 404, raw=pages.get(self.path, "{}")))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            script.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            reply = script.replies.pop(0) if len(script.replies) > 1 else script.replies[0]
            if reply.raw is not None or reply.status != 200:
                self._whole(reply)
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream; charset=utf-8")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                if self.path.endswith("/responses"):
                    self._respond(reply)
                    return
                for piece in reply.pieces:
                    self._event({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})
                    time.sleep(reply.pause)
                if reply.breaks:
                    self.close_connection = True
                    return
                if reply.finish:
                    self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]})
                asked, written = reply.usage
                usage = {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": asked + written}
                cost = {} if reply.cost is None else {"cost": reply.cost}
                self._event({"choices": [], "usage": {**usage, **cost}})
                self._chunk(b"data: [DONE]\n\n")
                self._chunk(b"")
            except (BrokenPipeError, ConnectionResetError):
                script.hung_up.set()
                self.close_connection = True

        def _respond(self, reply: Reply) -> None:
            """The same as the events of the Responses API."""
            self._named({"type": "response.created", "response": {"id": "r"}})
            for piece in reply.pieces:
                self._named({"type": "response.output_text.delta", "delta": piece})
                time.sleep(reply.pause)
            if reply.breaks:
                self.close_connection = True
                return
            if reply.finish == "stop":
                usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
                self._named({"type": "response.completed", "response": {"id": "r", "usage": usage}})
            elif reply.finish:
                reason = "max_output_tokens" if reply.finish == "length" else reply.finish
                ended = {"id": "r", "incomplete_details": {"reason": reason}}
                self._named({"type": "response.incomplete", "response": ended})
            self._chunk(b"")

        def _named(self, data: dict[str, Any]) -> None:
            self._chunk(f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode())

        def _event(self, data: dict[str, Any]) -> None:
            told = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", **data}
            self._chunk(f"data: {json.dumps(told)}\n\n".encode())

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def _whole(self, reply: Reply) -> None:
            data = (reply.raw or "").encode()
            self.send_response(reply.status)
            self.send_header("content-type", reply.kind)
            if not reply.endless:
                self.send_header("content-length", str(len(data) + reply.breaks))
            for name, value in reply.headers:
                self.send_header(name, value)
            self.end_headers()
            self.close_connection = reply.endless or reply.breaks
            try:
                self.wfile.write(data)
                while reply.endless:
                    time.sleep(reply.pause)
                    self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                script.hung_up.set()

        def log_message(self, *args: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: Any) -> None:
            if not isinstance(sys.exception(), ConnectionError):  # that of a client which has gone
                super().handle_error(*args)

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        try:
            yield script
        finally:
            server.shutdown()
            thread.join()
