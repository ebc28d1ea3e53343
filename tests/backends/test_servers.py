"""Servers that don't keep to the protocol: what they sent is kept, limits are our own, reasons are theirs."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from rag_assistant import Assistant
from rag_assistant import errors as e
from rag_assistant.drafts import Draft, Label, Notice, PartialSentence, Piece, Waiting
from rag_assistant.models.base import Options
from rag_assistant.models.replies import CUT
from rag_assistant.plugins import load_plugin
from rag_assistant.settings import Settings
from rag_assistant.types import Usage
from rag_assistant.writers.base import Prompt
from rag_assistant.writers.generative import GenerativeWriter
from rag_assistant.writers.reply import LONGEST_BEGINNING

from .chat_server import Reply, Script
from .prompts import prompts

QUESTION = "Does DPO keep its advantage when the true reward is not realizable?"
SAID = "DPO retains its gap by tuning the temperature"
REPLY = f"{SAID} [1.s6]."
HALVES = (REPLY[:20], REPLY[20:])
STREAM = "text/event-stream"
Make = Callable[..., GenerativeWriter]
Read = Callable[[GenerativeWriter, Prompt], list[Piece]]


@pytest.fixture
def make(server: Script) -> Make:
    def made(
        model: str = "m", name: str = "", key: str = "sk-ours-key", user: str = "", **options: Any
    ) -> GenerativeWriter:
        settings = Settings(model=model, base_url=server.url.replace("//", f"//{user}"), api_key=key)
        name = name or ("openai" if model == "o3-pro" else "openai-like")
        options = {"retries": 0, "timeout": 5.0, **options}
        return GenerativeWriter(load_plugin("backend", name)(settings=settings, options=Options(**options)))

    return made


@pytest.fixture(scope="module")
def prompt(assistant: Assistant) -> Prompt:
    return prompts(assistant, (QUESTION,))[QUESTION]


def both(backend: GenerativeWriter, prompt: Prompt) -> list[Piece]:
    """The pieces, which are the same both ways; without the beginnings of sentences."""
    pieces = synchronous(backend, prompt)
    assert asynchronous(backend, prompt) == pieces
    return [piece for piece in pieces if not isinstance(piece, PartialSentence)]


def raised_by(backend: GenerativeWriter, prompt: Prompt) -> e.BackendError:
    with pytest.raises(e.BackendError) as raised:
        synchronous(backend, prompt)
    with pytest.raises(type(raised.value), match=r".") as again:
        asynchronous(backend, prompt)
    assert str(again.value) == str(raised.value)
    return raised.value


def synchronous(backend: GenerativeWriter, prompt: Prompt) -> list[Piece]:
    return list(backend.stream(prompt))


def asynchronous(backend: GenerativeWriter, prompt: Prompt) -> list[Piece]:
    return asyncio.run(_drained(backend, prompt))


async def _drained(backend: GenerativeWriter, prompt: Prompt) -> list[Piece]:
    return [piece async for piece in backend.astream(prompt)]


in_both_ways = pytest.mark.parametrize("read", [synchronous, asynchronous])


def chunk(delta: Any, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def sse(*events: Any, done: bool = True, end: str = "\n\n") -> str:
    told = [event if isinstance(event, str) else f"data: {json.dumps(event)}" for event in events]
    return end.join([*told, *(["data: [DONE]"] if done else []), ""])


def content(told: Any) -> str:
    return sse(chunk({"content": told}), chunk({}, "stop"))


WORDS = [chunk({"content": half}) for half in HALVES]
END = chunk({}, "stop")
WHOLE = {"choices": [{"message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}]}

CONTENTS = {
    "a part": content([{"type": "text", "text": REPLY}]),
    "parts": content([{"type": "text", "text": half} for half in HALVES]),
    "strings": content(list(HALVES)),
    "a value": content([{"type": "text", "text": {"value": REPLY, "annotations": []}}]),
    "an object": content({"type": "output_text", "text": REPLY}),
    "a part of reasoning": content(
        [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": REPLY}]
    ),
    "reasoning beside it": sse(
        chunk({"content": None, "reasoning_content": "Hm."}), chunk({"content": REPLY, "reasoning": None}), END
    ),
    "other types": sse(chunk({"content": 7}), chunk({"content": {"a": [None]}}), *WORDS, END),
    "a string as delta": sse(*(chunk(half) for half in HALVES), END),
    "text": sse(*({"choices": [{"text": half}]} for half in HALVES), END),
}
EVENTS = {
    "nothing said": sse("data:", *WORDS, "data: ", END),
    "no objects": sse("data: null", "data: 3", "data: [1]", *WORDS, END),
    "no choices": sse({"id": "x"}, {"choices": None}, {"choices": []}, {"choices": [None]}, *WORDS, END),
    "no delta": sse({"choices": [{"index": 0}]}, chunk(None), *WORDS, chunk(None, "stop")),
    "one choice": sse(*({"choices": one["choices"][0]} for one in [*WORDS, END])),
    "garbage first": sse("data: {not json", *WORDS, END),
    "other fields": sse(": ping", "event: ping\ndata: {}", "retry: 3\nid: 4", *WORDS, END),
    "CRLF": sse(*WORDS, END, end="\r\n\r\n"),
    "no empty lines": sse(*WORDS, END, end="\n"),
    "several lines": sse(*WORDS, END).replace(', "finish_reason"', ',\ndata: "finish_reason"'),
    "done in small letters": sse(*WORDS, END, "data: [done]", done=False),
    "a mark at the beginning": "\ufeff" + sse(*WORDS, END),
    "no end of line": sse(*WORDS, END, done=False).rstrip(),
    "no finish": sse(*WORDS),
    "a null as finish": sse(chunk({"content": HALVES[0]}, "null"), chunk({"content": HALVES[1]}, "None")),
    "a finish that is no word": sse(*WORDS, chunk({}, 1), done=False),
    "another word for the finish": sse(*WORDS, chunk({}, "eos_token"), done=False),
    "counts as the finish": sse(*WORDS, {"choices": [], "usage": {"completion_tokens": 3}}, done=False),
    "all of it again": sse(*WORDS, WHOLE),
    "an error behind it": sse(*WORDS, END, {"error": "late"}),
}
DOCUMENTS = {
    "whole": json.dumps(WHOLE),
    "printed": json.dumps(WHOLE, indent=2),
    "without a finish": json.dumps({"choices": [{"message": {"content": REPLY}}]}),
    "lines": "\n".join(json.dumps(event) for event in [*WORDS, END]),
    "an array": json.dumps([*WORDS, END], indent=1),
    "one event": sse(WHOLE),
}


@pytest.mark.parametrize("body", [*CONTENTS.values(), *EVENTS.values(), *DOCUMENTS.values()], ids=[
    *CONTENTS, *EVENTS, *DOCUMENTS
])  # fmt: skip
@pytest.mark.parametrize("kind", [STREAM, "application/json", "text/html"])
def test_an_answer_is_read_in_whatever_form_it_comes(
    make: Make, server: Script, prompt: Prompt, body: str, kind: str
) -> None:
    server.say(Reply(raw=body, kind=kind))
    pieces = both(make(), prompt)
    assert pieces[0] == Draft(f"{SAID}.", (Label(0, 5),))
    assert [type(piece) for piece in pieces[1:]] == [Usage]


@pytest.mark.parametrize("body", [sse(*WORDS, END, done=False), json.dumps(WHOLE)])
def test_a_cut_behind_the_end_loses_nothing(make: Make, server: Script, prompt: Prompt, body: str) -> None:
    server.say(Reply(raw=body, kind=STREAM, breaks=True))
    assert both(make(), prompt)[0] == Draft(f"{SAID}.", (Label(0, 5),))


HALF = json.dumps(chunk({"content": f"{REPLY} It"}))


@pytest.mark.parametrize(("body", "breaks"), [(f"{HALF}\n", True), (HALF, True), (f"{HALF}\n{HALF[:20]}", False)])
def test_lines_without_an_end_are_half_an_answer(
    make: Make, server: Script, prompt: Prompt, body: str, breaks: bool
) -> None:
    server.say(Reply(raw=body, kind=STREAM, breaks=breaks))
    assert type(raised_by(make(), prompt)) is e.BackendInterrupted


RESPONSE = {"status": "completed", "output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": [
    {"type": "output_text", "text": REPLY}
]}], "usage": {"input_tokens": 7, "output_tokens": "3"}}  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(RESPONSE),
        sse({"type": "response.completed", "response": RESPONSE}),
        sse(
            "data:",
            {"type": None},
            *({"type": "response.output_text.delta", "delta": half} for half in HALVES),
            {"type": "response.completed", "response": RESPONSE},
            done=False,
        ),
    ],
)
def test_so_are_responses(make: Make, server: Script, prompt: Prompt, body: str) -> None:
    server.say(Reply(raw=body, kind=STREAM))
    assert both(make("o3-pro"), prompt) == [Draft(f"{SAID}.", (Label(0, 5),)), Usage(7, None, calls=1)]


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"prompt_tokens": "many", "completion_tokens": None, "total_tokens": -3}, Usage(calls=1)),
        ({"prompt_tokens": 7, "completion_tokens": -3, "cost": "free"}, Usage(7, None, calls=1)),
        ({"prompt_tokens": 7.0, "completion_tokens": True, "cost": float("nan")}, Usage(7, None, calls=1)),
        ({"prompt_tokens": 10**400, "completion_tokens": {}, "cost": -1}, Usage(calls=1)),
        ({"prompt_tokens": [], "completion_tokens": 3, "cost": 0}, Usage(None, 3, 0.0, calls=1)),
        ({}, Usage(calls=1)),
        ([7, 3], Usage(calls=1)),
        ("7", Usage(calls=1)),
        (None, Usage(calls=1)),
    ],
)
def test_counts_that_cannot_be_are_not_known(
    make: Make, server: Script, assistant: Assistant, prompt: Prompt, told: Any, usage: Usage
) -> None:
    server.say(Reply(raw=sse(*WORDS, END, {"choices": [], "usage": told}), kind=STREAM))
    assert both(make(), prompt)[1:] == [usage]
    with Assistant.open(
        assistant.settings.index_path,
        backend="openai-like", model="m", base_url=server.url, price_in=1.0, price_out=1.0, max_session_cost=1.0,
    ) as asked:  # fmt: skip
        assert asked.ask(QUESTION).usage.cost is not None


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ({"error": {"message": "model not loaded"}}, e.BackendInterrupted, "broke off its answer: model not loaded."),
        ({"error": "model not loaded"}, e.BackendInterrupted, "model not loaded."),
        ({"error": ["a", {"msg": "b"}]}, e.BackendInterrupted, ": a; b."),
        ({"error": {"code": "E7"}}, e.BackendInterrupted, "E7"),
        ({"error": True, "message": "no GPU\nat all"}, e.BackendInterrupted, "no GPU at all."),
        ({"errors": [{"detail": "no GPU"}]}, e.BackendInterrupted, "no GPU."),
        ({"object": "error", "message": "no GPU"}, e.BackendInterrupted, "no GPU."),
        ({"message": "no GPU"}, e.BackendInterrupted, "no GPU."),
        ({"detail": [{"loc": ["body", "top_k"], "msg": "too odd"}]}, e.BackendInterrupted, "body.top_k: too odd."),
        ({"error": {"message": "slow down", "code": 429}}, e.BackendRateLimited, "(429): slow down."),
        ({"error": {"message": "which?", "code": "404"}}, e.BackendNotFound, "(404): which?."),
        ({"error": {"message": "no", "code": 401}}, e.BackendAuthError, "(401): no."),
        ({"error": {"code": "context_length_exceeded"}}, e.BackendContextTooLong, "too long"),
        ({"choices": [{"error": {"message": "no GPU"}}]}, e.BackendInterrupted, "no GPU."),
        ({"error": {"message": "no", "code": "4" * 5000}}, e.BackendInterrupted, "broke off its answer: no."),
        (chunk({}, "error"), e.BackendInterrupted, "no reason given."),
        (chunk({}, "abort"), e.BackendInterrupted, "broke off its answer: abort."),
        (chunk({}, "insufficient_system_resource"), e.BackendInterrupted, ": insufficient_system_resource."),
        (chunk({"refusal": "I won't."}, "stop"), e.BackendFiltered, "refused to answer: I won't."),
        (chunk({"refusal": "I won't."}), e.BackendFiltered, "refused to answer: I won't."),
        (chunk({"content": [{"type": "refusal", "refusal": "I won't."}]}, "stop"), e.BackendFiltered, ": I won't."),
        (chunk({}, "SAFETY"), e.BackendFiltered, "filter"),
        (chunk({"reasoning_content": "Hm."}, "stop"), e.BackendProtocolError, "its reasoning and an empty answer."),
        (chunk({"reasoning": "Hm."}, "length"), e.BackendProtocolError, "RAG_MAX_TOKENS"),
        (chunk({"tool_calls": [{"function": {}}]}, "tool_calls"), e.BackendProtocolError, "empty answer"),
    ],
)
def test_the_reason_is_the_servers(
    make: Make, server: Script, prompt: Prompt, body: dict[str, Any], kind: type[e.BackendError], said: str
) -> None:
    for raw in (json.dumps(body), json.dumps(body, indent=1), sse(body), sse(body, done=False)):
        server.say(Reply(raw=raw))
        error = raised_by(make(), prompt)
        assert type(error) is kind
        assert said in str(error)


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("model", ["m", "o3-pro"])
def test_a_refusal_in_pieces_is_told_whole(make: Make, server: Script, prompt: Prompt, model: str, ends: bool) -> None:
    said = [chunk({"refusal": piece}) for piece in ("I ", "won't.")]
    last = [chunk({}, "stop")]
    if model == "o3-pro":
        said = [{"type": "response.refusal.delta", "delta": piece} for piece in ("I ", "won't.")]
        last = [{"type": "response.completed", "response": {"status": "completed"}}]
    server.say(Reply(raw=sse(*said, *(last if ends else ())), kind=STREAM))
    error = raised_by(make(model), prompt)
    assert type(error) is e.BackendFiltered
    assert error.message.endswith("refused to answer: I won't.")


def test_an_error_that_is_only_a_word_is_told(make: Make, server: Script, prompt: Prompt) -> None:
    server.say(Reply(raw="event: error\ndata: out of memory\n\n", kind=STREAM))
    assert "broke off its answer: out of memory." in str(raised_by(make(), prompt))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429, 500, 503])
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ('{"error": {"message": "no\\u001b[31m, sk-ours-key.", "code": null}}', ": no, (the key)."),
        ('{"error": {"message": "bad key: sk-o****-key, or \'***-key\'."}}', ": bad key: (the key), or '(the key)'."),
        ('{"detail": "no"}', ": no."),
        ('{"message": "no"}', ": no."),
        ('["no"]', ": no."),
        ("no", ": no."),
        ("{}", "."),
        ("<html>no</html>", "."),
        ("", "."),
    ],
)
def test_a_refusal_says_why(make: Make, server: Script, prompt: Prompt, status: int, raw: str, said: str) -> None:
    server.say(Reply(status=status, raw=raw))
    error = raised_by(make(), prompt)
    assert error.message.endswith(f"({status}){said}")
    assert error.hint


def test_a_word_in_place_of_a_key_is_shown(make: Make, server: Script, prompt: Prompt) -> None:
    server.say(Reply(status=400, raw="none of these"))
    assert ": none of these." in str(raised_by(make(key="none"), prompt))


@pytest.mark.parametrize("name", ["openai", "openai-like"])
def test_a_password_in_the_address_is_not_shown(make: Make, server: Script, prompt: Prompt, name: str) -> None:
    server.say(Reply(status=404, raw="{}"))
    said = str(raised_by(make(name=name, user="us:secret@"), prompt))
    assert "secret" not in said
    assert server.url.removesuffix("/v1") in said


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        ("Unrecognized request argument supplied: stream_options", {"stream_options"}),
        ("'temperature' does not support 0 with this model", {"temperature"}),
        ("'max_tokens' is not supported. Use 'max_completion_tokens' instead.", {"max_tokens"}),
        ("System role not supported", {"system"}),
        ("Streaming is not supported", {"stream_options", "stream"}),
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_what_a_server_refuses_is_left_out(
    make: Make, server: Script, prompt: Prompt, words: str, gone: set[str], status: int
) -> None:
    backend = make()
    server.say(Reply(status=status, raw=json.dumps({"error": {"message": words}})), Reply(raw=json.dumps(WHOLE)))
    assert both(backend, prompt)[0] == Draft(f"{SAID}.", (Label(0, 5),))
    asked, *later = (body for _, _, body in server.seen)
    assert len(later) == 2, "what was learned is kept"
    for body in later:
        left = set(asked) - set(body) | ({"system"} if body["messages"][0]["role"] == "user" else set())
        assert left | ({"stream"} if body["stream"] is False else set()) == gone
        assert body.get("max_completion_tokens", body.get("max_tokens")) == asked["max_tokens"]
        assert "NOT_IN_ABSTRACTS" in json.dumps(body["messages"])


def test_the_name_that_a_refusal_offers_is_sent(make: Make, server: Script, prompt: Prompt) -> None:
    words = "Unrecognized argument: max_completion_tokens. Did you mean max_tokens?"
    server.say(Reply(status=400, raw=json.dumps({"error": {"message": words}})), Reply(raw=json.dumps(WHOLE)))
    assert both(make(name="openai"), prompt)[0] == Draft(f"{SAID}.", (Label(0, 5),))
    asked, *later = (body for _, _, body in server.seen)
    assert [(body.get("max_tokens"), "max_completion_tokens" in body) for body in later] == [
        (asked["max_completion_tokens"], False)
    ] * 2


def test_a_template_without_a_system_role_is_no_fault(make: Make, server: Script, prompt: Prompt) -> None:
    server.say(Reply(status=500, raw="Jinja Exception: System role not supported"), Reply(raw=json.dumps(WHOLE)))
    assert both(make(), prompt)[0] == Draft(f"{SAID}.", (Label(0, 5),))
    server.say(Reply(status=500, raw="the stream was closed"))
    assert "(500): the stream was closed." in str(raised_by(make(), prompt))
    assert len(server.seen) == 2, "a fault is no refusal of streams"


def test_a_server_that_refuses_everything_is_asked_once_for_each(make: Make, server: Script, prompt: Prompt) -> None:
    named = "no stream_options, max_tokens, max_completion_tokens, temperature, system role, stream"
    server.say(Reply(status=400, raw=json.dumps({"error": {"message": "no", "param": named}})))
    assert "(400): no." in str(raised_by(make(), prompt))
    assert len(server.seen) == 7 + 1
    server.seen.clear()
    error = json.dumps({"error": {"message": "'temperature' must be 1"}})
    server.say(Reply(status=400, raw=error))
    assert "'temperature' must be 1." in str(raised_by(make(temperature=0.7), prompt))
    assert len(server.seen) == 2, "what the user chose is not left out"


def _date(**ahead: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(**ahead), usegmt=True)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("99999", "ask again in 28 hours"),
        ("1e12", "ask again in 11,574,075 days"),
        ("90", "ask again in 90 seconds"),
        (_date(hours=30), "ask again in 30 hours"),
        (_date(days=9).replace(" GMT", ""), "ask again in 9 days"),
        ("-5", "ask again in a moment"),
        (_date(days=-9), "ask again in a moment"),
        ("1e999", "ask again in a moment"),
        ("nan", "ask again in a moment"),
        ("soon", "ask again in a moment"),
    ],
)
def test_how_long_to_wait_is_what_the_server_says(
    make: Make, server: Script, prompt: Prompt, status: int, header: str, said: str
) -> None:
    server.say(Reply(status=status, raw="{}", headers=(("retry-after", header),)))
    assert raised_by(make(), prompt).hint.startswith(said)
    if said != "ask again in a moment":
        server.say(Reply(status=status, raw="{}", headers=(("retry-after", header),)))
        raised_by(make(retries=1), prompt)
        assert len(server.seen) == 2, "a longer pause than a minute is not waited for"


@pytest.mark.parametrize("header", ["-5", "nan", _date(days=-9)])
def test_a_wait_that_cannot_be_is_a_short_one(make: Make, server: Script, prompt: Prompt, header: str) -> None:
    server.say(Reply(status=429, raw="{}", headers=(("retry-after", header),)), Reply(raw=json.dumps(WHOLE)))
    pieces = list(make(retries=1).stream(prompt))
    assert any("trying again in 0.5 s" in piece.why for piece in pieces if isinstance(piece, Waiting))
    assert any(isinstance(piece, Draft) for piece in pieces)


ENDLESS = {
    "words": sse(chunk({"content": "word "}), done=False),
    "sentences": sse(chunk({"content": "It is so. "}), done=False),
    "reasoning": sse(chunk({"reasoning_content": "word "}), done=False),
}


@in_both_ways
@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_no_more_is_read_than_may_be_written(make: Make, server: Script, prompt: Prompt, body: str, read: Read) -> None:
    server.hung_up.clear()
    server.say(Reply(raw=body, kind=STREAM, endless=True, pause=0.001))
    started = time.monotonic()
    if "It is so" in body:
        assert Notice(CUT) in read(make(max_tokens=32), prompt)
    else:
        with pytest.raises(e.BackendProtocolError) as raised:
            read(make(max_tokens=32), prompt)
        assert "RAG_MAX_TOKENS" in raised.value.hint
    assert time.monotonic() - started < 3
    assert server.hung_up.wait(2)


def test_nor_of_text_that_comes_in_one_piece(make: Make, server: Script, prompt: Prompt) -> None:
    text = " ".join(f"Sentence {number} is so." for number in range(1000))
    server.say(Reply(raw=json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})))
    pieces = both(make(max_tokens=32), prompt)
    assert 100 < sum(len(piece.text) for piece in pieces if isinstance(piece, Draft)) <= 32 * 8
    assert Notice(CUT) in pieces


def test_a_long_text_in_one_piece_is_read_at_once(make: Make, server: Script, prompt: Prompt) -> None:
    server.say(Reply(raw=content(f"<think>{'word ' * 300_000}</think>{REPLY}"), kind=STREAM))
    started = time.monotonic()
    assert Draft(f"{SAID}.", (Label(0, 5),)) in list(make(max_tokens=10**6).stream(prompt))
    assert time.monotonic() - started < 8


@in_both_ways
def test_a_retry_may_write_as_much_as_the_first_call(make: Make, server: Script, prompt: Prompt, read: Read) -> None:
    thought = chunk({"reasoning_content": "x" * 190})
    failed = sse(thought, {"error": {"message": "busy", "code": 503}})
    server.say(Reply(raw=failed, kind=STREAM), Reply(raw=sse(thought, *WORDS, END), kind=STREAM))
    pieces = read(make(max_tokens=32, retries=1), prompt)
    assert Draft(f"{SAID}.", (Label(0, 5),)) in pieces
    assert Notice(CUT) not in pieces


@pytest.mark.parametrize(
    "body",
    [
        ": still here\n\n",
        "data: {}\n\n",
        "\n",
        "data: {",
        "word ",
        sse(chunk({"content": ""}), done=False),
        sse(chunk({"tool_calls": [{"function": {"arguments": "x"}}]}), done=False),
    ],
)
def test_what_is_no_words_is_not_waited_for(make: Make, server: Script, prompt: Prompt, body: str) -> None:
    server.say(Reply(raw=body, kind=STREAM, endless=True, pause=0.05))
    started = time.monotonic()
    assert type(raised_by(make(timeout=0.4), prompt)) is e.BackendTimeout
    assert time.monotonic() - started < 3


def test_a_reply_without_end_is_not_held(make: Make, server: Script, prompt: Prompt) -> None:
    server.say(Reply(raw="data: " + "x" * 2**20, kind=STREAM, endless=True))
    assert "more than 8 MB" in str(raised_by(make(), prompt))


@pytest.mark.parametrize("status", [500, 302])
@pytest.mark.parametrize("pause", [0.05, 0.0])
def test_nor_is_a_refusal(make: Make, server: Script, prompt: Prompt, pause: float, status: int) -> None:
    server.say(Reply(status=status, raw="x" * 2**16, endless=True, pause=pause))
    started = time.monotonic()
    assert f"({status}): xxx" in str(raised_by(make(timeout=0.5), prompt))
    assert time.monotonic() - started < 5


def test_a_server_that_hangs_is_waited_for_once(assistant: Assistant) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hung:
        address = f"http://127.0.0.1:{hung.getsockname()[1]}/v1"
        with Assistant.open(
            assistant.settings.index_path, backend="openai-like", model="m", base_url=address, timeout=1.5
        ) as asked:
            started = time.monotonic()
            with pytest.raises(e.BackendTimeout):
                asked.ask(QUESTION)
            assert 1.5 <= time.monotonic() - started < 4


def test_asking_for_the_context_blocks_no_event_loop(prompt: Prompt) -> None:
    async def seconds() -> float:
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await _drained(backend, prompt)
        return time.monotonic() - started

    with socket.create_server(("127.0.0.1", 0)) as hung:
        settings = Settings(model="m", base_url=f"http://127.0.0.1:{hung.getsockname()[1]}/v1")
        made = load_plugin("backend", "openai-like")(settings=settings, options=Options(timeout=8.0))
        backend = GenerativeWriter(made)
        assert asyncio.run(seconds()) < 1.5


@pytest.mark.parametrize("model", ["m", "o3-pro"])
@pytest.mark.parametrize("seconds", [5.0, 7.0])
def test_the_timeout_is_the_clients(make: Make, model: str, seconds: float) -> None:
    backend: Any = make(model, timeout=seconds).caller.model

    async def seconds_of_async() -> float:
        async with backend.async_client() as client:
            return float(client.timeout.read)

    with backend.client() as client:
        assert client.timeout.read == seconds
    assert asyncio.run(seconds_of_async()) == seconds


def test_words_without_an_end_are_not_looked_at_again_and_again(make: Make, server: Script, prompt: Prompt) -> None:
    server.say(Reply(raw=ENDLESS["words"], kind=STREAM, endless=True))
    pieces = list(make(max_tokens=1024).stream(prompt))
    assert Notice(CUT) in pieces
    assert max(len(piece.text) for piece in pieces if isinstance(piece, PartialSentence)) <= LONGEST_BEGINNING
    assert sum(len(piece.text) for piece in pieces if isinstance(piece, Draft)) > 4 * LONGEST_BEGINNING
