"""An index on a Chroma server, with a real one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assistant import Assistant
from rag_assistant.errors import IndexDamaged, IndexLocked, IndexMissing, StoreError
from rag_assistant.index.build import build_index, remove
from rag_assistant.index.open import OpenIndex, open_index
from tests.cli.conftest import run_command

from .chroma_server import CERTIFICATE, TOKEN, ChromaServer, Gate, served
from .hashing import HashingEmbedder, papers
from .processes import start

_WRITER = """
import sys, time
from index.chroma_server import served
from index.hashing import HashingEmbedder, papers
from rag_assistant.index.build import build_index

def told(stage, done, total):
    if stage == sys.argv[4]:
        print(stage, flush=True)
        time.sleep(60)

build_index(sys.argv[1], papers(4, 50), HashingEmbedder(), server=served(sys.argv[2], sys.argv[3]), progress=told)
"""


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    server = ChromaServer(tmp_path_factory.mktemp("chroma"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def database(chroma: ChromaServer) -> str:
    return chroma.new_database()


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The data folder of another machine."""
    return tmp_path / "other"


def _held(index: OpenIndex) -> list[str]:
    with index:
        return list(index.papers)


def _names(count: int, start: int = 0) -> list[str]:
    return [paper.id for paper in papers(count, start)]


def _collections(chroma: ChromaServer, database: str) -> list[str]:
    return sorted(one.name for one in chroma.database(database).collections())


def test_another_machine_reads_what_one_wrote(
    chroma: ChromaServer, database: str, folder: Path, other: Path, embedder: HashingEmbedder
) -> None:
    server = served(chroma.url, database)
    summary = build_index(folder, papers(8), embedder, server=server)
    assert (summary.papers, summary.server) == (8, f"{chroma.url} (database {database})")
    assert not list(folder.glob("generations/*/chroma"))
    local = folder.with_name("local")
    build_index(local, papers(8), embedder)
    with open_index(other, embedder, server=server) as index, open_index(local, embedder) as same:
        assert dict(index.papers) == dict(same.papers)
        for paper in papers(8):
            vector = embedder.encode_question(paper.abstract).vector
            there, here = index.search_vectors(vector, 5), same.search_vectors(vector, 5)
            assert [hit.id for hit, _ in there] == [hit.id for hit, _ in here]
            assert [cosine for _, cosine in there] == pytest.approx([cosine for _, cosine in here], abs=1e-5)
            assert index.exact_cosines(vector, [paper.id]) == same.exact_cosines(vector, [paper.id])
        assert index.lexical.frequency("tool3") == 1
        assert index.notices == ()


def test_papers_are_added_and_removed_from_any_machine(
    chroma: ChromaServer, database: str, folder: Path, other: Path, embedder: HashingEmbedder
) -> None:
    server = served(chroma.url, database)
    build_index(folder, papers(5), embedder, server=server)
    added = build_index(other, papers(2, 20), embedder, add=True, server=server)
    assert (added.added, added.papers, added.embedded) == (("paper20", "paper21"), 7, 2)
    assert build_index(other, papers(2, 20), embedder, add=True, server=server).unchanged == tuple(
        _names(5) + _names(2, 20)
    )
    with open_index(folder, embedder, server=server) as index:
        gone = remove(other, ["paper1"], embedder, server=server)
        assert gone.removed == ("paper1",)
        assert "paper1" in index.papers  # it reads the old one to the end
        assert index.search_vectors(embedder.encode_question("setting3").vector, 3)
        assert not index.is_current()
    assert _held(open_index(folder, embedder, server=server)) == [
        *(n for n in _names(5) if n != "paper1"),
        *added.added,
    ]
    assert len(_collections(chroma, database)) == 2
    assert len(list((folder / "generations").iterdir())) == 1


def test_where_the_data_folder_cannot_be_written_it_is_read_into_memory(
    chroma: ChromaServer, database: str, folder: Path, embedder: HashingEmbedder, tmp_path: Path
) -> None:
    server = served(chroma.url, database)
    build_index(folder, papers(3), embedder, server=server)
    (tmp_path / "file").touch()
    with open_index(tmp_path / "file" / "index", embedder, server=server) as index:
        assert list(index.papers) == _names(3)
        assert index.search_vectors(embedder.encode_question("setting1").vector, 1)
        assert "into memory" in " ".join(index.notices)


@pytest.mark.parametrize("stage", ["storing", "checking"])
def test_a_killed_writer_leaves_the_old_index(
    stage: str, chroma: ChromaServer, database: str, folder: Path, other: Path, embedder: HashingEmbedder
) -> None:
    server = served(chroma.url, database)
    build_index(folder, papers(3), embedder, server=server)
    with start(_WRITER, folder, chroma.url, database, stage) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == f"{stage}\n"
        with pytest.raises(IndexLocked, match=r"0\.2 seconds.*--lock-timeout"):
            build_index(other, papers(1), embedder, server=server, lock_timeout=0.2)
        writer.kill()
        writer.communicate()
    assert len(_collections(chroma, database)) > 2
    assert _held(open_index(other, embedder, server=server)) == _names(3)
    # Its own machine knows at once that it is dead, another by its silence.
    build_index(folder if stage == "storing" else other, papers(2, 70), embedder, server=server)
    assert _held(open_index(other, embedder, server=server)) == _names(2, 70)
    assert len(_collections(chroma, database)) == 2


def test_a_second_writer_builds_on_the_result_of_the_first(
    chroma: ChromaServer, database: str, folder: Path, other: Path, embedder: HashingEmbedder
) -> None:
    server, stages, begun = served(chroma.url, database), list[str](), threading.Event()

    def told(stage: str, done: int, total: int) -> None:
        begun.set()
        stages.append(stage)

    def second() -> None:
        begun.wait(60)
        options = {"progress": lambda stage, done, total: waited.append(stage)}
        build_index(other, papers(2, 30), HashingEmbedder(), add=True, server=served(chroma.url, database), **options)

    waited: list[str] = []
    thread = threading.Thread(target=second)
    thread.start()
    build_index(folder, papers(3), embedder, server=server, progress=told)
    thread.join(60)
    assert "waiting for another process that writes this index" in waited
    assert _held(open_index(folder, embedder, server=server)) == [*_names(3), *_names(2, 30)]


def test_of_two_writers_only_one_wins_even_without_the_lock(
    chroma: ChromaServer, database: str, folder: Path, other: Path, embedder: HashingEmbedder
) -> None:
    server = served(chroma.url, database)
    build_index(folder, papers(3), embedder, server=server)

    def told(stage: str, done: int, total: int) -> None:
        if stage == "counting words" and not seen:
            seen.append(stage)
            chroma.database(database).delete("rag-assistant.writer")
            build_index(other, papers(2, 60), embedder, server=server)

    seen: list[str] = []
    with pytest.raises(IndexLocked, match="meanwhile"):
        build_index(folder, papers(4), embedder, server=server, progress=told)
    assert _held(open_index(folder, embedder, server=server)) == _names(2, 60)


def test_a_server_killed_while_a_writer_is_at_it(
    chroma: ChromaServer, database: str, folder: Path, other: Path, embedder: HashingEmbedder
) -> None:
    server = served(chroma.url, database)
    build_index(folder, papers(3), embedder, server=server)

    def told(stage: str, done: int, total: int) -> None:
        if stage == "checking":
            chroma.kill()

    with pytest.raises(StoreError, match=r"can't be reached: .*refused.*chroma run"):
        build_index(folder, papers(6), embedder, server=server, progress=told)
    chroma.start()
    assert _held(open_index(other, embedder, server=server)) == _names(3)
    build_index(folder, papers(6), embedder, server=server)
    assert _held(open_index(other, embedder, server=server)) == _names(6)
    assert len(_collections(chroma, database)) == 2


def test_a_server_killed_between_and_during_questions(
    chroma: ChromaServer, database: str, folder: Path, embedder: HashingEmbedder
) -> None:
    build_index(folder, papers(6), embedder, server=served(chroma.url, database))
    gate = Gate(chroma)
    vector = embedder.encode_question("setting2").vector
    with open_index(folder, embedder, server=served(gate.url, database)) as index:
        before = index.search_vectors(vector, 3)
        gate.seconds = 0.5
        killer = threading.Timer(0.2, chroma.kill)
        killer.start()
        during = index.search_vectors(vector, 3)  # a question that has begun is answered from the copy
        killer.join()
        gate.seconds = 0
        assert [hit.id for hit, _ in during] == [hit.id for hit, _ in before]
        assert "searching without it" in " ".join(index.notices)
        with pytest.raises(StoreError):
            index.is_current()
        chroma.start()
        assert index.is_current()
        gate.paths.clear()
        assert [hit.id for hit, _ in index.search_vectors(vector, 3)] == [hit.id for hit, _ in before]
        assert [path.rpartition("/")[2] for path in gate.paths] == ["query"]
    gate.close()


def test_an_assistant_goes_on_when_the_server_is_back(
    chroma: ChromaServer, database: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    build_index(folder, papers(3), HashingEmbedder(), server=served(chroma.url, database))
    given = {"chroma_url": chroma.url, "chroma_database": database, "reader": "none"}
    with Assistant.open(embedder=HashingEmbedder(), **given) as assistant:
        assert assistant.search("setting1 pruning")
        chroma.kill()
        with pytest.raises(StoreError, match="can't be reached"):
            assistant.search("setting1 pruning")
        chroma.start()
        assert assistant.search("setting1 pruning")
        assert assistant.remove("paper0").papers == 2
        assert [paper.id for paper in assistant.papers()] == ["paper1", "paper2"]


def test_what_is_damaged_on_the_server_is_said_and_mended(
    chroma: ChromaServer, database: str, folder: Path, other: Path, embedder: HashingEmbedder
) -> None:
    server = served(chroma.url, database)
    build_index(folder, papers(4), embedder, server=server)
    passages = next(name for name in _collections(chroma, database) if "passages" in name)
    chroma.database(database).delete(passages)
    with open_index(folder, embedder, server=server) as index:  # this machine has a copy
        assert index.search_vectors(embedder.encode_question("setting2").vector, 1)
    summary = build_index(folder, papers(4), embedder, server=server)
    assert "passages are missing on the server" in " ".join(summary.notices)
    with open_index(folder, embedder, server=server) as index:
        assert index.search_vectors(embedder.encode_question("setting2").vector, 1)
        assert index.notices == ()
    by_hand = chroma.database(database)
    by_hand.get("rag-assistant.000002").delete(ids=["1"])
    with pytest.raises(IndexDamaged, match=r"1 of its records are missing.*rag-assistant index PATH"):
        open_index(other, embedder, server=server)
    build_index(other, papers(4), embedder, server=server)
    assert _held(open_index(other, embedder, server=server)) == _names(4)


def test_a_damaged_copy_is_made_again(
    chroma: ChromaServer, database: str, folder: Path, embedder: HashingEmbedder
) -> None:
    server = served(chroma.url, database)
    build_index(folder, papers(3), embedder, server=server)
    for path in folder.glob("generations/*/papers*"):
        path.write_bytes(b"")
    assert _held(open_index(folder, embedder, server=server)) == _names(3)


def test_reading_changes_nothing_on_a_server(
    chroma: ChromaServer, database: str, folder: Path, embedder: HashingEmbedder
) -> None:
    server = served(chroma.url, database)
    with pytest.raises(IndexMissing, match="--chroma-url"):
        open_index(folder, embedder, server=server)
    assert _collections(chroma, database) == []
    build_index(folder, papers(3), embedder, server=server)
    before = _collections(chroma, database)
    with pytest.raises(IndexDamaged, match=r"made with the embedder hashing, not other.*name the embedder"):
        open_index(folder, HashingEmbedder(name="other"), server=server)
    assert _collections(chroma, database) == before


def test_what_a_server_refuses_is_one_sentence_that_names_the_fix(
    chroma: ChromaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def error(url: str, **settings: object) -> str:
        with pytest.raises(StoreError) as caught:
            Assistant.open(chroma_url=url, embedder=HashingEmbedder(), reader="none", **settings)
        told = str(caught.value)
        assert "\n" not in told
        assert "tk-" not in told
        assert "<" not in told
        return told

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    guarded, secure = Gate(chroma, token=TOKEN), Gate(chroma, token=TOKEN, tls=True)
    assert "can't be reached" in error("http://127.0.0.1:9")
    assert "has no tenant 'nobody'. (make it there, or name another: --chroma-tenant" in error(
        chroma.url, chroma_tenant="nobody"
    )
    assert "has no database 'none'. (make it there, or name another: --chroma-database" in error(
        chroma.url, chroma_database="none"
    )
    assert "wants a token. (set RAG_CHROMA_TOKEN" in error(guarded.url)
    assert "SSL_CERT_FILE" in error(secure.url)
    monkeypatch.setenv("RAG_CHROMA_TOKEN", "tk-wrong")
    assert "refuses the token. (set RAG_CHROMA_TOKEN" in error(guarded.url)
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    assert "refuses the token" in error(secure.url)
    monkeypatch.setenv("RAG_CHROMA_TOKEN", TOKEN)
    assert "There is no index" in error(secure.url)
    guarded.seconds = 5
    assert "gave no answer in 0.5 seconds" in error(guarded.url, timeout=0.5)
    for gate in (guarded, secure):
        gate.close()


def test_the_commands_use_the_server_and_hide_the_token(chroma: ChromaServer, database: str, tmp_path: Path) -> None:
    gate = Gate(chroma, token=TOKEN)
    given = {"RAG_CHROMA_URL": gate.url, "RAG_CHROMA_DATABASE": database, "RAG_CHROMA_TOKEN": TOKEN}
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(paper.to_dict()) + "\n" for paper in papers(3)))
    (tmp_path / "more.jsonl").write_text(json.dumps(papers(1, 7)[0].to_dict()) + "\n")
    told = []
    for command in (
        ["index", "papers.jsonl"],
        ["papers"],
        ["ask", "What does Tool1 improve on?", "--json", "--trace"],
        ["doctor"],
        ["config"],
        ["index", "more.jsonl", "--add"],
        ["remove", "paper0"],
    ):
        done = run_command(*command, cwd=tmp_path, XDG_DATA_HOME=str(tmp_path / command[0]), **given)
        assert done.code == 0, done.err
        told.append(done.out + done.err)
    assert gate.url in told[0]
    assert told[1].count("\n") == 3
    assert "paper1" in told[2]
    assert f"3 papers, 3 passages at {gate.url}" in told[3]
    assert "the Chroma server is on it" in told[3]
    assert "chroma_token" in told[4]
    assert "added 1: paper7\n4 papers, 4 passages, 1 embedded" in told[5]
    assert f"3 papers left: {gate.url}" in told[6]
    assert TOKEN not in "".join(told)
    gate.close()
