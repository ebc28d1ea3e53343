"""How many tokens a server's model takes, as servers tell it: in their list of models, or each in its own place."""

from __future__ import annotations

from collections.abc import Iterator

_CONTEXT_KEYS = ("max_model_len", "loaded_context_length", "context_length", "max_context_length")
_OLLAMA, _LLAMACPP, _LM_STUDIO = "/api/ps", "/props", "/api/v0/models"
_BY_OWNER = {"llamacpp": _LLAMACPP, "organization_owner": _LM_STUDIO, "vllm": None}
"""By what servers write as the owner of a model. Ollama writes the namespace of the model, which may be anything."""
OLLAMA_DEFAULT = 4096
"""What Ollama gives a model on a machine with little memory. It tells only of models that are loaded, and cuts what is
longer without a word, so no more is counted on until then."""


def context_in(listed: object, model: str) -> int:
    """A model's context in a list of models as vLLM, OpenRouter, LM Studio and llama.cpp write it; 0 where none is."""
    for entry in _entries(listed, "data"):
        if entry.get("id") != model:
            continue
        meta = entry.get("meta")
        for told in (*(entry.get(key) for key in _CONTEXT_KEYS), meta.get("n_ctx") if isinstance(meta, dict) else None):
            if _is_size(told):
                return int(str(told))
    return 0


def names_in(listed: object, model: str) -> tuple[str, ...]:
    """The models in a list that lacks this one; none where the model, or a server of one model, is in it."""
    entries = list(_entries(listed, "data"))
    if any(_is_named(entry.get("id"), model) or entry.get("owned_by") == "llamacpp" for entry in entries):
        return ()
    return tuple(str(entry.get("id")) for entry in entries)


def probe_of(listed: object, model: str) -> str | None:
    """Where the server that has this list may tell more, from its root; ``None`` where nothing is to be looked for.

    A llama.cpp server has one model, whatever it is asked for.
    """
    for entry in _entries(listed, "data"):
        owner = str(entry.get("owned_by"))
        if owner == "llamacpp" or _is_named(entry.get("id"), model):
            return _BY_OWNER.get(owner, _OLLAMA)
    return None


def probed(path: str, told: object, model: str) -> tuple[int, bool]:
    """The context in what stands at such a place, 0 where it isn't; and whether that will stay so."""
    if path == _LM_STUDIO:
        return context_in(told, model), True
    if path == _LLAMACPP:
        settings = told.get("default_generation_settings") if isinstance(told, dict) else None
        size = settings.get("n_ctx") if isinstance(settings, dict) else None
        return (int(str(size)), True) if _is_size(size) else (0, True)
    if not isinstance(told, dict) or not isinstance(told.get("models"), list):
        return 0, True  # this is not Ollama
    for entry in _entries(told, "models"):
        if _is_named(entry.get("model") or entry.get("name"), model):
            size = entry.get("context_length")
            return (int(str(size)), True) if _is_size(size) else (0, True)
    return OLLAMA_DEFAULT, False


def _entries(listed: object, key: str) -> Iterator[dict[str, object]]:
    entries = listed.get(key) if isinstance(listed, dict) else None
    yield from (entry for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict))


def _is_named(name: object, model: str) -> bool:
    return name in (model, f"{model}:latest")


def _is_size(told: object) -> bool:
    return isinstance(told, int) and not isinstance(told, bool) and told > 0
