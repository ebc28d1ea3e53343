"""Drafts of questions: by code from sentences, by a model over HTTP, and on to a set that can be run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.bundled import bundled
from rag_assistant.cli import main
from rag_assistant.evals import Dataset
from rag_assistant.evals.drafting import draft_from_sentences, write_drafts
from rag_assistant.evals.drafting.sentences import long_form
from rag_assistant.types import Paper
from tests.backends.chat_server import Reply, Script, serving

ABSTRACT = (
    "We propose TinyQuery, a sparse index for long documents. "
    "It rests on Late Interaction Scoring (LIS) and needs no training. "
    "TinyQuery lowers the memory of an index on seven public datasets. "
    "It answers $93.5\\%$ of the questions rightly. "
    "It was made with five dollars in 2020 languages. "
    "It takes $O(\\frac{n}{m})$ time."
)
PAPER = Paper("tiny/query 1", "Sparse indexing", ABSTRACT, authors=("Ada Lovelace", "Åsa Ölund"))


def test_every_kind_of_sentence_gives_a_question() -> None:
    drafts = draft_from_sentences([PAPER], per_paper=20)
    asked = {case.question: case for case in drafts.cases}
    assert {
        "What is TinyQuery?",
        "What does LIS stand for?",
        "What does TinyQuery lower?",
        "How many public datasets: “TinyQuery lowers the memory of an index on … public datasets”?",
        "Which percentage is it: “It answers … of the questions rightly”?",
        "Who wrote “Sparse indexing”?",
    } <= set(asked)
    assert asked["What does LIS stand for?"].accepts("It is Late Interaction Scoring.")
    assert not asked["What does LIS stand for?"].accepts("It is lazy indexing.")
    percent = next(case for question, case in asked.items() if question.startswith("Which percentage"))
    assert percent.accepts("93.5 percent")
    assert not percent.accepts("93.5 of them")
    assert not any(question.startswith("How many languages") for question in asked), "2020 is a year"
    assert all(not case.reviewed and case.standalone and case.id.startswith("tiny-query-1/") for case in drafts.cases)
    assert len(draft_from_sentences([PAPER], per_paper=2).cases) == 2


@pytest.mark.parametrize(
    ("short", "before", "long"),
    [
        ("CTMA", "the so-called Centered Trimmed Meta Aggregator", "Centered Trimmed Meta Aggregator"),
        ("D-SGD", "analysis of Decentralized Stochastic Gradient Descent", "Decentralized Stochastic Gradient Descent"),
        ("XYZ", "something else entirely", ""),
        ("ML", "ml", ""),
        ("A1", "", ""),
    ],
)
def test_acronyms_are_spelled_out_by_the_words_before(short: str, before: str, long: str) -> None:
    assert long_form(short, before) == long


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.sampled_from([*ABSTRACT.split(), "(LIS)", "$x$", "\u202e", "{{", "12%", "ten things", "."]), max_size=40
    )
)
def test_drafts_of_any_abstract_hold_up(words: list[str]) -> None:
    paper = Paper("p", "Title", " ".join(words) or "x", authors=("Ada",))
    drafts = draft_from_sentences([paper])
    assert Dataset.of(drafts.cases).validate([paper]) == ()


def test_drafts_of_the_corpus_are_a_set(papers: dict[str, Paper], tmp_path: Path) -> None:
    drafts = draft_from_sentences(list(papers.values()))
    assert len(drafts.cases) > 30
    text = write_drafts(drafts)
    assert text == write_drafts(draft_from_sentences(list(papers.values())))
    schema = json.loads((bundled("evals") / "questions.schema.json").read_text("utf-8"))
    for line in text.splitlines():
        record = json.loads(line)
        assert record["reviewed"] is False
        jsonschema.validate(record, schema)
    (tmp_path / "set.jsonl").write_text(text, "utf-8")
    assert Dataset.load(tmp_path / "set.jsonl").cases == drafts.cases


def test_from_papers_to_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.jsonl").write_text(json.dumps(PAPER.to_dict() | {"id": "tiny"}), "utf-8")
    papers, questions, index = (str(tmp_path / name) for name in ("mine.jsonl", "set.jsonl", "index"))
    assert main(["eval", "draft", papers, "--out", questions]) == 0
    assert "5 questions drafted" in capsys.readouterr().err
    assert main(["eval", "draft", papers, "--out", questions]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main(["eval", "validate", questions, "--papers", papers]) == 0
    assert "note: 5 of 5 questions are drafts that nobody has reviewed" in capsys.readouterr().err
    lines = (tmp_path / "set.jsonl").read_text("utf-8").replace('"reviewed": false', '"reviewed": "kept"')
    (tmp_path / "set.jsonl").write_text(lines, "utf-8")
    assert main(["index", "--index", index, papers]) == 0
    capsys.readouterr()
    assert main(["eval", "run", "--set", questions, "--index", index, "--out", str(tmp_path / "run")]) == 0
    told = capsys.readouterr()
    assert "5 questions" in told.out
    assert "drafts" not in told.err


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    with serving() as script:
        yield script


def drafted(
    server: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str], *replies: Reply | str, flags: Sequence[str] = ()
) -> tuple[int, list[dict[str, object]], str]:
    server.say(*replies)
    another = {"id": "more", "title": "Another index", "doi": "10.1000/another", "url": "https://example.org/another"}
    records = [json.dumps(PAPER.to_dict() | own) for own in ({"id": "tiny"}, *([another] if flags else []))]
    (tmp_path / "mine.jsonl").write_text("\n".join(records), "utf-8")
    model = ["--backend", "openai-like", "--base-url", server.url, "--model", "m"]
    code = main(["eval", "draft", str(tmp_path / "mine.jsonl"), *model, "--per-paper", "3", *flags])
    told = capsys.readouterr()
    return code, [json.loads(line) for line in told.out.splitlines()], told.err


def test_a_budget_stops_it_before_a_call_and_what_was_drafted_is_kept(
    server: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_PRICE_IN", "1000")
    monkeypatch.setenv("RAG_PRICE_OUT", "1000")
    reply = Reply((json.dumps(GOOD),), usage=(3000, 10))
    code, records, err = drafted(server, tmp_path, capsys, reply, flags=("--max-cost", "3.5"))
    assert code == 0, err
    assert len(server.seen) == 1
    assert {record["category"] for record in records} == {"fact", "near_miss"}
    assert "note: openai-like m: 1 call, 3,010 tokens, $3.0100" in err
    assert "for all calls, more than max_cost allows ($3.5); it was not made. The papers after that" in err


GOOD = {
    "question": "Which share of questions does the sparse index get right?",
    "answer": "It gets 93.5% right.",
    "keywords": ["93.5\\%"],
    "quote": "It answers  $93.5\\%$ of the questions rightly.",
    "wrong": "Half of them.",
    "near_miss": "Which share of questions does a dense index get right?",
}


def test_a_model_drafts_and_only_what_holds_up_is_kept(
    server: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up = GOOD | {"question": "Is it made up?", "quote": "It answers all of the questions."}
    formula = GOOD | {"question": "How fast is the index?", "near_miss": "", "answer": "It takes O(n/m)."}
    formula |= {"keywords": ["O(n/m)"], "quote": "It takes $O(\\frac{n}{m})$ time.", "wrong": "It takes O(m)."}
    given_away = GOOD | {"question": "Does it get 93.5% right?", "near_miss": ""}
    reply = (
        "Sure! Here they are:\n```json\n"
        + "\n".join(map(json.dumps, (GOOD, made_up, given_away, formula)))
        + "\n{broken}\n```"
    )
    code, records, err = drafted(server, tmp_path, capsys, Reply((reply,)))
    assert code == 0, err
    assert [record["category"] for record in records] == ["fact", "near_miss", "fact"]
    assert records[0]["evidence"] == [
        {"paper": "tiny", "quote": "It answers $93.5\\%$ of the questions rightly.", "field": "abstract"}
    ]
    assert (records[0]["twin"], records[1]["twin"]) == (records[1]["id"], records[0]["id"])
    assert {record["reviewed"] for record in records} == {False}
    assert "frac{n}{m}" in str(records[2]["evidence"])
    assert records[0]["author"] == "drafted by openai-like m"
    assert "openai-like m: 1 call, 10 tokens" in err
    ((_, _, sent),) = server.seen
    assert sent["temperature"] == 0
    assert "Write 3 JSON objects" in sent["messages"][1]["content"]


def test_a_near_miss_that_does_not_hold_leaves_its_question(
    server: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, records, _ = drafted(server, tmp_path, capsys, Reply((json.dumps(GOOD | {"near_miss": GOOD["question"]}),)))
    assert code == 0
    assert [(record["category"], record["twin"]) for record in records] == [("fact", "")]


def test_what_gives_no_draft_is_told(server: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, records, err = drafted(server, tmp_path, capsys, Reply(("I can't help with that.",)))
    assert (code, records) == (1, [])
    assert "No question could be drafted from 1 papers." in err
    code, _, err = drafted(server, tmp_path, capsys, Reply(status=401, raw="{}"))
    assert code == 1
    assert "hint: " in err
    paper = str(tmp_path / "mine.jsonl")
    assert main(["eval", "draft", paper, "--backend", "extractive"]) == 1
    assert "The backend 'extractive' calls no model." in capsys.readouterr().err
    assert main(["eval", "draft", paper, "--model", "m"]) == 1
    assert "hint: add --backend, or leave out --model" in capsys.readouterr().err
