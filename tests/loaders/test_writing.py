"""What is written is read back as the very same papers, in each format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_assistant.loaders import load_papers
from rag_assistant.loaders.writing import FORMATS
from rag_assistant.types import Paper

ROOT = Path(__file__).parent.parent.parent
each_format = pytest.mark.parametrize("name", sorted(FORMATS))

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40) | st.sampled_from(
    [
        r"{\"o} costs $5 and $\alpha_i$ 50% of \{x\} & #1_2 ~ ^",
        "Abstract: We study ants. \u00a9 2024 Elsevier B.V. All rights reserved.",
        "a \\ b } c { d \\} \" ' ``x''",
        "n/a",
        "Lee, Ann; Ray, Bob and others",
        "=1+1",
        "<b>bold</b> &amp; &lt;i&gt;",
        "line one\nline two\n\nline four",
        "a lone \r return, \x0b, \x85 and \u2028",
        "Acme, Inc.",
        "10.1000/xyz",
    ]
)
ADDRESS = st.sampled_from(
    ["https://example.org/a?b={c}&d=%7E", "https://openreview.net/forum?id=abcdef", "http://arxiv.org/abs/1707.08567v2"]
)
RECORD = st.fixed_dictionaries(
    {"abstract": TEXT.map(lambda text: f"Ants {text}")},
    optional={
        "id": TEXT,
        "title": TEXT,
        "authors": st.lists(TEXT, max_size=3),
        "year": st.integers(1500, 2100),
        "venue": TEXT,
        "url": ADDRESS,
        "doi": st.sampled_from(["10.1000/xyz", "10.1000/a(b)<c>{d}%20e", "10.48550/arXiv.1707.08567"]),
        "links": st.dictionaries(TEXT.filter(bool), ADDRESS, max_size=3),
    },
)


def _read(path: Path) -> tuple[Paper, ...]:
    return load_papers([path], merge=False).papers


def _again(papers: tuple[Paper, ...], name: str, folder: Path) -> tuple[Paper, ...]:
    path = folder / f"again.{name}"
    path.write_text("".join(FORMATS[name](papers)), encoding="utf-8", newline="")
    return _read(path)


@each_format
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(RECORD, min_size=1, max_size=4))
def test_any_papers_are_read_back_without_loss(name: str, tmp_path: Path, records: list[dict[str, object]]) -> None:
    made = tmp_path / "made.jsonl"
    made.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    papers = _read(made)
    assert _again(papers, name, tmp_path) == papers


def test_other_programs_see_the_fields_themselves_and_only_what_does_not_fit_stands_besides() -> None:
    papers = _read(ROOT / "corpus")
    rows = list(csv.DictReader(io.StringIO("".join(FORMATS["csv"](papers)))))
    assert [row["title"] for row in rows] == [paper.title for paper in papers]
    assert [row["abstract"] for row in rows] == [paper.abstract for paper in papers]
    besides = {row["id"]: set(json.loads(row["rag-assistant"])) for row in rows}
    assert besides.pop("yin24b") == {"abstract", "links"}  # ``so" quoted, which is read as TeX
    assert set().union(*besides.values()) == {"links"}


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    paper = Paper("=a", "@SUM(A1)", "+1 and -2 are sums.", ("-Ann",), venue="=cmd()")
    (row,) = csv.DictReader(io.StringIO("".join(FORMATS["csv"]([paper]))))
    assert not [cell for cell in row.values() if cell[:1] in "=+-@" and cell]
    assert _again((paper,), "csv", tmp_path) == (paper,)
