from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rag_assistant.errors import IndexLocked
from rag_assistant.index.build import build_index
from rag_assistant.index.generations import IndexFolder
from rag_assistant.index.open import open_index

from .hashing import HashingEmbedder, papers
from .processes import start

_ADD = """
import sys
from index.hashing import HashingEmbedder, papers
from rag_assistant.index.build import build_index
sys.stdin.readline()
done = build_index(sys.argv[1], papers(5, int(sys.argv[2])), HashingEmbedder(), add=True)
print(len(done.added))
"""


def test_a_second_writer_waits_with_a_message(folder: Path, embedder: HashingEmbedder) -> None:
    stages: list[str] = []
    waiting = threading.Event()

    def told(stage: str, done: int, total: int) -> None:
        stages.append(stage)
        waiting.set()

    with IndexFolder(folder).writing():
        other = threading.Thread(target=build_index, args=(folder, papers(3), embedder), kwargs={"progress": told})
        other.start()
        assert waiting.wait(20)
        assert stages == ["waiting for another process that writes this index"]
        assert other.is_alive()
    other.join(60)
    with open_index(folder, embedder) as index:
        assert len(index.papers) == 3


def test_a_second_writer_gives_up_after_its_time(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(3), embedder)
    with IndexFolder(folder).writing():
        with pytest.raises(IndexLocked, match=r"0\.2 seconds.*--lock-timeout"):
            build_index(folder, papers(4), embedder, lock_timeout=0.2)
        with pytest.raises(IndexLocked):
            open_index(folder, HashingEmbedder(name="other"), lock_timeout=0)
        with open_index(folder, embedder, lock_timeout=0) as index:  # reading waits for nobody
            assert len(index.papers) == 3


def test_writers_in_two_processes_build_on_each_other_s_result(folder: Path, embedder: HashingEmbedder) -> None:
    writers = [start(_ADD, folder, first) for first in (0, 10, 20)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        out, err = writer.communicate(timeout=120)
        assert (writer.returncode, out, err) == (0, "5\n", "")
    with open_index(folder, embedder) as index:
        assert sorted(index.papers) == sorted(p.id for p in [*papers(5), *papers(5, 10), *papers(5, 20)])
        assert index.notices == ()


def test_what_killed_writers_left_is_cleaned_up(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(3), embedder)
    left = IndexFolder(folder).new_generation()
    (left / "papers.jsonl").write_text("half")
    (left / "readers").mkdir()
    (left / "readers" / "123-dead").touch()
    (folder / ".CURRENT-x").touch()
    build_index(folder, papers(4), embedder)
    assert not left.exists()
    assert not (folder / ".CURRENT-x").exists()
    assert len(list((folder / "generations").iterdir())) == 1


def test_a_generation_in_the_making_is_no_leftover(folder: Path, embedder: HashingEmbedder) -> None:
    """Even for a writer that doesn't see the lock, as after somebody deleted its file."""

    def other(stage: str, done: int, total: int) -> None:
        if stage == "checking" and not seen:
            seen.append(stage)
            (folder / "write.lock").unlink()
            build_index(folder, papers(2, 50), embedder)

    seen: list[str] = []
    build_index(folder, papers(3), embedder, progress=other)
    assert seen
    with open_index(folder, embedder) as index:
        assert (list(index.papers), index.notices) == (["paper0", "paper1", "paper2"], ())
