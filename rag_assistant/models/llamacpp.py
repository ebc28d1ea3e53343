"""A model in a GGUF file, run in this process by llama-cpp-python: nothing leaves the machine."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_assistant.errors import BackendContextTooLong, BackendError, PluginError, SettingsError
from rag_assistant.models.base import Delta, Options, Request
from rag_assistant.settings import Settings
from rag_assistant.types import Usage

DEFAULT_CONTEXT = 8192
"""Tokens if ``context_tokens`` isn't set: the context a model was trained for may need more memory than there is."""


def model_file(settings: Settings) -> Path:
    """The file that the setting ``model`` names.

    Raises:
        SettingsError: There is no such file.
    """
    path = Path(settings.model or "").expanduser()
    if not settings.model or not path.is_file():
        named = f"There is no file {path}" if settings.model else "The llamacpp backend needs a GGUF file"
        raise SettingsError(f"{named}.", hint="--model FILE.gguf or RAG_MODEL")
    return path


class LlamaCppModel:
    """The model in the file that the setting ``model`` names. It writes one answer at a time; others wait.

    Raises:
        SettingsError: There is no such file, or there is no model in it.
        PluginError: llama-cpp-python is not installed.
    """

    name = "llamacpp"

    def __init__(self, *, settings: Settings | None = None, options: Options | None = None) -> None:
        chosen = settings or Settings.load()
        path = model_file(chosen)
        self.model, self.server = path.stem, path.name
        self.options = options or Options.of(chosen)
        try:
            import llama_cpp
        except ImportError as error:
            raise PluginError(
                "The llamacpp backend needs llama-cpp-python.", hint='pip install "rag-assistant[llamacpp]"'
            ) from error
        try:
            self._llama: Any = llama_cpp.Llama(
                model_path=str(path), n_ctx=self.options.context_tokens or DEFAULT_CONTEXT, verbose=False
            )
        except Exception as error:  # it may raise anything for a file that is no model
            raise SettingsError(f"{path} can't be loaded: {error}.", hint="name a whole GGUF file") from error
        self._lock = threading.Lock()

    def context_window(self) -> int | None:
        """As the model was loaded."""
        return int(self._llama.n_ctx())

    def deltas(self, request: Request) -> Generator[Delta]:
        """One reply."""
        with self._lock, self._errors():
            written = 0
            for chunk in self._llama.create_chat_completion(
                messages=request.messages,
                max_tokens=request.max_tokens,
                temperature=0.0 if self.options.temperature is None else self.options.temperature,
                stream=True,
            ):
                choice = chunk["choices"][0]
                written += 1
                yield Delta(choice.get("delta", {}).get("content") or "", choice.get("finish_reason") or "")
            yield Delta(usage=Usage(None, written, calls=1))

    async def adeltas(self, request: Request) -> AsyncIterator[Delta]:
        """One reply, written in a thread; if abandoned, it stops after the token being written."""
        steps = self.deltas(request)
        step: asyncio.Future[Delta | None] | None = None
        try:
            while True:
                step = asyncio.ensure_future(asyncio.to_thread(next, steps, None))
                delta = await asyncio.shield(step)
                if delta is None:
                    return
                yield delta
        finally:
            if step is not None and not step.done():
                step.add_done_callback(lambda _: steps.close())
            else:
                steps.close()

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except Exception as error:  # the library raises ValueError and RuntimeError for everything
            limit = re.search(r"exceed context window of (\d+)", str(error))
            if limit is not None:
                raise BackendContextTooLong(
                    f"The question and the abstracts are too long for {self.server}.",
                    hint="raise context_tokens (RAG_CONTEXT_TOKENS), or let it draw on fewer papers (RAG_K=2)",
                    limit=int(limit[1]),
                ) from error
            raise BackendError(f"{self.server} failed: {error}.", hint="try another GGUF file") from error
