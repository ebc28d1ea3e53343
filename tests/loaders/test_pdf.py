"""PDFs: what stands on the first pages is read, what doesn't is said, and nothing is made up."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_assistant.errors import LoadError
from rag_assistant.loaders import load_papers
from rag_assistant.types import Paper

from .pdfs import Line, pdf, write_pdf

HEAD: list[Line] = [(17, "On the Efficiency of Ants"), (12, "Ann Lee, Zal\u00e1n Borsos and"), (12, "Eve de la Cruz")]
BODY: list[Line] = [
    (10, "Ants work. We study how efficiently ants find the shortest path be-"),
    (10, "tween a nest and a source of food; non-linear models fit, and non-"),
    (10, "linear ones only."),
]
ABSTRACT = (
    "Ants work. We study how efficiently ants find the shortest path between a nest and a source of food; "
    "non-linear models fit, and non-linear ones only."
)
REST: list[Line] = [(14, "1 Introduction"), (10, "Ants have been studied before.")]


def page(*extra: Line, head: list[Line] = HEAD) -> list[Line]:
    return [*extra, *head, (11, "Abstract", "bold"), *BODY, *REST]


def read(tmp_path: Path, *pages: list[Line], about: str = "") -> tuple[Paper, list[str]]:
    report = load_papers(write_pdf(tmp_path / "ants.pdf", *pages, about=about))
    assert report.problems == ()
    (paper,) = report.papers
    return paper, [f"{note.field} {note.message}" for note in report.notes]


def test_all_that_stands_there_arrives(tmp_path: Path) -> None:
    stamp: Line = (20, "arXiv:2401.00001v2  [q-bio.PE]  3 Jan 2024", "turned")
    assert read(tmp_path, page(stamp)) == (
        Paper(
            id="arxiv:2401.00001",
            title="On the Efficiency of Ants",
            abstract=ABSTRACT,
            authors=("Ann Lee", "Zal\u00e1n Borsos", "Eve de la Cruz"),
            year=2024,
            url="https://arxiv.org/abs/2401.00001",
            links={"arxiv": "https://arxiv.org/abs/2401.00001"},
        ),
        [],
    )


@pytest.mark.parametrize(
    "lines",
    [
        [(10, "Abstract. Ants work. They are small."), *REST],
        [(10, "Abstract\u2014Ants work. They are small."), (10, "Index Terms\u2014ants, work")],
        [(10, "A B S T R A C T"), (10, "Ants work. They are small."), (10, "Keywords: ants")],
        [(10, "ABSTRACT"), (10, "Ants work."), (10, "They are small."), (7, "* Supported by a grant.")],
        [(10, "Abstract:"), (10, "Ants work. They are small."), (10, "I. INTRODUCTION"), (10, "Long ago.")],
        [(10, "Abstract"), (10, "Ants work. They are small.")],
    ],
)
def test_where_an_abstract_begins_and_ends(tmp_path: Path, lines: list[Line]) -> None:
    paper, _ = read(tmp_path, [*HEAD, *lines])
    assert paper.abstract == "Ants work. They are small."


def test_a_word_at_the_beginning_of_a_line_is_no_heading(tmp_path: Path) -> None:
    lines: list[Line] = [(10, "Abstract reasoning is what"), (10, "ants can't do."), *REST]
    with pytest.raises(LoadError, match=r"ants\.pdf: abstract: was not found"):
        read(tmp_path, [*HEAD, *lines])


@pytest.mark.parametrize(
    ("head", "authors"),
    [
        ([(12, "Ann Lee1, Bob Ray2, Cy Twombly1"), (12, "Delft University")], ["Ann Lee", "Bob Ray", "Cy Twombly"]),
        ([(12, "Ann Lee*   Bob Ray\u2020"), (10, "Delft University"), (10, "a@b.org")], ["Ann Lee", "Bob Ray"]),
        ([(12, "Ann Lee")], ["Ann Lee"]),
        ([(12, "Ann Lee"), (12, "Delft University")], []),  # or is that another author?
        ([(12, "Ann Lee   Bob Ray", "bold"), (12, "Delft University"), (12, "Cy Twombly", "bold")], []),
        ([(12, "Ann Lee Bob Ray Cy Twombly Dee Dee Ramone")], []),
        ([(12, "Department of Ants, 2024")], []),
        ([], []),
    ],
)
def test_authors_are_all_or_none(tmp_path: Path, head: list[Line], authors: list[str]) -> None:
    paper, notes = read(tmp_path, page(head=[HEAD[0], *head]))
    assert paper.authors == tuple(authors)
    assert ("authors not found on its first page" in notes) == (not authors)


def test_marks_in_small_letters_are_no_part_of_a_name(tmp_path: Path) -> None:
    text = pdf(page(head=[HEAD[0], (12, "Ann Lee"), (10, "Delft University")]))
    small = b"(Ann Lee) Tj /F1 7 Tf (a) Tj /F1 12 Tf (, Bob Ray) Tj /F1 7 Tf (b,c) Tj"
    (tmp_path / "ants.pdf").write_bytes(text.replace(b"(Ann Lee) Tj", small))
    assert load_papers(tmp_path).papers[0].authors == ("Ann Lee", "Bob Ray")


@pytest.mark.parametrize(
    ("head", "about", "title"),
    [
        (HEAD, "/Title (Microsoft Word - draft7.doc)", "On the Efficiency of Ants"),
        ([(30, "ANTS & BEES"), *HEAD], "/Title (On the Efficiency of Ants)", "On the Efficiency of Ants"),
        ([(17, "On the Effi-"), (17, "ciency of Ants*"), *HEAD[1:]], "", "On the Efficiency of Ants"),
        ([(12, "On Ants"), (12, "Ann Lee")], "", None),
        ([], "", None),
    ],
)
def test_the_title_stands_out_or_is_said_not_to(
    tmp_path: Path, head: list[Line], about: str, title: str | None
) -> None:
    paper, notes = read(tmp_path, page(head=head), about=about)
    assert paper.title_derived == (title is None) == ("title not found on its first page" in notes)
    assert title in (paper.title, None)


@pytest.mark.parametrize(
    ("line", "about", "doi", "note"),
    [
        ("https://doi.org/10.1145/12345.678.", "", "10.1145/12345.678", ""),
        ("no such thing", "/Subject (Ants 7, doi:10.1145/12345.678)", "10.1145/12345.678", ""),
        ("10.1145/1 and 10.1145/2", "", None, "doi names several; none was taken"),
        ("as in arXiv:2401.00001", "", None, "doi not found on its first page"),  # one that is cited
    ],
)
def test_a_doi_is_taken_where_it_can_be_only_the_papers(
    tmp_path: Path, line: str, about: str, doi: str | None, note: str
) -> None:
    paper, notes = read(tmp_path, [*page(), (8, line)], about=about)
    assert paper.doi == doi
    assert paper.id == (f"doi:{doi}" if doi else paper.id)
    assert [found for found in notes if found.startswith("doi")] == [note] * bool(note)


def test_behind_a_cover(tmp_path: Path) -> None:
    cover: list[Line] = [(24, "Open Archive"), (12, "On the Efficiency of Ants"), (12, "Ann Lee")]
    paper, notes = read(tmp_path, cover, page())
    assert (paper.abstract, paper.source) == (ABSTRACT, f"{tmp_path}/ants.pdf:2")
    assert paper.title_derived
    assert "title not found on its first page" in notes
    assert (
        read(tmp_path, cover, page(), about="/Title (On the efficiency of ants)")[0].title
        == "On the efficiency of ants"
    )


def encrypted(password: str, algorithm: str = "AES-256") -> bytes:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf(page()))))
    writer.encrypt(user_password=password, owner_password="owner", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def bad_files(folder: Path) -> None:
    (folder / "damaged.pdf").write_bytes(pdf(page())[:300])
    (folder / "empty.pdf").touch()
    (folder / "encrypted.pdf").write_bytes(encrypted("secret"))
    (folder / "html.pdf").write_text("<html>Please log in</html>")
    write_pdf(folder / "invoice.pdf", [(12, "Invoice"), (10, "Ten ants, three euros.")])
    write_pdf(folder / "scanned.pdf", [])
    write_pdf(folder / "no-pages.pdf")
    write_pdf(
        folder / "endless.pdf", [(10, "Abstract"), *[(10, f"Line {n} of a page of one size.") for n in range(300)]]
    )


def test_what_cant_be_read_is_a_sentence_each_and_the_rest_is_read(tmp_path: Path) -> None:
    bad_files(tmp_path)
    write_pdf(tmp_path / "good.pdf", page())
    for algorithm in ("AES-256", "RC4-128"):  # with an owner's password only: everybody may open these
        (tmp_path / f"owned {algorithm}.pdf").write_bytes(encrypted("", algorithm))
    report = load_papers(tmp_path)
    assert [paper.abstract for paper in report.papers] == [ABSTRACT]
    told = f"is the same paper as {report.papers[0].id!r} from {tmp_path}/good.pdf:1: same title"
    assert [note.message for note in report.merged] == [told, told]
    told = {Path(problem.file).name: str(problem).partition(": ")[2] for problem in report.problems}
    assert told == {
        "damaged.pdf": "is damaged, or no PDF",
        "empty.pdf": "is empty",
        "encrypted.pdf": "is encrypted; save a copy without a password",
        "endless.pdf": "abstract: has no end within 6,000 characters",
        "html.pdf": "is damaged, or no PDF",
        "invoice.pdf": "abstract: was not found",
        "no-pages.pdf": "holds no text, as scans don't; run OCR on it, for example ocrmypdf",
        "scanned.pdf": "holds no text, as scans don't; run OCR on it, for example ocrmypdf",
    }
    assert report.without_abstract == ()


def test_without_the_extra_one_sentence_names_it(tmp_path: Path) -> None:
    for name in "abcde":
        write_pdf(tmp_path / f"{name}.pdf", page())
    code = f"""
import sys
sys.modules["pypdf"] = None
from rag_assistant.loaders import load_papers
load_papers({str(tmp_path)!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.count("is a PDF; to read PDFs: pip install 'rag-assistant[pdf]'") == 1
    assert f"{tmp_path}/c.pdf and 2 more: is a PDF" in last


WHOLE = pdf(page())


@given(at=st.integers(0, len(WHOLE)), data=st.binary(max_size=40), cut=st.integers(0, 40))
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_anywhere_is_told_or_read(tmp_path: Path, at: int, data: bytes, cut: int) -> None:
    (tmp_path / "ants.pdf").write_bytes(WHOLE[:at] + data + WHOLE[at + cut :])
    write_pdf(tmp_path / "good.pdf", page())
    report = load_papers(tmp_path)
    assert report.papers
    assert "loader failed" not in str(report.problems)


@pytest.mark.parametrize(
    "written",
    [
        r"Full Text PDF:files/12/a_b\; c.pdf:application/pdf;Snapshot:files/13/a.html:text/html",  # Zotero
        r":files/12/a_b\; c.pdf:PDF",  # JabRef
        r"files/12/a_b\; c.pdf",
        r":{BELOW}/files/12/a{\_}b\; c.pdf:pdf",  # Mendeley, without the first slash
        r"/gone/first.pdf;{FOLDER}/files/12/a_b\; c.pdf",
        r"Ants:C\:\\Users\\Ann\\beside.pdf:application/pdf",  # the PDF of another's machine, sent with the file
        r":C$\backslash$:/Users/Ann/beside.pdf:pdf",
    ],
)
def test_an_entry_without_abstract_has_that_of_its_pdf(tmp_path: Path, written: str) -> None:
    (tmp_path / "files" / "12").mkdir(parents=True)
    write_pdf(tmp_path / "files" / "12" / "a_b; c.pdf", page())
    write_pdf(tmp_path / "beside.pdf", page())
    written = written.replace("{FOLDER}", str(tmp_path)).replace("{BELOW}", str(tmp_path)[1:])
    bib = tmp_path / "library.bib"
    bib.write_text(
        f"@article{{ants, title = {{Ants at Work}}, file = {{{written}}}}}\n"
        "@article{bees, title = {Bees}, abstract = {Bees do not.}, file = {:beside.pdf:PDF}}\n"
    )
    report = load_papers(bib)
    assert [(paper.id, paper.title, paper.abstract) for paper in report.papers] == [
        ("ants", "Ants at Work", ABSTRACT),
        ("bees", "Bees", "Bees do not."),
    ]
    assert [str(note) for note in report.notes] == [f"{bib}:1: abstract: is taken from its PDF"]


def test_an_entry_whose_pdf_has_none_stays_without(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(b"%PDF-1.7")
    bib = tmp_path / "library.bib"
    names = ["scan.pdf", "gone.pdf", "a" * 5000 + ".pdf", ":::", ";", "x\\y", "/dev/null"]
    entries = [f"@article{{a{n}, title = {{Ants {n}}}, file = {{{name}}}}}" for n, name in enumerate(names)]
    bib.write_text("\n".join(entries))
    report = load_papers(bib)
    assert len(report.without_abstract) == len(names)
    assert [str(note) for note in report.notes] == [
        f"{bib}:1: abstract: is missing, and its PDF gives none: is damaged, or no PDF"
    ]
