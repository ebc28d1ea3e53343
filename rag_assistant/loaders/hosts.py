"""Where hosts are, and whether they may be asked: only those of the public internet, whatever a name leads to."""

from __future__ import annotations

import socket
from ipaddress import IPv6Address, ip_address
from typing import Any, TypeAlias

Target: TypeAlias = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""As ``getaddrinfo`` gives them."""


def public_targets(host: str, port: int) -> list[Target]:
    """The addresses of a host that are public, after one look-up; none where one of them isn't.

    Raises:
        OSError: There is no such host.
    """
    found = targets(host, port)
    return found if all(is_public(str(target[0])) for *_, target in found) else []


def targets(host: str, port: int) -> list[Target]:
    """All addresses of a host.

    Raises:
        OSError: There is no such host.
    """
    return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))


def is_public(host: str) -> bool:
    """Whether an address, in numbers, is of the public internet, also one of IPv4 within one of IPv6."""
    address = ip_address(host.partition("%")[0])
    within = (address.ipv4_mapped or address.sixtofour) if isinstance(address, IPv6Address) else None
    return all(one.is_global and not one.is_multicast for one in (address, within) if one is not None)
