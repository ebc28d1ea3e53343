"""The PDFs that a record names in its field ``file``, as Zotero, JabRef and Mendeley write it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PureWindowsPath

from rag_assistant.loaders.base import Problem
from rag_assistant.loaders.pdf import load_pdf
from rag_assistant.types import Paper

_ESCAPED = re.compile(r"\\([^A-Za-z0-9])")


def with_abstract(paper: Paper, line: int, file: str, written: str, folder: Path) -> Iterator[Paper | Problem]:
    """The paper with the abstract of the first of its PDFs that has one, after a note that says so, or why none has.

    Args:
        paper: A paper without an abstract.
        line: Of its record.
        file: That holds it, as named by the user.
        written: The field.
        folder: Where the file is.
    """
    told: Problem | None = None
    for pdf in _pdfs(written, folder):
        try:
            items = list(load_pdf(pdf))
        except OSError as error:
            items = [Problem(file, line, "", f"can't be read: {error.strerror}")]
        found = next((item.abstract for item in items if isinstance(item, Paper)), "")
        if found:
            paper = replace(paper, abstract=found)
            told = Problem(file, line, "abstract", "is taken from its PDF", note=True)
            break
        for item in items:
            if isinstance(item, Problem) and not item.note:
                why = f"{item.field} {item.message}".strip()
                told = Problem(file, line, "abstract", f"is missing, and its PDF gives none: {why}", note=True)
    if told is not None:
        yield told
    yield paper


def _pdfs(written: str, folder: Path) -> Iterator[Path]:
    """The PDFs that are there: where the field says, or else beside the file that names them."""
    for part in re.split(r"(?<!\\);", written):
        names = dict.fromkeys(map(_unescaped, _names(part)))
        # Mendeley leaves out the slash that a path begins with.
        paths = (
            path for name in names for path in (folder / name, Path(f"/{name}"), folder / PureWindowsPath(name).name)
        )
        found = next((path for path in paths if os.path.isfile(path)), None)  # noqa: PTH113 - raises nothing
        if found is not None:
            yield found


def _names(part: str) -> list[str]:
    """What may be the path in "description:path:type", in ":path:type", or in a path alone."""
    fields = re.split(r"(?<!\\):", part)
    return [name for name in (":".join(fields[1:-1]), part, *fields) if name.lower().endswith(".pdf")]


def _unescaped(name: str) -> str:
    return _ESCAPED.sub(r"\1", re.sub(r"[{}]", "", name.replace("$\\backslash$", "\\"))).strip()
