"""From what a user names to an embedder."""

from __future__ import annotations

from typing import Any

from rag_assistant.embedders.base import Embedder
from rag_assistant.errors import PluginError
from rag_assistant.plugins import load_plugin


def resolve_embedder(chosen: str | object, *, model: str | None = None) -> Embedder:
    """An embedder from a name, from ``module:Class``, or from an object.

    Args:
        chosen: An entry-point name (``minilm``, ``openai``), ``module:attribute`` of a class or factory, a LlamaIndex
            ``BaseEmbedding`` or an :class:`~rag_assistant.embedders.base.Embedder`.
        model: Passed as ``model=`` to a class or factory that is named, where given.

    Raises:
        PluginError: There is no such plug-in, or it is not an embedder.
        EmbedderError: It can't be loaded.
    """
    made: Any = chosen
    if isinstance(chosen, str):
        factory = load_plugin("embedder", chosen)
        try:
            made = factory(model=model) if model else factory()
        except TypeError as error:
            raise PluginError(
                f"The embedder {chosen!r} can't be made: {error}.",
                hint="a plug-in embedder takes no required arguments, and model= where one is set",
            ) from error
    if isinstance(made, Embedder):
        return made
    if hasattr(made, "get_text_embedding_batch"):
        from rag_assistant.embedders.llamaindex import FromLlamaIndex

        return FromLlamaIndex(made)
    raise PluginError(
        f"{chosen!r} is no embedder.", hint="give a LlamaIndex BaseEmbedding or an object with the Embedder methods"
    )
