"""What holds for every loader, whatever the form of its file. A new loader needs one entry in ``forms.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_assistant.errors import LoadError
from rag_assistant.loaders import LoadReport, extensions, load_papers
from rag_assistant.loaders.registry import loader_of
from rag_assistant.plugins import BUILTINS
from rag_assistant.types import Paper

from .forms import FORMS, NO_TEXT, Form, Record

ABSTRACT = "We study the na\u00efve case, e.g. $x^2$ \u2014 and win. It is open."
RECORD: Record = {
    "id": "lee24a",
    "title": 'Wins: a "study" of $x^2$, and more',
    "abstract": ABSTRACT,
    "authors": ["Ann Lee", "Zal\u00e1n Borsos"],
    "year": 2024,
    "venue": "ICML 2024",
    "url": "https://example.org/lee24a",
    "doi": "10.1145/12345.678",
    "openreview": "https://openreview.net/forum?id=x",
}

# Not the control characters: a file with many is no text.
PRINTED = st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t\r")
# What no program's markup, and no TeX, is made of.
PROSE = st.characters(categories=["Lu", "Ll", "Lo", "Nd"], include_characters=" ,;:()+=/'")
# What means something to one loader or another.
PIECES = (
    b"{ } \" ' \\ \0 \r \n \n\n & < > $ @ [ ] , ; | --- null -1e9 &lol; <![CDATA[ ]]> <!-- </ \xff\xfe \xef\xbb\xbf"
    b" \xed\xa0\x80 <!DOCTYPE[<!ENTITY \\ud800 @article{ %X RT PT AB ER ID: *a &a sep=; <sup> \x1b]0 \xc2\xa9"
).split(b" ")

each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def write(folder: Path, form: Form, text: str | bytes, name: str = "papers") -> Path:
    path = folder / f"{name}{form.extension}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def abstracts(report: LoadReport) -> list[str]:
    return [paper.abstract for paper in report.papers]


def test_every_built_in_form_is_tried_here() -> None:
    assert {*FORMS, *NO_TEXT} == set(BUILTINS["loader"])
    assert set(extensions()) >= {form.extension for form in FORMS.values()}


@each_form
def test_the_loader_itself_yields_papers_with_their_place(form: Form, tmp_path: Path) -> None:
    path = write(tmp_path, form, form.write([RECORD]))
    loader = loader_of(path)
    assert loader is not None
    (paper,) = [item for item in loader(path) if isinstance(item, Paper)]
    assert paper.abstract == ABSTRACT
    file, _, line = paper.source.rpartition(":")
    assert Path(file).read_text(encoding="utf-8").split("\n")[int(line) - 1].strip()


@each_form
def test_all_fields_that_the_form_has_arrive(form: Form, tmp_path: Path) -> None:
    (paper,) = load_papers(write(tmp_path, form, form.write([RECORD]))).papers
    if form.abstract_only:
        assert (paper.title, paper.title_derived) == (ABSTRACT, True)
        assert paper.authors == ()
        return
    assert paper == Paper(
        id="lee24a" if form.keeps_id else "doi:10.1145/12345.678",
        title=str(RECORD["title"]),
        abstract=ABSTRACT,
        authors=("Ann Lee", "Zal\u00e1n Borsos"),
        year=2024,
        venue="ICML 2024",
        url="https://example.org/lee24a" if form.links else "https://doi.org/10.1145/12345.678",
        doi="10.1145/12345.678",
        links={"openreview": "https://openreview.net/forum?id=x"} if form.links else {},
    )


@each_form
@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.encode("utf-32"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: ("\n\n" + text + "\n \n").encode(),
        lambda text: text.replace("\n", "\r\n", 3).replace("\r\n", "\r", 1).encode(),
    ],
    ids="BOM,UTF-16 LE,UTF-16 BE,16 LE unmarked,16 BE unmarked,UTF-32,CRLF,CR,blank lines,mixed".split(","),
)
def test_encodings_and_line_ends_make_no_difference(form: Form, encode: Callable[[str], bytes], tmp_path: Path) -> None:
    plain = load_papers(write(tmp_path, form, form.write([RECORD]), "plain"))
    report = load_papers(write(tmp_path, form, encode(form.write([RECORD]))))
    assert report.papers == plain.papers
    assert report.problems == ()


@each_form
def test_latin_1_is_read_with_a_notice(form: Form, tmp_path: Path) -> None:
    record = {key: value for key, value in RECORD.items() if key != "authors"} | {
        "abstract": "The na\u00efve case wins."
    }
    report = load_papers(write(tmp_path, form, form.write([record]).encode("latin-1")))
    assert abstracts(report) == ["The na\u00efve case wins."]
    (note,) = [note for note in report.notes if "UTF-8" in note.message]
    assert note.line is not None


@each_form
@pytest.mark.parametrize("encoding", ["cp1251", "koi8_r", "gb18030"])
def test_another_script_s_encoding_is_guessed_with_a_notice(form: Form, encoding: str, tmp_path: Path) -> None:
    russian = (
        "\u041c\u044b \u0438\u0437\u0443\u0447\u0430\u0435\u043c \u043c\u0443\u0440\u0430\u0432\u044c\u0451\u0432. "
    )
    chinese = "\u6211\u4eec\u7814\u7a76\u8682\u8681\u7684\u8def\u7ebf\u95ee\u9898\u3002"
    abstract = (chinese if encoding == "gb18030" else russian) * 40
    report = load_papers(write(tmp_path, form, form.write([{"title": "T", "abstract": abstract}]).encode(encoding)))
    assert abstracts(report)[0].split() == abstract.split()
    assert any(f"read as {encoding}, which is a guess" in note.message for note in report.notes)


@each_form
def test_one_broken_byte_in_utf_8_spoils_nothing_else(form: Form, tmp_path: Path) -> None:
    text = form.write([{**RECORD, "abstract": "\u00c9t\u00e9 na\u00efve: BROKEN here."}])
    report = load_papers(write(tmp_path, form, text.encode().replace(b"BROKEN", b"\xe9")))
    assert abstracts(report) == ["\u00c9t\u00e9 na\u00efve: \ufffd here."]
    assert any("1 broken" in note.message for note in report.notes)


@each_form
def test_nul_becomes_the_replacement_character(form: Form, tmp_path: Path) -> None:
    text = form.write([{**RECORD, "abstract": "A NUL\x00 stands in this abstract. It is open."}])
    assert abstracts(load_papers(write(tmp_path, form, text))) == ["A NUL\ufffd stands in this abstract. It is open."]


@each_form
@pytest.mark.parametrize(
    "name",
    [
        "\x1b[31mCTMA\x1b[0m",
        "C\x1b[38;5;9mTM\x1b[0mA\x1b[K",
        "\x9b1mCTMA\x9b0m",
        "\x1b]0;a title\x07CTMA",
        "\x1b]8;;https://example.org\x1b\\CTMA\x1b]8;;\x1b\\",
        "\x1bP1$r0m\x1b\\CTMA\x1b(B",
    ],
    ids=["colour", "colours within", "one byte", "window title", "link", "strings"],
)
def test_escape_sequences_go_as_a_whole(form: Form, name: str, tmp_path: Path) -> None:
    record = {**RECORD, "title": f"On {name}", "abstract": f"We show that {name} is robust. It is open."}
    (paper,) = load_papers(write(tmp_path, form, form.write([record]))).papers
    assert paper.abstract == "We show that CTMA is robust. It is open."
    assert form.abstract_only or paper.title == "On CTMA"


@each_form
@pytest.mark.parametrize(
    "data", [b"", b"\n \r\n\t\n", b"\xef\xbb\xbf", b"\xff\xfe", bytes(range(256)) * 20, b"\0" * 99]
)
def test_files_without_text_are_one_clear_error(form: Form, data: bytes, tmp_path: Path) -> None:
    bad = write(tmp_path, form, data, "bad")
    with pytest.raises(LoadError, match="bad") as caught:
        load_papers(bad)
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    report = load_papers([bad, write(tmp_path, form, form.write([RECORD]))])
    assert len(report.papers) == len(report.problems) == 1
    assert report.problems[0].file == str(bad)


@each_form
def test_what_is_far_too_long_is_told_in_a_line(form: Form, tmp_path: Path) -> None:
    record = {**RECORD, "id": "long24a", "title": "A long one", "doi": "10.1000/long", "openreview": "https://long.org"}
    long = write(tmp_path, form, form.write([{**record, "abstract": "word " * 2_000_000}]), "long")
    report = load_papers([long, write(tmp_path, form, form.write([RECORD]))])
    assert ABSTRACT in abstracts(report)
    (told,) = (*report.problems, *(note for note in report.notes if note.left_out))
    assert told.line is not None
    if form is FORMS["pmlr"]:  # whose header isn't parsed then
        assert told.message.startswith("has a header of 10,")
        return
    assert str(told).startswith(f"{long}:{told.line}: abstract: has 9,999,999 characters")
    assert [paper.title for paper in report.without_abstract] == ([] if form.abstract_only else ["A long one"])


@each_form
def test_an_unreadable_file_is_a_problem_beside_others(form: Form, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / f"gone{form.extension}").symlink_to(tmp_path / "nowhere")
    write(folder, form, form.write([RECORD]))
    report = load_papers(folder)
    assert len(report.papers) == 1
    assert [str(problem) for problem in report.problems] == [
        f"{folder}/gone{form.extension}: can't be read: No such file or directory"
    ]


@each_form
@given(text=st.text(max_size=300), data=st.binary(max_size=300))
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_file_whatever_raises_anything_but_load_error(form: Form, text: str, data: bytes, tmp_path: Path) -> None:
    good = write(tmp_path, form, form.write([RECORD]), "good")
    for junk in (text.encode("utf-8", "surrogatepass"), data, form.write([RECORD]).encode()[:90] + data):
        report = load_papers([write(tmp_path, form, junk, "junk"), good])
        assert report.papers
        for paper in report.papers:
            assert paper.abstract == paper.abstract.strip()
            assert paper.id
            assert paper.title
            repr(paper).encode()  # nothing in it that can't be stored
        for problem in (*report.problems, *report.notes):
            assert str(problem).isprintable()
            assert "loader failed" not in problem.message


@each_form
@given(data=st.data())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_files_give_papers_or_one_clear_error(form: Form, data: st.DataObject, tmp_path: Path) -> None:
    others = [{**RECORD, "id": f"n{n}", "title": f"On {n}", "doi": f"10.1000/{n}"} for n in range(2)]
    content = form.write([RECORD] if form.one_a_file else [RECORD, *others]).encode()
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 60)))
        into = data.draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=20), st.just(content[start:end] * 3)))
        content = content[:start] + into + content[end:]
    write(tmp_path, form, content, "mutated")
    write(tmp_path, form, form.write([RECORD]), "good")
    report = load_papers(tmp_path)
    assert report.papers
    for paper in report.papers:
        assert paper.id.strip()
        assert paper.title.strip()
        repr(paper).encode()
    for problem in (*report.problems, *report.notes):
        assert str(problem).isprintable()
        assert "loader failed" not in problem.message


@each_form
@given(data=st.data())
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_abstracts_arrive_verbatim(form: Form, data: st.DataObject, tmp_path: Path) -> None:
    alphabet = PRINTED if form.verbatim else PROSE
    text = st.text(alphabet, min_size=1, max_size=200).filter(lambda text: any(c.isalnum() for c in text))
    abstract = data.draw(text)
    if form.abstract_only or not form.verbatim:  # blank lines may part records, and other programs wrap lines
        abstract = "We find: " + " ".join(abstract.split()) + " We end here."
    if form.extension not in (".json", ".jsonl"):  # which escape line ends
        abstract = abstract.replace("\r", " ")
    report = load_papers(write(tmp_path, form, form.write([{**RECORD, "abstract": abstract}])))
    assert abstracts(report) == [abstract.replace("\r\n", "\n").replace("\x00", "\ufffd").strip()]


@each_form
def test_ids_that_were_not_given_hold_still(form: Form, tmp_path: Path) -> None:
    first, second = (Record(title=f"On {name}", abstract=f"We study {name} at length. It works.") for name in "AB")
    if form.one_a_file:
        again = {**first, "abstract": "  we STUDY a   at length. It works."}
        paths = [write(tmp_path, form, form.write([r]), n) for n, r in (("x", first), ("y", second), ("z", again))]
        one, two, three = (load_papers(path).papers[0].id for path in paths)
        assert one == three != two
        return
    there = load_papers(write(tmp_path, form, form.write([first, second])))
    back = load_papers(write(tmp_path, form, form.write([second, first]), "elsewhere"))
    assert [paper.id for paper in there.papers] == [paper.id for paper in reversed(back.papers)]
    assert len({paper.id for paper in there.papers}) == 2
    again = {**first, "abstract": "we STUDY a   at length. It works."}
    assert load_papers(write(tmp_path, form, form.write([again]), "z")).papers[0].id == there.papers[0].id
