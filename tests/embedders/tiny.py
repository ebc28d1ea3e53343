"""A LlamaIndex embedding model without weights, named in tests as ``embedders.tiny:Tiny``."""

from __future__ import annotations

import hashlib
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding


class Tiny(BaseEmbedding):  # type: ignore[misc]
    """Counts of hashed words, not normalised."""

    def __init__(self, dimension: int = 256, **kwargs: Any) -> None:
        super().__init__(model_name=f"tiny-{dimension}", **kwargs)
        self._dimension = dimension

    @classmethod
    def class_name(cls) -> str:
        return "Tiny"

    def _get_text_embedding(self, text: str) -> list[float]:
        vector = [0.0] * self._dimension
        vector[0] = 0.5
        for word in text.lower().split():
            digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
            vector[digest[0] % self._dimension] += 1.0 + digest[1] / 256
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class Failing(Tiny):
    """Answers nothing."""

    def _get_text_embedding(self, text: str) -> list[float]:
        raise ConnectionError("no server")


class Infinite(Tiny):
    """Returns what isn't a vector."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float("inf")] * 4


def needs_an_argument(path: str) -> Tiny:
    return Tiny(len(path))


class Several(Tiny):
    """One of several models, which it keeps to itself."""

    def __init__(self, model_name: str = "first", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._salt = model_name

    def _get_text_embedding(self, text: str) -> list[float]:
        return super()._get_text_embedding(f"{self._salt} " * 3 + text)


def no_such_model(model: str = "") -> Tiny:
    raise ValueError(f"no model {model}")


NOT_AN_EMBEDDER = list
