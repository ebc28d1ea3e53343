"""From a file's extension, or a service's name, to what reads it; both are plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import cast

from rag_assistant.errors import PluginError
from rag_assistant.loaders.base import Loader, Source

GROUP = "rag_assistant.loaders"
"""The entry-point group. An entry's name is the extension without its full stop, its value ``module:callable``."""
SOURCE_GROUP = "rag_assistant.sources"
"""The same for services: an entry's name is what stands before the colon, as in ``arxiv:1707.08567``."""

BUILTINS: Mapping[str, str] = MappingProxyType(
    {
        "jsonl": "rag_assistant.loaders.jsonl:load_jsonl",
        "md": "rag_assistant.loaders.record:load_record",
        "pdf": "rag_assistant.loaders.pdf:load_pdf",
        "sqlite": "rag_assistant.loaders.zotero:load_zotero",
        "txt": "rag_assistant.loaders.text:load_text",
    }
)
"""What this package registers; repeated here so that a checkout that isn't installed works too."""
SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "arxiv": "rag_assistant.loaders.arxiv:fetch_arxiv",
        "doi": "rag_assistant.loaders.doi:fetch_doi",
        "openreview": "rag_assistant.loaders.openreview:fetch_openreview",
    }
)
"""The same for services."""


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
    return cast(Loader | None, _plugin(GROUP, BUILTINS, name, f"loader for .{name}"))


def source_for(name: str) -> Source | None:
    """What asks the service that a name such as ``arxiv:1707.08567`` begins with; ``None`` where that is none.

    Raises:
        PluginError: As for :func:`loader_for`.
    """
    scheme, colon, _ = name.partition(":")
    if not colon or not scheme.isalpha():
        return None
    scheme = scheme.lower()
    return cast(Source | None, _plugin(SOURCE_GROUP, SOURCES, scheme, f"source for {scheme}:"))


def _plugin(group: str, builtins: Mapping[str, str], name: str, what: str) -> object:
    if name in builtins:
        module, _, attribute = builtins[name].partition(":")
        return getattr(import_module(module), attribute)
    found = {e.value: e for e in entry_points(group=group) if e.name.lower().lstrip(".") == name}
    if len(found) > 1:
        raise PluginError(
            f"Several installed packages offer a {what}: {', '.join(sorted(found))}.",
            hint="uninstall all but one",
        )
    for value, entry in found.items():
        try:
            loader = entry.load()
        except Exception as error:  # a third party's module may raise anything
            raise PluginError(f"The {what}, {value}, can't be loaded: {error}.") from error
        if not callable(loader):
            raise PluginError(f"The {what}, {value}, is not callable.")
        return loader
    return None


def supported(extension: str = "") -> str:
    """A phrase for people: what extensions can be read, the nearest to ``extension`` first."""
    known = extensions()
    close = get_close_matches(extension.lower(), known, n=1)
    return ", ".join([*close, *(name for name in known if name not in close)])
