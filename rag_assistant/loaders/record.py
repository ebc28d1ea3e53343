"""Records that people write by hand: a header of ``key: value`` lines between two ``---``, then the abstract.

::

    ---
    id: nika24a
    title: Reward Model Learning vs. Direct Policy Optimization: A Comparative Analysis
    author: Andi Nika
    author: Debmalya Mandal
    year: 2024
    proceedings: https://proceedings.mlr.press/v235/nika24a.html
    link: code https://example.org/code
    ---
    In this paper, we take a step ...

One paper a file, so that nothing in an abstract can end it. A value is the rest of its line as it stands: colons,
quotes and backslashes mean themselves. That is stricter than YAML and needs no escaping.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from rag_assistant.loaders.base import Problem, display, readable_text
from rag_assistant.loaders.fields import Record, papers_from
from rag_assistant.types import Paper

_LINKS = ("openreview", "proceedings")
_ONCE = ("id", "title", "authors", "year", "venue", "url", "doi", *_LINKS)
_KEYS = (*_ONCE, "author", "link")


class _HeaderError(Exception):
    def __init__(self, line: int, message: str, name: str = "") -> None:
        super().__init__(message)
        self.line, self.name = line, name


def load_record(path: Path) -> Iterator[Paper | Problem]:
    """The one paper of a ``.md`` file in the form above.

    Keys are ``id``, ``title``, ``author`` (one a line, or ``authors`` parted by ``;``), ``year``, ``venue``, ``url``,
    ``doi``, ``openreview``, ``proceedings`` and ``link: <name> <address>``; all may be left out. Everything below the
    header is the abstract. An unknown key or a line that is none is a problem, since it is most likely a slip.
    """
    text = yield from readable_text(path)
    if text is None:
        return
    file = display(path)
    try:
        record = _parse(file, text)
    except _HeaderError as error:
        yield Problem(file, error.line, error.name, str(error))
        return
    yield from papers_from(record)


def _parse(file: str, text: str) -> Record:
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise _HeaderError(1, "is empty")
    if lines[first].strip() != "---":
        raise _HeaderError(first + 1, "must begin with a line '---', then 'key: value' lines and a second '---'")
    last = next((n for n, line in enumerate(lines) if n > first and line.strip() == "---"), None)
    if last is None:
        raise _HeaderError(first + 1, "the header that begins here is never closed by a second line '---'")
    values, places, authors, links = _header(lines, first + 1, last)
    places["abstract"] = next((n for n in range(last + 1, len(lines)) if lines[n].strip()), last) + 1
    if authors and "authors" in values:
        raise _HeaderError(places["authors"], "give either 'author' lines or 'authors'", "authors")
    return Record(
        file=file,
        line=first + 1,
        id=values.get("id"),
        title=values.get("title"),
        abstract="\n".join(lines[last + 1 :]),
        authors=authors or values.get("authors"),
        year=values.get("year"),
        venue=values.get("venue"),
        url=values.get("url"),
        doi=values.get("doi"),
        links=(*((key, values[key]) for key in _LINKS if key in values), *links),
        lines=places,
    )


def _header(
    lines: list[str], start: int, end: int
) -> tuple[dict[str, str], dict[str, int], list[str], list[tuple[str, str]]]:
    values: dict[str, str] = {}
    places: dict[str, int] = {}
    authors: list[str] = []
    links: list[tuple[str, str]] = []
    for number in range(start, end):
        if not lines[number].strip():
            continue
        key, colon, value = (part.strip() for part in lines[number].partition(":"))
        key = key.lower()
        if not colon or not key or " " in key:
            raise _HeaderError(number + 1, f"{lines[number].strip()[:60]!r} is not of the form 'key: value'")
        if key not in _KEYS:
            raise _HeaderError(number + 1, f"is no key of a paper; {_nearest(key)}", key[:60])
        if key in values:
            raise _HeaderError(number + 1, f"is given twice, first in line {places[key]}", key)
        if not value:
            continue
        if key == "author":
            authors.append(value)
            places.setdefault("authors", number + 1)
        elif key == "link":
            name, space, address = value.partition(" ")
            links.append((name, address) if space else (key, value))
            places.setdefault(links[-1][0], number + 1)
        else:
            values[key] = value
            places[key] = number + 1
    return values, places, authors, links


def _nearest(key: str) -> str:
    close = get_close_matches(key, _KEYS, n=1)
    return f"did you mean {close[0]!r}?" if close else f"keys are {', '.join(_KEYS)}"
