"""Plain text: abstracts parted by blank lines, with or without headings between them, and no titles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rag_assistant.loaders.base import Problem, display, readable_text
from rag_assistant.loaders.fields import Record, papers_from
from rag_assistant.types import Paper

_HEADING_CHARACTERS = 120
_SENTENCE_ENDS = ".!?\u2026\u3002"
# Lines of reference managers: "AB  - ..." (RIS, PubMed), "%A ..." (EndNote), "A1 ..." (RefWorks, Web of Science).
_TAGGED = re.compile(r"([A-Z][A-Z0-9]{1,3})\s{0,2}-(?:\s|$)|(%[A-Z0-9])\s|([A-Z][A-Z0-9])\s\S")
_CLOSERS = "\"'\u201d\u2019)]}*_$ "


def load_text(path: Path) -> Iterator[Paper | Problem]:
    """The abstracts of a ``.txt`` file, one a block; blocks are parted by blank lines.

    A block of one line of up to 120 characters that doesn't end like a sentence is a heading: it is passed over with a
    note, wherever it stands. Titles are made of the first words, ids of the content, so that another order or another
    file gives the same ids. A file of tagged lines, as reference managers write, is refused as a whole.
    """
    text = yield from readable_text(path)
    if text is None:
        return
    file = display(path)
    blocks = list(_blocks(text))
    if any(_is_tagged(block) for _, block in blocks):
        yield Problem(file, None, "", "is an export of a reference manager (tagged lines), not plain abstracts")
        return
    if not blocks:
        yield Problem(file, None, "", "is empty")
    for line, block in blocks:
        if _is_heading(block):
            yield Problem(file, line, "", f"{block.strip()!r} was taken for a heading and passed over", note=True)
        else:
            yield from papers_from(Record(file=file, line=line, abstract=block))


def _is_tagged(block: str) -> bool:
    """Exports often end in .txt; taken for abstracts they would give plausible nonsense without a word."""
    lines = [line for line in block.split("\n") if not line.startswith(" ")]
    tags = [match[0].split()[0] for match in map(_TAGGED.match, lines) if match]
    return len(set(tags)) >= 4 and 2 * len(tags) > len(lines)


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    gathered: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            gathered.append(line)
        elif gathered:
            yield number - len(gathered), "\n".join(gathered)
            gathered = []


def _is_heading(block: str) -> bool:
    line = block.strip()
    return (
        "\n" not in line
        and len(line) <= _HEADING_CHARACTERS
        and not line.rstrip(_CLOSERS).endswith(tuple(_SENTENCE_ENDS))
    )
