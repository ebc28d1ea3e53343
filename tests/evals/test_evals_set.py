"""The shipped set holds against the papers, and the checks that say so find what is wrong."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rag_assistant.bundled import bundled
from rag_assistant.errors import InputError, LoadError
from rag_assistant.evals import Case, Dataset, validate_file
from rag_assistant.evals.case import CATEGORIES
from rag_assistant.types import Paper

Record = dict[str, Any]
SCHEMA = json.loads((bundled("evals") / "questions.schema.json").read_text("utf-8"))


def records() -> dict[str, Record]:
    lines = (bundled("evals") / "questions.jsonl").read_text("utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines)}


def test_every_question_holds_against_its_papers(shipped: Dataset, papers: dict[str, Paper]) -> None:
    assert [str(problem) for problem in shipped.validate(papers.values())] == []


def test_the_set_is_as_large_and_varied_as_promised(shipped: Dataset, papers: dict[str, Paper]) -> None:
    assert len(shipped) >= 240
    assert {case.category for case in shipped} == set(CATEGORIES)
    per_paper = Counter(paper for case in shipped for paper in case.papers)
    assert min(per_paper[paper] for paper in papers) >= 8
    assert sum(not case.answerable for case in shipped) / len(shipped) >= 0.25
    assert all(case.reviewed and case.author for case in shipped)
    assert {case.split for case in shipped} == {"dev", "test"}


def test_every_question_fits_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert [f"{i}: {e.message}" for i, record in records().items() for e in validator.iter_errors(record)] == []


def test_a_case_writes_the_record_that_it_came_from(shipped: Dataset) -> None:
    found = records()
    assert all(case.to_dict() == found[case.id] for case in shipped)


def _set(field: str, value: object) -> Callable[[Record], object]:
    return lambda record: record.__setitem__(field, value)


FORM_FAULTS: dict[str, tuple[Callable[[Record], object], str]] = {
    "missing": (lambda r: r.pop("question"), "question"),
    "unknown": (_set("colour", "red"), "colour"),
    "blank": (_set("question", "  "), "question"),
    "bad id": (_set("id", "a b"), "id"),
    "category": (_set("category", "trivia"), "category"),
    "split": (_set("split", "train"), "split"),
    "truth": (_set("answerable", "yes"), "answerable"),
    "status": (_set("expected_status", ["maybe"]), "expected_status[0]"),
    "no status": (_set("expected_status", []), "expected_status"),
    "grade": (_set("papers", {"nika24a": 3}), "papers.nika24a"),
    "papers": (_set("papers", ["nika24a"]), "papers"),
    "history": (_set("history", [["only a question"]]), "history[0]"),
    "nugget": (_set("nuggets", [{"any": ["x"]}]), "nuggets[0].vital"),
    "empty nugget": (_set("nuggets", [{"vital": True, "any": []}]), "nuggets[0].any"),
    "number": (_set("numbers", [{"value": "3"}]), "numbers[0].value"),
    "evidence": (_set("evidence", [{"paper": "nika24a"}]), "evidence[0].quote"),
    "field": (_set("evidence", [{"paper": "nika24a", "quote": "x", "field": "body"}]), "evidence[0].field"),
    "wrong": (_set("wrong", [""]), "wrong[0]"),
    "note": (_set("notes", None), "notes"),
}


@pytest.mark.parametrize("name", FORM_FAULTS)
def test_faults_of_form_are_named_and_the_schema_agrees(name: str, tmp_path: Path) -> None:
    change, field = FORM_FAULTS[name]
    record = records()["nika24a/oracle"]
    change(record)
    path = tmp_path / "set.jsonl"
    path.write_text("\n" + json.dumps(record) + "\n", "utf-8")
    with pytest.raises(LoadError, match=r"set\.jsonl:2") as raised:
        Dataset.load(path)
    assert f": {field}: " in str(raised.value)
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(record)


def test_a_pattern_that_is_none_is_a_fault(tmp_path: Path) -> None:
    record = records()["nika24a/oracle"] | {"must_not": ["(", "x*"]}
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(record), "utf-8")
    found = [str(problem) for problem in validate_file(path, [])]
    assert any("must_not[0]: not a regular expression" in problem for problem in found)
    assert any("must_not[1]: matches the empty text" in problem for problem in found)


HELD_FAULTS: dict[str, tuple[str, Callable[[Record], object], str, str]] = {
    "evidence not verbatim": (
        "nika24a/oracle",
        lambda r: r["evidence"][0].__setitem__("quote", "access to an Oracle"),
        "evidence[0].quote",
        "not verbatim",
    ),
    "author not there": (
        "nika24a/authors",
        lambda r: r["evidence"][0].__setitem__("quote", "Andi Niko"),
        "evidence[0].quote",
        "not verbatim in the authors",
    ),
    "nugget without evidence": (
        "nika24a/oracle",
        lambda r: r["nuggets"].append({"vital": True, "any": ["presuppos"]}),
        "nuggets[2]",
        "no quote",
    ),
    "nugget misses the paraphrase": (
        "nika24a/oracle",
        _set("paraphrase", "A solver."),
        "nuggets[0]",
        "doesn't match the paraphrase",
    ),
    "nugget in the question": (
        "nika24a/oracle",
        _set("question", "Which oracle is assumed?"),
        "nuggets[0]",
        "question itself",
    ),
    "wrong answer accepted": ("nika24a/oracle", _set("wrong", ["Some oracle."]), "wrong[0]", "taken for right"),
    "number in the question": ("yang24u/peak-memory", _set("question", "Is it 30%?"), "numbers[0]", "question itself"),
    "number not stated": (
        "yang24u/peak-memory",
        lambda r: r["numbers"][0].__setitem__("value", 31),
        "numbers[0]",
        "no quote",
    ),
    "unknown paper": ("nika24a/oracle", _set("also_ok", ["nobody24x"]), "also_ok", "no paper"),
    "no gold": ("nika24a/oracle", _set("papers", {"nika24a": 1}), "papers", "grade 2"),
    "answer expected": ("nika24a/nm-deep-rates", _set("expected_status", ["answered"]), "expected_status", "must not"),
    "twin missing": ("nika24a/nm-deep-rates", _set("twin", ""), "twin", "needs an answerable twin"),
    "twin of another": ("nika24a/nm-deep-rates", _set("twin", "nika24a/oracle"), "twin", "doesn't name this one"),
    "no such original": ("nika24a/n-rates", _set("variant_of", "nika24a/none"), "variant_of", "no other question"),
    "other split": ("nika24a/oracle", _set("split", "test"), "split", "same paper"),
    "asked twice": (
        "nika24a/oracle",
        _set("question", "How fast do RLHF and DPO converge when the optimization is only approximate?"),
        "question",
        "asked already",
    ),
    "not a paraphrase": (
        "nika24a/p-misfit",
        _set("question", "Does DPO retain its asymptotically decaying gap by tuning the temperature?"),
        "question",
        "shares",
    ),
    "no history": ("nika24a/fu-mdp", _set("history", []), "history", "needs one"),
    "forbidden in paraphrase": ("nika24a/i-banana", _set("must_not", ["oracle"]), "must_not", "matches the paraphrase"),
    "forbids nothing": ("nika24a/i-banana", _set("must_not", ["coconut"]), "must_not[0]", "none of the wrong"),
}


@pytest.mark.parametrize("name", HELD_FAULTS)
def test_faults_against_the_papers_are_named(name: str, tmp_path: Path, papers: dict[str, Paper]) -> None:
    case_id, change, field, message = HELD_FAULTS[name]
    found = records()
    change(found[case_id])
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in found.values()), "utf-8")
    problems = validate_file(path, papers.values())
    mine = [problem for problem in problems if problem.case_id == case_id]
    assert any(p.field == field and message in p.message and p.line for p in mine), [str(p) for p in problems]


def test_what_is_no_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="can't be read"):
        Dataset.load(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n", "utf-8")
    with pytest.raises(LoadError, match="holds no question"):
        Dataset.load(tmp_path / "empty.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xe9\n")
    with pytest.raises(LoadError, match="not UTF-8"):
        Dataset.load(tmp_path / "latin.jsonl")
    (tmp_path / "broken.jsonl").write_text('{"id": \n[]\n', "utf-8")
    with pytest.raises(LoadError, match=r"broken\.jsonl:1: not JSON.*1 more fault"):
        Dataset.load(tmp_path / "broken.jsonl")


def test_one_id_is_one_question(tmp_path: Path) -> None:
    line = json.dumps(records()["nika24a/oracle"])
    (tmp_path / "twice.jsonl").write_text(f"{line}\n{line}\n", "utf-8")
    with pytest.raises(LoadError, match="also the id of line 1"):
        Dataset.load(tmp_path / "twice.jsonl")
    with pytest.raises(InputError, match="the id 'a'"):
        Dataset.of([Case("a", "One?"), Case("a", "Two?")])


def test_questions_are_selected_in_order(shipped: Dataset) -> None:
    dev = shipped.select(split="dev", categories=["fact", "far"], limit=5)
    assert len(dev) == 5
    assert {case.split for case in dev} == {"dev"}
    assert dev.sha256 == shipped.sha256
    assert shipped.case("far/capital").category == "far"
    for wrong in ({"split": "train"}, {"categories": ["trivia"]}, {"limit": 0}, {"ids": ["nobody"]}):
        with pytest.raises(InputError):
            shipped.select(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no question 'x'"):
        shipped.case("x")
