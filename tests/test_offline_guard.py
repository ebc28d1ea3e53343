"""The guard that proves the rest offline must itself be proven: it stops what leaves the machine and nothing else."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

OUTSIDE = "192.0.2.1"  # TEST-NET-1: never routed


def test_connections_and_lookups_are_stopped_and_noted(offline_attempts: Callable[[], str]) -> None:
    with pytest.raises(OSError, match="tests are offline"):
        socket.create_connection((OUTSIDE, 80), timeout=1)
    assert OUTSIDE in offline_attempts()
    with pytest.raises(OSError, match="tests are offline"):
        socket.getaddrinfo("example.org", 443)
    assert "example.org" in offline_attempts()
    with pytest.raises(OSError, match="tests are offline"):
        socket.gethostbyname("example.org")
    assert "gethostbyname" in offline_attempts()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, pytest.raises(OSError, match="tests are offline"):
        udp.sendto(b"x", (OUTSIDE, 53))
    assert "sendto" in offline_attempts()


async def test_asyncio_is_seen_too(offline_attempts: Callable[[], str]) -> None:
    with pytest.raises(OSError, match="tests are offline"):
        await asyncio.open_connection(OUTSIDE, 80)
    assert OUTSIDE in offline_attempts()


def test_a_swallowed_attempt_of_a_subprocess_is_noted(offline_attempts: Callable[[], str]) -> None:
    code = f"import contextlib, socket\nwith contextlib.suppress(OSError): socket.create_connection(('{OUTSIDE}', 80))"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
    assert OUTSIDE in offline_attempts()


def test_loopback_stays_open() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(("localhost", server.getsockname()[1]), timeout=5) as client,
    ):
        assert client.getpeername()[0] == "127.0.0.1"
    assert socket.getaddrinfo(None, 0)
    first, second = socket.socketpair()
    first.close()
    second.close()
