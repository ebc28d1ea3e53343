"""What differs between the circumstances of two runs is told, a line each."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from rag_assistant.evals.circumstances import differences
from rag_assistant.evals.folder import Run

HEADER: dict[str, Any] = {
    "set": {"name": "questions.jsonl", "sha256": "a" * 64},
    "prompts": [],
    "system": {
        "settings": {"k": 5, "index": "/one", "rerank": None},
        "backend": {"name": "extractive", "model": ""},
        "embedder": {"name": "minilm", "fingerprint": "v1"},
        "index": {"papers": 19, "corpus_hash": "c" * 64},
    },
}


def changed(*path: str, value: Any) -> Run:
    header = copy.deepcopy(HEADER)
    at = header
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return Run(header, ())


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("system", "settings", "k"), 2, "setting k: 5 → 2"),
        (("system", "settings", "rerank"), "m:C", "setting rerank: none → m:C"),
        (("system", "backend", "model"), "m", "backend: extractive → extractive m"),
        (("system", "embedder", "fingerprint"), "v2", "embedder: minilm (v1) → minilm (v2)"),
        (("system", "index", "papers"), 20, "corpus: 19 papers (cccccccccccc) → 20 papers (cccccccccccc)"),
        (("set", "sha256"), "b" * 64, "questions: questions.jsonl (aaaaaaaaaaaa) → questions.jsonl (bbbbbbbbbbbb)"),
        (("transform",), {"name": "typos", "seed": 1}, "transform: none → typos (seed 1)"),
        (
            ("prompts",),
            [{"name": "answer", "version": "1", "sha256": "d" * 64}],
            "prompts: none → answer v1 (dddddddd)",
        ),
    ],
)
def test_each_difference_is_a_line(path: tuple[str, ...], value: Any, line: str) -> None:
    assert differences(Run(HEADER, ()), changed(*path, value=value)) == (line,)


def test_a_switch_that_is_off_is_no_difference_from_none() -> None:
    """The fallback was a name, and none is in the headers of earlier runs."""
    named, switched = (changed("system", "settings", "fallback", value=value) for value in (None, False))
    assert differences(named, switched) == ()
    on = changed("system", "settings", "fallback", value=True)
    assert differences(named, on) == differences(switched, on) == ("setting fallback: none → True",)


def test_where_it_lies_and_what_is_not_known_are_no_differences() -> None:
    same = Run(HEADER, ())
    assert differences(same, same) == ()
    assert differences(same, changed("system", "settings", "index", value="/two")) == ()
    assert differences(same, changed("system", "settings", "new_in_this_version", value=3)) == ()
    assert differences(same, changed("system", value={"name": "a callable"})) == ()
