"""How many tokens a server's model takes: servers say it in their list of models, or each in a place of its own."""

from __future__ import annotations

from collections.abc import Iterator

_CONTEXT_KEYS = ("max_model_len", "loaded_context_length", "context_length", "max_context_length")
_OLLAMA, _LLAMACPP, _LM_STUDIO = "/api/ps", "/props", "/api/v0/models"
_BY_OWNER = {"llamacpp": _LLAMACPP, "organization_owner": _LM_STUDIO, "vllm": None}
"""Kinds of server by what they write as a model's owner. Ollama writes its namespace, which may be anything."""
OLLAMA_DEFAULT = 4096
"""What Ollama gives a model on a machine with little memory. It reports the context of loaded models only, and silently
truncates longer prompts, so no more is relied on until a model is loaded."""


def context_in(listed: object, model: str) -> int:
    """A model's context in a list of models as vLLM, OpenRouter, LM Studio and llama.cpp write it; 0 if it has none."""
    for entry in _entries(listed, "data"):
        if entry.get("id") != model:
            continue
        meta = entry.get("meta")
        for size in (*(entry.get(key) for key in _CONTEXT_KEYS), meta.get("n_ctx") if isinstance(meta, dict) else None):
            if _is_size(size):
                return int(str(size))
    return 0


def names_in(listed: object, model: str) -> tuple[str, ...]:
    """The models in a list that lacks this one; none if the model is in it, or if the server has only one model."""
    entries = list(_entries(listed, "data"))
    if any(_is_named(entry.get("id"), model) or entry.get("owned_by") == "llamacpp" for entry in entries):
        return ()
    return tuple(str(entry.get("id")) for entry in entries)


def probe_of(listed: object, model: str) -> str | None:
    """The path, from its root, where the server with this list may say more; ``None`` if there is nothing to look up.

    A llama.cpp server has one model, whichever it is asked for.
    """
    for entry in _entries(listed, "data"):
        owner = str(entry.get("owned_by"))
        if owner == "llamacpp" or _is_named(entry.get("id"), model):
            return _BY_OWNER.get(owner, _OLLAMA)
    return None


def probed(path: str, body: object, model: str) -> tuple[int, bool]:
    """The context in what such a path returns, 0 if it isn't there; and whether that will stay so."""
    if path == _LM_STUDIO:
        return context_in(body, model), True
    if path == _LLAMACPP:
        settings = body.get("default_generation_settings") if isinstance(body, dict) else None
        size = settings.get("n_ctx") if isinstance(settings, dict) else None
        return (int(str(size)), True) if _is_size(size) else (0, True)
    if not isinstance(body, dict) or not isinstance(body.get("models"), list):
        return 0, True  # this is not Ollama
    for entry in _entries(body, "models"):
        if _is_named(entry.get("model") or entry.get("name"), model):
            size = entry.get("context_length")
            return (int(str(size)), True) if _is_size(size) else (0, True)
    return OLLAMA_DEFAULT, False


def _entries(listed: object, key: str) -> Iterator[dict[str, object]]:
    entries = listed.get(key) if isinstance(listed, dict) else None
    yield from (entry for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict))


def _is_named(name: object, model: str) -> bool:
    return name in (model, f"{model}:latest")


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
