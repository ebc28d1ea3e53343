"""Refuses every connection that leaves the machine, and every look-up of a name that isn't local.

Python imports a module of this name at start-up, so that with this folder on ``PYTHONPATH`` the guard also stands in
the processes that tests start. It acts where ``OFFLINE_GUARD_LOG`` names a file, to which each attempt is appended:
a program that swallows the refusal still fails its test.

It sees what goes through Python's sockets. Native code is covered by the test that runs in an empty network namespace.
"""

import ipaddress
import os
import socket
import sys
import traceback

LOG_VARIABLE = "OFFLINE_GUARD_LOG"
_CONNECTING = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_LOOKING_UP = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}


class OfflineError(OSError):
    """What code sees of a network that isn't there."""


def is_local(host):
    """Whether reaching the host stays on this machine."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost") or host.endswith(".localhost") or host == socket.gethostname():
        return True
    address = _address(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


def _address(host):
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def attempted(event, arguments):
    """The host that an audit event reaches out for, or None when it stays here."""
    if event in _CONNECTING:
        sock, address = arguments[:2]
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
            return None
        return None if is_local(address[0]) else f"{event} {address[:2]!r}"
    if event in _LOOKING_UP:
        host = arguments[0][0] if event == "socket.getnameinfo" else arguments[0]
        # A numeric address needs no look-up; connecting to it is another event.
        numeric = isinstance(host, str) and _address(host) is not None
        return None if is_local(host) or numeric else f"{event} {host!r}"
    return None


def install(log):
    """Stands guard until the process ends: an audit hook can't be removed."""

    def hook(event, arguments):
        if not event.startswith("socket."):
            return
        found = attempted(event, arguments)
        if found is None:
            return
        where = "".join(traceback.format_stack(limit=12)[:-1])
        # A test worker started under the guard of its parent names a log of its own later.
        with open(os.environ.get(LOG_VARIABLE, log), "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{' '.join(sys.argv[:3])}: {found}\n{where}\n")
        raise OfflineError(f"tests are offline: {found}")

    sys.addaudithook(hook)


if os.environ.get(LOG_VARIABLE):
    install(os.environ[LOG_VARIABLE])
