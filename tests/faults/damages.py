"""What can happen to a file."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path


def _truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def _empty(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(0)


def _zero(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(bytes(size))


def _randomise(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(random.Random(path.name).randbytes(size))


def _flip(path: Path) -> None:
    """A few bytes in the middle, as a bad sector would."""
    content = bytearray(path.read_bytes())
    for at in range(len(content) // 2, min(len(content), len(content) // 2 + 16)):
        content[at] ^= 0xFF
    with path.open("r+b") as file:
        file.write(content)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "truncated": _truncate,
    "emptied": _empty,
    "zeroed": _zero,
    "randomised": _randomise,
    "flipped": _flip,
    "deleted": _delete,
}
