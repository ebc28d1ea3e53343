"""The backend for GGUF files, where llama-cpp-python is installed and ``LLAMACPP_TEST_MODEL`` names a small model."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from rag_assistant import Assistant
from rag_assistant import errors as e
from rag_assistant.drafts import Draft, Refusal
from rag_assistant.models.llamacpp import LlamaCppModel
from rag_assistant.settings import Settings
from rag_assistant.types import Usage
from rag_assistant.writers.generative import GenerativeWriter

from .prompts import prompts

INSTALLED = importlib.util.find_spec("llama_cpp") is not None
MODEL = os.environ.get("LLAMACPP_TEST_MODEL", "")
QUESTION = "Does DPO keep its advantage when the true reward is not realizable?"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(e.SettingsError, match="needs a GGUF file") as raised:
        LlamaCppModel(settings=Settings())
    assert "--model" in raised.value.hint
    with pytest.raises(e.SettingsError, match=r"no file .*absent\.gguf"):
        LlamaCppModel(settings=Settings(model=str(tmp_path / "absent.gguf")))


def test_a_file_that_is_no_model_or_a_missing_package_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"no model")
    with pytest.raises(e.SettingsError if INSTALLED else e.PluginError) as raised:
        LlamaCppModel(settings=Settings(model=str(tmp_path / "x.gguf")))
    assert raised.value.hint == ("name a whole GGUF file" if INSTALLED else 'pip install "rag-assistant[llamacpp]"')


@pytest.mark.skipif(not (INSTALLED and MODEL), reason="needs llama-cpp-python and LLAMACPP_TEST_MODEL=FILE.gguf")
async def test_it_writes_the_same_both_ways(assistant: Assistant) -> None:
    backend = GenerativeWriter(LlamaCppModel(settings=Settings(model=MODEL, max_tokens=64, context_tokens=2048)))
    prompt = prompts(assistant, (QUESTION,))[QUESTION]
    pieces = list(backend.stream(prompt))
    assert [piece async for piece in backend.astream(prompt)] == pieces
    assert isinstance(pieces[-1], Usage)
    assert any(isinstance(piece, Draft | Refusal) for piece in pieces)
    left = backend.astream(prompt)
    await anext(left)
    await left.aclose()  # type: ignore[attr-defined]
    assert list(backend.stream(prompt)) == pieces
