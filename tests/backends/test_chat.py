"""The backends that call a model, against a server that speaks the protocol: sync and async, errors and all."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

import pytest

from rag_assistant import Assistant
from rag_assistant import errors as e
from rag_assistant.drafts import Draft, Label, Notice, PartialSentence, Piece, Refusal, Waiting
from rag_assistant.models.base import ChatModel, Options
from rag_assistant.models.replies import CUT
from rag_assistant.plugins import load_plugin
from rag_assistant.settings import Settings
from rag_assistant.types import FinalEvent, TextEvent, Usage
from rag_assistant.writers.base import Backend
from rag_assistant.writers.generative import GenerativeWriter

from .chat_server import Reply, Script, serving
from .prompts import prompts

QUESTION = "Does DPO keep its advantage when the true reward is not realizable?"
Make = Callable[..., GenerativeWriter]


MODELS = {
    "openai": ("openai", "m"),
    "openai, by Responses": ("openai", "o3-pro"),
    "openai-like": ("openai-like", "m"),
    "llamaindex": ("llamaindex", "tests.backends.http_llm:HttpLLM/m"),
}


@pytest.fixture(params=MODELS)
def make(request: pytest.FixtureRequest, server: Script) -> Make:
    server.say("")

    def made(given: Mapping[str, str] = MappingProxyType({}), **options: object) -> GenerativeWriter:
        name, model = MODELS[request.param]
        settings = Settings(**{"model": model, "base_url": server.url, "api_key": "ours", **given})
        backend = GenerativeWriter(
            load_plugin("backend", name)(
                settings=settings, options=Options(**{"retries": 0, "timeout": 5.0, **options})
            )
        )
        assert backend.name == name
        return backend

    return made


@pytest.fixture(scope="module")
def prompt(assistant: Assistant):
    return prompts(assistant, (QUESTION,))[QUESTION]


def both(backend: Backend, prompt) -> list[Piece]:
    """The pieces, which are the same both ways; without the beginnings of sentences."""
    pieces = list(backend.stream(prompt))

    async def drained() -> list[Piece]:
        return [piece async for piece in backend.astream(prompt)]

    assert asyncio.run(drained()) == pieces
    return [piece for piece in pieces if not isinstance(piece, PartialSentence)]


def raised_by(backend: Backend, prompt) -> e.BackendError:
    with pytest.raises(e.BackendError) as first:
        list(backend.stream(prompt))

    async def drain() -> None:
        async for _ in backend.astream(prompt):
            pass

    with pytest.raises(e.BackendError) as second:
        asyncio.run(drain())
    assert (type(first.value), str(first.value)) == (type(second.value), str(second.value))
    assert first.value.hint
    assert first.value.message.endswith(".")
    assert "\n" not in first.value.message
    return first.value


def test_sentences_come_with_labels_and_usage(make: Make, server: Script, prompt) -> None:
    sentence = prompt.evidence.papers[0].sentences[0].passage.text
    server.say(f"<think>Paper 1, surely.</think>\n{sentence[:-1]} [1.s1].")
    backend = make()
    assert isinstance(backend, Backend)
    assert isinstance(backend.caller.model, ChatModel)
    pieces = both(backend, prompt)
    assert pieces[0] == Draft(sentence, (Label(0, 0),))
    assert pieces[1:] == [Usage(7, 3, calls=1)]


def test_the_request_is_what_the_protocol_says(make: Make, server: Script, prompt) -> None:
    server.say("NOT_IN_ABSTRACTS")
    assert both(make(), prompt)[0] == Refusal("not_in_abstracts")
    for path, headers, body in server.seen:
        assert headers["authorization"] == "Bearer ours"
        if path == "/v1/responses":
            assert (body["model"], body["stream"], body["store"]) == ("o3-pro", True, False)
            assert QUESTION in body["input"]
            assert "NOT_IN_ABSTRACTS" in body["instructions"]
            continue
        assert path == "/v1/chat/completions"
        assert (body["model"], body["stream"], body["stream_options"]) == ("m", True, {"include_usage": True})
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        assert QUESTION in body["messages"][1]["content"]
        assert "[1.s1] " in body["messages"][1]["content"]


OF_THE_LLM = ("text/html", "text/event-stream", "text/plain")
"""What LlamaIndex's classes make of a reply that is no reply is their affair; it has to be told all the same."""

ERROR = '{"error": {"message": "MESSAGE", "type": "x", "code": "CODE"}}'


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (Reply(status=401, raw=ERROR), e.BackendAuthError, "401"),
        (Reply(status=403, raw="no"), e.BackendAuthError, "403"),
        (Reply(status=404, raw=ERROR), e.BackendNotFound, "'m'"),
        (Reply(status=404, raw="<html>nothing here</html>", kind="text/html"), e.BackendNotFound, "/v1"),
        (Reply(status=429, raw=ERROR), e.BackendRateLimited, "429"),
        (Reply(status=429, raw=ERROR.replace("CODE", "insufficient_quota")), e.BackendRateLimited, "quota"),
        (
            Reply(status=400, raw=ERROR.replace("MESSAGE", "This model's maximum context length is 8 tokens")),
            e.BackendContextTooLong,
            "RAG_K",
        ),
        (Reply(status=400, raw=ERROR.replace("CODE", "context_length_exceeded")), e.BackendContextTooLong, "too long"),
        (Reply(status=400, raw=ERROR.replace("CODE", "content_filter")), e.BackendFiltered, "filter"),
        (Reply(status=400, raw=ERROR), e.BackendProtocolError, "MESSAGE"),
        (Reply(status=500, raw="oops", kind="text/plain"), e.BackendUnreachable, "500"),
        (Reply(("Half an ans",), breaks=True), e.BackendInterrupted, "broke off"),
        (Reply(raw=f"data: {ERROR}\n\n", kind="text/event-stream"), e.BackendInterrupted, "MESSAGE"),
        (Reply(()), e.BackendProtocolError, "empty"),
        (Reply((" ", "\n")), e.BackendProtocolError, "empty"),
        (Reply(("<think>for", "ever and ever"), finish="length"), e.BackendProtocolError, "empty"),
        (Reply(raw="<html>Welcome</html>", kind="text/html"), e.BackendProtocolError, "web page"),
        (Reply(raw='{"choices": []}'), e.BackendProtocolError, "empty"),
        (Reply(raw="data: {not json\n\n", kind="text/event-stream"), e.BackendProtocolError, "not JSON"),
        (Reply(raw="data: [1, 2]\n\n", kind="text/event-stream"), e.BackendProtocolError, "empty"),
        (Reply(raw="hello", kind="text/plain"), e.BackendProtocolError, "sent"),
        (Reply(raw="Error: model is overloaded", kind="text/plain"), e.BackendProtocolError, "model is overloaded"),
        (Reply(("Some ",), finish="content_filter"), e.BackendFiltered, "filter"),
        (Reply(("slow ", "slow "), pause=0.6), e.BackendTimeout, "in time"),
    ],
)
def test_failures_are_told_in_one_sentence_with_the_fix(
    make: Make, server: Script, prompt, reply: Reply, kind: type[e.BackendError], said: str
) -> None:
    server.say(reply)
    backend = make(timeout=0.3) if reply.pause else make()
    if backend.name == "llamaindex" and reply.status == 200 and reply.kind in OF_THE_LLM:
        kind, said = e.BackendProtocolError, "sent"
    error = raised_by(backend, prompt)
    assert type(error) is kind
    assert said.replace("'m'", repr(backend.model)) in str(error)


def test_nobody_listens(make: Make, server: Script, prompt) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        error = raised_by(make({"base_url": address}), prompt)
    assert type(error) is e.BackendUnreachable


def test_retry_after_is_honoured(make: Make, server: Script, prompt) -> None:
    server.say(Reply(status=429, raw=ERROR, headers=(("retry-after", "1"),)), "NOT_IN_ABSTRACTS")
    start = time.perf_counter()
    told = list(make(retries=1).stream(prompt))
    assert told[:3] == [Waiting("the server asks for 1 s"), Waiting(), Refusal("not_in_abstracts")]
    assert time.perf_counter() - start >= 1
    assert len(server.seen) == 2


def test_a_closed_stream_hangs_up(make: Make, server: Script, prompt) -> None:
    server.hung_up.clear()
    server.say(Reply(("A sentence. ", *["And another one. "] * 400), pause=0.01))
    pieces = make().stream(prompt)
    assert next(iter(pieces)) == PartialSentence("A sentence.")
    pieces.close()  # type: ignore[attr-defined]
    assert server.hung_up.wait(2)


async def test_a_cancelled_answer_hangs_up_within_a_second(make: Make, server: Script, assistant: Assistant) -> None:
    server.hung_up.clear()
    server.say(Reply(("A sentence. ", *["And another one. "] * 400), pause=0.01))
    begun = asyncio.Event()
    with Assistant.open(assistant.settings.index_path, backend=make()) as asked:

        async def read() -> None:
            async for _ in asked.astream(QUESTION):
                begun.set()

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.hung_up.wait, 1)


async def test_an_answer_that_is_left_hangs_up(make: Make, server: Script, assistant: Assistant) -> None:
    server.hung_up.clear()
    server.say(Reply(("A sentence. ", *["And another one. "] * 400), pause=0.01))
    with Assistant.open(assistant.settings.index_path, backend=make()) as asked:
        events = asked.astream(QUESTION).events()
        async for event in events:
            if isinstance(event, TextEvent):
                break
        await events.aclose()  # type: ignore[attr-defined]
        assert await asyncio.to_thread(server.hung_up.wait, 1)


def test_an_answer_cut_for_length_ends_with_its_last_whole_sentence(make: Make, server: Script, prompt) -> None:
    sentence = prompt.evidence.papers[0].sentences[0].passage.text
    server.say(Reply((f"{sentence[:-1]} [1.s1]. And then it", " goes on to"), finish="length"))
    pieces = both(make(), prompt)
    assert [piece.text for piece in pieces if isinstance(piece, Draft)] == [sentence]
    assert [piece.text for piece in pieces if isinstance(piece, Notice)] == [CUT]
    assert "RAG_MAX_TOKENS" in CUT


def test_the_bibliography_calls_no_model(make: Make, server: Script, assistant: Assistant) -> None:
    server.say("A lie.")
    with Assistant.open(assistant.settings.index_path, backend=make()) as asked:
        answer = asked.ask("Who wrote MusicRL?")
    assert (answer.status, answer.prompt) == ("answered", None)
    assert server.seen == []


def test_the_answer_is_what_streamed(make: Make, server: Script, assistant: Assistant, prompt) -> None:
    first, second = (sentence.passage.text for sentence in prompt.evidence.papers[0].sentences[:2])
    denial = "The abstracts don't say what the true reward is."
    server.say(f"{first[:-1]} [1.s1]. {second} [1.s2] It is also 73% faster [1.s1]. {denial}")
    with Assistant.open(assistant.settings.index_path, backend=make()) as asked:
        events = list(asked.stream(QUESTION).events())
        final = events[-1]
        assert isinstance(final, FinalEvent)
        answer = final.answer
        assert "".join(event.text for event in events if isinstance(event, TextEvent)) == answer.text
        assert not final.replaced
        assert answer.status == "partial"
        assert [s.support for s in answer.statements] == ["supported", "supported", "unsupported"]
        assert answer.statements[2].reason == "not in the cited words: 73%"
        assert answer.text.endswith("The abstracts don't say: what the true reward is.")
        assert answer.prompt is not None
        assert (answer.prompt.name, answer.backend, answer.model) == ("answer", make().name, make().model)
        assert answer.usage == Usage(7, 3, calls=1)
        assert asyncio.run(asked.aask(QUESTION)).text == answer.text


def test_text_comes_as_it_is_written(make: Make, server: Script, assistant: Assistant, prompt) -> None:
    first, second = (sentence.passage.text for sentence in prompt.evidence.papers[0].sentences[:2])
    server.say(Reply(tuple(re.findall(r"\s*\S+", f"<think>Hm.</think>\n{first[:-1]} [1.s1]. {second} [1.s2]"))))
    with Assistant.open(assistant.settings.index_path, backend=make()) as asked:

        async def drained() -> list[TextEvent]:
            return [e async for e in asked.astream(QUESTION).events() if isinstance(e, TextEvent)]

        events = [event for event in asked.stream(QUESTION).events() if isinstance(event, TextEvent)]
        assert asyncio.run(drained()) == events
    assert len(events) > 20
    assert first.startswith(events[0].text)
    assert len(events[0].text.split()) == 1
    assert [event.text[-4:] for event in events if event.statement] == [" [1]", " [1]"]
    assert all(event.statement or not event.citations for event in events)


def test_an_answer_without_support_is_replaced_by_a_refusal(make: Make, server: Script, assistant: Assistant) -> None:
    server.say("Paris is the capital of France [1.s1]. It has 12 airports [9.s9].")
    with Assistant.open(assistant.settings.index_path, backend=make()) as asked:
        final = list(asked.stream(QUESTION).events())[-1]
    assert isinstance(final, FinalEvent)
    assert final.replaced
    assert final.answer.status == "not_in_abstracts"
    assert "Paris" not in final.answer.text
    assert final.answer.draft.startswith("Paris is")
    assert final.answer.dropped_markers == 1


SECRETS = {
    "OPENAI_API_KEY": "sk-secret-one",
    "OPENAI_ADMIN_KEY": "sk-secret-two",
    "OPENAI_ORG_ID": "org-secret",
    "OPENAI_PROJECT_ID": "proj-secret",
    "OPENAI_WEBHOOK_SECRET": "hook-secret",
    "OPENAI_CUSTOM_HEADERS": "X-Mine: header-secret\nAuthorization: Bearer other-secret",
}


@pytest.mark.parametrize("key", [None, "ours"])
def test_nothing_of_openai_leaves_with_openai_like(
    monkeypatch: pytest.MonkeyPatch, server: Script, assistant: Assistant, key: str | None
) -> None:
    with serving() as elsewhere:
        for name, value in {**SECRETS, "OPENAI_BASE_URL": elsewhere.url}.items():
            monkeypatch.setenv(name, value)
        if key:
            monkeypatch.setenv("RAG_API_KEY", key)
        elsewhere.say("NOT_IN_ABSTRACTS")
        server.say("NOT_IN_ABSTRACTS")
        index = assistant.settings.index_path
        settings = Settings.load(index=index, backend="openai-like", model="m", base_url=server.url)
        with Assistant.open(settings=settings) as asked:
            assert asked.ask(QUESTION).status == "not_in_abstracts"
            asyncio.run(asked.aask(QUESTION))
        # Also where the address was put into settings that had taken up OpenAI's key.
        moved = Settings.load(index=index, backend="openai-like", model="m").model_copy(update={"base_url": server.url})
        with Assistant.open(settings=moved) as asked:
            asked.ask(QUESTION)
        assert elsewhere.seen == []
    assert len(server.seen) == 3
    for _, headers, body in server.seen:
        told = json.dumps([headers, body]).lower()
        assert "secret" not in told
        assert "openai" not in json.dumps(headers)
        assert headers.get("authorization") == (f"Bearer {key}" if key else None)


@pytest.mark.parametrize("name", ["openai", "openai-like"])
def test_a_redirect_is_not_followed(server: Script, prompt, name: str) -> None:
    with serving() as elsewhere:
        elsewhere.say("NOT_IN_ABSTRACTS")
        server.say(Reply(status=307, raw="", headers=(("location", f"{elsewhere.url}/chat/completions"),)))
        settings = Settings(model="m", base_url=server.url, api_key="sk-ours-key")
        made = load_plugin("backend", name)(settings=settings, options=Options(retries=0))
        error = raised_by(GenerativeWriter(made), prompt)
        assert type(error) is e.BackendProtocolError
        assert elsewhere.seen == []


def test_the_sdks_variables_lead_openai_elsewhere(monkeypatch: pytest.MonkeyPatch, server: Script, prompt) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.say("NOT_IN_ABSTRACTS")
    both(GenerativeWriter(load_plugin("backend", "openai")(settings=Settings.load(model="o3-mini"))), prompt)
    assert server.seen[0][1]["authorization"] == "Bearer sk-mine"
    assert "temperature" not in server.seen[0][2]
    assert "max_completion_tokens" in server.seen[0][2]


def test_what_is_not_set_is_named() -> None:
    with pytest.raises(e.BackendAuthError, match="OPENAI_API_KEY is not set"):
        load_plugin("backend", "openai")(settings=Settings())
    with pytest.raises(e.SettingsError, match="address"):
        load_plugin("backend", "openai-like")(settings=Settings(model="m"))
    with pytest.raises(e.SettingsError, match="model"):
        load_plugin("backend", "openai-like")(settings=Settings(base_url="http://127.0.0.1:1/v1"))
