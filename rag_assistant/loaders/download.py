"""Files of the web: over http and https only, from public hosts only unless the user allows others, within limits."""

from __future__ import annotations

import socket
import ssl
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from rag_assistant.errors import LoadError
from rag_assistant.loaders.hosts import public_targets, targets

MOST_BYTES = 100 << 20
MOST_SECONDS = 120.0
_SECONDS_OF_SILENCE = 20.0
_REDIRECTS = 5
_MOVED = (301, 302, 303, 307, 308)
_PART = 65_536
_HINT = "download it yourself and name the file"


def is_address(name: str) -> bool:
    """Whether a name is an address of the web, of whatever scheme, and no path."""
    scheme, mark, _ = name.partition("://")
    return bool(mark) and scheme.isalnum()


def download(address: str, folder: Path, *, allow_private: bool = False) -> Path:
    """The file at an address, in a folder, under the name that the address ends in.

    Each host, also one that is redirected to, is looked up once, and only a public address of it is connected to. No
    proxy, cookie or password of the user's is used.

    Args:
        address: Of the file.
        folder: Where to write it.
        allow_private: Whether a host may be this machine or one of its own network.

    Raises:
        LoadError: It may not be asked, can't be reached, or sends too much or for too long.
    """
    until = time.monotonic() + MOST_SECONDS
    where = address
    for _ in range(_REDIRECTS + 1):
        parts = _checked(where)
        connection = _connection(parts, allow_private)
        try:
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("GET", path, headers={"User-Agent": "rag-assistant", "Accept-Encoding": "identity"})
            with connection.getresponse() as reply:
                if reply.status in _MOVED and reply.headers["Location"]:
                    where = urljoin(where, reply.headers["Location"])
                    continue
                if reply.status != 200:
                    raise LoadError(
                        f"{address} can't be read: the server says {reply.status} {reply.reason}.", hint=_HINT
                    )
                return _saved(reply, folder / _name(parts), address, until)
        except LoadError:
            raise
        except TimeoutError as error:
            raise LoadError(f"{address} can't be read: the server takes too long.", hint=_HINT) from error
        except (OSError, HTTPException, UnicodeError, ValueError) as error:
            raise LoadError(f"{address} can't be read: {_reason(error)}.", hint=_HINT) from error
        finally:
            connection.close()
    raise LoadError(f"{address} leads from one address to another, more than {_REDIRECTS} times.", hint=_HINT)


def _checked(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise LoadError(f"{address} can't be read: only http:// and https:// addresses can.", hint=_HINT)
    if not address.isascii() or any(character.isspace() or not character.isprintable() for character in address):
        raise LoadError(f"{address!r} can't be read: it holds characters that no address has.", hint=_HINT)
    return parts


def _connection(parts: SplitResult, allow_private: bool) -> HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        made: HTTPConnection = HTTPSConnection(
            host, parts.port or 443, timeout=_SECONDS_OF_SILENCE, context=ssl.create_default_context()
        )
    else:
        made = HTTPConnection(host, parts.port or 80, timeout=_SECONDS_OF_SILENCE)
    made._create_connection = lambda address, *_, **__: _connected(address, allow_private)  # type: ignore[attr-defined]
    return made


def _connected(address: tuple[str, int], allow_private: bool) -> socket.socket:
    """A socket to one of the host's addresses: the one that was checked, not what a second look-up might give."""
    host, port = address
    found = targets(host, port) if allow_private else public_targets(host, port)
    if not found:
        raise LoadError(
            f"{host} is not asked: it is this machine or one of a private network.",
            hint="--allow-private allows it, if you trust the address",
        )
    failed: OSError | None = None
    for family, kind, protocol, _, target in found:
        reached = socket.socket(family, kind, protocol)
        reached.settimeout(_SECONDS_OF_SILENCE)
        try:
            reached.connect(target)
        except OSError as error:
            reached.close()
            failed = error
        else:
            return reached
    raise failed or OSError("no address")


def _saved(reply: HTTPResponse, path: Path, address: str, until: float) -> Path:
    length = 0
    with path.open("wb") as file:
        while part := reply.read1(_PART):
            length += len(part)
            if length > MOST_BYTES:
                raise LoadError(f"{address} sends more than {MOST_BYTES >> 20} MB.", hint=_HINT)
            if time.monotonic() > until:
                raise TimeoutError
            file.write(part)
    if reply.length:
        raise LoadError(f"{address} broke off after {length:,} bytes.", hint="run it again")
    return path


def _name(parts: SplitResult) -> str:
    """What the address ends in, as a name that is safe anywhere."""
    last = unquote(parts.path).rpartition("/")[2]
    safe = "".join(character if character.isalnum() or character in "._-" else "_" for character in last)
    return safe.lstrip(".")[-100:] or "download"


def _reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "there is no such host"
    return str(getattr(error, "strerror", None) or error or type(error).__name__).rstrip(".")
