"""From what a user names to an embedder."""

from __future__ import annotations

from typing import Any

from rag_assistant.embedders.base import Embedder
from rag_assistant.errors import PluginError, RagError
from rag_assistant.plugins import load_plugin, parameters_of


def resolve_embedder(chosen: str | object, *, model: str | None = None) -> Embedder:
    """An embedder from a name, from ``module:Class``, or from an object.

    Args:
        chosen: An entry-point name (``minilm``, ``openai``), ``module:attribute`` of a class or factory, a LlamaIndex
            ``BaseEmbedding`` or an :class:`~rag_assistant.embedders.base.Embedder`.
        model: Which of its models a class or factory that is named is to use; passed as ``model=`` or ``model_name=``,
            as it takes it.

    Raises:
        PluginError: There is no such plug-in, it is not an embedder, or it doesn't offer several models.
        EmbedderError: It can't be loaded.
    """
    made: Any = chosen
    if isinstance(chosen, str):
        factory = load_plugin("embedder", chosen)
        taken = [name for name in ("model", "model_name") if name in parameters_of(factory)]
        if model and not taken:
            raise PluginError(
                f"The embedder {chosen!r} doesn't let its model be chosen, and embedder_model is {model!r}.",
                hint="leave out --embedder-model (RAG_EMBEDDER_MODEL), or choose another --embedder",
            )
        try:
            made = factory(**{taken[0]: model}) if model else factory()
        except RagError:
            raise
        except Exception as error:  # a third party's class may raise anything
            named = f", and has a model {model!r}" if model else ""
            raise PluginError(
                f"The embedder {chosen!r} can't be made: {error}.", hint=f"check that it needs no arguments{named}"
            ) from error
    if isinstance(made, Embedder):
        return made
    if hasattr(made, "get_text_embedding_batch"):
        from rag_assistant.embedders.llamaindex import FromLlamaIndex

        return FromLlamaIndex(made, named=model if isinstance(chosen, str) else None)
    raise PluginError(
        f"{chosen!r} is no embedder.", hint="give a LlamaIndex BaseEmbedding or an object with the Embedder methods"
    )
