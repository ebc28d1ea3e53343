"""What an index folder holds right now: which generation, whether it is whole, and whether its papers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_assistant.embedders.base import Embedder
from rag_assistant.errors import StoreError
from rag_assistant.index.contents import PAPERS, read_papers, rescue_papers
from rag_assistant.index.generations import MANIFEST, Current, IndexFolder
from rag_assistant.index.manifest import Manifest, read_manifest, what_differs
from rag_assistant.index.passages import PASSAGES_VERSION
from rag_assistant.index.terms import TERMS_VERSION
from rag_assistant.sentences import SPLITTER_VERSION
from rag_assistant.types import Paper


@dataclass(frozen=True, slots=True)
class Found:
    """An index as it was found.

    Attributes:
        name: Of the generation; empty where none is left.
        folder: Of the generation.
        source: ``bundled`` or ``paths``; ``paths`` where nothing says so.
        manifest: ``None`` where it is missing, damaged or of an older schema.
        papers: By id, in order; ``None`` where they are gone.
        problem: Why it can't be used as it is, in a few words; empty when it can.
        unnamed: ``CURRENT`` didn't name it.
        whole: Its files are as they were written.
    """

    name: str
    folder: Path
    source: str
    manifest: Manifest | None
    papers: Mapping[str, Paper] | None
    problem: str
    unnamed: bool = False
    whole: bool = False

    @property
    def usable(self) -> bool:
        """Whether it can be read as it is."""
        return not self.problem and self.papers is not None


def inspect(folder: IndexFolder, embedder: Embedder | None) -> Found | None:
    """Looks at every file of the current generation; ``None`` where there is no index.

    Args:
        folder: The index's folder.
        embedder: What it is to be searched with; with ``None`` any embedder's vectors will do.

    Raises:
        IndexDamaged: A newer version of this program wrote it.
        StoreError: It is there, but may not be read.
    """
    _check_readable(folder)
    while True:
        current = folder.current()
        found = _inspect_all(folder, current, embedder)
        # What is missing may be what a writer deletes, since it has made another generation current.
        if found is None or not found.problem or folder.current() == current:
            return found


def _check_readable(folder: IndexFolder) -> None:
    """What may not be read is neither missing nor damaged, and nothing is to be made in its place."""
    current = folder.current()
    generation = folder.generation(current.name) if current else folder.path
    for path in (folder.path / "CURRENT", generation / MANIFEST, generation / PAPERS):
        try:
            path.open("rb").close()
        except PermissionError as error:
            raise StoreError(
                f"The index {folder.path} can't be read: {error.strerror} for {path}.",
                hint="run as the user it belongs to, or have its rights set, or name another: --index DIR",
            ) from error
        except OSError:
            continue


def _inspect_all(folder: IndexFolder, current: Current | None, embedder: Embedder | None) -> Found | None:
    if current is not None and folder.generation(current.name).is_dir():
        return _inspect(folder, current.name, current.source, embedder)
    broken_name = folder.has_current_file()
    for name in folder.names():
        manifest = read_manifest(folder.generation(name))
        if manifest is not None:
            return _inspect(folder, name, manifest.source, embedder, unnamed=True)
    if not broken_name:
        return None  # nothing, or what a killed first build left
    for name in folder.names():
        found = _inspect(folder, name, current.source if current else "paths", embedder, unnamed=True)
        if found.papers is not None:
            return found
    source = current.source if current else "paths"
    return Found("", folder.path, source, None, None, "nothing of its current generation can be read", True)


def _inspect(folder: IndexFolder, name: str, source: str, embedder: Embedder | None, *, unnamed: bool = False) -> Found:
    generation = folder.generation(name)
    manifest = read_manifest(generation)
    if manifest is None:
        problem = "its manifest is missing, damaged or of an older version"
        return Found(name, generation, source, None, rescue_papers(generation, None), problem, unnamed)
    differs = what_differs(generation, manifest.files)
    if differs:
        papers = rescue_papers(generation, manifest)
        return Found(name, generation, source, manifest, papers, differs, unnamed)
    try:
        papers = read_papers(generation)
    except (OSError, ValueError) as error:
        return Found(name, generation, source, manifest, rescue_papers(generation, manifest), str(error), unnamed)
    problem = mismatch(manifest, len(papers), embedder)
    return Found(name, generation, source, manifest, papers, problem, unnamed, whole=True)


def mismatch(manifest: Manifest, papers: int, embedder: Embedder | None) -> str:
    """Why a whole generation can't be searched with this embedder by this version's rules; empty when it can."""
    if embedder is not None and manifest.fingerprint != embedder.fingerprint:
        if manifest.embedder != embedder.name:
            return f"it was made with the embedder {manifest.embedder}, not {embedder.name}"
        return f"it was made with another model or version of the embedder {embedder.name}"
    if embedder is not None and manifest.dimension != embedder.dimension:
        return f"its vectors have {manifest.dimension} dimensions instead of {embedder.dimension}"
    if (manifest.splitter_version, manifest.passages_version) != (SPLITTER_VERSION, PASSAGES_VERSION):
        return "its texts were cut by the rules of another version"
    if manifest.terms_version != TERMS_VERSION:
        return "its words were counted by the rules of another version"
    if papers != manifest.papers:
        return f"it holds {papers} papers instead of {manifest.papers}"
    return ""
