"""Comparisons with a model: evidence of both sides is sent, and no side is left out without a word."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rag_assistant import Answer, Assistant, TextEvent
from rag_assistant.settings import Settings

from .chat_server import Script

QUESTION = "How do LAMB and ZEUS compare?"
LAMB = "We find that LAMB needs 40 epochs to converge."
ZEUS = "ZEUS converges in 12 epochs on the same data."
PAPERS = [
    *({"id": f"lamb{n}", "title": f"LAMB, part {n}", "abstract": f"{LAMB} Part {n} has proofs."} for n in range(1, 8)),
    {"id": "zeus", "title": "A fast optimiser", "abstract": f"Training is slow. {ZEUS} It is used for speech."},
    {"id": "rice", "title": "Rice", "abstract": "Rice is cooked in water. It takes long."},
]


def ask(server: Script, index: Path, reply: str, question: str = QUESTION, **settings: Any) -> Answer:
    """The answer: what streamed, and the same both ways."""
    server.say(reply)
    chosen = Settings.load(index=index, backend="openai-like", model="m", base_url=server.url, **settings)
    with Assistant.open(settings=chosen) as asked:
        stream = asked.stream(question)
        streamed = "".join(event.text for event in stream.events() if isinstance(event, TextEvent))
        assert stream.answer.draft or streamed == stream.answer.text
        again = asyncio.run(asked.aask(question))
    assert (again.text, again.statements, again.notices) == (
        stream.answer.text,
        stream.answer.statements,
        stream.answer.notices,
    )
    return stream.answer


def label(server: Script, sentence: str) -> str:
    """The label that a sentence has in the prompt."""
    prompt = server.seen[0][2]["messages"][1]["content"]
    [line] = [line for line in prompt.splitlines() if line.endswith(sentence)][:1]
    return str(line.split(" ")[0])


@pytest.mark.parametrize("context", [None, 900, 560])
@pytest.mark.parametrize("question", [QUESTION, "What do LAMB and ZEUS need?"])
def test_both_sides_are_sent_however_many_papers_are_on_one(
    server: Script, index: Path, context: int | None, question: str
) -> None:
    ask(server, index, "NOT_IN_ABSTRACTS", question, context_tokens=context, max_tokens=64)
    prompt = server.seen[0][2]["messages"][1]["content"]
    assert LAMB in prompt
    assert ZEUS in prompt
    assert "Rice" not in prompt


def test_the_side_that_a_model_leaves_out_is_quoted(server: Script, index: Path) -> None:
    ask(server, index, "NOT_IN_ABSTRACTS")
    for told, left, marks in ((LAMB, ZEUS, "zeus"), (ZEUS, LAMB, "lamb")):
        answer = ask(server, index, f"{told} {label(server, told)}")
        first, second = answer.statements
        assert (first.support, second.support) == ("supported", "supported")
        assert second.text == f"{left} [2]"
        assert f"\n\nOn the other side, which is left out above, the abstracts say: {left} [2]" in answer.text
        assert answer.citations[1].paper.id.startswith(marks)
        assert any("one side of the comparison only" in notice for notice in answer.notices)
        assert answer.status == "answered"


def test_nothing_is_added_where_both_are_told_or_one_is_denied(server: Script, index: Path) -> None:
    ask(server, index, "NOT_IN_ABSTRACTS")
    lamb, zeus = label(server, LAMB), label(server, ZEUS)
    both = ask(server, index, f"LAMB needs 40 epochs to converge {lamb}. In contrast, ZEUS converges in 12 {zeus}.")
    assert [statement.support for statement in both.statements] == ["supported"] * 2
    denied = ask(server, index, f"LAMB needs 40 epochs to converge {lamb}. The abstracts don't say how ZEUS does.")
    assert denied.status == "partial"
    other = ask(server, index, f"ZEUS converges in 12 epochs {zeus}.", "What is ZEUS?")
    for answer in (both, denied, other):
        assert "On the other side" not in answer.text
        assert answer.notices == ()


def test_nothing_is_added_to_what_fails_its_checks(server: Script, index: Path) -> None:
    ask(server, index, "NOT_IN_ABSTRACTS")
    answer = ask(server, index, f"LAMB needs 99 epochs to converge {label(server, LAMB)}.", fallback=None)
    assert "On the other side" not in answer.draft
    assert ZEUS not in answer.text


def test_a_side_that_no_abstract_names_is_told(server: Script, index: Path) -> None:
    question = "How do LAMB and quantum annealing compare?"
    ask(server, index, "NOT_IN_ABSTRACTS", question)
    answer = ask(server, index, f"{LAMB} {label(server, LAMB)}", question)
    assert answer.status == "partial"
    assert answer.text.endswith("The abstracts don't say: quantum annealing.")
