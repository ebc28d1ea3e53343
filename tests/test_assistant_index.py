"""An open assistant and its index: changes by this process and by others, closing, and what can't be opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from index.processes import run, start

from rag_assistant import Assistant, FinalEvent
from rag_assistant.errors import IndexMissing, InputError, PluginError

OWN_PAPER = """---
id: {id}
title: {title}
author: Ada Author
year: 2031
---
{abstract}
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Assistant, Path]]:
    """An assistant of the test's own over two papers, and the folder they are in."""
    folder = tmp_path / "papers"
    folder.mkdir()
    for number, (name, topic) in enumerate((("Zorblax", "robust aggregation"), ("Quuxify", "music generation"))):
        text = f"We study {topic}. We propose {name}, a new method. {name} improves accuracy by {number + 7} percent."
        (folder / f"p{number}.md").write_text(OWN_PAPER.format(id=f"p{number}", title=f"On {topic}", abstract=text))
    with Assistant.open(tmp_path / "index", corpus=folder) as opened:
        yield opened, folder


def answers(assistant: Assistant, name: str) -> bool:
    answer = assistant.ask(f"What is {name}?")
    return answer.status == "answered" and name in answer.text


def more(tmp_path: Path) -> Path:
    text = "We study kernels. We propose Blorptron, a new method for kernels."
    path = tmp_path / "more.md"
    path.write_text(OWN_PAPER.format(id="p2", title="On kernels", abstract=text))
    return path


def test_changes_are_taken_up_at_the_next_question(own: tuple[Assistant, Path], tmp_path: Path) -> None:
    assistant, folder = own
    assert answers(assistant, "Zorblax")
    assert not answers(assistant, "Blorptron")
    seen = assistant.preview(more(tmp_path), add=True)
    assert (seen.added, seen.changed, seen.removed, seen.papers) == (("p2",), (), (), 3)
    assert not answers(assistant, "Blorptron")

    done = assistant.add(more(tmp_path))
    assert (done.added, done.changed, done.removed, done.unchanged) == (("p2",), (), (), ("p0", "p1"))
    assert answers(assistant, "Blorptron")
    assert answers(assistant, "Zorblax")
    assert [paper.id for paper in assistant.papers()] == ["p0", "p1", "p2"]

    assert assistant.remove("p1").removed == ("p1",)
    assert not answers(assistant, "Quuxify")
    with pytest.raises(InputError):
        assistant.remove(["p0", "nobody"])
    assert len(assistant.papers()) == 2

    (folder / "p0.md").write_text((folder / "p0.md").read_text().replace("Zorblax", "Frobnitz"))
    done = assistant.index(folder)
    assert (done.added, done.changed, done.removed) == (("p1",), ("p0",), ("p2",))
    assert answers(assistant, "Frobnitz")
    assert not answers(assistant, "Zorblax")
    assert answers(assistant, "Quuxify")
    assert not answers(assistant, "Blorptron")


def test_a_question_that_is_being_answered_ends_on_the_index_it_began_with(
    own: tuple[Assistant, Path], tmp_path: Path
) -> None:
    assistant, _ = own
    events = assistant.stream("Which papers propose a new method?").events()
    next(events)
    assistant.add(more(tmp_path))
    final = list(events)[-1]
    assert isinstance(final, FinalEvent)
    assert final.answer.considered == 2
    assert assistant.ask("Which papers propose a new method?").considered == 3


def test_another_process_may_change_the_index(own: tuple[Assistant, Path], tmp_path: Path) -> None:
    assistant, _ = own
    assert not answers(assistant, "Blorptron")
    run(
        "import sys; from rag_assistant import Assistant\nwith Assistant.open(sys.argv[1]) as a: a.add(sys.argv[2])",
        assistant.settings.index_path,
        more(tmp_path),
    )
    assert answers(assistant, "Blorptron")


def test_another_process_takes_up_what_this_one_changes(own: tuple[Assistant, Path], tmp_path: Path) -> None:
    assistant, _ = own
    code = """
import sys
from rag_assistant import Assistant
with Assistant.open(sys.argv[1]) as assistant:
    for line in sys.stdin:
        print(assistant.ask(line.strip()).status, len(assistant.papers()), flush=True)
"""
    process = start(code, assistant.settings.index_path)
    assert process.stdin is not None
    assert process.stdout is not None

    def ask() -> str:
        print("What is Blorptron?", file=process.stdin, flush=True)
        return process.stdout.readline().strip()  # type: ignore[union-attr]

    before = ask()
    assistant.add(more(tmp_path))
    after = ask()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    assert before.endswith(" 2")
    assert not before.startswith("answered")
    assert after == "answered 3"


def test_a_closed_assistant_says_so(assistant: Assistant) -> None:
    with Assistant.open(assistant.settings.index_path) as opened:
        stream = opened.stream("What is CTMA?")
        events = stream.events()
        next(events)
    assert isinstance(list(events)[-1], FinalEvent)  # a question that had begun ends first
    opened.close()
    for call in (lambda: opened.ask("x"), opened.papers, lambda: opened.search("x"), opened.describe):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_what_can_not_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(PluginError) as caught:
        Assistant.open(tmp_path / "index", backend="nobody")
    assert "extractive" in caught.value.hint
    with pytest.raises(PluginError, match="no backend"):
        Assistant.open(tmp_path / "index", backend=3)  # type: ignore[arg-type]
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "mine.jsonl").write_text("")
    for place in (tmp_path / "papers", tmp_path / "papers" / "mine.jsonl"):
        with pytest.raises(IndexMissing) as missing:
            Assistant.open(place)
        assert missing.value.hint
    assert [path.name for path in (tmp_path / "papers").iterdir()] == ["mine.jsonl"]


def test_the_bundled_papers_are_indexed_in_a_folder_that_is_named(tmp_path: Path) -> None:
    place = tmp_path / "new" / "index"
    with Assistant.open(place) as opened:
        assert len(opened.papers()) == 19
        assert opened.notices == (f"There was no index at {place}; the bundled papers are indexed there now.",)
    with Assistant.open(place) as again:
        assert (len(again.papers()), again.notices) == (19, ())
