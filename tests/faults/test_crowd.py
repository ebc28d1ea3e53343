"""Two writers and four readers on one index."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Prober


def _crowd(seconds: float, folder: Path, prober: Prober) -> None:
    assert prober("change", path=str(folder), do="index", spec=[[10, 0, "a"]])["result"] == "done"
    writers = [{"action": "write_for", "path": str(folder), "seconds": seconds, "seed": seed} for seed in (1, 2)]
    readers = [
        {"action": "read_for", "path": str(folder), "seconds": seconds, "reopen": number % 2 == 0}
        for number in range(4)
    ]
    answers = prober.together([*writers, *readers])
    for who, answer in zip(["writer"] * 2 + ["reader"] * 4, answers, strict=True):
        print(f"| {who} for {seconds:g} s beside five others | {answer} |")
    assert [answer["result"] for answer in answers] == ["done"] * 6, answers
    assert prober("change", path=str(folder), do="index", spec=[[5, 0, ""]])["result"] == "done"
    assert len(list((folder / "generations").iterdir())) == 1
    assert prober("probe", path=str(folder), states=[[[5, 0, ""]]])["result"] == "answered"


def test_a_crowd_for_a_moment(tmp_path: Path, prober: Prober) -> None:
    _crowd(5, tmp_path / "index", prober)


@pytest.mark.slow
def test_a_crowd_for_a_while(tmp_path: Path, prober: Prober) -> None:
    _crowd(30, tmp_path / "index", prober)
