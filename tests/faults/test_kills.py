"""SIGKILL at random moments of everything that writes: afterwards the index is the old one or the new one, whole."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from index.hashing import HashingEmbedder, papers

from rag_assistant.index.build import build_index

from .conftest import Prober

_OLD = [[10, 0, ""]]
_KINDS: dict[str, tuple[dict[str, Any], list[list[Any]]]] = {
    # What is done, and what the index holds when it got through.
    "index": ({"action": "change", "do": "index", "spec": [[10, 0, ""]]}, [[10, 0, ""]]),
    "re-index": ({"action": "change", "do": "index", "spec": [[8, 0, "x"], [6, 20, ""]]}, [[8, 0, "x"], [6, 20, ""]]),
    "add": ({"action": "change", "do": "add", "spec": [[6, 30, ""]]}, [[10, 0, ""], [6, 30, ""]]),
    "remove": ({"action": "change", "do": "remove", "spec": [[4, 2, ""]]}, [[2, 0, ""], [4, 6, ""]]),
    "mend": ({"action": "mend"}, [[10, 0, ""]]),
}


def _before(kind: str, folder: Path) -> None:
    """The index as it is before it is changed."""
    folder.mkdir()
    if kind != "index":
        build_index(
            folder, [p for count, start, version in _OLD for p in papers(count, start, version)], HashingEmbedder()
        )
    if kind == "mend":
        (vectors,) = folder.glob("generations/*/vectors.npy")
        vectors.write_bytes(b"")
        (folder / "vectors.sqlite").unlink()


def _kill(kind: str, moments: list[dict[str, Any]], tmp_path: Path, prober: Prober) -> Counter[str]:
    """Does it once for each moment, killed then, and looks at what is left."""
    folder = tmp_path / "index"
    command, new = _KINDS[kind]
    results: Counter[str] = Counter()
    for moment in moments:
        shutil.copytree(tmp_path / "before", folder)
        answer = prober(**command, path=str(folder), **moment)
        assert answer["result"] in ("killed", "done"), answer
        found = prober("probe", path=str(folder), states=[new, _OLD])
        if kind == "index" and found["result"] == "refused":
            assert found["error"] == "IndexMissing", found
            state = "none yet"
        else:
            # a first build may be whole without being named yet: then the next to come names it
            allowed = {"mend": ("answered", "rebuilt"), "index": ("answered", "mended")}.get(kind, ("answered",))
            assert found["result"] in allowed, (kind, moment, found)
            state = "old" if found["state"] else "new"
        results[f"{answer['result']}, then {state}"] += 1
        # whoever writes next is not hindered by what was left
        assert prober("change", path=str(folder), do="index", spec=[[7, 50, ""]])["result"] == "done"
        assert prober("probe", path=str(folder), states=[[[7, 50, ""]]])["result"] == "answered"
        assert len(list((folder / "generations").iterdir())) == 1
        shutil.rmtree(folder)
    return results


def _whole(kind: str, tmp_path: Path, prober: Prober) -> tuple[int, float]:
    """How many steps on disk it takes, and how many seconds."""
    _before(kind, tmp_path / "before")
    shutil.copytree(tmp_path / "before", tmp_path / "index")
    started = time.monotonic()
    answer = prober(**_KINDS[kind][0], path=str(tmp_path / "index"))
    assert answer["result"] == "done", answer
    shutil.rmtree(tmp_path / "index")
    return answer["steps"], time.monotonic() - started


def _told(kind: str, results: Counter[str]) -> None:
    for result, count in sorted(results.items()):
        print(f"| SIGKILL during {kind} | {result} | {count} |")


def _at_steps(kind: str, times: int, tmp_path: Path, prober: Prober) -> None:
    """At steps on disk, spread over all of them: what is hit doesn't depend on how busy the machine is."""
    steps, _ = _whole(kind, tmp_path, prober)
    rng = random.Random(kind)
    moments = [{"kill_at": max(1, int(steps * (n + rng.random()) / times))} for n in range(times)]
    results = _kill(kind, moments, tmp_path, prober)
    _told(kind, results)
    assert sum(count for result, count in results.items() if result.startswith("killed")) >= times - 1, results


@pytest.mark.parametrize("kind", _KINDS)
def test_a_few_kills(kind: str, tmp_path: Path, prober: Prober) -> None:
    _at_steps(kind, 4, tmp_path, prober)


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_many_kills(kind: str, tmp_path: Path, prober: Prober) -> None:
    _at_steps(kind, 60, tmp_path, prober)


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_kills_by_the_clock(kind: str, tmp_path: Path, prober: Prober) -> None:
    """Also in the middle of what Chroma and sqlite do."""
    _, lasts = _whole(kind, tmp_path, prober)
    rng = random.Random(kind)
    _told(kind, _kill(kind, [{"kill_after": rng.random() * lasts} for _ in range(20)], tmp_path, prober))
