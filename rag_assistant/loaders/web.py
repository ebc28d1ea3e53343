"""How services of papers are asked: slowly, again where they fail for now, and never a host that isn't public."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assistant.errors import LoadError
from rag_assistant.loaders.base import OnProgress
from rag_assistant.loaders.hosts import public_targets
from rag_assistant.pauses import duration, retry_after

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 64 << 20
"""Of one reply. A thousand abstracts with all that goes with them have about 5 MB."""

_AGENT = "rag-assistant/0.1 (indexes abstracts for one user)"
_SECONDS = 120.0
_LONGEST_WAIT = 60.0
_FIRST_PAUSE = 1.0
_TRIES = 4
_REDIRECTS = 5
_KEPT_SECONDS = 86_400
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_asked: dict[str, float] = {}
"""When each service had answered last, for all of the process: it is the process that has to be polite."""


@dataclass(frozen=True, slots=True)
class PaperService:
    """Where a service is and how often it may be asked.

    Attributes:
        name: For people.
        address: Without the slash at its end.
        variable: The environment variable that names another address, such as a mirror.
        pause: How many seconds lie between an answer and the next request.
    """

    name: str
    address: str
    variable: str
    pause: float


class Web:
    """The services, for one loading. Replies of a long listing are kept until it is complete, so that a run that was
    stopped goes on where it was."""

    def __init__(self, progress: OnProgress | None = None) -> None:
        self._progress = progress
        self._kept: list[Path] = []

    def get(
        self, service: PaperService, path: str, *, accept: str = "application/json", keep: bool = False
    ) -> bytes | None:
        """What stands at a path of a service; ``None`` where there is nothing.

        Args:
            service: Who is asked.
            path: Below its address, quoted, with the query.
            accept: The form asked for.
            keep: Read it from the last day's unfinished listing, and keep it until :meth:`finished`.

        Raises:
            LoadError: The service can't be reached, refuses, or sends too much or for too long.
        """
        own = os.environ.get(service.variable, "").rstrip("/")
        address = f"{own or service.address}{path}"
        kept = _kept(address)
        if keep and kept not in self._kept:
            self._kept.append(kept)
        if keep and kept.is_file() and time.time() - kept.stat().st_mtime < _KEPT_SECONDS:
            return kept.read_bytes()
        body = self._tried(service, address, accept, own)
        if keep and body is not None:
            with suppress(OSError):  # a full disk costs the listing's resuming, not the listing
                kept.parent.mkdir(parents=True, exist_ok=True)
                aside = kept.with_suffix(".new")
                aside.write_bytes(body)
                aside.replace(kept)
        return body

    def reading(self, name: str, done: int, total: int) -> None:
        """Tells how much of a listing is there."""
        if self._progress is not None:
            self._progress(f"reading {name}", done, total)

    def finished(self) -> None:
        """A listing is complete: what was kept of it goes."""
        for kept in self._kept:
            kept.unlink(missing_ok=True)
        self._kept.clear()

    def _tried(self, service: PaperService, address: str, accept: str, own: str) -> bytes | None:
        import httpx

        for attempt in range(1, _TRIES + 1):
            left = _asked.get(service.name, -service.pause) + service.pause - time.monotonic()
            time.sleep(max(0.0, left))
            wait = _FIRST_PAUSE * 2 ** (attempt - 1)
            try:
                status, headers, body = _reply(address, accept, own)
            except (httpx.RequestError, httpx.InvalidURL) as error:
                told = "didn't answer in time" if isinstance(error, httpx.TimeoutException) else "can't be reached"
            else:
                if status < 300:
                    return body
                if status in (404, 410):
                    return None
                told = f"refused the request ({status})"
                if status not in _PASSING:
                    raise LoadError(f"{service.name} {told}.", hint="check what was asked for")
                wait = retry_after(headers) or wait
            finally:
                _asked[service.name] = time.monotonic()
            if wait > _LONGEST_WAIT or attempt == _TRIES:
                break
            if self._progress is not None:
                self._progress(f"waiting: {service.name} {told}; asking again in {duration(wait)}", 0, 0)
            time.sleep(wait)
        when = f"in {duration(wait)}" if wait > _LONGEST_WAIT else "later"
        raise LoadError(
            f"{service.name} {told}.", hint=f"run it again {when}; what was read of a long listing is not read twice"
        )


def _kept(address: str) -> Path:
    from platformdirs import user_cache_path

    name = hashlib.sha256(address.encode()).hexdigest()[:32]
    return user_cache_path("rag-assistant", appauthor=False) / "listings" / name


def _reply(address: str, accept: str, own: str) -> tuple[int, httpx.Headers, bytes]:
    """Status, headers and body, after redirects that each lead to a public host."""
    import httpx

    until = time.monotonic() + _SECONDS
    with httpx.Client(timeout=_SECONDS / 4, headers={"User-Agent": _AGENT, "Accept": accept}) as client:
        for _ in range(_REDIRECTS + 1):
            _check(httpx.URL(address), httpx.URL(own))
            with client.stream("GET", address) as reply:
                if reply.next_request is not None:
                    address = str(reply.next_request.url)
                    continue
                body = bytearray()
                for part in reply.iter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise LoadError(f"{address} sends more than {MOST_BYTES >> 20} MB.", hint="ask for less")
                    if time.monotonic() > until:
                        raise httpx.ReadTimeout(f"not complete after {_SECONDS:.0f} s")
                return reply.status_code, reply.headers, bytes(body)
    raise LoadError(f"{address} is one redirect too many.", hint="check what was asked for")


def _check(address: httpx.URL, own: httpx.URL) -> None:
    """Lets through what the user named as a service's address, and https to public hosts."""
    if (address.scheme, address.host, address.port) == (own.scheme, own.host, own.port):
        return
    if address.scheme == "https":
        try:
            if public_targets(address.host, address.port or 443):
                return
        except OSError:  # a proxy may know it, and else the request tells
            return
    raise LoadError(
        f"{address.scheme}://{address.netloc.decode()} is not asked: only public hosts are, over https.",
        hint="if it is a mirror of yours, name it in the service's environment variable",
    )
