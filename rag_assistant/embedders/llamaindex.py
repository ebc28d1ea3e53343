"""The edge to LlamaIndex: a ``BaseEmbedding`` serves as an embedder here, and an embedder as a ``BaseEmbedding``."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from rag_assistant.embedders.base import Embedder, Encoded
from rag_assistant.errors import EmbedderError

_SECRET = ("key", "token", "secret", "password", "headers", "client", "callback")
_CHARACTERS_PER_TOKEN = 3
_DEFAULT_MAX_TOKENS = 512


class FromLlamaIndex:
    """A LlamaIndex embedding model as an :class:`~rag_assistant.embedders.base.Embedder`, without word vectors.

    The fingerprint is made from its class, its serialisable settings, secrets left out, and ``named``, the model that
    was asked for, which it may keep to itself. Tokens are estimated at three characters each; ``max_tokens`` says how
    long a window may get.
    """

    has_words = False

    def __init__(
        self,
        model: BaseEmbedding,
        *,
        named: str | None = None,
        max_tokens: int = _DEFAULT_MAX_TOKENS,
        hint: str = "",
    ) -> None:
        self._model = model
        self._hint = hint
        self._dimension: int | None = None
        self.name = f"{type(model).__module__}:{type(model).__qualname__}"
        self.max_tokens = max_tokens
        settings = {k: v for k, v in model.to_dict().items() if not any(word in k.lower() for word in _SECRET)}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:16]
        model_names = dict.fromkeys((model.model_name, named or model.model_name))
        self.fingerprint = ":".join((self.name, *model_names, digest))

    @property
    def dimension(self) -> int:
        """Length of a vector; found by embedding a word once."""
        if self._dimension is None:
            self._dimension = len(self.encode_question("dimension").vector)
        return self._dimension

    def count_tokens(self, text: str) -> int:
        """An estimate: the model's own tokenizer isn't part of LlamaIndex's contract."""
        return len(text) // _CHARACTERS_PER_TOKEN + 1

    def encode_passages(self, texts: list[str]) -> list[Encoded]:
        """One vector a text, normalised, in LlamaIndex's own batches."""
        return [_encoded(vector) for vector in self._call(self._model.get_text_embedding_batch, texts)]

    def encode_question(self, text: str) -> Encoded:
        """The model's query embedding, normalised."""
        return _encoded(self._call(self._model.get_query_embedding, text))

    def _call(self, function: Any, argument: Any) -> Any:
        try:
            return function(argument)
        except Exception as error:  # whatever the third-party model raises
            hint = self._hint or "check the model's own settings, or use the default: --embedder minilm"
            raise EmbedderError(f"The embedder {self.name} failed: {error}.", hint=hint) from error


def _encoded(vector: list[float]) -> Encoded:
    import numpy as np

    array = np.asarray(vector, dtype=np.float32)
    norm = float(np.linalg.norm(array))
    if array.ndim != 1 or not array.size or not np.isfinite(norm):
        raise EmbedderError("The embedder returned something that isn't a finite vector.", hint="check the model")
    return Encoded(array / max(norm, 1e-12))


class AsLlamaIndex(BaseEmbedding):  # type: ignore[misc]
    """An embedder of this package, MiniLM for one, as a LlamaIndex ``BaseEmbedding``."""

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder, **kwargs: Any) -> None:
        super().__init__(model_name=embedder.name, **kwargs)
        self._embedder = embedder

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex serialises this class under."""
        return "RagAssistantEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(value) for value in self._embedder.encode_question(query).vector]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [[float(value) for value in e.vector] for e in self._embedder.encode_passages(texts)]
