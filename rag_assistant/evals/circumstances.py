"""How the circumstances of two runs differ: a difference in scores may come from that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag_assistant.evals.folder import Run

_SHOWN_ELSEWHERE = frozenset({"index", "corpus", "lock_timeout", "backend", "embedder", "embedder_model", "model"})
"""Settings that say where something is or how long to wait, or that another line describes."""
_ABSENT = "not known"


def differences(before: Run, after: Run) -> tuple[str, ...]:
    """One line for each of corpus, embedder, backend, prompts, transform, questions and settings that differs.

    What the headers don't say is passed over.
    """
    return tuple(_lines(before.header, after.header))


def _lines(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name, described in (
        ("questions", _questions),
        ("transform", _transform),
        ("corpus", _corpus),
        ("embedder", _embedder),
        ("backend", _backend),
        ("prompts", _prompts),
    ):
        first, second = described(old), described(new)
        if first != second and _ABSENT not in (first, second):
            yield f"{name}: {first} → {second}"
    first_settings, second_settings = (_mapping(_mapping(header, "system"), "settings") for header in (old, new))
    for name, value in first_settings.items():
        # A setting that only one run has shows a difference in code, not in settings.
        if name not in _SHOWN_ELSEWHERE and name in second_settings and _value(value) != _value(second_settings[name]):
            yield f"setting {name}: {_value(value)} → {_value(second_settings[name])}"


def _mapping(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = parent.get(name)
    return found if isinstance(found, Mapping) else {}


def _value(value: Any) -> str:
    return "none" if value is None or value is False else str(value)


def _questions(header: Mapping[str, Any]) -> str:
    made = _mapping(header, "set")
    return f"{made.get('name')} ({str(made.get('sha256'))[:12]})" if made else _ABSENT


def _transform(header: Mapping[str, Any]) -> str:
    return transform_text(header) or "none"


def transform_text(header: Mapping[str, Any]) -> str:
    """The transform of a run with its seed; empty for a plain run."""
    made = _mapping(header, "transform")
    return f"{made.get('name')} (seed {made.get('seed')})" if made else ""


def _corpus(header: Mapping[str, Any]) -> str:
    index = _mapping(_mapping(header, "system"), "index")
    return f"{index.get('papers')} papers ({str(index.get('corpus_hash'))[:12]})" if index else _ABSENT


def _embedder(header: Mapping[str, Any]) -> str:
    made = _mapping(_mapping(header, "system"), "embedder")
    return f"{made.get('name')} ({made.get('fingerprint')})" if made else _ABSENT


def _backend(header: Mapping[str, Any]) -> str:
    made = _mapping(_mapping(header, "system"), "backend")
    return " ".join(str(made[key]) for key in ("name", "model") if made.get(key)) if made else _ABSENT


def _prompts(header: Mapping[str, Any]) -> str:
    prompts = header.get("prompts") or ()
    return ", ".join(f"{p['name']} v{p['version']} ({p['sha256'][:8]})" for p in prompts) or "none"
