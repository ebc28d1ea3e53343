"""A server on loopback that answers as arXiv, doi.org and OpenReview do, and fails as it is told to."""

from __future__ import annotations

import json
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

VARIABLES = ("RAG_ARXIV_URL", "RAG_DOI_URL", "RAG_OPENREVIEW_URL", "RAG_OPENREVIEW_V1_URL")


@dataclass(frozen=True)
class Reply:
    """What is sent; the body's parts each after a moment."""

    status: int = 200
    body: bytes | Sequence[bytes] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0


@dataclass
class Services:
    """What there is to be had, what is sent first, and what was asked.

    Attributes:
        address: Of the server.
        entries: arXiv's, by id.
        works: CSL records, by DOI.
        notes: OpenReview's, by API (``v1`` or ``v2``) and venue.
        first: Replies to be sent before any other, by service.
        asked: When, what service, which path, and the header ``Accept``.
    """

    address: str
    entries: dict[str, str] = field(default_factory=dict)
    works: dict[str, object] = field(default_factory=dict)
    notes: dict[tuple[str, str], list[dict[str, object]]] = field(default_factory=dict)
    first: defaultdict[str, deque[Reply]] = field(default_factory=lambda: defaultdict(deque))
    asked: list[tuple[float, str, str, str]] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        return dict(zip(VARIABLES, (f"{self.address}/{name}" for name in ("arxiv", "doi", "v2", "v1")), strict=True))

    def paths(self) -> list[str]:
        return [path for _, _, path, _ in self.asked]

    def gaps(self) -> list[float]:
        times = [when for when, *_ in self.asked]
        return [after - before for before, after in pairwise(times)]

    def reply(self, service: str, path: str) -> Reply:
        if self.first[service]:
            return self.first[service].popleft()
        asked = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        if service == "arxiv":
            found = [self.entries[name] for name in asked["id_list"].split(",") if name in self.entries]
            return Reply(body=feed(*found))
        if service == "doi":
            work = self.works.get(unquote(path)[1:])
            return Reply(404, b"DOI Not Found") if work is None else Reply(body=json.dumps(work).encode())
        notes = self.notes.get((service, asked["content.venueid"]), [])
        start = int(asked["offset"])
        page = {"notes": notes[start : start + int(asked["limit"])], "count": len(notes)}
        return Reply(body=json.dumps(page).encode())


def feed(*entries: str) -> bytes:
    """As arXiv's API sends it."""
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/api/x</id>
  <title>arXiv Query: search_query=&amp;id_list=</title>
  <opensearch:totalResults>{len(entries)}</opensearch:totalResults>
  {"".join(entries)}
</feed>""".encode()


def entry(paper: str, title: str, summary: str, *authors: str, more: str = "") -> str:
    names = "".join(f"<author>\n      <name>{escape(name)}</name>\n    </author>" for name in authors)
    return f"""<entry>
    <id>http://arxiv.org/abs/{paper}v3</id>
    <title>{escape(title)}</title>
    <updated>2025-02-03T08:18:33Z</updated>
    <link href="https://arxiv.org/abs/{paper}v3" rel="alternate" type="text/html"/>
    <summary>{escape(summary)}</summary>
    <category term="cs.IT" scheme="http://arxiv.org/schemas/atom"/>
    <published>2024-01-03T08:18:33Z</published>
    {names}{more}
  </entry>"""


def note(number: int, *, wrapped: bool = True, **content: object) -> dict[str, object]:
    """As either of OpenReview's APIs sends it."""
    fields = {
        "title": f"On ants, part {number}",
        "abstract": f"We study {number} ants. They work.",
        "authors": ["Ann Lee", "Bob Ray"],
        "venue": "ICLR 2024 poster",
        **content,
    }
    made = {name: {"value": value} for name, value in fields.items()} if wrapped else fields
    return {"id": f"note{number}", "forum": f"note{number}", "number": number, "content": made}


@contextmanager
def serving() -> Iterator[Services]:
    """The server, until the end."""
    services: Services

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _, service, rest = self.path.split("/", 2)
            services.asked.append((time.monotonic(), service, f"/{rest}", self.headers["Accept"]))
            reply = services.reply(service, f"/{rest}")
            parts = [reply.body] if isinstance(reply.body, bytes) else reply.body
            with suppress(OSError):  # a client that has had enough
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(sum(map(len, parts))), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for part in parts:
                    self.wfile.write(part)
                    time.sleep(reply.pause)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    services = Services(f"http://127.0.0.1:{server.server_port}")
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield services
    finally:
        server.shutdown()
        server.server_close()
