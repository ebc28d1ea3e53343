"""The package from outside: what importing it costs, its public names, and the README's Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from index.processes import run

import rag_assistant
from rag_assistant import Assistant

ROOT = Path(__file__).parent.parent
QUESTIONS = (
    "What is CTMA?",
    "Which papers are about alignment with human feedback?",
    "How do RLHF and DPO compare?",
    "Who wrote MusicRL?",
    "What is the capital of France?",
    "What is CTMA? What is the best pizza in Naples?",
    "",
)
HEAVY = "chromadb llama_index onnxruntime numpy pydantic gradio openai tokenizers bm25s"


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = """
import sys
import rag_assistant
from rag_assistant import Answer, Filters, Paper, RagError
print(*sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1].split())))
"""
    assert run(code, HEAVY).split() == []


def test_with_an_index_asking_imports_no_llama_index(assistant: Assistant) -> None:
    code = """
import sys
from rag_assistant import Assistant
with Assistant.open(sys.argv[1]) as assistant:
    for question in sys.argv[2:]:
        print(assistant.ask(question).status)
    assistant.search("robust")
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"llama_index", "gradio", "openai", "torch"}))
"""
    lines = run(code, assistant.settings.index_path, *QUESTIONS).splitlines()
    assert lines[:1] == ["answered"]
    assert lines[len(QUESTIONS) :] == [""]


def test_public_names() -> None:
    assert rag_assistant.__all__ == sorted(rag_assistant.__all__, key=lambda name: (name.startswith("_"), name))
    assert " ".join(rag_assistant.__all__) == (
        "Answer AnswerStream Assistant AsyncAnswerStream Citation Excerpt Filters FinalEvent Hit HitsEvent Outcome "
        "Paper Passage PromptEvent Quote RagError Settings StageEvent Statement TextEvent Usage Verification "
        "__version__"
    )
    for name in rag_assistant.__all__:
        assert getattr(rag_assistant, name) is not None
        assert name in dir(rag_assistant)
    with pytest.raises(AttributeError, match="no attribute 'Assistent'"):
        _ = rag_assistant.Assistent
    public = [name for name in dir(Assistant) if not name.startswith("_")]
    assert " ".join(public) == (
        "aask aask_many add ask ask_many astream averify close describe index notices open papers preview remove "
        "search settings stream verify"
    )


def test_the_readme_snippet_runs(assistant: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Python", 1)[1].split("\n## ", 1)[0]
    code = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    ") or not line.strip())
    assert "Assistant.open()" in code
    monkeypatch.setenv("RAG_INDEX", str(assistant.settings.index_path))
    said = run(code)
    assert said.startswith("answered ")
    assert re.search(r"^1 Fault Tolerant ML.*\['Our first contribution", said, re.MULTILINE)


def test_no_class_has_the_name_of_another() -> None:
    homes: dict[str, list[str]] = {}
    for file in sorted(Path(rag_assistant.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.strip("_"), []).append(f"{file.name}:{node.lineno}")
    assert "Assistant" in homes
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}
