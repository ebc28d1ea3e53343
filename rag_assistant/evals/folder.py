"""A run on disk: run.json (header), rows.jsonl, timings.jsonl and report.md; or a baseline, which is one JSON file.

Rows are appended as they are made, so that a stopped run keeps them; a finished run is written once more in the order
of its set, so that two runs of the same thing leave the same rows.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_assistant.errors import InputError, LoadError, is_out_of_space
from rag_assistant.evals.rows import MAIN, Row

_PLACES = frozenset({"index", "corpus", "prompts"})
HEADER, ROWS, TIMINGS, REPORT = "run.json", "rows.jsonl", "timings.jsonl", "report.md"


@dataclass(frozen=True)
class Run:
    """The rows of a run with its header.

    Attributes:
        header: What ran, on which questions, by which versions; see :func:`rag_assistant.evals.header.header_of`.
        rows: In the order of the set, each follow-up's probes after it.
        folder: Where the run is kept; ``None`` if it is only in memory.
        interrupted: Whether it was stopped before its last question.
    """

    header: Mapping[str, Any]
    rows: tuple[Row, ...]
    folder: Path | None = field(default=None, compare=False)
    interrupted: bool = False

    @property
    def main(self) -> tuple[Row, ...]:
        """The rows of the questions themselves, without probes."""
        return tuple(row for row in self.rows if row.probe == MAIN)

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows in which the question or a metric raised an error, probes included."""
        return tuple(row for row in self.rows if row.failed)


def load_run(path: Path | str) -> Run:
    """A run from its folder, or from a baseline file. A last row that was cut off by a crash is left out.

    Raises:
        LoadError: There is no run, or it can't be read.
    """
    path = Path(path)
    if path.is_dir():
        header = _json_of(path / HEADER)
        timings = {(t["id"], t["probe"]): t["timings_ms"] for t in read_lines(path / TIMINGS)}
        records: Iterable[Mapping[str, Any]] = read_lines(path / ROWS)
        folder: Path | None = path
    else:
        whole = _json_of(path)
        if not {"header", "rows"} <= set(whole):
            raise LoadError(f"{path} is not an eval run.", hint="give a run's folder or a baseline file")
        header, records, timings, folder = whole["header"], whole["rows"], {}, None
    try:
        rows = tuple(Row.from_dict(r, timings.get((r["id"], r["probe"]))) for r in records)
    except (KeyError, TypeError, AttributeError):
        raise LoadError(f"{path} is not a run of this version.", hint="run the eval again") from None
    # A killed process had no time to record that it was interrupted.
    return Run(header, rows, folder, bool(header.get("interrupted")) or not header.get("finished"))


def _json_of(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise LoadError(f"There is no eval run at {path}: {error.strerror}.", hint="give a run's folder") from None
    except ValueError:
        raise LoadError(f"{path} is not JSON.", hint="give a run's folder or a baseline file") from None
    if not isinstance(value, dict):
        raise LoadError(f"{path} is not an eval run.", hint="give a run's folder or a baseline file")
    return value


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON Lines file; none if there is no such file. A broken last line is left out.

    Raises:
        LoadError: A line before the last is broken.
    """
    if not path.exists():
        return []
    lines = [line for line in path.read_text("utf-8", errors="replace").split("\n") if line.strip()]
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(json.loads(line))
        except ValueError:
            if number < len(lines):
                raise LoadError(f"{path}:{number} is not JSON.", hint="run the eval again") from None
    return records


class RowWriter:
    """Appends rows to a run's folder as they are made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def append(self, row: Row) -> None:
        """Writes the row and its timings, and flushes them before it returns.

        Raises:
            InputError: They can't be written; earlier rows are kept.
        """
        _append(self._folder / ROWS, row.to_dict())
        _append(self._folder / TIMINGS, _timing(row))


def _append(path: Path, record: Mapping[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(_line(record))
    except OSError as error:
        raise InputError(
            f"{path} can't be written: {error.strerror}.",
            hint=f"what is done is kept; to go on: rag-assistant eval run --resume {path.parent}",
        ) from error


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n"


def _timing(row: Row) -> dict[str, Any]:
    return {"id": row.id, "probe": row.probe, "timings_ms": dict(row.timings_ms)}


def prepare(folder: Path, *, resume: bool) -> None:
    """Makes the folder of a new run, or checks that there is one to resume.

    Raises:
        InputError: A new run would overwrite another, the place is taken, or there is no run to resume.
    """
    if resume:
        if not (folder / HEADER).exists():
            raise InputError(f"There is no run to go on with in {folder}.", hint="leave out --resume")
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder} is there already and not empty.", hint="--resume goes on with a run; or name another"
        )
    folder.mkdir(parents=True, exist_ok=True)


def write_run(run: Run, folder: Path, report: str = "") -> None:
    """Writes the whole run, each file whole or not at all.

    Raises:
        InputError: A file can't be written; it is left as it was.
    """
    write_whole(folder / HEADER, json.dumps(run.header, indent=2, ensure_ascii=False, sort_keys=True) + "\n")
    write_whole(folder / ROWS, "".join(_line(row.to_dict()) for row in run.rows))
    write_whole(folder / TIMINGS, "".join(_line(_timing(row)) for row in run.rows))
    if report:
        write_whole(folder / REPORT, report)


def write_baseline(run: Run, path: Path | str) -> None:
    """Writes what a later run is compared with: header, verdicts and scores, one row per line, without answers.

    Raises:
        InputError: The run was interrupted, or the file can't be written.
    """
    if run.interrupted:
        raise InputError("An interrupted run makes no baseline.", hint="finish it with --resume")
    rows: Sequence[str] = [
        json.dumps(row.to_dict(with_answer=False), ensure_ascii=False, sort_keys=True) for row in run.main
    ]
    kept = _without_places(run.header)
    header = json.dumps(kept, ensure_ascii=False, sort_keys=True)
    write_whole(Path(path), '{"header": ' + header + ',\n"rows": [\n' + ",\n".join(rows) + "\n]}\n")


def _without_places(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header without names of folders on this machine: without the command, and settings that are paths."""
    system = dict(header.get("system", {}))
    if "settings" in system:
        system["settings"] = {**system["settings"], **dict.fromkeys(_PLACES & system["settings"].keys())}
    return {name: value for name, value in {**header, "system": system}.items() if name != "command"}


def write_whole(path: Path, text: str, *, hint: str = "free some space there, or name another place") -> None:
    """Writes a file whole or not at all; anything else, such as a pipe, is written directly.

    Raises:
        InputError: It can't be written. What was there is left as it was.
    """
    content = text.encode()
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        target = path.resolve()  # a link stays a link
        aside = target.with_name(f"{target.name}.new")
        try:
            aside.write_bytes(content)
            aside.replace(target)
        except OSError:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
            raise
    except OSError as error:
        size = f" takes {len(content):,} bytes and" if is_out_of_space(error) else ""
        raise InputError(f"{path}{size} can't be written: {error.strerror}.", hint=hint) from error
