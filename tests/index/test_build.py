from __future__ import annotations

import dataclasses
import gc
import os
import subprocess
from pathlib import Path

import pytest

from rag_assistant.errors import EmbedderError, IndexMissing, InputError, StoreError
from rag_assistant.index.build import build_index, preview, remove
from rag_assistant.index.manifest import what_differs
from rag_assistant.index.open import open_index
from rag_assistant.types import Paper

from .hashing import HashingEmbedder, papers
from .processes import run


def _generations(folder: Path) -> list[str]:
    return sorted(entry.name for entry in (folder / "generations").iterdir())


def test_the_same_papers_again_change_nothing_on_disk(folder: Path, embedder: HashingEmbedder) -> None:
    first = build_index(folder, papers(5), embedder)
    assert (len(first.added), first.papers, first.passages, first.embedded) == (5, 5, 5, 5)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    embedder.calls.clear()
    again = build_index(folder, reversed(papers(5)), embedder)
    assert (again.added, again.changed, again.removed, again.embedded) == ((), (), (), 0)
    assert set(again.unchanged) == {f"paper{n}" for n in range(5)}
    assert (again.papers, again.passages) == (5, 5)
    assert embedder.calls == []
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert {p: t for p, t in after.items() if p.name != "write.lock"} == {
        p: t for p, t in before.items() if p.name != "write.lock"
    }


def test_the_summary_says_what_changed_and_only_that_is_embedded(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(6), embedder)
    embedder.calls.clear()
    wanted = [*papers(3), *papers(1, 3, "new"), *papers(2, 10)]
    foreseen = preview(folder, wanted, embedder)
    assert embedder.calls == []
    done = build_index(folder, wanted, embedder)
    assert done.added == ("paper10", "paper11")
    assert done.changed == ("paper3",)
    assert done.unchanged == ("paper0", "paper1", "paper2")
    assert done.removed == ("paper4", "paper5")
    assert (done.papers, done.passages, done.embedded) == (6, 6, 3)
    texts = " ".join(embedder.calls)
    assert "setting10" in texts
    assert "Tool3new" in texts
    assert "setting0." not in texts
    for name in ("added", "changed", "unchanged", "removed", "papers", "passages", "path"):
        assert getattr(foreseen, name) == getattr(done, name)
    with open_index(folder, embedder) as index:
        assert list(index.papers.values()) == wanted


def test_adding_keeps_what_is_there(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(4), embedder)
    more = [*papers(1, 2, "new"), *papers(2, 8)]
    assert preview(folder, more, embedder, add=True).papers == 6
    done = build_index(folder, more, embedder, add=True)
    assert (done.added, done.changed, done.removed) == (("paper8", "paper9"), ("paper2",), ())
    with open_index(folder, embedder) as index:
        assert list(index.papers) == ["paper0", "paper1", "paper2", "paper3", "paper8", "paper9"]
        assert index.papers["paper2"] == more[0]


def test_adding_to_nothing_makes_an_index(folder: Path, embedder: HashingEmbedder) -> None:
    assert build_index(folder, papers(2), embedder, add=True).added == ("paper0", "paper1")


def test_a_change_that_no_passage_shows_is_a_change(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(3), embedder)
    renamed = [dataclasses.replace(papers(1)[0], links={"pdf": "https://example.org/other.pdf"}), *papers(2, 1)]
    done = build_index(folder, renamed, embedder)
    assert (done.changed, done.embedded) == (("paper0",), 0)
    with open_index(folder, embedder) as index:
        assert index.papers["paper0"].links == {"pdf": "https://example.org/other.pdf"}


def test_removing(folder: Path, embedder: HashingEmbedder) -> None:
    with pytest.raises(IndexMissing, match="rag-assistant index"):
        remove(folder, ["paper1"], embedder)
    build_index(folder, papers(4), embedder)
    done = remove(folder, ["paper1", "paper3", "paper1"], embedder)
    assert (done.removed, done.unchanged, done.embedded) == (("paper1", "paper3"), ("paper0", "paper2"), 0)
    with pytest.raises(InputError, match="no paper paper1, other"):
        remove(folder, ["paper0", "paper1", "other"], embedder)
    with pytest.raises(InputError, match="empty"):
        remove(folder, ["paper0", "paper2"], embedder)
    with open_index(folder, embedder) as index:
        assert list(index.papers) == ["paper0", "paper2"]


def test_no_papers_are_no_index(folder: Path, embedder: HashingEmbedder) -> None:
    with pytest.raises(InputError, match="no papers"):
        build_index(folder, [], embedder)
    assert not folder.exists()


def test_a_single_paper_is_an_index_too(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(1), embedder)
    with open_index(folder, embedder) as index:
        ((window, cosine),) = index.search_vectors(index.encoded_windows("paper0")[0].vector, 5)
        assert (window.paper_id, round(cosine, 4)) == ("paper0", 1.0)


def test_papers_come_back_as_they_were_given(folder: Path, embedder: HashingEmbedder) -> None:
    odd = [
        Paper("a:1-2", "\u2028 title", "One\u2028line. Two \ud800 halves.\r\nThree \x00 ends.", title_derived=True),
        Paper("b/..\\c", "", "α $x_1$ 日本語.", ("Å B",), 1999, "V", "u", "10.1/x", {"k": "v"}, False, "file:3"),
        Paper("empty", "Only a title", ""),
    ]
    done = build_index(folder, odd, embedder)
    assert done.problems == ()
    with open_index(folder, embedder) as index:
        assert list(index.papers.values()) == odd
        assert index.papers["b/..\\c"].source == "file:3"
        assert index.sentences("empty") == ()
        assert {window.paper_id for window, _ in index.search_vectors(index.encoded_windows("a:1-2")[0].vector, 9)} == {
            "a:1-2",
            "b/..\\c",
        }


def test_a_sentence_beyond_what_the_embedder_reads_is_told(folder: Path, embedder: HashingEmbedder) -> None:
    long = Paper("long", "", f"We list {'many words ' * 50}here. Short end.")
    done = build_index(folder, [long, *papers(1)], embedder)
    assert len(done.problems) == 1
    assert done.problems[0].startswith("long: a sentence is longer")


def test_an_embedder_that_fails_leaves_the_index_as_it_was(folder: Path, embedder: HashingEmbedder) -> None:
    class Failing(HashingEmbedder):
        def encode_passages(self, texts: list[str]) -> list[object]:  # type: ignore[override]
            raise EmbedderError("no")

    build_index(folder, papers(3), embedder)
    before = _generations(folder)
    with pytest.raises(EmbedderError):
        build_index(folder, papers(5), Failing())
    assert _generations(folder) == before
    with open_index(folder, embedder) as index:
        assert (len(index.papers), index.notices) == (3, ())


def test_a_file_where_the_folder_should_be_is_told(folder: Path, embedder: HashingEmbedder) -> None:
    folder.write_text("")
    with pytest.raises(StoreError, match="is a file"):
        build_index(folder, papers(2), embedder)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="mounts a small file system")
def test_a_full_disk_is_told_and_leaves_the_old_index(tmp_path: Path, embedder: HashingEmbedder) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "none", small], capture_output=True, check=False
    ).returncode:
        pytest.skip("may not mount here")
    try:
        build_index(small / "index", papers(5), embedder)
        with pytest.raises(StoreError) as caught:
            build_index(small / "index", papers(3000), embedder)
        assert caught.value.hint
        with open_index(small / "index", embedder) as index:
            assert (len(index.papers), index.notices) == (5, ())
            assert index.search_vectors(index.encoded_windows("paper3")[0].vector, 1)[0][0].paper_id == "paper3"
    finally:
        gc.collect()
        subprocess.run(["umount", "-l", small], check=True)


def test_readers_change_no_byte(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(40), embedder)
    with open_index(folder, embedder) as index:
        assert index.manifest is not None
        files, generation = index.manifest.files, folder / "generations" / index.manifest.generation
    assert {record.path.split("/")[0] for record in files} == {
        "chroma",
        "lexical",
        "papers.jsonl",
        "papers.jsonl.gz",
        "passages.json",
        "vectors.npy",
    }
    code = """
import sys
from index.hashing import HashingEmbedder
from rag_assistant.index.open import open_index
embedder = HashingEmbedder()
with open_index(sys.argv[1], embedder) as index:
    found = index.search_vectors(embedder.encode_question("setting7 Tool7 Tool7 setting7").vector, 3)
    print(found[0][0].paper_id, index.notices)
"""
    for _ in range(3):
        assert run(code, folder) == "paper7 ()\n"
    assert what_differs(generation, files) == ""
    assert list((generation / "readers").iterdir()) == []


def test_llamaindex_opens_the_same_store(folder: Path, embedder: HashingEmbedder) -> None:
    build_index(folder, papers(12), embedder)
    code = """
import sys, chromadb
from pathlib import Path
from llama_index.core import VectorStoreIndex
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.vector_stores.chroma import ChromaVectorStore
from rag_assistant.embedders.llamaindex import AsLlamaIndex
from index.hashing import HashingEmbedder
(store,) = Path(sys.argv[1]).glob("generations/*/chroma")
collection = chromadb.PersistentClient(str(store)).get_collection("passages", embedding_function=None)
index = VectorStoreIndex.from_vector_store(ChromaVectorStore(collection), embed_model=AsLlamaIndex(HashingEmbedder()))
(found,) = index.as_retriever(similarity_top_k=1).retrieve("setting5 Tool5 setting5")
print(found.node.node_id, found.node.ref_doc_id, found.node.metadata["title"], found.node.metadata["start"])
print(found.node.text)
only = MetadataFilters(filters=[MetadataFilter(key="paper_id", value="paper2")])
print([n.node.ref_doc_id for n in index.as_retriever(similarity_top_k=5, filters=only).retrieve("Tool5")])
"""
    it = papers(12)[5]
    first, text, filtered = run(code, folder).splitlines()
    assert first == f"paper5:0-{len(it.abstract)} paper5 {it.title} 0"
    assert text == it.abstract
    assert filtered == "['paper2']"


def test_somebody_s_chroma_settings_change_nothing_or_are_told(folder: Path) -> None:
    code = """
import os, sys
os.chdir(sys.argv[2])
from index.hashing import HashingEmbedder, papers
from rag_assistant.errors import StoreError
from rag_assistant.index.build import build_index
from rag_assistant.index.open import open_index
embedder = HashingEmbedder()
try:
    build_index(sys.argv[1], papers(4), embedder)
except StoreError as error:
    print(error.message[:23], bool(error.hint))
else:
    with open_index(sys.argv[1], embedder) as index:
        print(len(index.search_vectors(embedder.encode_question("x").vector, 3)), index.notices)
"""
    env = folder.parent / ".env"
    env.write_text(
        "FOO=bar\nCHROMA_SERVER_HOST=192.0.2.1\nCHROMA_API_IMPL=chromadb.api.fastapi.FastAPI\nALLOW_RESET=1\n"
    )
    assert run(code, folder, folder.parent) == "3 ()\n"
    env.write_text("IS_PERSISTENT=perhaps\n")
    assert run(code, folder.parent / "other", folder.parent) == "Chroma can't be loaded: True\n"
