"""From a file's extension, or a service's name, to what reads it; both are plug-ins."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Literal, cast

from rag_assistant.errors import PluginError
from rag_assistant.loaders.base import Loader, Source
from rag_assistant.plugins import BUILTINS, load_plugin, plugin_names


def extensions() -> tuple[str, ...]:
    """Every extension that some loader reads, sorted, each with its full stop."""
    return tuple(sorted(f".{extension}" for extension in _names("loader")))


def loader_for(extension: str) -> Loader | None:
    """The loader for an extension such as ``".jsonl"``, in any case; ``None`` where there is none.

    A built-in's extension can't be taken over by another package.

    Raises:
        PluginError: Several packages claim the extension, or its loader can't be imported.
    """
    return cast(Loader | None, _plugin("loader", extension.lower().lstrip(".")))


def source_for(name: str) -> Source | None:
    """What asks the service that a name such as ``arxiv:1707.08567`` begins with; ``None`` where that is none.

    Raises:
        PluginError: As for :func:`loader_for`.
    """
    scheme, colon, _ = name.partition(":")
    return cast(Source | None, _plugin("source", scheme.lower())) if colon and scheme.isalpha() else None


def _plugin(kind: Literal["loader", "source"], wanted: str) -> object:
    name = wanted if wanted in BUILTINS[kind] else _names(kind).get(wanted)
    if name is None:
        return None
    reads = load_plugin(kind, name)
    if not callable(reads):
        raise PluginError(f"The {kind} {name!r} is not callable.")
    return cast(object, reads)


def _names(kind: Literal["loader", "source"]) -> dict[str, str]:
    """The names of plug-ins by what they are looked up under."""
    return {name.lower().lstrip("."): name for name in plugin_names(kind)}


def supported(extension: str = "") -> str:
    """A phrase for people: what extensions can be read, the nearest to ``extension`` first."""
    known = extensions()
    close = get_close_matches(extension.lower(), known, n=1)
    return ", ".join([*close, *(name for name in known if name not in close)])
