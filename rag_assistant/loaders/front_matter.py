"""Posts of the Proceedings of Machine Learning Research: YAML between two ``---``, the abstract in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rag_assistant.loaders.base import Form, Problem, display, readable_text
from rag_assistant.loaders.dialects import names_of
from rag_assistant.loaders.exports import papers_of_export
from rag_assistant.loaders.fields import Record
from rag_assistant.types import Paper

_HEADER = re.compile(r"\ufeff?\s*---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_BEGINS = re.compile(r"\ufeff?\s*---[ \t]*\n")
_ABSTRACT = re.compile(r"^abstract:", re.MULTILINE)
_LONGEST = 200_000


def load_front_matter(path: Path) -> Iterator[Paper | Problem]:
    """The paper of a post. Its abstract is the ``abstract`` of the header, or where that has none the text below."""
    import yaml

    text = yield from readable_text(path)
    if text is None:
        return
    file = display(path)
    header = _HEADER.match(text)
    if header is None:
        yield Problem(file, None, "", "has no header between two lines '---'" if text.strip() else "is empty")
        return
    line = text.count("\n", 0, header.start(1)) + 1
    if len(header[1]) > _LONGEST:
        yield Problem(file, line, "", f"has a header of {len(header[1]):,} characters; at most {_LONGEST:,} are read")
        return
    parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(header[1], Loader=parser)):
            yield Problem(file, line, "", "its header repeats parts of itself by YAML's aliases, which aren't followed")
            return
        value = yaml.load(header[1], Loader=parser)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        told = getattr(error, "problem", None) or "it can't be parsed"
        yield Problem(file, line + (mark.line if mark else 0), "", f"its header is not YAML: {told}")
        return
    if not isinstance(value, dict):
        yield Problem(file, line, "", "its header is not YAML of the form 'key: value'")
        return
    yield from papers_of_export(_record(file, line, value, text[header.end() :]), tex=True)


def _record(file: str, line: int, value: Mapping[str, Any], below: str) -> Record:
    venue = next((value[name] for name in ("booktitle", "container-title", "venue", "series") if value.get(name)), None)
    date = next((value[name] for name in ("year", "date", "published") if value.get(name)), None)
    forum = value.get("openreview")
    pages = [value.get("url"), value.get("pdf"), forum]
    if isinstance(forum, str) and "/" not in forum:
        pages.append(f"https://openreview.net/forum?id={forum}")
    if value.get("publisher") == "PMLR" and value.get("volume") and value.get("id"):
        pages.insert(0, f"https://proceedings.mlr.press/v{value['volume']}/{value['id']}.html")
    return Record(
        file=file,
        line=line,
        id=value.get("id"),
        title=_line(value.get("title")),
        abstract=_line(value.get("abstract")) or below,
        authors=names_of(value.get("author") or value.get("authors")),
        year=date if date is None else str(date),
        venue=_line(venue),
        url=pages,
        doi=_line(value.get("doi")),
    )


def _line(value: Any) -> Any:
    """YAML takes a title that is a number for one."""
    return str(value) if isinstance(value, int | float) else value


def _recognises(head: str) -> bool:
    """Whether the header names an abstract, as that of a record written by hand does not."""
    begins = _BEGINS.match(head)
    header = re.split(r"\n---[ \t]*(?:\n|\Z)", head[begins.end() - 1 :])[0] if begins else ""
    return bool(_ABSTRACT.search(header))


FRONT_MATTER = Form(load_front_matter, _recognises, ("markdown",))
