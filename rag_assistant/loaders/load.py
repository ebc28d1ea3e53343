"""From files, folders and services to papers, each id once, and a report of what was passed over."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rag_assistant.errors import LoadError
from rag_assistant.loaders.base import Loader, LoadReport, OnProgress, Problem, Source, display, grouped
from rag_assistant.loaders.identity import normalised
from rag_assistant.loaders.registry import loader_for, source_for, supported
from rag_assistant.types import Paper

LIBRARY = "zotero.sqlite"
"""What Zotero calls its library, wherever the user keeps its folder."""
_TOLD = 3


def load_papers(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, progress: OnProgress | None = None
) -> LoadReport:
    """The papers of files, folders and services.

    Folders are read with all below them, sorted by name; hidden files, READMEs and symbolic links to folders are passed
    over, files of unknown form too, with a note. A file named twice is read once. Of two records with one id the first
    is kept: a copy is a note, another abstract is a problem. Of a folder that holds a Zotero library only that is read,
    and not the files that Zotero stores there.

    Args:
        paths: What to read, in this order. ``~`` is the home folder; ``arxiv:ID``, ``doi:DOI`` and
            ``openreview:VENUE/YEAR`` are asked for over the network.
        progress: Told of requests to services.

    Raises:
        LoadError: A path isn't there, a file that is named has a form that no loader reads, a service failed, or no
            paper at all came of it.
        PluginError: A loader of another package can't be loaded.
    """
    gathered = _Gathered(progress)
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    named = [Path(path).expanduser() for path in given]
    if not named:
        raise LoadError("No file of papers was named.", hint="name files or folders")
    for path in named:
        source = source_for(str(path))
        if source is not None and not os.path.lexists(path):
            gathered.fetch(str(path), source)
            continue
        for file in _files(path, gathered.problems, gathered.notes):
            gathered.read(*file)
    if not gathered.papers:
        raise _nothing(named, gathered.problems)
    return LoadReport(
        tuple(gathered.papers.values()),
        tuple(gathered.problems),
        tuple(gathered.notes),
        tuple(gathered.files),
        tuple(gathered.sources),
        tuple(gathered.merged),
    )


class _Gathered:
    """What has been read so far."""

    def __init__(self, progress: OnProgress | None) -> None:
        self.papers: dict[str, Paper] = {}
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self.merged: list[Problem] = []
        self.files: list[Path] = []
        self.sources: list[str] = []
        self._seen: set[Path] = set()
        self._progress = progress

    def read(self, path: Path, loader: Loader) -> None:
        real = path.resolve()
        if real in self._seen:
            return
        self._seen.add(real)
        self.files.append(path)
        if self._progress is not None:
            self._progress("reading", len(self.files), 0)
        self._take(display(path), _items(display(path), lambda: loader(path)))

    def fetch(self, name: str, source: Source) -> None:
        from rag_assistant.loaders.web import Web

        if name in self.sources:
            return
        self.sources.append(name)
        # A service that fails ends it all: what it has isn't known, and an index of the rest would drop that.
        items = _items(name, lambda: source(name.partition(":")[2], Web(self._progress)), passed=LoadError)
        self._take(name, items)

    def _take(self, origin: str, items: Iterator[Paper | Problem]) -> None:
        came = 0
        for item in items:
            if isinstance(item, Paper):
                self._add(origin, item)
            else:
                (self.notes if item.note else self.problems).append(item)
            came += isinstance(item, Paper) or not item.note
        if not came:
            self.problems.append(Problem(origin, None, "", "holds no paper"))

    def _add(self, origin: str, paper: Paper) -> None:
        known = self.papers.setdefault(paper.id, paper)
        if known is paper:
            return
        same = normalised(known.abstract) == normalised(paper.abstract)
        kept = "; this copy was passed over" if same else " with another abstract; that one was kept"
        file, _, line = paper.source.rpartition(":")
        at_line = file and line.isdecimal()
        message = f"{paper.id!r} is already there from {known.source}{kept}"
        problem = Problem(file if at_line else origin, int(line) if at_line else None, "id", message, note=same)
        (self.notes if same else self.problems).append(problem)
        if same:
            self.merged.append(problem)


def _items(
    origin: str, load: Callable[[], Iterator[Paper | Problem]], passed: type[Exception] | tuple[()] = ()
) -> Iterator[Paper | Problem]:
    """What a loader yields, with whatever goes wrong in it, but for what is ``passed`` on, as a problem of the file."""
    try:
        for item in load():
            if not isinstance(item, Paper | Problem):
                raise TypeError(f"it yielded {type(item).__name__}")
            if isinstance(item, Paper) and not (item.id.strip() and item.abstract.strip()):
                raise ValueError(f"it yielded a paper without id or abstract, from {item.source or 'nowhere named'}")
            yield item
    except passed:
        raise
    except OSError as error:
        yield Problem(origin, None, "", f"can't be read: {error.strerror or error}")
    except MemoryError:
        yield Problem(origin, None, "", "is too large for this machine's memory; split it")
    except Exception as error:  # a third party's loader may raise anything, and the other files still count
        yield Problem(origin, None, "", f"its loader failed: {type(error).__name__}: {error}")


def _files(path: Path, problems: list[Problem], notes: list[Problem]) -> Iterator[tuple[Path, Loader]]:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = "there is none" if isinstance(error, FileNotFoundError) else getattr(error, "strerror", None) or error
        raise LoadError(f"Can't read {display(path)!r}: {reason}.", hint="check the path") from error
    if not stat.S_ISDIR(mode):
        loader = loader_for(path.suffix)
        if loader is None:
            raise LoadError(
                f"Can't tell what form {display(path)!r} has by its extension.", hint=f"known: {supported(path.suffix)}"
            )
        yield path, loader
        return
    found = False
    for file in _below(path, problems):
        loader = loader_for(file.suffix)
        if loader is None:
            notes.append(Problem(display(file), None, "", f"passed over: not one of {supported()}", note=True))
        elif file.exists() and not file.is_file():
            notes.append(Problem(display(file), None, "", "passed over: not a regular file", note=True))
        else:
            found = True
            yield file, loader
    if not found:
        problems.append(Problem(display(path), None, "", f"the folder holds no file of papers ({supported()})"))


def _below(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        problems.append(Problem(display(Path(error.filename)), None, "", f"can't be read: {error.strerror}"))

    for parent, folders, files in os.walk(folder, onerror=failed):
        if LIBRARY in files:
            folders[:] = []
            yield Path(parent, LIBRARY)
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith(".") and Path(name).stem.lower() != "readme":
                yield Path(parent, name)


def _nothing(named: list[Path], problems: list[Problem]) -> LoadError:
    where = display(named[0]) if len(named) == 1 else f"{display(named[0])!r} and {len(named) - 1} more"
    lines = grouped(problems)
    told = "; ".join(lines[:_TOLD])
    more = f"; and {len(lines) - _TOLD} more problems" if len(lines) > _TOLD else ""
    return LoadError(f"Not one paper could be loaded from {where}: {told}{more}.", hint=f"forms: {supported()}")
