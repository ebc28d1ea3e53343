"""From a file's extension to the loader that reads it; a loader is a plug-in."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import cast

from rag_assistant.errors import PluginError
from rag_assistant.loaders.base import Loader

GROUP = "rag_assistant.loaders"
"""The entry-point group. An entry's name is the extension without its full stop, its value ``module:callable``."""

BUILTINS: Mapping[str, str] = MappingProxyType(
    {
        "jsonl": "rag_assistant.loaders.jsonl:load_jsonl",
        "md": "rag_assistant.loaders.record:load_record",
        "txt": "rag_assistant.loaders.text:load_text",
    }
)
"""What this package registers; repeated here so that a checkout that isn't installed works too."""


def extensions() -> tuple[str, ...]:
    """Every extension that some loader reads, sorted, each with its full stop."""
    names = {*BUILTINS, *(entry.name.lower().lstrip(".") for entry in entry_points(group=GROUP))}
    return tuple(sorted(f".{name}" for name in names))


def loader_for(extension: str) -> Loader | None:
    """The loader for an extension such as ``".jsonl"``, in any case; ``None`` where there is none.

    A built-in's extension can't be taken over by another package.

    Raises:
        PluginError: Several packages claim the extension, or its loader can't be imported.
    """
    name = extension.lower().lstrip(".")
    if name in BUILTINS:
        module, _, attribute = BUILTINS[name].partition(":")
        return cast(Loader, getattr(import_module(module), attribute))
    found = {e.value: e for e in entry_points(group=GROUP) if e.name.lower().lstrip(".") == name}
    if len(found) > 1:
        raise PluginError(
            f"Several installed packages offer a loader for .{name}: {', '.join(sorted(found))}.",
            hint="uninstall all but one",
        )
    for value, entry in found.items():
        try:
            loader = entry.load()
        except Exception as error:  # a third party's module may raise anything
            raise PluginError(f"The loader for .{name}, {value}, can't be loaded: {error}.") from error
        if not callable(loader):
            raise PluginError(f"The loader for .{name}, {value}, is not callable.")
        return cast(Loader, loader)
    return None


def supported(extension: str = "") -> str:
    """A phrase for people: what extensions can be read, the nearest to ``extension`` first."""
    known = extensions()
    close = get_close_matches(extension.lower(), known, n=1)
    return ", ".join([*close, *(name for name in known if name not in close)])
