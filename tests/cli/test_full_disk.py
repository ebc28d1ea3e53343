"""Disks, quotas and streams that are full or closed: one sentence with the place, and nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Result, Run

QUESTION = "What is CTMA?"
Disk = Callable[[str], Path]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """Mounts a disk of a size."""
    mounted = []

    def mount(size: str) -> Path:
        place = tmp_path / f"disk of {size}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("may not mount here")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", place], check=True)


def _fill(place: Path) -> None:
    with suppress(OSError), (place / "filled").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def _sentence(done: Result, *told: str) -> None:
    assert (done.code, done.out) == (1, "")
    lines = done.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["error", "hint"], done.err
    assert all(words in lines[0] for words in told), done.err
    assert "Unexpected" not in done.err
    assert lines[1].removeprefix("hint:").strip()


@pytest.mark.parametrize("size", ["64k", "200k", "1m", "2500k", "3m"])
def test_an_index_that_does_not_fit(rag_alone: Run, disk: Disk, size: str) -> None:
    """Wherever the room ends: in the cache, the papers, or in what Chroma and sqlite do."""
    place = disk(size) / "index"
    _sentence(rag_alone("index", RAG_INDEX=str(place)), f"The index {place} needs about 5 MB")
    assert list((place / "generations").iterdir()) == []
    assert not (place / "vectors.sqlite.damaged").exists()


def test_an_index_on_a_disk_that_has_become_full(rag_alone: Run, disk: Disk, built: Path, tmp_path: Path) -> None:
    place = disk("6m") / "index"
    shutil.copytree(built, place)
    _fill(place.parent)
    mine = tmp_path / "mine.txt"
    mine.write_text("A ziggurat has seven levels, and each is smaller than the one below it.\n")
    _sentence(rag_alone("index", "--add", mine, RAG_INDEX=str(place)), f"The index {place} needs about ")
    answered = rag_alone("ask", "--json", QUESTION, RAG_INDEX=str(place))
    assert answered.json["citations"], answered.err
    assert len(rag_alone("papers", RAG_INDEX=str(place)).out.splitlines()) == 19
    told = {check["name"]: check for check in rag_alone("doctor", "--json", RAG_INDEX=str(place)).json["checks"]}
    assert (told["place"]["status"], told["index"]["status"]) == ("note", "ok")
    assert f"{place} has no room to build the index again, which needs about" in told["place"]["detail"]
    none_yet = rag_alone("doctor", "--json", RAG_INDEX=str(place.parent / "other"))
    assert none_yet.code == 1
    (wrong,) = [check for check in none_yet.json["checks"] if check["status"] == "bad"]
    assert "no room to index the bundled papers" in wrong["detail"]


@pytest.mark.parametrize("limit", [4_000, 300_000])
def test_a_limit_on_files(built: Path, tmp_path: Path, limit: int) -> None:
    """As ``ulimit -f`` sets it, and as a quota is to sqlite: no damage of what was written before."""
    place = tmp_path / "index"
    shutil.copytree(built, place)
    for generation in (place / "generations").iterdir():
        shutil.rmtree(generation)
    (place / "CURRENT").unlink()
    mine = tmp_path / "mine.txt"
    mine.write_text("".join(f"The ziggurat {n} has seven levels of {n} steps.\n\n" for n in range(40)))
    done = subprocess.run(
        [*COMMAND, "index", mine, "--index", place],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    _sentence(Result(done.returncode, done.stdout, done.stderr), str(place))
    assert not (place / "vectors.sqlite.damaged").exists()


_NO_DEVICE = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")


def _with(streams: str, command: tuple[str, ...], built: Path, cwd: Path) -> Result:
    """Under a shell's redirections."""
    environment = {**os.environ, "RAG_INDEX": str(built)}
    done = subprocess.run(
        ["sh", "-c", f'"$@" {streams}', "sh", *COMMAND, *command],
        cwd=cwd,
        env=environment,
        input="What is CTMA?\n",
        capture_output=True,
        text=True,
    )
    return Result(done.returncode, done.stdout, done.stderr)


@_NO_DEVICE
@pytest.mark.parametrize(
    "command",
    [("ask", QUESTION), ("ask", "--json", QUESTION), ("chat",), ("papers",), ("config",), ("doctor",), ("--help",)],
    ids=" ".join,
)
def test_stdout_that_is_full(built: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    told = ("space left",) if command == ("--help",) else ("stdout can't take", " bytes: No space left on device.")
    _sentence(_with(">/dev/full", command, built, tmp_path), *told)


def test_stdout_that_is_closed(built: Path, tmp_path: Path) -> None:
    _sentence(_with(">&-", ("ask", QUESTION), built, tmp_path), "no stdout")
    alone = _with(">&- 2>&- <&-", ("ask", QUESTION), built, tmp_path)
    assert (alone.code, alone.out, alone.err) == (1, "", "")


@_NO_DEVICE
@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&-"])
def test_an_answer_needs_no_stderr(built: Path, tmp_path: Path, stream: str) -> None:
    done = _with(stream, ("ask", "-v", QUESTION), built, tmp_path)
    assert done.code == 0
    assert "CTMA" in done.out
    assert _with(stream, ("ask", "--year", "x", QUESTION), built, tmp_path).code == 1


def test_reports_that_do_not_fit(rag: Run, disk: Disk, tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    asked = ("eval", "run", "--category", "number", "--limit", "3")
    assert rag(*asked, "--out", "run").code == 0
    place = disk("64k")
    page, base = place / "page.html", place / "base.json"
    page.write_text("the old page")
    base.write_text("the old baseline")
    _fill(place)
    _sentence(rag("eval", "report", "run", "--html", "--out", page), f"{page} takes ", " bytes and can't be written")
    _sentence(rag("eval", "baseline", "run", base), f"{base} takes ", " bytes and can't be written")
    assert (page.read_text(), base.read_text()) == ("the old page", "the old baseline")
    _sentence(rag(*asked, "--out", place / "run"), str(place / "run"), "No space left")
    # What was drafted may have cost money.
    mine = tmp_path / "mine.txt"
    mine.write_text("We measured that the ziggurat of Ur reaches 30 metres and has 3 levels.\n")
    drafted = rag("eval", "draft", mine, "--out", place / "set.jsonl")
    assert drafted.code == 1
    assert json.loads(drafted.out.splitlines()[0])["question"]
    assert not (place / "set.jsonl").exists()
    assert sorted(path.name for path in place.iterdir() if path.is_file()) == ["base.json", "filled", "page.html"]


def test_a_run_goes_on_when_there_is_room_again(rag: Run, disk: Disk) -> None:
    pytest.importorskip("scipy")
    place = disk("48k")
    run, asked = place / "run", ("eval", "run", "--category", "number", "--limit", "8")
    (place / "filled").write_bytes(bytes(20_000))
    stopped = rag(*asked, "--out", run)
    _sentence(stopped, "No space left")
    assert f"--resume {run}" in stopped.err
    subprocess.run(["mount", "-o", "remount,size=1m", place], check=True)
    resumed = rag("eval", "run", "--resume", run)
    assert resumed.code == 0, resumed.err
    assert len((run / "rows.jsonl").read_text().splitlines()) == 8
