"""From what a user names to a further check."""

from __future__ import annotations

from typing import Any

from rag_assistant.checks.base import Check
from rag_assistant.errors import PluginError
from rag_assistant.plugins import load_plugin, parameters_of
from rag_assistant.settings import Settings
from rag_assistant.writers.base import Backend


def resolve_check(chosen: str | object, settings: Settings, backend: Backend) -> Check:
    """A check from a name, from ``module:Class``, or from an object.

    A class or factory is given ``settings`` and ``backend`` if it has parameters of these names.

    Raises:
        PluginError: There is no such plug-in, it isn't a check, or it can't work with this backend.
    """
    made: Any = chosen
    if isinstance(chosen, str):
        factory = load_plugin("check", chosen)
        taken = parameters_of(factory)
        given = {"settings": settings, "backend": backend}
        made = factory(**{name: value for name, value in given.items() if name in taken})
    if not isinstance(made, Check):
        raise PluginError(
            f"{chosen!r} is no check.", hint="give a name, module:Class or an object with name and check()"
        )
    return made
