"""OpenAI's embeddings, through LlamaIndex's integration. Texts leave the machine when this is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rag_assistant.errors import EmbedderError

if TYPE_CHECKING:
    from rag_assistant.embedders.llamaindex import FromLlamaIndex

DEFAULT_MODEL = "text-embedding-3-small"
_MAX_TOKENS = 8191


def openai_embedding(model: str | None = None) -> FromLlamaIndex:
    """OpenAI's embedding model ``model``, by default ``text-embedding-3-small``.

    The key comes from ``OPENAI_API_KEY``, another server from ``OPENAI_BASE_URL``.

    Raises:
        EmbedderError: There is no key.
    """
    key = os.environ.get("OPENAI_API_KEY")
    if not key:
        raise EmbedderError(
            "The openai embedder needs a key and OPENAI_API_KEY is not set.",
            hint="set it, or use the default that needs none: --embedder minilm",
        )
    from llama_index.embeddings.openai import OpenAIEmbedding

    from rag_assistant.embedders.llamaindex import FromLlamaIndex

    name = model or DEFAULT_MODEL
    base = os.environ.get("OPENAI_BASE_URL")
    wrapped = FromLlamaIndex(
        OpenAIEmbedding(model_name=name, api_key=key, api_base=base),  # as model= it must be one of OpenAI's
        max_tokens=_MAX_TOKENS,
        hint="check OPENAI_API_KEY and the network, or use the default: --embedder minilm",
    )
    wrapped.name = "openai"
    return wrapped
