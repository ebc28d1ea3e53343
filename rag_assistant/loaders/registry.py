"""From a file's extension to the loader that reads it; a loader is a plug-in."""

from __future__ import annotations

from difflib import get_close_matches
from typing import cast

from rag_assistant.errors import PluginError
from rag_assistant.loaders.base import Loader
from rag_assistant.plugins import BUILTINS, load_plugin, plugin_names


def extensions() -> tuple[str, ...]:
    """Every extension that some loader reads, sorted, each with its full stop."""
    return tuple(sorted(f".{extension}" for extension in _names()))


def loader_for(extension: str) -> Loader | None:
    """The loader for an extension such as ``".jsonl"``, in any case; ``None`` where there is none.

    A built-in's extension can't be taken over by another package.

    Raises:
        PluginError: Several packages claim the extension, or its loader can't be imported.
    """
    wanted = extension.lower().lstrip(".")
    name = wanted if wanted in BUILTINS["loader"] else _names().get(wanted)
    if name is None:
        return None
    loader = load_plugin("loader", name)
    if not callable(loader):
        raise PluginError(f"The loader {name!r} is not callable.")
    return cast(Loader, loader)


def _names() -> dict[str, str]:
    """The names of loaders by extension."""
    return {name.lower().lstrip("."): name for name in plugin_names("loader")}


def supported(extension: str = "") -> str:
    """A phrase for people: what extensions can be read, the nearest to ``extension`` first."""
    known = extensions()
    close = get_close_matches(extension.lower(), known, n=1)
    return ", ".join([*close, *(name for name in known if name not in close)])
