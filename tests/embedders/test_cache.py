from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index.hashing import HashingEmbedder

from rag_assistant.embedders.base import Encoded, WordVectors
from rag_assistant.embedders.cache import CachingEncoder, VectorCache

_EMBEDDER = HashingEmbedder()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.sqlite"


def _filled(path: Path, texts: list[str]) -> None:
    cache = VectorCache(path)
    cache.put("f", [(text, _EMBEDDER.encode_question(text)) for text in texts])
    assert len(cache.get("f", texts, words=True)) == len(texts)
    cache.close()


def _same(one: Encoded, other: Encoded) -> bool:
    return (
        np.array_equal(one.vector, other.vector)
        and one.truncated == other.truncated
        and (one.words is None) == (other.words is None)
        and (
            one.words is None
            or other.words is None
            or (
                np.array_equal(one.words.spans, other.words.spans)
                and np.array_equal(one.words.vectors, other.words.vectors)
            )
        )
    )


@given(st.lists(st.text(max_size=20), max_size=8), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=40)
def test_what_is_put_is_got(tmp_path_factory: pytest.TempPathFactory, texts: list[str], words: bool, cut: bool) -> None:
    path = tmp_path_factory.mktemp("cache") / "vectors.sqlite"
    put = {}
    for text in texts:
        made = _EMBEDDER.encode_question(text)
        put[text] = Encoded(made.vector, made.words if words else None, cut)
    cache = VectorCache(path)
    cache.put("one", put.items())
    cache.close()
    cache = VectorCache(path)
    got = cache.get("one", [*texts, "absent!"], words=words)
    assert set(got) == set(texts)
    assert all(_same(got[text], put[text]) for text in texts)
    assert cache.get("other", texts) == {}
    assert cache.notices == []
    cache.close()


def test_vectors_alone_don_t_do_where_words_are_asked_for(path: Path) -> None:
    cache = VectorCache(path)
    full = _EMBEDDER.encode_question("a text")
    cache.put("f", [("a text", Encoded(full.vector))])
    assert cache.get("f", ["a text"], words=True) == {}
    assert cache.get("f", ["a text"])["a text"].words is None
    cache.put("f", [("a text", full)])
    assert _same(cache.get("f", ["a text"], words=True)["a text"], full)
    assert cache.get("f", ["a text"])["a text"].words is None
    cache.close()


def test_many_texts_at_once(path: Path) -> None:
    texts = [f"text {n}" for n in range(2500)]
    _filled(path, texts)


@pytest.mark.parametrize("column", ["vector", "words", "truncated", "crc", "text", "model"])
def test_a_row_with_wrong_bytes_counts_as_missing(path: Path, column: str) -> None:
    _filled(path, ["one", "two"])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for value in (b"\1" * 192, None, "text", 7, -1.5, b""):
            try:
                connection.execute(f"UPDATE encoded SET {column} = ? WHERE id = 1", (value,))
            except sqlite3.IntegrityError:
                continue
            cache = VectorCache(path)
            got = cache.get("f", ["one", "two"], words=True)
            assert set(got) == {"two"}, value
            cache.close()


@pytest.mark.parametrize("damage", ["empty", "zeros", "random", "header", "half", "text", "other layout", "no table"])
def test_a_damaged_file_is_set_aside_or_gone_through(path: Path, damage: str) -> None:
    texts = [f"text {n}" for n in range(300)]
    _filled(path, texts)
    size = path.stat().st_size
    if damage in ("other layout", "no table"):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 77" if damage == "other layout" else "DROP TABLE encoded")
    else:
        content = {
            "empty": b"",
            "zeros": bytes(size),
            "random": np.random.default_rng(0).bytes(size),
            "header": np.random.default_rng(0).bytes(100) + path.read_bytes()[100:],
            "half": path.read_bytes()[: size // 2],
            "text": b"not a database at all",
        }[damage]
        path.write_bytes(content)
    cache = VectorCache(path)
    encoder = CachingEncoder(_EMBEDDER, cache)
    assert all(
        _same(value, _EMBEDDER.encode_question(text)) for text, value in encoder.encode(texts, words=True).items()
    )
    cache.put("f", [("new", _EMBEDDER.encode_question("new"))])
    assert set(cache.get("f", ["new"])) == {"new"}
    if damage != "empty":
        assert any("set aside" in notice for notice in cache.notices), cache.notices
        assert path.with_name("vectors.sqlite.damaged").exists()
    cache.close()
    again = VectorCache(path)
    assert set(again.get("f", ["new"])) == {"new"}
    assert again.notices == []
    again.close()


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_random_bytes_anywhere_never_give_a_wrong_vector(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cache") / "vectors.sqlite"
    texts = [f"text {n}" for n in range(60)]
    _filled(path, texts)
    content = bytearray(path.read_bytes())
    start = data.draw(st.integers(0, len(content) - 1))
    wrong = data.draw(st.binary(min_size=1, max_size=300))
    content[start : start + len(wrong)] = wrong
    path.write_bytes(content)
    cache = VectorCache(path)
    for text, value in cache.get("f", texts, words=True).items():
        assert _same(value, _EMBEDDER.encode_question(text))
    cache.put("f", [("new", _EMBEDDER.encode_question("new"))])
    for text, value in CachingEncoder(_EMBEDDER, cache).encode(texts).items():
        assert np.array_equal(value.vector, _EMBEDDER.encode_question(text).vector)
    cache.close()


def test_a_file_that_is_locked_is_done_without(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _filled(path, ["one"])
    monkeypatch.setattr("rag_assistant.embedders.cache._BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        cache = VectorCache(path)
        encoded = CachingEncoder(_EMBEDDER, cache).encode(["one"])
        assert np.array_equal(encoded["one"].vector, _EMBEDDER.encode_question("one").vector)
        assert "can't be used now" in cache.notices[0]
        other.execute("ROLLBACK")
    cache.close()
    assert not path.with_name("vectors.sqlite.damaged").exists()
    cache = VectorCache(path)
    assert set(cache.get("f", ["one"])) == {"one"}
    cache.close()


def test_a_place_that_can_t_be_written_is_done_without(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "absent" / "vectors.sqlite")
    assert len(cache.notices) == 1
    cache.put("f", [("one", _EMBEDDER.encode_question("one"))])
    assert cache.get("f", ["one"]) == {}
    cache.close()


def test_read_only_writes_nothing(path: Path) -> None:
    nothing = VectorCache(path, read_only=True)
    assert nothing.get("f", ["one"]) == {}
    nothing.close()
    assert not path.exists()
    _filled(path, ["one"])
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    cache = VectorCache(path, read_only=True)
    cache.put("f", [("two", _EMBEDDER.encode_question("two"))])
    assert set(cache.get("f", ["one", "two"])) == {"one"}
    cache.close()
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
    path.write_bytes(b"not a database, but long enough to look at" * 40)
    cache = VectorCache(path, read_only=True)
    assert cache.get("f", ["one"]) == {}
    assert len(cache.notices) == 1
    cache.close()
    assert path.exists()


def test_only_what_is_missing_is_encoded(path: Path) -> None:
    embedder = HashingEmbedder()
    cache = VectorCache(path)
    encoder = CachingEncoder(embedder, cache)
    texts = [f"text {n}" for n in range(70)]
    encoder.encode(texts[:30])
    embedder.calls.clear()
    counts = list(encoder.fill([*texts, *texts[:5]]))
    assert embedder.calls == texts[30:]
    assert encoder.encoded == 70
    assert counts[-1] == 75
    assert counts == sorted(counts)
    cache.close()


def test_threads_share_a_cache(path: Path) -> None:
    cache = VectorCache(path)
    encoder = CachingEncoder(_EMBEDDER, cache)
    wrong: list[str] = []

    def work(offset: int) -> None:
        for n in range(20):
            text = f"text {(n + offset) % 30}"
            if not _same(encoder.encode([text], words=True)[text], _EMBEDDER.encode_question(text)):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(n * 3,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert cache.notices == []
    cache.close()


def test_a_process_killed_while_it_writes_leaves_whole_rows(path: Path) -> None:
    code = """
import sys
from pathlib import Path
from index.hashing import HashingEmbedder
from rag_assistant.embedders.cache import VectorCache
cache, embedder = VectorCache(Path(sys.argv[1])), HashingEmbedder()
for start in range(0, 10**6, 8):
    cache.put("f", [(f"text {n}", embedder.encode_question(f"text {n}")) for n in range(start, start + 8)])
    print(start, flush=True)
"""
    tests = Path(__file__).parents[1]
    path_of = os.pathsep.join([str(tests), str(tests.parent)])
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path_of},
    ) as writer:
        assert writer.stdout is not None
        for _ in range(15):
            last = int(writer.stdout.readline())
        writer.kill()
    cache = VectorCache(path)
    got = cache.get("f", [f"text {n}" for n in range(last + 8)], words=True)
    assert len(got) == last + 8
    assert all(_same(value, _EMBEDDER.encode_question(text)) for text, value in got.items())
    assert cache.notices == []
    cache.close()


def test_word_vectors_of_no_words(path: Path) -> None:
    empty = WordVectors(np.zeros((0, 2), np.int32), np.zeros((0, 48), np.int8))
    cache = VectorCache(path)
    cache.put("f", [("", Encoded(np.ones(48, np.float32), empty))])
    got = cache.get("f", [""], words=True)[""]
    assert got.words is not None
    assert got.words.vectors.shape == (0, 48)
    cache.close()
