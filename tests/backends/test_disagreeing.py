"""Papers that contradict each other on what is asked: the answer says so and cites both, with a model and without."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rag_assistant import Answer, Assistant, TextEvent
from rag_assistant.settings import Settings

from .chat_server import Script

FOR_PPO = "We find that PPO outperforms DPO in dialogue."
FOR_DPO = "Across all benchmarks, DPO outperforms PPO in dialogue."
QUESTION = "Does PPO outperform DPO in dialogue?"
PAPERS = [
    {"id": "one", "title": "PPO revisited", "abstract": f"Alignment of language models matters. {FOR_PPO}"},
    {"id": "two", "title": "DPO at scale", "abstract": f"{FOR_DPO} It needs no reward model."},
    {"id": "three", "title": "Dialogue with SFT", "abstract": "SFT suffices for dialogue. SFT is simpler than PPO."},
]


def ask(server: Script, index: Path, *told: str, question: str = QUESTION) -> Answer:
    """The answer to a reply that repeats these sentences with their labels: the same both ways, and as it streamed."""
    chosen = Settings.load(index=index, backend="openai-like", model="m", base_url=server.url)
    server.say("NOT_IN_ABSTRACTS")
    with Assistant.open(settings=chosen) as asked:
        asked.ask(question)
        lines = server.seen[0][2]["messages"][1]["content"].splitlines()
        labels = {sentence: line.split(" ")[0] for sentence in told for line in lines if line.endswith(sentence)}
        server.say(" ".join(f"{sentence[:-1]} {labels[sentence]}." for sentence in told))
        stream = asked.stream(question)
        assert "".join(event.text for event in stream.events() if isinstance(event, TextEvent)) == stream.answer.text
        assert asyncio.run(asked.aask(question)).text == stream.answer.text
    return stream.answer


@pytest.mark.parametrize(("told", "other"), [(FOR_PPO, FOR_DPO), (FOR_DPO, FOR_PPO)])
def test_the_other_finding_is_quoted_and_the_disagreement_told(
    server: Script, index: Path, told: str, other: str
) -> None:
    answer = ask(server, index, told)
    assert answer.text == f"{told} [1]\n\nThe papers disagree on this. Another says: {other} [2]"
    assert [statement.support for statement in answer.statements] == ["supported"] * 2
    assert [citation.quotes[0].text for citation in answer.citations] == [told, other]
    assert answer.status == "answered"


def test_where_both_are_cited_the_disagreement_is_told(server: Script, index: Path) -> None:
    answer = ask(server, index, FOR_PPO, FOR_DPO)
    assert len(answer.statements) == 2
    assert answer.text.endswith("\n\nThe papers disagree on this: “PPO revisited” and “DPO at scale”.")


def test_what_the_answer_does_not_rest_on_is_no_disagreement(server: Script, index: Path) -> None:
    answer = ask(server, index, "SFT suffices for dialogue.", question="What suffices for dialogue?")
    assert "disagree" not in answer.text


def test_without_a_model_it_is_told_too(index: Path) -> None:
    with Assistant.open(index) as asked:
        answer = asked.ask(QUESTION)
        assert "disagree on this" in answer.text
        assert {quote.text for citation in answer.citations for quote in citation.quotes} >= {FOR_PPO, FOR_DPO}
        assert "disagree" not in asked.ask("Is SFT simpler than PPO?").text
