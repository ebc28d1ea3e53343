"""The published schema of an answer, and that every kind of answer keeps to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import fields, replace
from importlib.resources import files
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator, ValidationError

from rag_assistant import Answer, Assistant, Filters
from rag_assistant.drafts import Draft, Label, Piece
from rag_assistant.types import ANSWER_SCHEMA_VERSION, PromptInfo, Status, Usage
from rag_assistant.writers.base import Prompt


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads((files("rag_assistant") / "data" / "answer.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def validator(schema: Any) -> Draft202012Validator:
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check(validator: Draft202012Validator, answer: Answer) -> Any:
    """What a reader of the JSON gets, once it has been through the schema."""
    read = json.loads(json.dumps(answer.to_dict(), ensure_ascii=True, allow_nan=False))
    validator.validate(read)
    return read


def test_the_schema_names_every_attribute_and_nothing_else(schema: Any) -> None:
    names = {field.name for field in fields(Answer)} | {"schema_version"}
    assert set(schema["properties"]) == set(schema["required"]) == names
    assert schema["properties"]["status"]["enum"] == list(get_args(Status))
    assert schema["properties"]["schema_version"]["const"] == ANSWER_SCHEMA_VERSION


def test_every_object_with_named_fields_is_closed(schema: Any) -> None:
    def closed(part: Any) -> Iterator[bool]:
        if isinstance(part, dict):
            if part.get("type") == "object" and "properties" in part:
                yield part["additionalProperties"] is False and set(part["required"]) == set(part["properties"])
            for value in part.values():
                yield from closed(value)
        elif isinstance(part, list):
            for value in part:
                yield from closed(value)

    found = list(closed(schema))
    assert len(found) > 8
    assert all(found)


@pytest.mark.parametrize(
    ("question", "status"),
    [
        ("What is CTMA?", "answered"),
        ("Does DPO keep its advantage when the true reward is not realizable?", "answered"),
        ("Which papers are about alignment with human feedback?", "answered"),
        ("How do RLHF and DPO compare?", "answered"),
        ("Who wrote MusicRL?", "answered"),
        ("Which papers are by Zhangyang Wang?", "answered"),
        ("How many papers are there?", "answered"),
        ("How does DPO compare to quantum annealing?", "partial"),
        ("What is CTMA? What is the best pizza in Naples?", "partial"),
        ("What is CTMA? Who wrote MusicRL?", "answered"),
        ("What is the capital of France?", "not_in_corpus"),
        ("Which papers are by Albert Einstein?", "not_in_corpus"),
        ("What is the capital of France? What is the best pizza in Naples?", "not_in_corpus"),
        ("How many GPUs were used to train MusicRL?", "not_in_abstracts"),
        ("What is the DOI of MusicRL?", "not_in_abstracts"),
        ("What is it?", "clarify"),
        ("", "clarify"),
        ("\udfff\ud800?", "clarify"),
    ],
)
def test_answers_of_every_status(
    assistant: Assistant, validator: Draft202012Validator, question: str, status: Status
) -> None:
    answer = assistant.ask(question)
    read = check(validator, answer)
    assert read["status"] == status
    assert read["question"] == question
    assert bool(answer.statements) <= (status in ("answered", "partial"))


def test_a_follow_up_and_filters_that_nothing_passes(assistant: Assistant, validator: Draft202012Validator) -> None:
    first = assistant.ask("What is CTMA?")
    read = check(validator, assistant.ask("Who wrote it?", history=[(first.question, first.text)]))
    assert read["standalone_question"] != read["question"]
    read = check(validator, assistant.ask("What is CTMA?", filters=Filters(years=(1900, 1901))))
    assert (read["considered"], read["status"], read["hits"]) == (0, "not_in_corpus", [])


class Model:
    """A backend that writes what it is told and reports usage."""

    name = "told"
    model = "told-1"

    def __init__(self, *drafts: Draft) -> None:
        self.drafts = drafts

    def stream(self, prompt: Prompt) -> Iterator[Piece]:
        yield from self.drafts
        yield Usage(prompt_tokens=12, completion_tokens=3, cost=0.01, calls=1)

    async def astream(self, prompt: Prompt) -> AsyncIterator[Piece]:
        for piece in self.stream(prompt):
            yield piece


@pytest.mark.parametrize(
    ("drafts", "status", "support"),
    [
        ((Draft("It is a meta-aggregator by Martians from 1877.", (Label(0, 0),)),), "not_in_abstracts", []),
        (
            (Draft("Byzantine-robust training is challenging.", (Label(0, 0), Label(99, 0))), Draft("So it is.")),
            "answered",
            ["supported", "uncited"],
        ),
    ],
)
def test_what_a_model_writes(
    assistant: Assistant,
    validator: Draft202012Validator,
    drafts: tuple[Draft, ...],
    status: Status,
    support: list[str],
) -> None:
    with Assistant.open(assistant.settings.index_path, backend=Model(*drafts)) as told:
        read = check(validator, told.ask("What is CTMA?"))
    assert read["status"] == status
    assert [statement["support"] for statement in read["statements"]] == support
    assert read["usage"] == {"prompt_tokens": 12, "completion_tokens": 3, "cost": 0.01, "calls": 1}
    assert bool(read["draft"]) == (not support)


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"status": "perhaps"},
        {"schema_version": 2},
        {"text": ""},
        {"citations": [{"number": 0}]},
        {"prompt": {"name": "answer", "version": "1", "sha256": "short"}},
        {"statements": [{"text": "x", "start": 0, "end": 1, "citations": [], "support": "supported"}]},
        {"timings_ms": {"searching": 1.0}},
    ],
)
def test_other_forms_are_refused(assistant: Assistant, validator: Draft202012Validator, change: dict[str, Any]) -> None:
    read = assistant.ask("What is CTMA?").to_dict()
    validator.validate(read)
    with pytest.raises(ValidationError):
        validator.validate({**read, **change})


def test_a_prompt_is_told_by_name_version_and_hash(assistant: Assistant, validator: Draft202012Validator) -> None:
    sent = replace(assistant.ask("What is CTMA?"), prompt=PromptInfo("answer", "3", "0" * 64))
    assert check(validator, sent)["prompt"]["version"] == "3"
