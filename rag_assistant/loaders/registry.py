"""From a file's content or extension, or a service's name, to what reads it; both are plug-ins.

The name of a loader is the extension of its files, or any name where it is a :class:`Form`, which says its extensions
itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Literal, cast

from rag_assistant.errors import PluginError
from rag_assistant.loaders.base import Form, Loader, Source, read_head
from rag_assistant.plugins import BUILTINS, load_plugin, plugin_names


def extensions() -> tuple[str, ...]:
    """Every extension that some loader reads, sorted, each with its full stop."""
    names = {name for builtin, loader in _builtins().items() for name in _claimed(builtin, loader)}
    return tuple(sorted(f".{name}" for name in names | _others("loader").keys()))


def loader_for(extension: str) -> Loader | None:
    """The loader for an extension such as ``".jsonl"``, in any case; ``None`` where there is none.

    Which of several kinds of XML it is, only the content of a file tells: see :func:`loader_of`. A built-in's extension
    can't be taken over by another package.

    Raises:
        PluginError: Several packages claim the extension, or its loader can't be imported.
    """
    wanted = extension.lower().lstrip(".")
    claiming = (loader for name, loader in _builtins().items() if wanted in _claimed(name, loader))
    return next(claiming, None) or cast(Loader | None, _other("loader", wanted))


def source_for(name: str) -> Source | None:
    """What asks the service that a name such as ``arxiv:1707.08567`` begins with; ``None`` where that is none.

    Raises:
        PluginError: As for :func:`loader_for`.
    """
    scheme, colon, _ = name.partition(":")
    if not colon or not scheme.isalpha():
        return None
    scheme = scheme.lower()
    source = _loaded("source", scheme) if scheme in BUILTINS["source"] else _other("source", scheme)
    return cast(Source | None, source)


def loader_of(path: Path) -> Loader | None:
    """The loader for a file: of the form that its content is recognised as, or else that of its extension.

    Of several forms that know the content, the one with the file's extension is taken. A file that another package has
    the extension of is that package's, and so is one that only a form of another package knows.

    Raises:
        PluginError: As for :func:`loader_for`.
    """
    by_name = loader_for(path.suffix) if path.suffix else None
    if by_name is not None and by_name not in _builtins().values():
        return by_name
    head = _head(path)
    known = [loader for loader in _builtins().values() if head and isinstance(loader, Form) and loader.recognises(head)]
    if known and by_name not in known:
        return known[0]
    if by_name is None and head:
        return next((form for form in _other_forms() if form.recognises(head)), None)
    return by_name


def _head(path: Path) -> str:
    """How a file begins; nothing of what can't be read twice, or not at all, which its loader tells."""
    try:
        return read_head(path) if path.is_file() else ""
    except OSError:
        return ""


@cache
def _builtins() -> Mapping[str, Loader]:
    return {name: cast(Loader, _loaded("loader", name)) for name in BUILTINS["loader"]}


def _claimed(name: str, loader: Loader) -> tuple[str, ...]:
    return loader.extensions if isinstance(loader, Form) else (name,)


def _others(kind: Literal["loader", "source"]) -> dict[str, str]:
    """The names that other packages register, by what they are looked up under."""
    return {name.lower().lstrip("."): name for name in plugin_names(kind) if name not in BUILTINS[kind]}


def _other(kind: Literal["loader", "source"], wanted: str) -> object:
    name = _others(kind).get(wanted)
    return None if name is None else _loaded(kind, name)


def _other_forms() -> list[Form]:
    forms = []
    for name in _others("loader").values():
        with suppress(PluginError):  # told to who has a file of that extension
            loader = _loaded("loader", name)
            if isinstance(loader, Form):
                forms.append(loader)
    return forms


def _loaded(kind: Literal["loader", "source"], name: str) -> object:
    reads = load_plugin(kind, name)
    if not callable(reads):
        raise PluginError(f"The {kind} {name!r} is not callable.")
    return cast(object, reads)


def supported(extension: str = "") -> str:
    """A phrase for people: what extensions can be read, the nearest to ``extension`` first."""
    known = extensions()
    close = get_close_matches(extension.lower(), known, n=1)
    return ", ".join([*close, *(name for name in known if name not in close)])
