"""From the name of a plug-in to the object it names.

Built-ins are entry points like all others; their table is repeated here so that a checkout works without installation,
and so that common names don't cost a scan of the installed packages.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Literal, get_args

from rag_assistant.errors import PluginError

PluginKind = Literal["backend", "check", "embedder", "loader", "metric", "reader", "reranker", "source"]

BUILTINS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "backend": MappingProxyType(
            {
                "extractive": "rag_assistant.writers.extractive:ExtractiveWriter",
                "llamacpp": "rag_assistant.models.llamacpp:LlamaCppModel",
                "llamaindex": "rag_assistant.models.llamaindex:LlamaIndexModel",
                "openai": "rag_assistant.models.openai:OpenAIModel",
                "openai-like": "rag_assistant.models.openai_like:OpenAILikeModel",
            }
        ),
        "check": MappingProxyType({"model": "rag_assistant.checks.model:ModelCheck"}),
        "embedder": MappingProxyType(
            {
                "minilm": "rag_assistant.embedders.minilm:MiniLM",
                "minilm-plain": "rag_assistant.embedders.minilm:plain_minilm",
                "openai": "rag_assistant.embedders.openai:openai_embedding",
            }
        ),
        "loader": MappingProxyType(
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
        ),
        "metric": MappingProxyType(
            {
                "retrieval": "rag_assistant.evals.retrieval_metrics:retrieval",
                "answers": "rag_assistant.evals.answer_metrics:answers",
                "citations": "rag_assistant.evals.citation_metrics:citations",
                "abstention": "rag_assistant.evals.abstention_metrics:abstention",
                "injection": "rag_assistant.evals.robustness_metrics:injection",
                "usage": "rag_assistant.evals.metrics:usage",
            }
        ),
        "reader": MappingProxyType({"trained": "rag_assistant.reader.trained:TrainedReader"}),
        "reranker": MappingProxyType({}),
        "source": MappingProxyType(
            {
                "arxiv": "rag_assistant.loaders.arxiv:fetch_arxiv",
                "doi": "rag_assistant.loaders.doi:fetch_doi",
                "openreview": "rag_assistant.loaders.openreview:fetch_openreview",
            }
        ),
    }
)
"""What this package registers, by kind and name; the same as in its own entry points."""


def plugin_names(kind: PluginKind) -> tuple[str, ...]:
    """All installed names of a kind, sorted.

    Args:
        kind: Such as ``backend``; the group of entry points is ``rag_assistant.<kind>s``.
    """
    group = _group(kind)
    return tuple(sorted({*BUILTINS[kind], *(entry.name for entry in entry_points(group=group))}))


def load_plugin(kind: PluginKind, name: str) -> Any:
    """The class or factory that a name stands for; it is imported but not called.

    Other packages can't take over the name of a built-in.

    Args:
        kind: Such as ``backend``.
        name: An entry point's name in the group ``rag_assistant.<kind>s``, or ``package.module:Attribute``.

    Raises:
        PluginError: Nothing has that name, several packages claim it, or it can't be imported.
    """
    group = _group(kind)
    if ":" in name:
        return _imported(kind, name, name)
    if name in BUILTINS[kind]:
        return _imported(kind, name, BUILTINS[kind][name])
    found: dict[str, EntryPoint] = {e.value: e for e in entry_points(group=group) if e.name == name}
    if len(found) > 1:
        raise PluginError(
            f"Several installed packages offer the {kind} {name!r}: {', '.join(sorted(found))}.",
            hint="uninstall all but one" if kind in ("loader", "source") else "name one of these in full",
        )
    for value in found:
        return _imported(kind, name, value)
    raise PluginError(f"There is no {kind} named {name!r}.", hint=_suggestion(kind, name))


def parameters_of(factory: Any) -> frozenset[str]:
    """The names of a class's or factory's parameters; none if it doesn't show them."""
    try:
        return frozenset(inspect.signature(factory).parameters)
    except (TypeError, ValueError):  # not a function or class, or one that hides its parameters
        return frozenset()


def _group(kind: PluginKind) -> str:
    if kind not in get_args(PluginKind):
        raise PluginError(
            f"There is no kind of plug-in named {kind!r}.", hint=f"one of {', '.join(get_args(PluginKind))}"
        )
    return f"rag_assistant.{kind}s"


def _suggestion(kind: PluginKind, name: str) -> str:
    names = plugin_names(kind)
    close = get_close_matches(name, names, n=1)
    known = f"installed: {', '.join(names)}" if names else "none is installed"
    nearest = f"did you mean {close[0]!r}? " if close else ""
    return f"{nearest}{known}; or give package.module:Attribute"


def _imported(kind: PluginKind, name: str, value: str) -> Any:
    module, _, attribute = value.partition(":")
    if not module or not attribute or not all(part.isidentifier() for part in f"{module}.{attribute}".split(".")):
        raise PluginError(
            f"{name!r} is not the name of a {kind}.", hint="a dotted module and an attribute: package.module:Attribute"
        )
    try:
        loaded: Any = import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        hint = "check the spelling, or install the package that has it"
        raise PluginError(f"The {kind} {name!r} can't be loaded: no module {missing!r}.", hint=hint) from error
    except Exception as error:  # a third party's module may raise anything
        raise PluginError(
            f"The {kind} {name!r} can't be loaded: {type(error).__name__}: {error}.",
            hint=f"python -c 'import {module}' shows where",
        ) from error
    for part in attribute.split("."):
        if not hasattr(loaded, part):
            close = get_close_matches(part, [n for n in dir(loaded) if not n.startswith("_")], n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"check what {module} defines"
            raise PluginError(f"The {kind} {name!r} can't be loaded: {module} has no {attribute!r}.", hint=hint)
        loaded = getattr(loaded, part)
    return loaded
