"""Files and folders together: what is walked, what is passed over, and each id once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from rag_assistant.errors import InputError, LoadError, PluginError
from rag_assistant.loaders import extensions, load_papers


def put(path: Path, *records: tuple[str, str]) -> Path:
    """A file of JSON Lines with these ids and abstracts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": key, "abstract": abstract}) + "\n" for key, abstract in records))
    return path


def ids(*paths: Path) -> list[str]:
    report = load_papers(paths)
    assert report.problems == ()
    return [paper.id for paper in report.papers]


def test_folders_are_walked_in_order_and_what_is_no_paper_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "b.jsonl", ("b", "Bees."))
    put(tmp_path / "a.JSONL", ("a", "Ants."))
    put(tmp_path / "z" / "deep" / "c.jsonl", ("c", "Cats."))
    put(tmp_path / ".git" / "d.jsonl", ("d", "Dogs."))
    put(tmp_path / ".hidden.jsonl", ("e", "Eels."))
    for name in ("README.md", "readme.txt", "Readme"):
        (tmp_path / name).write_text("About this folder.")
    (tmp_path / "figure.png").write_bytes(b"\x89PNG")
    (tmp_path / "LICENSE").write_text("Terms.")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "loop").symlink_to(tmp_path)
    report = load_papers(tmp_path)
    assert [paper.id for paper in report.papers] == ["a", "b", "c"]
    assert [path.name for path in report.files] == ["a.JSONL", "b.jsonl", "c.jsonl"]
    assert report.problems == ()
    passed_over = {Path(note.file).name: note.message for note in report.notes}
    assert set(passed_over) == {"figure.png", "LICENSE", "pipe.txt"}
    assert passed_over["pipe.txt"] == "passed over: not a regular file"
    assert passed_over["LICENSE"] == f"passed over: not one of {', '.join(extensions())}"


def test_one_path_or_several_of_any_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "a.jsonl", ("a", "Ants."))
    monkeypatch.setenv("HOME", str(tmp_path))
    for paths in (path, str(path), [str(path)], (path, path), [path, tmp_path], "~/a.jsonl"):
        report = load_papers(paths)
        assert [paper.id for paper in report.papers] == ["a"]
        assert len(report.files) == 1
        assert report.notes == report.problems == ()
    monkeypatch.chdir(tmp_path)
    assert load_papers("a.jsonl").papers[0].source == "a.jsonl:1"


def test_files_keep_the_order_they_are_named_in(tmp_path: Path) -> None:
    first, second = put(tmp_path / "z.jsonl", ("z", "Zebras.")), put(tmp_path / "a.jsonl", ("a", "Ants."))
    assert ids(first, second) == ["z", "a"]


def test_a_copy_is_noted_and_kept_once(tmp_path: Path) -> None:
    first = put(tmp_path / "1.jsonl", ("a", "Ants  work."))
    report = load_papers([first, put(tmp_path / "2.jsonl", ("b", "Bees."), ("a", "ants work."))])
    assert [(paper.id, paper.abstract) for paper in report.papers] == [("a", "Ants  work."), ("b", "Bees.")]
    assert report.problems == ()
    assert [str(note) for note in report.notes] == [
        f"{tmp_path}/2.jsonl:2: is the same paper as 'a' from {first}:1: same id"
    ]
    assert report.merged == report.notes
    assert report.papers[0].source == f"{first}:1; {tmp_path}/2.jsonl:2"


def test_one_id_for_two_papers_keeps_both_and_names_both_places(tmp_path: Path) -> None:
    path = put(tmp_path / "1.jsonl", ("a", "Ants."), ("a", "Bees."))
    report = load_papers(path)
    assert [paper.abstract for paper in report.papers] == ["Ants.", "Bees."]
    own = report.papers[1].id
    assert own.startswith("p-")
    assert report.problems == report.merged == ()
    assert [str(note) for note in report.notes] == [
        f"{path}:2: id: 'a' is the id of another paper, from {path}:1; this one is kept as {own!r}"
    ]


@pytest.mark.parametrize("name", ["papers.docx", "papers.jso", "papers"])
def test_an_unknown_form_that_is_named_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("Something else.")
    with pytest.raises(LoadError, match=name) as caught:
        load_papers([put(tmp_path / "a.jsonl", ("a", "Ants.")), tmp_path / name])
    assert all(extension in caught.value.hint for extension in (".jsonl", ".md", ".txt"))


def test_a_near_miss_is_named_first(tmp_path: Path) -> None:
    (tmp_path / "papers.jso").write_text("Something else.")
    with pytest.raises(LoadError) as caught:
        load_papers(tmp_path / "papers.jso")
    assert caught.value.hint.startswith("known: .json")


@pytest.mark.parametrize("name", ["absent.jsonl", "a.jsonl/below", "nul\0", "x" * 300])
def test_a_path_that_is_not_there_is_an_error_even_beside_good_ones(tmp_path: Path, name: str) -> None:
    good = put(tmp_path / "a.jsonl", ("a", "Ants."))
    with pytest.raises(LoadError, match="Can't read") as caught:
        load_papers([good, tmp_path / name])
    assert caught.value.hint == "check the path"


def test_nothing_named_and_nothing_found(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No file of papers was named"):
        load_papers([])
    with pytest.raises(LoadError, match=r"Not one paper could be loaded from .*: the folder holds no file of papers"):
        load_papers(tmp_path)
    for number in range(5):
        (tmp_path / f"{number}.txt").touch()
    (tmp_path / "a.jsonl").write_text("[]\n")
    with pytest.raises(LoadError) as caught:
        load_papers([tmp_path, tmp_path / "1.txt"])
    assert f"{tmp_path}/0.txt, {tmp_path}/1.txt, {tmp_path}/2.txt and 2 more: is empty; " in caught.value.message
    assert caught.value.message.endswith("a.jsonl: holds an empty list of records.")
    for number in range(5):
        (tmp_path / f"{number}.jsonl").write_text(f'{{"id": {number}, "year": {number}}}')
        (tmp_path / f"{number}.txt").write_text("A heading")
        (tmp_path / f"{number}.md").write_text("-" * number)
    with pytest.raises(LoadError) as caught:
        load_papers(tmp_path)
    assert "2.jsonl:1 and 2 more: abstract: is missing, and there is no title either; " in caught.value.message
    assert caught.value.message.endswith("; and 3 more problems.")


def test_an_empty_folder_beside_papers_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    report = load_papers([put(tmp_path / "a.jsonl", ("a", "Ants.")), tmp_path / "empty"])
    assert len(report.papers) == len(report.problems) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    good = put(tmp_path / "a.jsonl", ("a", "Ants."))
    put(tmp_path / "b.jsonl", ("b", "Bees.")).chmod(0)
    (tmp_path / "c").mkdir(mode=0)
    report = load_papers(tmp_path)
    (tmp_path / "c").chmod(0o700)
    assert [path.name for path in report.files] == [good.name, "b.jsonl"]
    assert [paper.id for paper in report.papers] == ["a"]
    assert sorted(str(problem) for problem in report.problems) == [
        f"{tmp_path}/b.jsonl: can't be read: Permission denied",
        f"{tmp_path}/c: can't be read: Permission denied",
    ]


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 there")
def test_names_that_are_no_text_can_still_be_told(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff\n\x1b[31m"
    Path(os.fsdecode(folder)).mkdir()
    put(Path(os.fsdecode(folder + b"/a.jsonl")), ("a", "Ants."), ("", ""))
    report = load_papers(tmp_path)
    report.papers[0].source.encode()
    assert str(report.problems[0]).isprintable()


def test_the_content_tells_the_form_whatever_a_file_is_called(tmp_path: Path) -> None:
    contents = {
        "ris.csv": "TY  - JOUR\nTI  - Of ris\nER  - \n",
        "table.json": "Title,Abstract\nOf table,We do.\n",
        "json.bib": '[{"title": "Of json"}]',
        "lines.ris": '{"title": "Of lines 1"}\n{"title": "Of lines 2"}\n',
        "bibtex.xml": "A library\n\n@article{a,\n title={Of bibtex}}\n",
        "xml.md": "<feed><entry><title>Of xml</title></entry></feed>",
        "post.txt": "---\ntitle: Of post\nabstract: We do.\n---\n",
        "nothing": "PMID- 1\nTI  - Of nothing\n",
        "strange.xyz": "%0 Book\n%T Of strange\n%A Lee, Ann\n",
        "prose.txt": "Title, abstract and all that. It is prose: @article, {this}.\n\nTY is no tag. AB neither.\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    report = load_papers(tmp_path)
    assert report.problems == report.notes == ()
    titles = {
        (Path(paper.source.rpartition(":")[0]).name, paper.title) for paper in report.papers if not paper.title_derived
    }
    assert titles == {
        (name, f"Of {name.partition('.')[0]}") for name in contents if name[:5] not in ("lines", "prose")
    } | {
        ("lines.ris", "Of lines 1"),
        ("lines.ris", "Of lines 2"),
    }
    assert sum(paper.title_derived for paper in report.papers) == 2


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.zip", b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0", "it is a zip archive"),
        ("a.jsonl.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\0\0\0\0\0", "it is packed with gzip"),
        ("a.docx", b"PK\x03\x04\x14\0word/document.xml\0\0\0\0\0\0\0\0\0\0\0", "or a document packed like one"),
        ("a.bin", bytes(range(200)), "it is not a text file"),
    ],
)
def test_what_is_no_text_is_refused_as_what_it_is(tmp_path: Path, name: str, data: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(LoadError) as caught:
        load_papers(tmp_path / name)
    assert told in caught.value.message
    (tmp_path / "as.ris").write_bytes(data)
    with pytest.raises(LoadError, match=r"as\.ris: is "):
        load_papers(tmp_path / "as.ris")


def test_a_form_of_another_package_knows_its_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, data = tmp_path / "site", tmp_path / "data"
    site.mkdir()
    data.mkdir()
    module = """
from rag_assistant.loaders import Form, Record, papers_of_export

def load(path):
    for number, line in enumerate(path.read_text().splitlines()[1:], 2):
        yield from papers_of_export(Record(file=str(path), line=number, title=line))

ANTS = Form(load, lambda head: head.startswith("ANTS"), ("ants",))
"""
    install(site, "antlists", module, "ants = antlists:ANTS", "broken = antlists:absent")
    monkeypatch.syspath_prepend(str(site))
    (data / "list").write_text("ANTS 1.0\nOn <i>ants</i>\n")
    (data / "other.ants").write_text("whatever\nOn other ants\n")
    assert [paper.title for paper in load_papers(data).papers] == ["On ants", "On other ants"]


def install(folder: Path, package: str, module: str, *entries: str) -> None:
    """Another package with loaders, as pip leaves one."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[rag_assistant.loaders]", *entries, ""]))
    (folder / f"{package}.py").write_text(module)


TSV = """
from rag_assistant.loaders import Record, papers_from

def load(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        title, abstract = line.split("\\t")
        yield from papers_from(Record(file=str(path), line=number, title=title, abstract=abstract))

def broken(path):
    yield from load(path)
    yield "a paper"

def blank(path):
    from rag_assistant.types import Paper
    yield Paper("x", " ", "Xs work.")

value = 3
"""


def test_a_form_is_added_by_one_file_and_one_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, data = tmp_path / "site", tmp_path / "data"
    site.mkdir()
    data.mkdir()
    entries = ("rows = tsvs:load", "bad = tsvs:broken", "blank = tsvs:blank", "md = tsvs:load")
    install(site, "tsvs", TSV, *entries, "none = tsvs:value", "gone = tsvs:absent", "two = tsvs:load")
    install(site, "others", "", "two = others:load")
    monkeypatch.syspath_prepend(str(site))
    assert ".rows" in extensions()
    (data / "a.rows").write_text("On ants\tAnts work.\n\t\n")
    (data / "b.bad").write_text("On bees\tBees work.")
    (data / "c.blank").touch()
    (data / "d.md").write_text("---\ntitle: On cats\n---\nCats work.")
    report = load_papers(data)
    assert [paper.title for paper in report.papers] == ["On ants", "On bees", "On cats"]
    assert [str(problem) for problem in report.problems] == [
        f"{data}/a.rows:2: abstract: is empty, and there is no title either",
        f"{data}/b.bad: its loader failed: TypeError: it yielded str",
        f"{data}/c.blank: its loader failed: ValueError: it yielded a paper without id or title, from nowhere named",
    ]
    for name, told in (("none", "not callable"), ("gone", "can't be loaded"), ("two", "Several installed packages")):
        (tmp_path / f"x.{name}").touch()
        with pytest.raises(PluginError, match=told):
            load_papers(tmp_path / f"x.{name}")
