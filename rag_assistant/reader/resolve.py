"""From what a user names to a reader."""

from __future__ import annotations

from typing import Any

from rag_assistant.errors import PluginError
from rag_assistant.reader.base import Reader

NONE = "none"
"""The name that stands for no reader at all."""


def resolve_reader(chosen: str | object, load: Any) -> Reader | None:
    """A reader from a name, from ``module:Class``, or from an object; ``None`` for ``none``.

    Args:
        chosen: What was named.
        load: Gives the class or factory of a name; called without arguments it makes the reader.

    Raises:
        PluginError: There is no such plug-in, or it is no reader.
    """
    if chosen == NONE:
        return None
    made: Any = load("reader", chosen)() if isinstance(chosen, str) else chosen
    if not isinstance(made, Reader):
        raise PluginError(
            f"{chosen!r} is no reader.", hint="give none, a name, module:Class or an object with read() and judge()"
        )
    return made
