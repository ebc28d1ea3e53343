"""A generation's papers, their passages' spans and their windows' vectors as files, and back.

The papers are kept twice, as JSON lines and packed, because they are the one thing that can't be made again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_assistant.index.lexical import Lexical
from rag_assistant.index.manifest import Manifest, file_sha256
from rag_assistant.sentences import Span
from rag_assistant.types import Paper

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PAPERS = "papers.jsonl"
PACKED_PAPERS = "papers.jsonl.gz"
PASSAGES = "passages.json"
VECTORS = "vectors.npy"
STORE = "chroma"
LEXICAL = "lexical"


Spans = Mapping[str, tuple[Sequence[Span], Sequence[Span]]]
"""Windows and sentences by paper id, in the papers' order."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a generation holds: papers by id, their passages' spans, the windows' vectors in this order."""

    papers: Mapping[str, Paper]
    spans: Spans
    vectors: NDArray[np.float32]

    def write(self, folder: Path) -> None:
        """Writes its files, and counts the papers' words."""
        write_papers(folder, self.papers.values())
        write_spans(folder, self.spans)
        write_vectors(folder, self.vectors)
        Lexical.of(list(self.papers.values())).save(folder / LEXICAL)


def corpus_hash(papers: Iterable[Paper]) -> str:
    """The SHA-256 of the papers, in their order, whatever files they were loaded from."""
    digest = hashlib.sha256()
    for paper in papers:
        digest.update(paper_line({**paper.to_dict(), "source": ""}))
    return digest.hexdigest()


def write_papers(folder: Path, papers: Iterable[Paper]) -> None:
    """Writes both copies."""
    content = b"".join(paper_line(paper.to_dict()) for paper in papers)
    (folder / PAPERS).write_bytes(content)
    (folder / PACKED_PAPERS).write_bytes(gzip.compress(content, compresslevel=6, mtime=0))


def read_papers(folder: Path) -> dict[str, Paper]:
    """The papers by id, in order, from the first copy.

    Raises:
        OSError: It can't be read.
        ValueError: It doesn't hold papers.
    """
    return parse_papers((folder / PAPERS).read_bytes())


def rescue_papers(folder: Path, manifest: Manifest | None) -> dict[str, Paper] | None:
    """The papers of a damaged generation from whichever copy is whole; ``None`` where neither is.

    With a manifest a copy is whole when its checksum is the recorded one; without, only the packed one can show that it
    is, by its own.
    """
    recorded = {} if manifest is None else {record.path: record.sha256 for record in manifest.files}
    for name in (PAPERS, PACKED_PAPERS):
        path = folder / name
        try:
            if manifest is not None and file_sha256(path) != recorded.get(name):
                continue
            if name == PACKED_PAPERS:
                return parse_papers(gzip.decompress(path.read_bytes()))
            if manifest is not None:
                return read_papers(folder)
        except (OSError, EOFError, zlib.error, ValueError):
            continue
    return None


def write_spans(folder: Path, spans: Spans) -> None:
    """Writes where each paper's windows and sentences are, in the papers' order."""
    content = [
        [[list(span) for span in windows], [list(span) for span in sentences]] for windows, sentences in spans.values()
    ]
    (folder / PASSAGES).write_text(json.dumps(content, separators=(",", ":")), encoding="ascii")


def read_spans(folder: Path, papers: Mapping[str, Paper]) -> dict[str, tuple[tuple[Span, ...], tuple[Span, ...]]]:
    """Windows and sentences by paper id.

    Raises:
        OSError: They can't be read.
        ValueError: They are of other papers.
    """
    content = json.loads((folder / PASSAGES).read_bytes())
    return {
        paper_id: (tuple((s, e) for s, e in windows), tuple((s, e) for s, e in sentences))
        for paper_id, (windows, sentences) in zip(papers, content, strict=True)
    }


def write_vectors(folder: Path, vectors: NDArray[np.float32]) -> None:
    """Writes the windows' vectors, in the order of papers and windows."""
    import numpy as np

    np.save(folder / VECTORS, vectors.astype("<f4"))


def read_vectors(folder: Path) -> NDArray[np.float32]:
    """The windows' vectors. Not mapped into memory: a mapped file that is cut short kills the process that reads it.

    Raises:
        OSError: They can't be read.
        ValueError: It isn't an array.
    """
    import numpy as np

    vectors: NDArray[np.float32] = np.load(folder / VECTORS)
    return vectors


def paper_line(record: dict[str, Any]) -> bytes:
    """A paper's fields as a line of JSON."""
    # ASCII, since a text may hold a lone surrogate, which UTF-8 can't.
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def parse_papers(content: bytes) -> dict[str, Paper]:
    """The papers of such lines by id, in order.

    Raises:
        ValueError: They are no papers.
    """
    papers: dict[str, Paper] = {}
    try:
        for line in content.splitlines():
            record = json.loads(line)
            paper = Paper(**{**record, "authors": tuple(record["authors"])})
            papers[paper.id] = paper
    except (TypeError, KeyError) as error:
        raise ValueError(f"not a record of a paper: {error}") from error
    return papers
