"""From a file's content or extension, or a service's name, to what reads it; both are plug-ins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import cast

from rag_assistant.errors import PluginError
from rag_assistant.loaders.base import Form, Loader, Source, read_head

GROUP = "rag_assistant.loaders"
"""The entry-point group. An entry's name is the extension without its full stop, or any name where its value,
``module:callable``, is a :class:`Form`, which says its extensions itself."""
SOURCE_GROUP = "rag_assistant.sources"
"""The same for services: an entry's name is what stands before the colon, as in ``arxiv:1707.08567``."""

BUILTINS: Mapping[str, str] = MappingProxyType(
    {
        "jsonl": "rag_assistant.loaders.jsonl:JSONL",
        "json": "rag_assistant.loaders.json_records:JSON",
        "ris": "rag_assistant.loaders.ris:RIS",
        "nbib": "rag_assistant.loaders.medline:MEDLINE",
        "ciw": "rag_assistant.loaders.web_of_science:WEB_OF_SCIENCE",
        "refworks": "rag_assistant.loaders.refworks:REFWORKS",
        "enw": "rag_assistant.loaders.endnote:ENDNOTE",
        "bib": "rag_assistant.loaders.bibtex:BIBTEX",
        "pubmed": "rag_assistant.loaders.pubmed:PUBMED",
        "endnote": "rag_assistant.loaders.endnote_xml:ENDNOTE_XML",
        "atom": "rag_assistant.loaders.atom:ATOM",
        "tei": "rag_assistant.loaders.tei:TEI",
        "csv": "rag_assistant.loaders.table:TABLE",
        "xlsx": "rag_assistant.loaders.xlsx:XLSX",
        "pmlr": "rag_assistant.loaders.front_matter:FRONT_MATTER",
        "md": "rag_assistant.loaders.record:load_record",
        "pdf": "rag_assistant.loaders.pdf:PDF",
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
    names = {name for builtin, loader in _builtins().items() for name in _claimed(builtin, loader)}
    names |= {entry.name.lower().lstrip(".") for entry in _installed()}
    return tuple(sorted(f".{name}" for name in names))


def loader_for(extension: str) -> Loader | None:
    """The loader for an extension such as ``".jsonl"``, in any case; ``None`` where there is none.

    Which of several kinds of XML it is, only the content of a file tells: see :func:`loader_of`. A built-in's extension
    can't be taken over by another package.

    Raises:
        PluginError: Several packages claim the extension, or its loader can't be imported.
    """
    name = extension.lower().lstrip(".")
    claiming = [loader for builtin, loader in _builtins().items() if name in _claimed(builtin, loader)]
    if claiming:
        return claiming[0]
    return cast(Loader | None, _plugin(_installed(), name, f"loader for .{name}"))


def source_for(name: str) -> Source | None:
    """What asks the service that a name such as ``arxiv:1707.08567`` begins with; ``None`` where that is none.

    Raises:
        PluginError: As for :func:`loader_for`.
    """
    scheme, colon, _ = name.partition(":")
    if not colon or not scheme.isalpha():
        return None
    scheme = scheme.lower()
    if scheme in SOURCES:
        return cast(Source, _imported(SOURCES[scheme]))
    return cast(Source | None, _plugin(entry_points(group=SOURCE_GROUP), scheme, f"source for {scheme}:"))


def loader_of(path: Path) -> Loader | None:
    """The loader for a file: of the form that its content is recognised as, or else that of its extension.

    Of several forms that know the content, the one with the file's extension is taken. A file that another package has
    the extension of is that package's, and so is one that only a form of another package knows.

    Raises:
        PluginError: As for :func:`loader_for`.
    """
    name = path.suffix.lower().lstrip(".")
    by_name = loader_for(name) if name else None
    if by_name is not None and by_name not in _builtins().values():
        return by_name
    head = _head(path)
    known = [loader for loader in _builtins().values() if head and isinstance(loader, Form) and loader.recognises(head)]
    if known and by_name not in known:
        return known[0]
    if by_name is None and head:
        return next((form for form in _foreign_forms() if form.recognises(head)), None)
    return by_name


def _head(path: Path) -> str:
    """How a file begins; nothing of what can't be read twice, or not at all, which its loader tells."""
    try:
        return read_head(path) if path.is_file() else ""
    except OSError:
        return ""


@cache
def _builtins() -> Mapping[str, Loader]:
    return {name: cast(Loader, _imported(target)) for name, target in BUILTINS.items()}


def _imported(target: str) -> object:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _claimed(name: str, loader: Loader) -> tuple[str, ...]:
    return loader.extensions if isinstance(loader, Form) else (name,)


def _installed() -> list[EntryPoint]:
    """What other packages register."""
    return [entry for entry in entry_points(group=GROUP) if not entry.value.startswith("rag_assistant.loaders.")]


def _foreign_forms() -> list[Form]:
    forms = []
    for entry in _installed():
        with suppress(Exception):  # a third party's module may raise anything; who names its extension is told
            loader = entry.load()
            if isinstance(loader, Form):
                forms.append(loader)
    return forms


def _plugin(installed: Iterable[EntryPoint], name: str, what: str) -> object:
    found = {entry.value: entry for entry in installed if entry.name.lower().lstrip(".") == name}
    if len(found) > 1:
        raise PluginError(
            f"Several installed packages offer a {what}: {', '.join(sorted(found))}.", hint="uninstall all but one"
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
