from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assistant.errors import IndexDamaged, IndexMissing, IndexReadOnly
from rag_assistant.index.build import build_index
from rag_assistant.index.manifest import SCHEMA_VERSION, Manifest, read_manifest
from rag_assistant.index.open import OpenIndex, open_index

from .hashing import HashingEmbedder, papers
from .processes import run, start


def _finds(index: OpenIndex, embedder: HashingEmbedder, name: str) -> bool:
    vector = embedder.encode_question(f"{index.papers[name].title}. {index.papers[name].abstract}").vector
    return index.search_vectors(vector, 1)[0][0].paper_id == name


def _generation(folder: Path) -> Path:
    return folder / "generations" / (folder / "CURRENT").read_text().split()[0]


def _generations(folder: Path) -> set[Path]:
    return set((folder / "generations").iterdir())


def test_no_index_is_an_error_that_names_the_command(folder: Path, embedder: HashingEmbedder) -> None:
    with pytest.raises(IndexMissing, match="rag-assistant index"):
        open_index(folder, embedder)
    with pytest.raises(IndexMissing):
        open_index(folder, embedder, corpus=lambda: papers(2), build_missing=False)
    with pytest.raises(IndexMissing):
        open_index(folder, embedder, corpus=lambda: papers(2), repair=False)
    assert not folder.exists()


def test_a_lost_name_is_written_again_unless_nothing_is_to_be_mended(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(4), embedder)
    generation = _generation(folder)
    (folder / "CURRENT").write_text("")
    with pytest.raises(IndexDamaged, match="CURRENT is lost"):
        open_index(folder, embedder, repair=False)
    with open_index(folder, embedder) as index:
        assert "lost its file CURRENT" in index.notices[0]
        assert _finds(index, embedder, "paper1")
    assert _generation(folder) == generation


def test_the_bundled_papers_are_indexed_where_there_is_none(folder: Path, embedder: HashingEmbedder) -> None:
    stages = set()
    with open_index(
        folder, embedder, corpus=lambda: papers(5), progress=lambda stage, done, total: stages.add(stage)
    ) as index:
        assert len(index.papers) == 5
        assert index.notices == (f"There was no index at {folder}; the bundled papers are indexed there now.",)
        assert index.manifest is not None
        assert index.manifest.source == "bundled"
        assert _finds(index, embedder, "paper3")
    assert {"splitting", "embedding", "storing", "checking"} <= stages


def test_an_index_holds_the_papers_that_are_asked_for(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(5), embedder)
    with open_index(folder, embedder, papers=papers(3, 1), notices=["before"]) as index:
        assert list(index.papers) == ["paper1", "paper2", "paper3"]
        assert index.notices[0] == "before"
        assert "other papers" in index.notices[1]
    with open_index(folder, embedder, papers=papers(3, 1)) as index:
        assert index.notices == ()


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (HashingEmbedder(name="other"), "made with the embedder hashing, not other"),
        (HashingEmbedder(seed=1), "another model or version of the embedder hashing"),
        (HashingEmbedder(name="wide", dimension=64), "made with the embedder hashing, not wide"),
    ],
)
def test_another_embedder_rebuilds_with_a_notice(
    folder: Path, embedder: HashingEmbedder, other: HashingEmbedder, told: str
) -> None:
    build_index(folder, papers(6), embedder, source="bundled")
    with pytest.raises(IndexDamaged, match="doctor --repair"):
        open_index(folder, other, repair=False)
    with open_index(folder, other) as index:
        (notice,) = index.notices
        assert told in notice
        assert index.manifest is not None
        assert (index.manifest.embedder, index.manifest.source) == (other.name, "bundled")
        assert _finds(index, other, "paper4")
    with open_index(folder, other) as index:
        assert index.notices == ()
    embedder.calls.clear()
    with open_index(folder, embedder) as index:  # and back: its vectors are kept
        assert len(index.notices) == 1
        assert _finds(index, embedder, "paper4")
    assert embedder.calls == []


@pytest.mark.parametrize(
    ("name", "told"),
    [("SPLITTER_VERSION", "cut by"), ("PASSAGES_VERSION", "cut by"), ("TERMS_VERSION", "words were counted")],
)
def test_other_rules_rebuild_with_a_notice(
    folder: Path, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    build_index(folder, papers(4), embedder)
    for module in ("state", "write"):
        monkeypatch.setattr(f"rag_assistant.index.{module}.{name}", 99)
    with open_index(folder, embedder) as index:
        assert told in index.notices[0]
        assert _finds(index, embedder, "paper2")
    with open_index(folder, embedder) as index:
        assert index.notices == ()


def _rewrite(folder: Path, schema: int) -> None:
    """As another version of this program would have written it."""
    generation = _generation(folder)
    manifest = read_manifest(generation)
    assert manifest is not None
    content = json.loads((generation / "manifest.json").read_text())
    for key in ("checksum", "complete", "schema_version", "files"):
        content.pop(key)
    Manifest(**content, schema_version=schema, files=manifest.files).write(generation)


def test_an_older_schema_is_rebuilt_and_a_newer_one_refused(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(4), embedder)
    _rewrite(folder, SCHEMA_VERSION - 1)
    with open_index(folder, embedder) as index:
        assert "older version" in index.notices[0]
        assert _finds(index, embedder, "paper2")
    _rewrite(folder, SCHEMA_VERSION + 1)
    before = _generation(folder)
    with pytest.raises(IndexDamaged, match=r"newer version .* pip install --upgrade"):
        open_index(folder, embedder)
    with pytest.raises(IndexDamaged, match="newer version"):
        build_index(folder, papers(2), embedder)
    assert _generation(folder) == before
    assert before.exists()


def test_a_moved_or_copied_folder_works(folder: Path, embedder: HashingEmbedder, tmp_path: Path) -> None:
    build_index(folder, papers(4), embedder)
    shutil.copytree(folder, tmp_path / "copy")
    folder.rename(tmp_path / "moved")
    for place in (tmp_path / "copy", tmp_path / "moved"):
        with open_index(place, embedder) as index:
            assert index.notices == ()
            assert _finds(index, embedder, "paper2")


def test_a_reader_keeps_its_generation_and_notices_the_new_one(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(4), embedder)
    index = open_index(folder, embedder)
    old = _generation(folder)
    assert index.is_current()
    build_index(folder, papers(3, 10), embedder)
    assert not index.is_current()
    assert _finds(index, embedder, "paper3")
    build_index(folder, papers(3, 20), embedder)
    assert _generations(folder) == {old, _generation(folder)}
    with open_index(folder, embedder) as new:
        assert list(new.papers) == ["paper20", "paper21", "paper22"]
    index.close()
    build_index(folder, papers(2), embedder)
    assert _generations(folder) == {_generation(folder)}


def test_a_reader_in_another_process_keeps_its_generation_until_it_dies(
    folder: Path, embedder: HashingEmbedder
) -> None:
    build_index(folder, papers(4), embedder)
    old = _generation(folder)
    code = """
import sys
from index.hashing import HashingEmbedder
from rag_assistant.index.open import open_index
embedder = HashingEmbedder()
index = open_index(sys.argv[1], embedder)
for line in sys.stdin:
    found = index.search_vectors(embedder.encode_question("setting2 Tool2 setting2").vector, 1)
    print(index.is_current(), found[0][0].paper_id, flush=True)
"""
    reader = start(code, folder)
    assert reader.stdin is not None
    assert reader.stdout is not None

    def ask() -> str:
        print(file=reader.stdin, flush=True)
        return reader.stdout.readline()

    assert ask() == "True paper2\n"
    build_index(folder, papers(3, 10), embedder)
    assert ask() == "False paper2\n"
    assert old.exists()
    reader.kill()
    reader.communicate()
    build_index(folder, papers(2), embedder)
    assert not old.exists()


def test_a_store_that_fails_while_it_is_open_is_done_without(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(8), embedder)
    with open_index(folder, embedder) as index:
        (_generation(folder) / "chroma" / "chroma.sqlite3").write_bytes(b"\0" * 4096)  # before its first question
        assert _finds(index, embedder, "paper5")
        assert any("searching without it" in notice for notice in index.notices)
        assert _finds(index, embedder, "paper6")
        assert len(index.notices) == 1


@pytest.fixture
def read_only(folder: Path) -> Iterator[Path]:
    """The folder mounted read-only: as root nothing else forbids writing."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("needs root to mount")
    folder.mkdir()
    place = folder.parent / "mounted"
    place.mkdir()
    if subprocess.run(["mount", "--bind", folder, place], capture_output=True, check=False).returncode:
        pytest.skip("may not mount here")
    yield place
    gc.collect()
    subprocess.run(["umount", "-l", place], check=True)


def _forbid(place: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)


def test_a_read_only_index_is_searched_exactly(read_only: Path, embedder: HashingEmbedder) -> None:
    build_index(read_only, papers(8), embedder)
    _forbid(read_only)
    embedder.calls.clear()
    with open_index(read_only, embedder) as index:
        assert "can't be written, so every vector is compared" in index.notices[0]
        assert _finds(index, embedder, "paper5")
        assert len(index.encoded_texts(["paper5"])["paper5"][1]) == 3
        assert index.is_current()
        assert len(index.notices) == 1
    assert embedder.calls == []
    with pytest.raises(IndexReadOnly, match="RAG_INDEX"):
        build_index(read_only, papers(2), embedder)


def test_a_read_only_index_that_is_damaged_is_searched_in_memory(read_only: Path, embedder: HashingEmbedder) -> None:
    build_index(read_only, papers(8), embedder)
    (_generation(read_only) / "vectors.npy").write_bytes(b"")
    _forbid(read_only)
    embedder.calls.clear()
    with open_index(read_only, embedder) as index:
        assert "vectors.npy has 0 bytes" in index.notices[0]
        assert _finds(index, embedder, "paper5")
        assert index.document_frequency("tool5") == 1
    assert embedder.calls == []
    with open_index(read_only, HashingEmbedder(name="other")) as index:
        assert len(index.papers) == 8


def test_nothing_in_a_read_only_place_is_searched_in_memory(read_only: Path, embedder: HashingEmbedder) -> None:
    _forbid(read_only)
    with open_index(read_only / "index", embedder, corpus=lambda: papers(4)) as index:
        assert "there is none yet" in index.notices[0]
        assert _finds(index, embedder, "paper1")
        assert index.is_current()
    with pytest.raises(IndexMissing):
        open_index(read_only / "index", embedder)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root to become someone else")
def test_someone_else_s_index_is_searched_exactly(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(8), embedder)
    code = """
import os, sys
from index.hashing import HashingEmbedder
from rag_assistant.index.open import open_index
import bm25s, chromadb, filelock  # the other user may not reach where they are installed
os.setgid(65534); os.setuid(65534)
embedder = HashingEmbedder()
with open_index(sys.argv[1], embedder) as index:
    found = index.search_vectors(embedder.encode_question("setting5 Tool5 setting5").vector, 1)
    print(found[0][0].paper_id, index.notices)
"""
    for parent in folder.parents:
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o755)
    out = run(code, folder)
    assert out.startswith("paper5 (")
    assert "can't be written" in out
