"""Collections of papers: each a folder in the user's data folder with an index and settings of its own."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from rag_assistant.errors import IndexMissing, StoreError
from rag_assistant.index.build import held
from rag_assistant.index.generations import IndexFolder
from rag_assistant.settings import collection_folder, data_folder


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection.

    Attributes:
        name: What ``--collection`` calls it; empty for the index that is used without a name.
        papers: How many it holds; 0 where its index can't be read.
        size: Bytes on disk.
        path: Its index.
    """

    name: str
    papers: int
    size: int
    path: Path


def collections() -> tuple[Collection, ...]:
    """All that are there by name, after the index without one."""
    unnamed = data_folder() / "index"
    found = [_collection("", unnamed)] if unnamed.is_dir() else []
    return (*found, *(_collection(name, collection_folder(name) / "index") for name in _names()))


def no_collection(name: str) -> IndexMissing:
    """The error for a collection that isn't there."""
    names = _names()
    close = get_close_matches(name, names, n=1)
    known = f"did you mean {close[0]}? " if close else ""
    known += f"there are {', '.join(names)}; " if names else "there is none yet; "
    return IndexMissing(
        f"There is no collection {name!r}.", hint=f"{known}to make it: rag-assistant index PATH... --collection {name}"
    )


def delete_collection(name: str, *, lock_timeout: float | None = None) -> None:
    """Deletes a collection with its papers and its settings.

    Raises:
        IndexMissing: There is none of that name.
        IndexLocked, IndexReadOnly: As for ``build_index``.
        StoreError: Not all of it could be deleted.
    """
    folder = collection_folder(name)
    if name not in _names():
        raise no_collection(name)
    with IndexFolder(folder / "index").writing(lock_timeout):
        gone = folder.with_name(f".{name}-{os.getpid()}")  # at once for whoever asks for it
        try:
            folder.rename(gone)
        except OSError as error:
            raise StoreError(
                f"The collection {folder} can't be deleted: {error.strerror}.", hint="check whose it is"
            ) from error
    try:
        shutil.rmtree(gone)
    except OSError as error:
        raise StoreError(f"Something of it is left in {gone}: {error.strerror}.", hint="delete that folder") from error


def _names() -> list[str]:
    try:
        entries = list((data_folder() / "collections").iterdir())
    except OSError:
        return []
    return sorted(entry.name for entry in entries if not entry.name.startswith(".") and (entry / "index").is_dir())


def _collection(name: str, path: Path) -> Collection:
    files = (Path(root) / file for root, _, names in os.walk(path) for file in names)
    return Collection(name, len(held(path)), sum(file.stat().st_size for file in files if file.is_file()), path)
