"""Who may use the page: name and password if others can reach it, and no public address without a login."""

from __future__ import annotations

import hmac
import ipaddress
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rag_assistant.errors import InputError

USER_VARIABLE, PASSWORD_VARIABLE = "RAG_UI_USER", "RAG_UI_PASSWORD"
_AFTER_A_MISS = 0.5


def credentials(file: Path | None = None) -> Mapping[str, str]:
    """Names and passwords from a file of ``name:password`` lines, else from ``RAG_UI_USER`` and ``RAG_UI_PASSWORD``.

    Raises:
        InputError: Only one of the two variables is set, or the file can't be read or has no such line.
    """
    if file is not None:
        return _from_file(file)
    user, password = os.environ.get(USER_VARIABLE, ""), os.environ.get(PASSWORD_VARIABLE, "")
    if bool(user) != bool(password):
        missing = PASSWORD_VARIABLE if user else USER_VARIABLE
        raise InputError("The login has only a name or only a password.", hint=f"set {missing} too, or unset both")
    return {user: password} if user else {}


def taken_from_environment(file: Path | None = None) -> Mapping[str, str]:
    """As :func:`credentials`; also takes the two variables out of the environment: no child process gets them."""
    known = credentials(file)
    for name in (USER_VARIABLE, PASSWORD_VARIABLE):
        os.environ.pop(name, None)
    return known


def _from_file(file: Path) -> Mapping[str, str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The login file {file} can't be read.", hint="give a file of name:password lines") from error
    pairs = [line.partition(":")[::2] for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not pairs or not all(name.strip() and password for name, password in pairs):
        raise InputError(
            f"The login file {file} has a line that is not name:password.", hint="one name:password a line"
        )
    return {name.strip(): password for name, password in pairs}


def checker(known: Mapping[str, str]) -> Callable[[str, str], bool]:
    """A check that takes as long for an unknown name as for a wrong password, and half a second longer after a miss."""

    def check(user: str, password: str) -> bool:
        wanted = known.get(user, "")
        right = hmac.compare_digest(password.encode(), wanted.encode()) and bool(wanted)
        if not right:
            time.sleep(_AFTER_A_MISS)
        return right

    return check


def require_login(host: str, known: Mapping[str, str], *, allow_public: bool) -> None:
    """Refuses an address that others can reach when there is no login.

    Raises:
        InputError: The host isn't this machine's own, and there is no login, and ``allow_public`` is false.
    """
    if known or allow_public or _is_local(host):
        return
    raise InputError(
        f"Anyone who can reach {host} could use the page: it has no login.",
        hint=f"set {USER_VARIABLE} and {PASSWORD_VARIABLE}, use --host 127.0.0.1, or say --allow-public",
    )


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
