"""Each file and folder of an index, damaged in each way, in turn."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from index.hashing import HashingEmbedder, papers

from rag_assistant.index.build import build_index

from .conftest import Prober
from .damages import DAMAGES

_STATE = [[12, 0, ""]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "index"
    build_index(folder, papers(12), HashingEmbedder())
    return folder


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "index")
    return tmp_path / "index"


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _folders(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_dir())


def _told(name: str) -> str:
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{6}-[0-9a-f]{12}", "*", name)


def _expected(name: str) -> set[str]:
    """What may come of it. Whatever it is, the papers and every search must be right, and the next opening quiet."""
    if name.endswith((".lock", "-journal")) or "readers" in name:
        return {"answered"}
    if name == "CURRENT":
        return {"mended"}
    if name.startswith("vectors.sqlite"):
        return {"answered", "mended"}
    return {"rebuilt"}


@pytest.mark.parametrize(
    "damages",
    [("truncated", "randomised", "deleted"), pytest.param(("emptied", "zeroed", "flipped"), marks=pytest.mark.slow)],
    ids=" ".join,
)
def test_every_file_in_turn(built: Path, tmp_path: Path, prober: Prober, damages: tuple[str, ...]) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    cases = [(name, damage) for name in _files(built) for damage in damages]
    if "deleted" in damages:
        cases += [(name, "deleted") for name in _folders(built) if name.count("/") >= 2]
    copy = tmp_path / "index"
    for name, damage in cases:
        shutil.copytree(built, copy)
        if _ruined(copy / name, damage):
            answer = prober("probe", path=str(copy), states=[_STATE])
            counts[damage, answer["result"]] += 1
            if answer["result"] not in _expected(name):
                wrong.append((_told(name), damage, answer))
        shutil.rmtree(copy)
    for (damage, result), count in sorted(counts.items()):
        print(f"| file {damage} | {result} | {count} |")
    assert wrong == []
    assert sum(counts.values()) > 45


def _ruined(path: Path, damage: str) -> bool:
    """Damages the file; false where that changes nothing, as zeroes in a file of zeroes."""
    before = path.read_bytes() if path.is_file() else None
    DAMAGES[damage](path)
    return before is None or not path.exists() or path.read_bytes() != before


def _generation(folder: Path) -> Path:
    (found,) = (folder / "generations").iterdir()
    return found


@pytest.mark.parametrize("what", ["both copies", "the generation", "all generations"])
@pytest.mark.parametrize("source", ["paths", "bundled"])
def test_papers_that_are_gone(copy: Path, prober: Prober, what: str, source: str) -> None:
    (copy / "CURRENT").write_text(f"{_generation(copy).name} {source}\n")
    if what == "both copies":
        DAMAGES["zeroed"](_generation(copy) / "papers.jsonl")
        DAMAGES["flipped"](_generation(copy) / "papers.jsonl.gz")
    else:
        shutil.rmtree(copy / "generations" if what == "all generations" else _generation(copy))
    answer = prober("probe", path=str(copy), states=[[[3, 0, ""]]], bundled=[[3, 0, ""]])
    if source == "bundled":
        assert answer["result"] == "rebuilt", answer
    else:
        assert (answer["result"], answer["error"]) == ("refused", "IndexDamaged")
        assert "rag-assistant index PATH..." in answer["hint"]
        assert (copy / "vectors.sqlite").exists()
        # and the command that the hint names mends it
        assert prober("change", path=str(copy), do="index", spec=_STATE)["papers"] == 12
        assert prober("probe", path=str(copy), states=[_STATE])["result"] == "answered"


def test_adding_to_an_index_whose_papers_are_gone_is_refused(copy: Path, prober: Prober) -> None:
    shutil.rmtree(_generation(copy))
    answer = prober("change", path=str(copy), do="add", spec=_STATE)
    assert answer["result"] == "lost"
    assert answer["told"].startswith("IndexDamaged: ")


@pytest.mark.parametrize("asked", [False, True], ids=["before its first question", "between two questions"])
def test_files_ruined_under_an_open_index(built: Path, tmp_path: Path, prober: Prober, asked: bool) -> None:
    wrong: list[tuple[str, str, Any]] = []
    names = [name for name in _files(built) if "generations" in name or "sqlite" in name]
    for name in names:
        for damage in ("emptied", "randomised"):
            copy = tmp_path / "index"
            shutil.copytree(built, copy)
            answer = prober("ruin_while_open", path=str(copy), file=name, damage=damage, asked=asked)
            if answer["result"] != "answered":
                wrong.append((_told(name), damage, answer))
            shutil.rmtree(copy)
    assert wrong == []


def test_strangers_in_the_store_s_folder(copy: Path, prober: Prober) -> None:
    (_generation(copy) / "chroma" / "chroma.sqlite3-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" * 100)
    assert prober("probe", path=str(copy), states=[_STATE])["result"] == "rebuilt"
