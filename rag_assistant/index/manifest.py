"""What a generation is made of, written last: what it was built with, how much it holds, and every file's checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rag_assistant.errors import IndexDamaged
from rag_assistant.index.generations import MANIFEST

SCHEMA_VERSION = 1
"""Of the files of a generation. Raised when an older program would misread them."""
ALWAYS_HASHED_BYTES = 256 << 20
"""A generation up to this size is checked byte by byte on opening; of a larger one only files of another time."""
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file as it was when the generation was complete; ``modified`` is in nanoseconds."""

    path: str
    size: int
    modified: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A generation's description.

    Attributes:
        schema_version: :data:`SCHEMA_VERSION` of the program that wrote it.
        generation: Its folder's name.
        created: UTC, ISO 8601.
        source: ``bundled`` when its papers are the bundled corpus, else ``paths``.
        embedder, fingerprint, dimension: What its vectors were made by.
        splitter_version, passages_version, terms_version: The rules its texts were cut and counted by.
        corpus_hash: SHA-256 of its papers, whatever files they were loaded from.
        papers, windows, sentences: How many it holds.
        files: Every other file of the generation.
    """

    schema_version: int
    generation: str
    created: str
    source: str
    embedder: str
    fingerprint: str
    dimension: int
    splitter_version: int
    passages_version: int
    terms_version: int
    corpus_hash: str
    papers: int
    windows: int
    sentences: int
    files: tuple[FileRecord, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, without the files."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "files"}

    def write(self, folder: Path) -> None:
        """Writes it into the generation's folder, with a checksum of itself: the generation is complete by it."""
        content = asdict(self)
        content["complete"] = True
        content["checksum"] = _checksum(content)
        (folder / MANIFEST).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest | None:
    """The generation's manifest; ``None`` where it is missing, damaged, or of an older schema.

    Raises:
        IndexDamaged: A newer version of this program wrote it.
    """
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        checksum = content.pop("checksum")
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    if checksum != _checksum(content) or content.pop("complete", None) is not True:
        return None
    return manifest_of(content, str(folder.parent.parent), "name another folder: --index DIR")


def manifest_of(content: dict[str, Any], place: str, otherwise: str) -> Manifest | None:
    """A manifest from its fields as JSON has them; ``None`` where they are of an older schema.

    Raises:
        IndexDamaged: A newer version of this program wrote it.
    """
    version = content.get("schema_version")
    if not isinstance(version, int) or version < SCHEMA_VERSION:
        return None
    if version > SCHEMA_VERSION:
        raise IndexDamaged(
            f"The index {place} was written by a newer version of this program"
            f" (schema {version}; this one reads {SCHEMA_VERSION}).",
            hint=f"run: pip install --upgrade rag-assistant, or {otherwise}",
        )
    known = {field.name for field in fields(Manifest)}
    if set(content) != known:
        return None
    content["files"] = tuple(FileRecord(**record) for record in content["files"])
    return Manifest(**content)


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def record_files(folder: Path) -> tuple[FileRecord, ...]:
    """All files of a generation but its manifest and its readers, as they are now."""
    records = []
    for path in _files(folder):
        stat = path.stat()
        records.append(FileRecord(_name(folder, path), stat.st_size, stat.st_mtime_ns, file_sha256(path)))
    return tuple(records)


def what_differs(folder: Path, files: Sequence[FileRecord], *, trust_times: bool = False) -> str:
    """What is wrong with the generation's files, in a few words; empty when they are as recorded.

    A file in the store's folder that the record doesn't name is wrong too.

    Args:
        folder: Of the generation.
        files: Which files to look at.
        trust_times: Take a file of the recorded size and time for unchanged, as is always done for large generations.
    """
    trust_times = trust_times or sum(record.size for record in files) > ALWAYS_HASHED_BYTES
    for record in files:
        path = folder / record.path
        try:
            stat = path.stat()
            if stat.st_size != record.size:
                return f"{record.path} has {stat.st_size} bytes instead of {record.size}"
            if trust_times and stat.st_mtime_ns == record.modified:
                continue
            if file_sha256(path) != record.sha256:
                return f"{record.path} has other bytes than it was written with"
        except FileNotFoundError:
            return f"{record.path} is missing"
        except OSError as error:
            return f"{record.path} can't be read: {error.strerror or error}"
    known = {record.path for record in files}
    strangers = [name for path in _files(folder / "chroma") if (name := _name(folder, path)) not in known]
    return f"{strangers[0]} is none of its files" if strangers else ""


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hex.

    Raises:
        OSError: It can't be read.
    """
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / MANIFEST and folder / "readers" not in path.parents:
            yield path


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()
