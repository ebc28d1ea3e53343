"""Further checks: they see what the checks in code let pass, take support away and never give it, and break nothing."""

from __future__ import annotations

import asyncio
import re
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_assistant import Answer, Assistant, FinalEvent, StageEvent, TextEvent
from rag_assistant import errors as e
from rag_assistant.checks.base import Check, Claim, Opinion
from rag_assistant.checks.model import ModelCheck
from rag_assistant.settings import Settings
from rag_assistant.types import PromptEvent, Usage
from tests.backends.chat_server import Reply, Script, serving
from tests.backends.http_llm import HttpLLM

QUESTION = "Does DPO keep its advantage when the true reward is not realizable?"
FIRST = "DPO keeps its asymptotically decaying gap by tuning the temperature"
SECOND = "RLHF incurs a constant additional error"
VERBATIM = (
    "RLHF incurs a constant additional error, DPO retains its asymptotically decaying gap by just tuning the "
    "temperature accordingly"
)
REPLY = f"{FIRST} [1.s6]. Here, {SECOND} [1.s6]. {VERBATIM} [1.s6]. DPO incurs a constant additional error [1.s6]."
Open = Callable[..., Assistant]


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    with serving() as script:
        yield script


@pytest.fixture(params=["openai-like", "openai", "llamaindex"])
def backend(request: pytest.FixtureRequest, server: Script) -> Any:
    return HttpLLM(model="m", api_base=server.url, api_key="k") if request.param == "llamaindex" else request.param


@pytest.fixture
def opened(assistant: Assistant, server: Script, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    monkeypatch.setenv("RAG_API_KEY", "k")
    made: list[Assistant] = []

    def open_with(backend: Any = "openai-like", check: Any = "model", **settings: Any) -> Assistant:
        given = Settings.load(index=assistant.settings.index_path, model="m", base_url=server.url, **settings)
        made.append(Assistant.open(settings=given, backend=backend, check=check))
        return made[-1]

    yield open_with
    for one in made:
        one.close()


def both(asked: Assistant, server: Script, *replies: Reply | str) -> Answer:
    """The answer, which is the same both ways."""
    server.say(*replies)
    answer = asked.ask(QUESTION)
    sent = [body["messages"][1]["content"] for _, _, body in server.seen]
    server.say(*replies)
    again = asyncio.run(asked.aask(QUESTION))
    assert (again.text, again.statements, again.notices, again.usage) == (
        answer.text,
        answer.statements,
        answer.notices,
        answer.usage,
    )
    assert len(server.seen) == len(sent)
    return answer


def supports(answer: Answer) -> list[str]:
    return [statement.support for statement in answer.statements]


def test_the_model_takes_support_away(opened: Open, backend: Any, server: Script) -> None:
    answer = both(opened(backend), server, REPLY, "NO", "<think>Hm.</think> **Yes**, they do.")
    # The third repeats its quote and the fourth failed in code: neither is asked about.
    assert supports(answer) == ["unsupported", "supported", "supported", "unsupported"]
    assert answer.statements[0].reason == "the model doesn't find it in the cited words (check: model)"
    assert "(check:" not in answer.statements[3].reason
    assert answer.status == "answered"
    assert answer.notices == ()
    assert answer.usage.calls == 3
    assert answer.usage.prompt_tokens == 21
    asked = [body["messages"][1]["content"] for _, _, body in server.seen[1:]]
    assert f"Statement: {FIRST}." in asked[0]
    assert f"Statement: Here, {SECOND}." in asked[1]
    for text in asked:
        assert text.count("Quoted sentence: ") == 1
        assert "Quoted sentence: Next, we analyze the setting" in text
        assert "Paper: Reward Model Learning vs. Direct Policy Optimization" in text


def test_text_streams_before_and_the_final_event_tells(opened: Open, server: Script) -> None:
    server.say(REPLY, "NO", "YES")
    events = list(opened().stream(QUESTION).events())
    told = [event.statement for event in events if isinstance(event, TextEvent) and event.statement]
    assert [statement.support for statement in told] == ["supported", "supported", "supported", "unsupported"]
    final = events[-1]
    assert isinstance(final, FinalEvent)
    assert not final.replaced
    assert supports(final.answer)[0] == "unsupported"
    at = events.index(StageEvent("checking"))
    assert not any(isinstance(event, TextEvent) for event in events[at:])
    prompts = [event.info.name for event in events if isinstance(event, PromptEvent)]
    assert prompts == ["answer", "check", "check"]


def test_an_answer_that_the_check_leaves_nothing_of_is_a_refusal(opened: Open, server: Script) -> None:
    server.say(f"{FIRST} [1.s6].", "No.")
    final = list(opened().stream(QUESTION).events())[-1]
    assert isinstance(final, FinalEvent)
    assert final.replaced
    assert final.answer.status == "not_in_abstracts"
    assert final.answer.statements == ()
    assert FIRST in final.answer.draft
    assert FIRST not in final.answer.text


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(status=401, raw="{}"), "key"),
        (Reply(()), "an empty answer"),
        (Reply(("YE",), breaks=True), "broke"),
        (Reply(("Perhaps.",)), "said neither"),
        (Reply(("<think>It is",), finish="length"), "said neither"),
    ],
)
def test_a_check_that_fails_leaves_what_code_found(opened: Open, server: Script, reply: Reply, said: str) -> None:
    answer = both(opened(), server, REPLY, reply)
    assert supports(answer) == ["supported", "supported", "supported", "unsupported"]
    [notice] = answer.notices
    assert notice.startswith("The check 'model' looked at 0 of 2 statements, the rest stands as checked in code: ")
    assert notice.endswith(".")
    assert notice.count(". ") == 0
    assert said in notice
    partly = both(opened(), server, REPLY, reply, "NO")
    assert supports(partly)[:2] == ["supported", "unsupported"]
    assert "looked at 1 of 2 statements" in partly.notices[0]


def test_no_call_is_made_that_the_budget_does_not_allow(opened: Open, server: Script) -> None:
    asked = opened(max_session_tokens=3000, max_tokens=400)
    server.say(REPLY, "NO", "YES")
    first = asked.ask(QUESTION)
    assert (supports(first)[0], first.notices, len(server.seen)) == ("unsupported", (), 3)
    tight = opened(price_in=1.0, price_out=1000.0, max_cost=0.4028, max_tokens=400)
    answer = both(tight, server, REPLY, "NO")
    assert len(server.seen) == 1
    assert supports(answer)[:2] == ["supported", "supported"]
    assert "max_cost" in answer.notices[0]


async def test_a_cancelled_check_hangs_up(opened: Open, server: Script) -> None:
    server.hung_up.clear()
    server.say(REPLY, Reply(("<think>", *["and "] * 400), pause=0.01))
    begun = asyncio.Event()

    async def read() -> None:
        async for event in opened().astream(QUESTION).events():
            if isinstance(event, PromptEvent) and event.info.name == "check":
                begun.set()

    task = asyncio.create_task(read())
    await begun.wait()
    while len(server.seen) < 2:  # the request is on its way
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.hung_up.wait, 2)


class Own:
    """A check of somebody's own, that keeps what it was given."""

    name = "own"

    def __init__(self, *found: Opinion | Exception | None) -> None:
        self.found = list(found)
        self.seen: list[Claim] = []

    def check(self, claim: Claim) -> Opinion:
        self.seen.append(claim)
        found = self.found[(len(self.seen) - 1) % len(self.found)]
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[return-value]  # what is none of it is looked at too


def test_an_object_checks(opened: Open, server: Script) -> None:
    own = Own(Opinion(False, "it says\nmore.", Usage(5, 1, 0.25, 1)), Opinion(True))
    answer = both(opened(check=own), server, REPLY)
    assert answer.statements[0].reason == "it says more (check: own)"
    assert supports(answer) == ["unsupported", "supported", "supported", "unsupported"]
    assert (answer.usage.calls, answer.usage.prompt_tokens) == (2, 12)
    assert [claim.statement for claim in own.seen[:2]] == [f"{FIRST}.", f"Here, {SECOND}."]
    claim = own.seen[0]
    [paper], [quote] = claim.papers, claim.quotes
    assert paper.id == "nika24a"
    assert quote in paper.abstract


@pytest.mark.parametrize("found", [ZeroDivisionError("by\nzero"), e.InputError("Bad input.", hint="mend it"), None])
def test_whatever_an_object_does_is_one_sentence(opened: Open, server: Script, found: Exception | None) -> None:
    answer = both(opened(check=Own(found)), server, REPLY)
    assert supports(answer) == ["supported", "supported", "supported", "unsupported"]
    told = {"ZeroDivisionError": "ZeroDivisionError: by zero.", "InputError": "Bad input."}
    [notice] = answer.notices
    assert notice.endswith(told.get(type(found).__name__, "it gave NoneType and not an Opinion."))


async def test_a_check_that_blocks_does_not_block_the_loop(opened: Open, server: Script) -> None:
    server.say(REPLY)
    entered, release = threading.Event(), threading.Event()

    class Blocking(Own):
        def check(self, claim: Claim) -> Opinion:
            entered.set()
            assert release.wait(30)
            return super().check(claim)

    task = asyncio.create_task(opened(check=Blocking(Opinion(True))).aask(QUESTION))
    assert await asyncio.to_thread(entered.wait, 30)
    release.set()  # only a loop that isn't blocked gets here
    assert (await task).statements[0].support == "supported"


def test_words_of_the_abstracts_need_no_check(assistant: Assistant) -> None:
    own = Own(Opinion(False))
    with Assistant.open(assistant.settings.index_path, check=own) as asked:
        for question in (QUESTION, "Who wrote MusicRL?", "Which papers are about federated learning?"):
            assert asked.ask(question).statements == assistant.ask(question).statements
    assert own.seen == []


def test_what_cannot_check_is_told_at_once(assistant: Assistant, server: Script) -> None:
    index = assistant.settings.index_path
    with pytest.raises(e.PluginError, match="'extractive' calls none") as raised:
        Assistant.open(index, check="model")
    assert "--backend openai-like" in raised.value.hint
    with pytest.raises(e.PluginError, match="no check named 'modle'") as misspelt:
        Assistant.open(index, check="modle")
    assert "did you mean 'model'" in misspelt.value.hint
    with pytest.raises(e.PluginError, match="is no check"):
        Assistant.open(index, check=object())
    # Without a key the abstracts answer, and what would have asked the model is not needed.
    with Assistant.open(index, backend="openai", check="model", fallback=True) as asked:
        assert asked.ask(QUESTION).statements[0].support == "supported"


def test_a_model_that_fails_is_stood_in_for_and_not_asked(opened: Open, server: Script) -> None:
    server.say(Reply(status=401, raw="{}"))
    answer = opened(fallback=True).ask(QUESTION)
    assert answer.backend == "extractive"
    assert len(server.seen) == 1
    assert len(answer.notices) == 1


def test_protocols(opened: Open, server: Script) -> None:
    made = ModelCheck(opened(check=None)._backend)
    assert isinstance(made, Check)


def test_the_example_of_contributing_runs(opened: Open, server: Script) -> None:
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## Add a further check")[1].split("\n## ")[0]
    code = textwrap.dedent(re.findall(r"(?:^    .*\n|^\n(?=    |\n    ))+", section, re.MULTILINE)[0])
    assert len(code.strip().splitlines()) <= 14
    space: dict[str, Any] = {}
    exec(code, space)
    long = f"{FIRST} {'by tuning the temperature ' * 8}"
    answer = both(opened(check=space["NoLonger"]()), server, f"{long} [1.s6]. Here, {SECOND} [1.s6].")
    assert supports(answer) == ["unsupported", "supported"]
    assert answer.statements[0].reason == "it is longer than what it cites (check: no-longer)"
