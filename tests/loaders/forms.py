"""How each form of file is written, so that one test can ask the same of every loader."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Record = dict[str, object]


@dataclass(frozen=True)
class Form:
    """A form of file: its extension, how records are written, and what it can hold."""

    extension: str
    write: Callable[[Sequence[Record]], str]
    one_a_file: bool = False
    abstract_only: bool = False


def as_jsonl(records: Sequence[Record]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def as_text(records: Sequence[Record]) -> str:
    return "Some abstracts\n\n" + "\n\n\n".join(str(record["abstract"]) for record in records) + "\n"


def as_record(records: Sequence[Record]) -> str:
    (record,) = records
    lines = ["---"]
    for key, value in record.items():
        if isinstance(value, list):
            lines += [f"author: {name}" for name in value]
        elif key != "abstract":
            lines.append(f"{key}: {value}")
    return "\n".join([*lines, "---", str(record["abstract"]), ""])


FORMS = {
    "jsonl": Form(".jsonl", as_jsonl),
    "md": Form(".md", as_record, one_a_file=True),
    "txt": Form(".txt", as_text, abstract_only=True),
}
NO_TEXT = ("pdf", "sqlite")
"""Forms that are no text files: what holds for these is told in tests of their own."""
