"""From files, folders, addresses and services to papers, each once, and a report of what was passed over."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rag_assistant.errors import LoadError
from rag_assistant.loaders.base import (
    Form,
    Loader,
    LoadReport,
    OnProgress,
    Problem,
    Source,
    display,
    grouped,
    read_text,
)
from rag_assistant.loaders.columns import FIELDS
from rag_assistant.loaders.download import download, is_address
from rag_assistant.loaders.identity import derived_id
from rag_assistant.loaders.merging import Known, merged, same_under_one_id
from rag_assistant.loaders.registry import loader_of, source_for, supported
from rag_assistant.types import Paper

LIBRARY = "zotero.sqlite"
"""What Zotero calls its library, wherever the user keeps its folder."""
_TOLD = 3


def load_papers(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    merge: bool = True,
    columns: Mapping[str, str] | None = None,
    known: Iterable[Paper] = (),
    allow_private: bool = False,
    progress: OnProgress | None = None,
) -> LoadReport:
    """The papers of files, folders, addresses of the web, and services.

    What form a file has is told by its content, else by its extension. Folders are read with all below them, sorted by
    name; hidden files, READMEs and symbolic links to folders are passed over, files of unknown form too, with a note. A
    file named twice is read once. Of a folder that holds a Zotero library only that is read, and not the files that
    Zotero stores there.

    Records of one paper become one: of the same DOI, arXiv, OpenReview or PubMed id, or whose titles and first words
    are alike. The fullest wins, what the others have besides is added, and the first one's id stays. Two papers that
    have one id are told apart: the second gets an id of its own, with a note.

    Args:
        paths: What to read, in this order. ``~`` is the home folder; ``arxiv:ID``, ``doi:DOI`` and
            ``openreview:VENUE/YEAR`` are asked for over the network.
        merge: Whether to do so; otherwise each record is a paper of its own.
        columns: How columns of tables are called, by field: ``{"abstract": "Summary"}``.
        known: Papers that are there already: a record of one of them gets its id.
        allow_private: Whether an address may be of this machine or its own network.
        progress: Told of files and requests.

    Raises:
        LoadError: A path isn't there, an address can't be read, a service failed, a file that is named has a form that
            no loader reads, or no paper at all came of it.
        PluginError: A loader of another package can't be loaded.
    """
    unknown = [field for field in columns or () if field not in FIELDS]
    if unknown:
        raise LoadError(f"A paper has no field {unknown[0]!r}.", hint=f"fields are {', '.join(FIELDS)}")
    gathered = _Gathered(merge=merge, columns=columns, progress=progress)
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    named = [os.fspath(path) for path in given]
    if not named:
        raise LoadError("No file of papers was named.", hint="name files, folders or addresses")
    for name in named:
        if is_address(name):
            gathered.download(name, allow_private)
            continue
        source = source_for(name)
        if source is not None and not os.path.lexists(name):
            gathered.fetch(name, source)
            continue
        for file in _files(Path(name).expanduser(), gathered.problems, gathered.notes):
            gathered.read(*file)
    if not gathered.papers:
        raise _nothing(named, gathered.problems)
    if merge:
        gathered.join(known)
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

    def __init__(self, *, merge: bool, columns: Mapping[str, str] | None, progress: OnProgress | None) -> None:
        self.papers: dict[str, Paper] = {}
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self.merged: list[Problem] = []
        self.files: list[Path] = []
        self.sources: list[str] = []
        self._merge = merge
        self._columns = columns
        self._known = Known()
        self._seen: set[Path] = set()
        self._copies: Counter[str] = Counter()
        self._progress = progress

    def read(self, path: Path, loader: Loader) -> None:
        real = path.resolve()
        if real in self._seen:
            return
        self._seen.add(real)
        self.files.append(path)
        if self._progress is not None:
            self._progress("reading", len(self.files), 0)
        self._take(display(path), self._items(path, loader))

    def fetch(self, name: str, source: Source) -> None:
        from rag_assistant.loaders.web import Web

        if name in self.sources:
            return
        self.sources.append(name)
        # A service that fails ends it all: what it has isn't known, and an index of the rest would drop that.
        items = _items(name, lambda: source(name.partition(":")[2], Web(self._progress)), passed=LoadError)
        self._take(name, items)

    def download(self, address: str, allow_private: bool) -> None:
        """Reads what is at an address; what comes of it is from there, not from where it was kept."""
        if address in self.sources:
            return
        self.sources.append(address)
        with TemporaryDirectory(prefix="rag-assistant-") as folder:
            path = download(address, Path(folder), allow_private=allow_private)
            loader = loader_of(path)
            if loader is None:
                raise _unknown(address, path)
            kept = display(path)
            self._take(address, (_elsewhere(item, kept, address) for item in self._items(path, loader, own=False)))

    def join(self, known: Iterable[Paper]) -> None:
        """Gives records of papers that are there the ids that these have."""
        held = {paper.id: paper for paper in known}
        joined: dict[str, tuple[Paper, str]] = {}
        for paper in held.values():  # many, of which few are among those that were read
            found = None if paper.id in self.papers else self._known.find(paper)
            if found is not None and found[0].id not in held:
                joined.setdefault(found[0].id, (paper, found[1]))
        papers = {}
        for paper in self.papers.values():
            if paper.id in joined:
                there, why = joined[paper.id]
                self._tell_merged(paper, there, why)
                paper = merged(there, paper)
            papers[paper.id] = paper
        self.papers = papers

    def _items(self, path: Path, loader: Loader, *, own: bool = True) -> Iterator[Paper | Problem]:
        """What a loader gives; a file that isn't the user's ``own`` gets no other file read."""
        mapped = loader.map_columns if self._columns and isinstance(loader, Form) else None
        if mapped is not None:
            return _items(display(path), lambda: mapped(path, self._columns or {}))
        chosen = (own and isinstance(loader, Form) and loader.with_files) or loader
        return _items(display(path), lambda: chosen(path))

    def _take(self, origin: str, items: Iterator[Paper | Problem]) -> None:
        came = 0
        for item in items:
            if isinstance(item, Paper):
                self._add(item)
            else:
                (self.notes if item.note else self.problems).append(item)
            came += isinstance(item, Paper) or not item.note
        if not came:
            self.problems.append(Problem(origin, None, "", "holds no paper"))

    def _add(self, paper: Paper) -> None:
        holder = self.papers.get(paper.id)
        if self._merge:
            found = self._known.find(paper)
            if found is None and holder is not None and same_under_one_id(holder, paper):
                found = holder, "same id"
            if found is not None:
                self._tell_merged(paper, *found)
                self._keep(merged(found[0], paper))
                return
        if holder is not None:
            own = self._own_id(paper)
            if not same_under_one_id(holder, paper):  # else one that the user wants kept apart
                message = f"{paper.id!r} is the id of another paper, {_from(holder)}; this one is kept as {own!r}"
                self.notes.append(_at(paper, "id", message))
            paper = replace(paper, id=own)
        self._keep(paper)

    def _keep(self, paper: Paper) -> None:
        self.papers[paper.id] = paper
        if self._merge:
            self._known.add(paper)

    def _own_id(self, paper: Paper) -> str:
        """An id made of the record's content, or with a number where that is taken."""
        own = derived_id("" if paper.title_derived else paper.title, paper.abstract, paper.doi)
        while own in self.papers:
            self._copies[paper.id] += 1
            own = f"{paper.id}-{self._copies[paper.id] + 1}"
        return own

    def _tell_merged(self, paper: Paper, with_: Paper, why: str) -> None:
        problem = _at(paper, "", f"is the same paper as {with_.id!r} {_from(with_)}: {why}")
        self.merged.append(problem)
        self.notes.append(problem)


def _from(paper: Paper) -> str:
    """Where a paper was read first."""
    return f"from {paper.source.partition('; ')[0]}"


def _at(paper: Paper, field: str, message: str) -> Problem:
    """A note at the place that the record was read from."""
    file, _, line = paper.source.rpartition(":")
    at_line = file and line.isdecimal()
    return Problem(file if at_line else paper.source, int(line) if at_line else None, field, message, note=True)


def _elsewhere(item: Paper | Problem, kept: str, address: str) -> Paper | Problem:
    if isinstance(item, Problem):
        return replace(item, file=address if item.file == kept else item.file)
    return replace(item, source=address + item.source[len(kept) :] if item.source.startswith(kept) else item.source)


def _unknown(name: str, path: Path) -> LoadError:
    """The error for a file whose form can't be told, which says more of an archive or what has no text in it."""
    try:
        problems = [problem for problem in read_text(path)[1] if not problem.note] if path.is_file() else []
    except OSError:
        problems = []
    if problems:
        return LoadError(f"Can't read {name!r}: it {problems[0].message}.", hint=f"forms: {supported(path.suffix)}")
    return LoadError(
        f"Can't tell what form {name!r} has, by its content or its extension.", hint=f"known: {supported(path.suffix)}"
    )


def _items(
    origin: str, load: Callable[[], Iterator[Paper | Problem]], passed: type[Exception] | tuple[()] = ()
) -> Iterator[Paper | Problem]:
    """What a loader yields, with whatever goes wrong in it, but for what is ``passed`` on, as a problem of the file."""
    try:
        for item in load():
            if not isinstance(item, Paper | Problem):
                raise TypeError(f"it yielded {type(item).__name__}")
            if isinstance(item, Paper) and not (item.id.strip() and item.title.strip()):
                raise ValueError(f"it yielded a paper without id or title, from {item.source or 'nowhere named'}")
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
        loader = loader_of(path)
        if loader is None:
            raise _unknown(display(path), path)
        yield path, loader
        return
    found = False
    for file in _below(path, problems):
        loader = loader_of(file)
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


def _nothing(named: list[str], problems: list[Problem]) -> LoadError:
    first = named[0] if is_address(named[0]) else display(Path(named[0]))
    where = first if len(named) == 1 else f"{first!r} and {len(named) - 1} more"
    lines = grouped(problems)
    told = "; ".join(lines[:_TOLD])
    more = f"; and {len(lines) - _TOLD} more problems" if len(lines) > _TOLD else ""
    return LoadError(f"Not one paper could be loaded from {where}: {told}{more}.", hint=f"forms: {supported()}")
