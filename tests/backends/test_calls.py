"""What happens around a model's call: fallback, budgets, a prompt that fits, and pauses that hold for all."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rag_assistant import Answer, Assistant, FinalEvent, StageEvent, TextEvent
from rag_assistant import errors as e
from rag_assistant.prompts import count_tokens
from rag_assistant.reader.base import Abstract, Reading, Stance
from rag_assistant.settings import Settings

from .chat_server import Reply, Script

QUESTION = "Does DPO keep its advantage when the true reward is not realizable?"
Open = Callable[..., Assistant]
DOWN = Reply(status=401, raw='{"error": {"message": "no"}}')


@pytest.fixture
def opened(assistant: Assistant, server: Script) -> Iterator[Open]:
    """Opens assistants whose model is the server."""
    server.say("NOT_IN_ABSTRACTS")
    made: list[Assistant] = []

    def open_with(reader: Any = None, **settings: Any) -> Assistant:
        given = {"backend": "openai-like", "model": "m", "base_url": server.url, **settings}
        chosen = Settings.load(index=assistant.settings.index_path, **given)
        made.append(Assistant.open(settings=chosen, reader=reader))
        return made[-1]

    yield open_with
    for one in made:
        one.close()


def both(asked: Assistant, question: str = QUESTION) -> Answer:
    """The answer, which is the same both ways."""
    answer = asked.ask(question)
    again = asyncio.run(asked.aask(question))
    assert (again.text, again.notices, again.passages_sent) == (answer.text, answer.notices, answer.passages_sent)
    return answer


@pytest.mark.parametrize("reply", [DOWN, Reply(()), Reply(("Half an ans",), breaks=True)])
def test_the_abstracts_answer_where_the_model_fails(
    opened: Open, server: Script, assistant: Assistant, reply: Reply
) -> None:
    server.say(reply)
    answer = both(opened(fallback=True))
    plain = assistant.ask(QUESTION)
    assert (answer.text, answer.statements, answer.citations) == (plain.text, plain.statements, plain.citations)
    assert (answer.backend, answer.model, answer.prompt) == ("extractive", "", None)
    [notice] = answer.notices
    assert server.url.removesuffix("/v1") in notice
    assert notice.endswith("so this answer comes from the abstracts without a model.")
    with pytest.raises(e.BackendError):
        opened().ask(QUESTION)


def test_text_that_had_streamed_is_replaced(opened: Open, server: Script, assistant: Assistant) -> None:
    server.say(Reply(("PPO outperforms DPO [1.s1]. ", "And then. ", "It"), breaks=True))
    events = list(opened(fallback=True).stream(QUESTION).events())
    final = events[-1]
    assert isinstance(final, FinalEvent)
    assert final.replaced
    assert final.answer.text == assistant.ask(QUESTION).text
    assert final.answer.usage.calls == 1, "what broke off has cost something too"
    assert next(event.text for event in events if isinstance(event, TextEvent)).startswith("PPO outperforms")
    assert all("PPO outperforms" not in statement.text for statement in final.answer.statements)


HELD = "DPO retains its asymptotically decaying gap by just tuning the temperature accordingly [1]. "
BROKEN_OFF = f"data: {json.dumps({'choices': [{'delta': {'content': HELD + 'It'}}]})}\n\n"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply((HELD, "It"), breaks=True), "broke off in the middle"),
        (Reply((HELD, "It"), finish="error"), "broke off its answer: no reason given"),
        (Reply(raw=f"{BROKEN_OFF}data: {{\n\n", kind="text/event-stream"), "something that is not JSON"),
        (Reply(raw=f'{BROKEN_OFF}{{"error": "GPU fell off"}}', kind="text/event-stream"), "GPU fell off"),
        (Reply((HELD, "It", "", ""), pause=0.5), "didn't answer in time"),
    ],
)
def test_what_had_come_before_a_failure_is_kept(opened: Open, server: Script, reply: Reply, said: str) -> None:
    server.say(reply)
    asked = opened(timeout=0.4)
    answer = both(asked)
    assert (answer.status, answer.backend, answer.usage.calls) == ("answered", "openai-like", 1)
    assert [statement.text for statement in answer.statements] == [f"{HELD[:-6]}. [1]"]
    [notice] = answer.notices
    assert said in notice
    assert notice.endswith("; what had arrived by then is kept.")


@pytest.mark.parametrize("pieces", [("NOT_IN_ABSTRACTS. ", "But it"), (HELD, "</think>\n", "It")])
def test_a_refusal_or_reasoning_before_a_failure_is_no_answer(
    opened: Open, server: Script, pieces: tuple[str, ...]
) -> None:
    server.say(Reply(pieces, breaks=True))
    asked = opened()
    with pytest.raises(e.BackendInterrupted):
        asked.ask(QUESTION)
    with pytest.raises(e.BackendInterrupted):
        asyncio.run(asked.aask(QUESTION))


def test_without_a_key_the_abstracts_answer(assistant: Assistant) -> None:
    index = assistant.settings.index_path
    with pytest.raises(e.BackendAuthError):
        Assistant.open(index, backend="openai")
    with pytest.raises(e.SettingsError, match="did you mean fallback"):
        Assistant.open(index, backend="openai", falback=True)
    with Assistant.open(index, backend="openai", fallback=True) as asked:
        assert asked.ask(QUESTION).text == assistant.ask(QUESTION).text
        assert any("OPENAI_API_KEY is not set, so answers come from the abstracts" in told for told in asked.notices)


PRICES = {"price_in": 2.0, "price_out": 10.0}


def test_a_budget_stops_before_the_call(opened: Open, server: Script) -> None:
    with pytest.raises(e.BudgetExceeded, match=r"max_cost allows \(\$0\.0001\)") as raised:
        opened(max_cost=0.0001, **PRICES).ask(QUESTION)
    assert "RAG_MAX_COST" in raised.value.hint
    assert server.seen == []
    answer = opened(max_cost=0.0001, fallback=True, **PRICES).ask(QUESTION)
    assert answer.backend == "extractive"
    assert "max_cost" in answer.notices[0]
    assert server.seen == []
    with pytest.raises(e.SettingsError, match="'max_cost'") as unpriced:
        opened(max_cost=1.0)
    assert "price_in" in unpriced.value.hint


def test_a_session_has_a_budget_of_its_own(opened: Open, server: Script) -> None:
    asked = opened(max_session_tokens=4000, **PRICES)
    answer = asked.ask(QUESTION)
    assert answer.usage.cost == pytest.approx((7 * 2 + 3 * 10) / 1_000_000)
    # What is reported replaces the estimate, so that many answers fit; what fails costs nothing.
    server.say(DOWN)
    for _ in range(3):
        with pytest.raises(e.BackendAuthError):
            asked.ask(QUESTION)
    server.say(Reply(("PPO outperforms DPO [1.s1]. ", "It"), breaks=True))
    with pytest.raises(e.BackendInterrupted):
        asked.ask(QUESTION)
    with pytest.raises(e.BudgetExceeded, match="max_session_tokens"):
        asked.ask(QUESTION)
    assert len(server.seen) == 1


@pytest.mark.parametrize("limit", [700, 1000, 1600])
def test_a_prompt_fits_its_context(opened: Open, server: Script, limit: int) -> None:
    everything = both(opened())
    server.say("NOT_IN_ABSTRACTS")
    answer = both(opened(context_tokens=limit, max_tokens=128))
    assert 0 < answer.passages_sent < everything.passages_sent
    notice = (
        f"The model read {answer.passages_sent} of {everything.passages_sent} sentences found, the most useful ones: "
        f"its context of {limit:,} tokens holds no more."
    )
    assert answer.notices == (notice,)
    body = server.seen[0][2]
    assert sum(count_tokens(message["content"]) for message in body["messages"]) + body["max_tokens"] <= limit
    # The sentence that answers is what a small context keeps.
    assert "DPO retains its asymptotically decaying gap" in body["messages"][1]["content"]


def test_labels_are_those_of_what_was_sent(opened: Open, server: Script) -> None:
    server.say("NOT_IN_ABSTRACTS")
    asked = opened(context_tokens=700)
    asked.ask(QUESTION)
    labelled = re.findall(r"^\[(\d)\.s(\d+)\] (.*)$", server.seen[0][2]["messages"][1]["content"], re.MULTILINE)
    paper, number, sentence = labelled[-1]
    assert (paper, number) != ("1", "1")
    server.say(f"{sentence} [{paper}.s{number}]")
    answer = asked.ask(QUESTION)
    [citation] = answer.citations
    assert [quote.text for quote in citation.quotes] == [sentence]
    assert citation.paper.abstract[citation.quotes[0].start : citation.quotes[0].end] == sentence
    assert answer.statements[0].support == "supported"


@pytest.mark.parametrize(
    "entry", [{"max_model_len": 900}, {"context_length": 900}, {"meta": {"n_ctx": 900}}, {"loaded_context_length": 900}]
)
def test_the_server_tells_its_context(opened: Open, server: Script, entry: dict[str, Any]) -> None:
    server.models = [{"id": "other", "max_model_len": 9}, {"id": "m", **entry}]
    answer = both(opened())
    assert "its context of 900 tokens" in answer.notices[0]
    assert server.seen[0][2]["max_tokens"] == 225


OLLAMA = {"models": [{"name": "m:latest", "model": "m:latest", "size_vram": 0, "context_length": 900}]}
LM_STUDIO = {"object": "list", "data": [{"id": "m", "max_context_length": 4000, "loaded_context_length": 900}]}


@pytest.mark.parametrize(
    ("entry", "path", "page"),
    [
        ({"id": "m:latest", "owned_by": "library"}, "/api/ps", OLLAMA),
        ({"id": "gguf", "owned_by": "llamacpp"}, "/props", {"default_generation_settings": {"n_ctx": 900}}),
        ({"id": "m", "owned_by": "organization_owner"}, "/api/v0/models", LM_STUDIO),
    ],
)
def test_servers_that_tell_their_context_elsewhere_are_asked_once(
    opened: Open, server: Script, entry: dict[str, Any], path: str, page: dict[str, Any]
) -> None:
    server.models, server.pages = [entry], {path: json.dumps(page)}
    answer = both(opened())
    assert "its context of 900 tokens" in answer.notices[0]
    assert server.got == ["/v1/models", path]


@pytest.mark.parametrize("page", [None, "<html>", "[]", '{"models": 3}', '{"models": [{"model": "m"}]}'])
def test_a_server_that_tells_nothing_is_not_asked_again(opened: Open, server: Script, page: str | None) -> None:
    server.models, server.pages = [{"id": "m", "owned_by": "me"}], {} if page is None else {"/api/ps": page}
    assert both(opened()).notices == ()
    assert server.got == ["/v1/models", "/api/ps"]


def test_of_a_model_that_ollama_has_not_loaded_the_least_is_counted_on(opened: Open, server: Script) -> None:
    server.models, server.pages = [{"id": "m", "owned_by": "library"}], {"/api/ps": '{"models": []}'}
    asked = opened()
    asked.ask(QUESTION)
    assert server.seen[-1][2]["max_tokens"] == 1024
    assert server.got == ["/v1/models", "/api/ps"]
    server.pages = {"/api/ps": json.dumps(OLLAMA)}
    asked.ask(QUESTION)
    assert server.seen[-1][2]["max_tokens"] == 225


TOO_LONG = "This model's maximum context length is 1100 tokens. However, you requested 3000 tokens."


@pytest.mark.parametrize(
    "raw",
    [
        json.dumps({"error": {"message": TOO_LONG, "code": "context_length_exceeded"}}),
        json.dumps({"error": {"message": "the request exceeds the available context size", "n_ctx": 1100}}),
        json.dumps({"error": {"message": "context_length_exceeded"}}),
    ],
)
def test_a_refusal_teaches_the_context(opened: Open, server: Script, raw: str) -> None:
    asked = opened()
    server.say(Reply(status=400, raw=raw), "NOT_IN_ABSTRACTS")
    answer = asked.ask(QUESTION)
    assert len(server.seen) == 2
    assert "most useful" in answer.notices[0]
    sizes = [len(body["messages"][1]["content"]) for _, _, body in server.seen]
    assert sizes[1] < sizes[0]
    asked.ask(QUESTION)
    assert len(server.seen) == 3, "what was learned is kept"


def test_a_context_that_holds_nothing_is_told(opened: Open, server: Script) -> None:
    with pytest.raises(e.BackendContextTooLong, match="one sentence") as raised:
        opened(context_tokens=512).ask(f"{QUESTION[:-1]}, {'whatever it is, ' * 100} or not?")
    assert "RAG_CONTEXT_TOKENS" in raised.value.hint
    server.say(Reply(status=400, raw=json.dumps({"error": {"message": "context_length_exceeded"}})))
    with pytest.raises(e.BackendContextTooLong):
        opened().ask(QUESTION)
    assert len(server.seen) <= 4


def test_a_pause_holds_back_all(opened: Open, server: Script) -> None:
    asked = opened()
    server.say(Reply(status=429, raw="{}", headers=(("retry-after", "1"),)), "NOT_IN_ABSTRACTS")
    started = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(asked.ask, QUESTION)
        while not server.seen:
            time.sleep(0.01)
        time.sleep(0.2)  # for the refusal to arrive; later only makes the pause end later
        second = asked.ask(QUESTION)
        assert time.monotonic() - started >= 1
        assert first.result().status == second.status == "not_in_abstracts"


def test_what_is_waited_for_is_told(opened: Open, server: Script) -> None:
    asked = opened()

    async def stages() -> list[StageEvent]:
        return [e async for e in asked.astream(QUESTION).events() if isinstance(e, StageEvent)]

    refused = Reply(status=503, raw="{}")
    server.say(Reply(status=429, raw="{}", headers=(("retry-after", "0.2"),)), refused, "NOT_IN_ABSTRACTS")
    found = [event for event in asked.stream(QUESTION).events() if isinstance(event, StageEvent)]
    assert [event.stage for event in found[2:7]] == ["writing", "waiting", "writing", "waiting", "writing"]
    assert found[3].detail == "the server asks for 0.2 s"
    assert found[5].detail.endswith("has a fault (503); trying again in 1 s")
    server.say(refused, "NOT_IN_ABSTRACTS")
    found = asyncio.run(stages())
    assert [event.stage for event in found[2:5]] == ["writing", "waiting", "writing"]
    assert found[3].detail.endswith("has a fault (503); trying again in 0.5 s")


def test_a_cost_that_the_provider_reports_is_the_cost(opened: Open, server: Script) -> None:
    server.say(Reply(("NOT_IN_ABSTRACTS",), cost=0.25))
    asked = opened(max_session_cost=0.26, **PRICES)
    assert asked.ask(QUESTION).usage.cost == 0.25
    with pytest.raises(e.BudgetExceeded):
        asked.ask(QUESTION)
    assert opened().ask(QUESTION).usage.cost == 0.25


def test_a_pause_of_an_hour_is_told_at_once(opened: Open, server: Script) -> None:
    server.say(Reply(status=429, raw="{}", headers=(("retry-after", "3600"),)))
    with pytest.raises(e.BackendRateLimited):
        opened().ask(QUESTION)
    assert len(server.seen) == 1


NEAR_MISS = "For which two backbone networks is DisA instantiated?"
TWIN = "For which two cases of the classifier is DisA instantiated?"
TRUE_BUT_UNASKED = "We instantiate DisA in two cases: fixing classifier and learning classifier. [1]"


class OnDisA:
    """A reader that puts the paper on DisA first, and to which that answers these questions and no other."""

    name = "on-disa"
    fingerprint = "on-disa:1"

    def __init__(self, *answered: str) -> None:
        self.answered = answered

    def read(self, question: str, abstracts: Sequence[Abstract]) -> list[Reading]:
        return [self._reading(question, abstract) for abstract in abstracts]

    def _reading(self, question: str, abstract: Abstract) -> Reading:
        there = any("DisA" in sentence for sentence in abstract.sentences)
        chance = (0.99 if question in self.answered else 0.02) if there else 1e-6
        return Reading(chance, tuple(chance for _ in abstract.sentences))

    def judge(self, statements: Sequence[str], abstract: Abstract) -> list[Stance]:
        return [Stance(1.0, 0.0, 0.0, tuple(0.0 for _ in abstract.sentences)) for _ in statements]


def test_a_true_answer_to_another_question_is_withheld(opened: Open, server: Script) -> None:
    server.say(TRUE_BUT_UNASKED)
    asked = opened(reader=OnDisA(TWIN))
    answer = both(asked, NEAR_MISS)
    assert answer.status == "not_in_abstracts"
    assert "backbone" in answer.looked_for
    assert (answer.statements, answer.citations) == ((), ())
    assert answer.draft == TRUE_BUT_UNASKED
    assert "fixing classifier" not in answer.text
    assert any("withheld" in notice and "trust_model" in notice for notice in answer.notices)
    assert (answer.backend, answer.usage.calls) == ("openai-like", 1)
    *_, last = asked.stream(NEAR_MISS).events()
    assert isinstance(last, FinalEvent)
    assert last.replaced
    assert both(asked, TWIN).status == "answered"
    trusted = both(opened(reader=OnDisA(TWIN), trust_model=True), NEAR_MISS)
    assert (trusted.status, trusted.text, trusted.draft) == ("answered", TRUE_BUT_UNASKED, "")


def test_of_two_questions_only_the_unanswered_one_is_taken_back(opened: Open, server: Script) -> None:
    server.say(TRUE_BUT_UNASKED)
    answer = both(opened(reader=OnDisA(TWIN)), f"{NEAR_MISS} {TWIN}")
    assert answer.status == "partial"
    assert answer.text.count("fixing classifier") == 1
    assert answer.text.index(TWIN) < answer.text.index("fixing classifier")
    assert answer.draft == TRUE_BUT_UNASKED
    assert [answer.text[s.start : s.end] for s in answer.statements] == [TRUE_BUT_UNASKED]


@pytest.mark.parametrize(
    ("model", "prompt"),
    [
        ("qwen2.5-1.5b-instruct", "answer-compact"),
        ("llama3.2:3b", "answer-compact"),
        ("smollm2:360m", "answer-compact"),
        ("llama3.1:8b", "answer"),
        ("mixtral-8x7b", "answer"),
        ("gpt-4.1", "answer"),
    ],
)
def test_a_small_model_gets_the_short_prompt(opened: Open, model: str, prompt: str) -> None:
    info = opened(model=model).ask(QUESTION).prompt
    assert info is not None
    assert info.name == prompt


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (TWIN, "NOT_IN_ABSTRACTS"),
        (TWIN, "DisA is instantiated on 97 GPUs [1]."),
        (TWIN, "DisA is instantiated for two cases of the classifier [1]."),
    ],
)
def test_the_abstracts_answer_where_nothing_of_a_model_holds(
    opened: Open, server: Script, assistant: Assistant, question: str, reply: str
) -> None:
    server.say(reply)
    asked, plain = opened(fallback=True), assistant.ask(question)
    assert plain.status == "answered"
    answer = both(asked, question)
    assert (answer.status, answer.text, answer.statements) == (plain.status, plain.text, plain.statements)
    assert answer.notices == (
        "The model gave no answer that holds, so this answer comes from the abstracts without a model.",
    )
    assert (answer.backend, answer.usage.calls) == ("extractive", 1)
    assert bool(answer.draft) == (reply != "NOT_IN_ABSTRACTS")
    *before, last = asked.stream(question).events()
    assert isinstance(last, FinalEvent)
    assert last.replaced or "".join(e.text for e in before if isinstance(e, TextEvent)) == answer.text


@pytest.mark.parametrize("reply", ["NOT_IN_ABSTRACTS", "DisA is instantiated for two backbone networks [1]."])
def test_a_refusal_stays_where_the_abstracts_have_no_answer_either(opened: Open, server: Script, reply: str) -> None:
    server.say(reply)
    answer = both(opened(fallback=True), NEAR_MISS)
    assert (answer.status, answer.backend, answer.statements) == ("not_in_abstracts", "openai-like", ())
    assert answer.prompt is not None
    assert bool(answer.draft) == (reply != "NOT_IN_ABSTRACTS")


def test_a_small_model_is_sent_the_most_useful_sentences(opened: Open) -> None:
    everything = opened().ask(QUESTION)
    answer = both(opened(model="qwen2.5-1.5b"))
    assert 5 < answer.passages_sent < everything.passages_sent
    [notice] = answer.notices
    assert f"{answer.passages_sent} of {everything.passages_sent} sentences" in notice
    assert "small" in notice


def test_an_answer_that_repeats_the_question_is_followed_by_its_sentence(opened: Open, server: Script) -> None:
    question = (
        "On what are rigorous guarantees given in the analysis of human preference alignment's learning dynamics?"
    )
    server.say("Rigorous guarantees are given in the analysis of human preference alignment's learning dynamics [1].")
    asked = opened()
    answer = both(asked, question)
    echo, *sentences = answer.statements
    assert echo.text.startswith("Rigorous guarantees are given in")
    assert "provide rigorous guarantees on the training accuracy" in sentences[-1].text
    assert all(sentence.text.removesuffix(" [1]") in answer.citations[0].paper.abstract for sentence in sentences)
    assert {statement.support for statement in answer.statements} == {"supported"}
    events = list(asked.stream(question).events())
    assert "".join(event.text for event in events if isinstance(event, TextEvent)) == answer.text


GERMAN = "Für welche beiden Fälle des Klassifikators wird DisA umgesetzt?"


def test_a_question_in_another_language_is_the_models_to_answer(opened: Open, server: Script) -> None:
    server.say("We instantiate DisA in two cases: fixing classifier and learning classifier [1].")
    answer = both(opened(reader=OnDisA(GERMAN)), GERMAN)
    assert answer.status == "answered"
    assert "fixing classifier" in answer.text
    server.say("NOT_IN_ABSTRACTS")
    assert both(opened(), "¿Cómo se prepara una tortilla de patatas?").status == "not_in_abstracts"


@pytest.mark.parametrize("model", ["m", "qwen2.5-1.5b"])
def test_an_answer_is_asked_for_in_the_language_it_can_be_checked_in(opened: Open, server: Script, model: str) -> None:
    server.say("NOT_IN_ABSTRACTS")
    opened(model=model).ask(GERMAN)
    assert "in English" in server.seen[-1][2]["messages"][1]["content"]
    opened(model=model).ask(TWIN)
    assert "in English" not in server.seen[-1][2]["messages"][1]["content"]


def test_a_models_refusal_stands_where_the_gate_is_less_sure(opened: Open, server: Script) -> None:
    server.say("NOT_IN_ABSTRACTS")
    answer = both(opened(fallback=True, reader=OnDisA(TWIN)), NEAR_MISS)
    assert answer.confidence is not None
    assert answer.confidence < 0.8
    assert answer.status == "not_in_abstracts"
