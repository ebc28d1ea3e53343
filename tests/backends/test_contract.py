"""What every backend keeps to, whichever way it writes."""

from __future__ import annotations

import re
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest

from rag_assistant import Assistant
from rag_assistant.drafts import Draft, Piece
from rag_assistant.models.base import ChatModel
from rag_assistant.plugins import load_plugin
from rag_assistant.writers.base import Backend, Prompt

from .prompts import prompts

QUESTIONS = (
    "What is CTMA?",
    "How many GPUs were used to train MusicRL?",
    "Which papers are about alignment with human feedback?",
    "How does DPO compare to quantum annealing?",
    "Does DPO keep its advantage when the true reward is not realizable?",
    "Who wrote MusicRL?",
    "Which papers are by Albert Einstein?",
    "What is the capital of France?",
)
OFFLINE = ("extractive",)
"""The backends that write by themselves; one that calls a model is tried against a server, in test_chat."""


@pytest.fixture(params=OFFLINE)
def backend(request: pytest.FixtureRequest) -> Backend:
    made: Backend = load_plugin("backend", request.param)()
    assert made.name == request.param
    return made


@pytest.fixture(scope="module")
def asked(assistant: Assistant) -> list[Prompt]:
    found = prompts(assistant, QUESTIONS)
    assert len(found) >= len(QUESTIONS) - 1
    return list(found.values())


def test_it_is_a_backend(backend: Backend) -> None:
    assert isinstance(backend, Backend)
    assert isinstance(backend.model, str)


def test_pieces_are_of_the_known_kinds_and_labels_exist(backend: Backend, asked: list[Prompt]) -> None:
    for prompt in asked:
        pieces = list(backend.stream(prompt))
        assert pieces, prompt.form.text
        for piece in pieces:
            assert isinstance(piece, get_args(Piece))
            if isinstance(piece, Draft):
                assert piece.text == piece.text.strip() != ""
                for label in piece.labels:
                    assert 0 <= label.paper < len(prompt.evidence.papers)
                    sentences = prompt.evidence.papers[label.paper].sentences
                    assert label.sentence is None or 0 <= label.sentence < len(sentences)


async def test_stream_and_astream_give_the_same(backend: Backend, asked: list[Prompt]) -> None:
    for prompt in asked:
        assert [piece async for piece in backend.astream(prompt)] == list(backend.stream(prompt))


def test_several_threads_at_once_get_what_one_gets(backend: Backend, asked: list[Prompt]) -> None:
    alone = [list(backend.stream(prompt)) for prompt in asked]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda prompt: list(backend.stream(prompt)), asked * 4))
    assert together == alone * 4


def test_the_examples_of_contributing_run(assistant: Assistant) -> None:
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## Add a backend")[1].split("\n## ")[0]
    blocks = [textwrap.dedent(code) for code in re.findall(r"(?:^    .*\n|^\n(?=    |\n    ))+", section, re.MULTILINE)]
    space: dict[str, Any] = {}
    for code in blocks:
        if "class " in code:
            assert len(code.strip().splitlines()) < 60
            exec(code, space)
    question = "Does DPO keep its advantage when the true reward is not realizable?"
    with Assistant.open(assistant.settings.index_path, backend=space["FirstSentence"]()) as asked:
        answer = asked.ask(question)
        assert (answer.backend, answer.status) == ("first", "answered")
        assert answer.statements[0].support == "supported"
    shouting = space["Shouting"]()
    assert isinstance(shouting, ChatModel)
    with Assistant.open(assistant.settings.index_path, backend=shouting) as asked:
        answer = asked.ask(question)
        assert (answer.backend, answer.model, answer.usage.calls) == ("shouting", "shout-1", 1)
        assert "DOES DPO KEEP" in f"{answer.text} {answer.draft}"
