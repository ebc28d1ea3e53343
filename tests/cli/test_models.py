"""The flags that say which model writes the answers, on the command line of a user."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.backends.chat_server import Reply, Script, serving

from .conftest import Run

QUESTION = "Does DPO keep its advantage when the true reward is not realizable?"


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    with serving() as script:
        yield script


def test_flags_name_model_and_server(rag: Run, server: Script) -> None:
    server.say("NOT_IN_ABSTRACTS")
    done = rag(
        *("ask", "--backend", "openai-like", "--model", "mine", "--base-url", server.url, "--json", QUESTION),
        RAG_MODEL="another",
    )
    assert done.code == 0, done.err
    assert (done.json["status"], done.json["model"]) == ("not_in_abstracts", "mine")
    assert [body["model"] for _, _, body in server.seen] == ["mine"]


def test_a_model_that_fails_is_stood_in_for(rag: Run, server: Script) -> None:
    server.say(Reply(status=401, raw="{}"))
    flags = ("--backend", "openai-like", "--model", "mine", "--base-url", server.url, "--max-tokens", "99")
    done = rag("ask", *flags, "--fallback", QUESTION)
    assert done.code == 0, done.err
    assert "DPO retains its asymptotically decaying gap" in done.out
    assert "note: " in done.err
    assert "so this answer comes from the abstracts" in done.err
    assert [body["max_tokens"] for _, _, body in server.seen] == [99]
    told = rag("ask", *flags, QUESTION)
    assert (told.code, told.out) == (1, "")
    assert "hint: set RAG_API_KEY" in told.err


def test_a_pause_is_told(rag: Run, server: Script) -> None:
    server.say(Reply(status=429, raw="{}", headers=(("retry-after", "0.3"),)), "NOT_IN_ABSTRACTS")
    done = rag("ask", "--backend", "openai-like", "--model", "mine", "--base-url", server.url, QUESTION)
    assert done.code == 0, done.err
    assert "note: waiting: the server asks for 0.3 s" in done.err


def test_an_eval_run_keeps_its_flags_to_go_on_with(rag: Run, server: Script) -> None:
    server.say("NOT_IN_ABSTRACTS")
    flags = ("--backend", "openai-like", "--model", "mine", "--base-url", server.url)
    assert rag("eval", "run", "--category", "near_miss", "--limit", "2", "--out", "run", *flags).code == 0
    asked = len(server.seen)
    assert asked
    done = rag("eval", "run", "--resume", "run", "--json")
    assert done.code == 0, done.err
    assert done.json["questions"] == 2
    assert len(server.seen) == asked


def test_a_run_never_holds_a_password(rag: Run) -> None:
    done = rag("eval", "run", "--base-url", "http://me:pw@127.0.0.1:1/v1", "--out", "run")
    assert done.code == 1
    assert "RAG_BASE_URL" in done.err
    assert "pw" not in done.err


def test_a_trace_tells_how_the_answer_came_about(rag: Run, server: Script) -> None:
    server.say("NOT_IN_ABSTRACTS")
    flags = ("--backend", "openai-like", "--model", "mine", "--base-url", server.url, "--trace")
    done = rag("ask", *flags, QUESTION)
    assert done.code == 0, done.err
    sent = server.seen[0][2]["messages"][1]["content"]
    told = [line.removeprefix("trace: ") for line in done.err.splitlines() if line.startswith("trace: ")]
    assert [line.split()[0] for line in told[:4]] == ["searching", "reading", "writing", "checking"]
    assert f"searched for: {QUESTION}" in told
    assert any(line.startswith("hit 1, score ") and "nika24a" in line for line in told)
    assert any(line.startswith("sent to openai-like mine: answer ") for line in told)
    assert {line for line in sent.split("\n") if "[1.s1]" in line} <= {line.removeprefix("| ") for line in told}
    trace = rag("ask", *flags, "--json", QUESTION).json["trace"]
    assert [stage["name"] for stage in trace["stages"]] == ["searching", "reading", "writing", "checking"]
    assert trace["stages"][0]["ms"] > 0
    assert trace["hits"][0]["paper"]["id"] == "nika24a"
    assert trace["prompts"][0]["user"].endswith("NOT_IN_ABSTRACTS.")


def test_a_trace_of_a_list_tells_its_batches(rag: Run, server: Script) -> None:
    server.say("[1.s1]")
    flags = ("--backend", "openai-like", "--model", "mine", "--base-url", server.url, "--trace")
    done = rag("ask", *flags, "--json", "--context-tokens", "2048", "Which papers mention nonconvex losses?")
    assert done.code == 0, done.err
    trace = done.json["trace"]
    judging = [stage["detail"] for stage in trace["stages"] if stage["name"] == "judging"]
    assert len(judging) == len(trace["prompts"]) == len(server.seen) > 1
    assert judging[0].startswith("papers 1 to ")
    assert {prompt["info"]["name"] for prompt in trace["prompts"]} == {"list"}


def test_a_trace_of_what_failed_is_told_too(rag: Run, server: Script) -> None:
    server.say(Reply(status=401, raw="{}"))
    done = rag("ask", "--backend", "openai-like", "--model", "m", "--base-url", server.url, "--trace", QUESTION)
    assert done.code == 1
    assert "trace: searching" in done.err
    assert "trace: | <<<PAPERS" in done.err
    assert "refused the key" in done.err


def test_a_further_check_by_flag(rag: Run, server: Script) -> None:
    flags = ("--backend", "openai-like", "--model", "mine", "--base-url", server.url)
    statement = "DPO keeps its asymptotically decaying gap by tuning the temperature"
    server.say(f"{statement} [1.s6]. RLHF incurs a constant additional error [1.s6].", "NO", "YES")
    done = rag("ask", *flags, "--check", "model", "--trace", QUESTION)
    assert done.code == 0, done.err
    assert f"{statement}. [1] (not supported: the model doesn't find it" in done.out.replace("\n", " ")
    assert f"trace: | Statement: {statement}." in done.err
    for given, status in ((flags, "ok"), ((), "bad")):
        told = rag("doctor", *given, "--check", "model", "--json").json["checks"]
        assert [check["status"] for check in told if check["name"] == "check"] == [status]
