"""From what a user names to a writer, or to a chat model with the writer that calls it."""

from __future__ import annotations

from typing import Any

from rag_assistant.errors import PluginError
from rag_assistant.plugins import load_plugin, parameters_of
from rag_assistant.settings import Settings
from rag_assistant.writers.base import Backend


def resolve_backend(chosen: str | object, settings: Settings) -> Backend:
    """A writer from a name, from ``module:Class``, or from an object.

    A class or factory is given ``settings`` if it has a parameter of that name. A
    :class:`~rag_assistant.models.base.ChatModel`, a LlamaIndex ``LLM`` or an LLM class writes through
    :class:`~rag_assistant.writers.generative.GenerativeWriter`.

    Raises:
        PluginError: There is no such plug-in, or it isn't a backend.
        BackendError, SettingsError: The backend can't be used with these settings.
    """
    made: Any = chosen
    if isinstance(chosen, str):
        factory = load_plugin("backend", chosen)
        given = {"settings": settings} if "settings" in parameters_of(factory) else {}
        made = factory if _is_llm(factory) else factory(**given)
    if _is_llm(made):
        from rag_assistant.models.llamaindex import LlamaIndexModel

        made = LlamaIndexModel(made, settings=settings)
    if hasattr(made, "deltas"):
        from rag_assistant.writers.generative import GenerativeWriter

        made = GenerativeWriter(made, settings.prompts)
    if not isinstance(made, Backend):
        raise PluginError(
            f"{chosen!r} is no backend.",
            hint="give a name, module:Class, a LlamaIndex LLM or an object with stream() or deltas()",
        )
    return made


def _is_llm(made: object) -> bool:
    return hasattr(made, "stream_chat") and hasattr(made, "astream_chat")
