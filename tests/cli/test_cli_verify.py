"""``verify`` over the bundled papers, as another process."""

from __future__ import annotations

import json
import re

from rag_assistant.render import clean
from tests.cli.conftest import Run

SENTENCE = (
    "Next, we analyze the setting where the ground-truth reward is not realizable and find that, while RLHF incurs a "
    "constant additional error, DPO retains its asymptotically decaying gap by just tuning the temperature accordingly."
)
STRANGE = "Grilled salmon goes well with white wine."


def test_a_verdict_with_its_source_and_quote(rag: Run) -> None:
    done = rag("verify", SENTENCE)
    assert (done.code, done.err) == (0, "")
    verdict, source = done.out.split("\n\n", 1)
    assert re.fullmatch(r"supported \(\d\.\d\d\)", verdict)
    assert source.startswith("[1] Reward Model Learning vs. Direct Policy Optimization")
    assert f"“{SENTENCE}”" in source


def test_not_said_is_no_error_and_names_the_nearest_papers(rag: Run) -> None:
    done = rag("verify", *STRANGE.split())
    assert done.code == 0, done.err
    assert re.match(r"not said \(\d\.\d\d\)\n\nNearest papers:\n- ", done.out)


def test_json_is_the_whole_verification(rag: Run) -> None:
    made = rag("verify", "--json", "--paper", "nika24a", SENTENCE).json
    assert (made["claim"], made["verdict"], made["considered"]) == (SENTENCE, "supported", 1)
    [citation] = made["citations"]
    for quote in citation["quotes"]:
        assert citation["paper"]["abstract"][quote["start"] : quote["end"]] == quote["text"]


def test_a_pipe_gives_one_claim_a_line(rag: Run) -> None:
    lines = rag("verify", "--json", stdin=f"{SENTENCE}\n\n  {STRANGE}\n").out.splitlines()
    assert [json.loads(line)["claim"] for line in lines] == [SENTENCE, STRANGE]
    assert [json.loads(line)["verdict"] for line in lines] == ["supported", "unsaid"]
    plain = rag("verify", "-", stdin=f"{SENTENCE}\n{STRANGE}\x1b[31m").out
    assert plain == clean(plain)
    assert plain.startswith(f"> {SENTENCE}\nsupported (")
    assert f"\n\n> {STRANGE}␛[31m\nnot said (" in plain


def test_what_cannot_be_verified(rag: Run) -> None:
    for arguments, stdin, said in (
        ((SENTENCE, "--paper", "nika24b"), "", "holds no paper nika24b"),
        ((SENTENCE, "--reader", "none"), "", "hint: --reader trained"),
        (("",), "", "claim is empty"),
        (("-",), " \n", "no claim on stdin"),
    ):
        done = rag("verify", *arguments, stdin=stdin)
        assert (done.code, done.out) == (1, "")
        assert said in done.err
        assert "hint: " in done.err
