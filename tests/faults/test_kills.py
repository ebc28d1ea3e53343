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


def _kill(kind: str, times: int, tmp_path: Path, prober: Prober) -> Counter[str]:
    folder = tmp_path / "index"
    command, new = _KINDS[kind]
    _before(kind, tmp_path / "before")
    shutil.copytree(tmp_path / "before", folder)
    started = time.monotonic()
    assert prober.together([{**command, "path": str(folder)}])[0]["result"] == "done"
    lasts = time.monotonic() - started
    rng = random.Random(f"{kind} {times}")
    results: Counter[str] = Counter()
    for number in range(times):
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "before", folder)
        after = lasts * (number + rng.random()) / times
        answer = prober.together([{**command, "path": str(folder), "kill_after": after}])[0]
        assert answer["result"] in ("killed", "done"), answer
        found = prober("probe", path=str(folder), states=[new, _OLD])
        if kind == "index" and found["result"] == "refused":
            assert found["error"] == "IndexMissing", found
            state = "none yet"
        else:
            # a first build may be whole without being named yet: then the next to come names it
            allowed = {"mend": ("answered", "rebuilt"), "index": ("answered", "mended")}.get(kind, ("answered",))
            assert found["result"] in allowed, (kind, after, found)
            state = "old" if found["state"] else "new"
        results[f"{answer['result']}, then {state}"] += 1
        # whoever writes next is not hindered by what was left
        assert prober("change", path=str(folder), do="index", spec=[[7, 50, ""]])["result"] == "done"
        assert prober("probe", path=str(folder), states=[[[7, 50, ""]]])["result"] == "answered"
        assert len(list((folder / "generations").iterdir())) == 1
    return results


@pytest.mark.parametrize("kind", _KINDS)
def test_a_few_kills(kind: str, tmp_path: Path, prober: Prober) -> None:
    results = _kill(kind, 3, tmp_path, prober)
    assert sum(count for result, count in results.items() if result.startswith("killed")) >= 2, results


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_many_kills(kind: str, tmp_path: Path, prober: Prober) -> None:
    for result, count in sorted(_kill(kind, 40, tmp_path, prober).items()):
        print(f"| SIGKILL during {kind} | {result} | {count} |")
