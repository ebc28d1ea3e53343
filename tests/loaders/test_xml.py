"""XML: its dialects' own things, entities that never expand, and files that break off."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_assistant.errors import LoadError
from rag_assistant.loaders import LoadReport, load_papers

ENDNOTE = "<xml><records><record><titles><title>{}</title></titles></record></records></xml>"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
REFUSED = r"declares entities of its own, which are never expanded"


def load(folder: Path, text: str | bytes, name: str = "a.xml") -> LoadReport:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_papers(path)


@pytest.mark.parametrize(
    ("declared", "used"),
    [
        (f'<!ENTITY l0 "ha">{LAUGHS}', "&l11;"),
        ('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;"),
        ('<!ENTITY x SYSTEM "http://127.0.0.1:9/x">', "&x;"),
        ('<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;', "Ants"),
        (f'<!ENTITY x "{"a" * 10_000}">', "&x;" * 10_000),
    ],
    ids=["billion laughs", "a file", "an address", "a parameter", "quadratic"],
)
def test_entities_never_expand(tmp_path: Path, declared: str, used: str) -> None:
    text = f'<?xml version="1.0"?><!DOCTYPE xml [{declared}]>{ENDNOTE.format(used)}'
    with pytest.raises(LoadError, match=REFUSED) as caught:
        load(tmp_path, text)
    assert "root:" not in str(caught.value)


def test_a_dtd_elsewhere_is_not_fetched_and_html_s_characters_are_known(tmp_path: Path) -> None:
    title = ENDNOTE.format("&alpha;&nbsp;Ants &amp; &#946; &eacute;")
    text = f'<?xml version="1.0"?><!DOCTYPE xml SYSTEM "file:///etc/passwd">{title}'
    assert load(tmp_path, text).papers[0].title == "\u03b1 Ants & \u03b2 \u00e9"


def test_a_character_that_nothing_declares_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"a\.xml:1: is not XML from here on: undefined entity"):
        load(tmp_path, ENDNOTE.format("&nonsense;"))


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "windows-1251", "UTF-16", "GB18030"])
def test_the_encoding_that_is_declared_is_read(tmp_path: Path, encoding: str) -> None:
    title = {
        "ISO-8859-1": "\u00c4\u00f6",
        "windows-1251": "\u041c\u044b",
        "UTF-16": "\u041c\u6211",
        "GB18030": "\u6211\u4eec",
    }[encoding]
    text = f'<?xml version="1.0" encoding="{encoding}"?>{ENDNOTE.format(title)}'
    report = load(tmp_path, text.encode(encoding))
    assert report.papers[0].title == title
    assert report.notes == ()


@pytest.mark.parametrize("encoding", ["rot13", "nonsense", "utf-8", "hex"])
def test_an_encoding_that_is_none_is_not_believed(tmp_path: Path, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>' + ENDNOTE.format("\u00c4nts")
    assert load(tmp_path, text).papers[0].title == "\u00c4nts"


def test_of_a_file_that_breaks_off_what_was_whole_is_read(tmp_path: Path) -> None:
    text = ENDNOTE.format("One").replace("</records></xml>", "\n<record><titles><title>Tw")
    report = load(tmp_path, text)
    assert [paper.title for paper in report.papers] == ["One"]
    (problem,) = report.problems
    assert (problem.line, problem.message) == (2, "is not XML from here on: no element found")


def test_elements_too_deep_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="has elements in more than 200 others"):
        load(tmp_path, ENDNOTE.format("<style>" * 100_000))


def test_xml_of_another_kind_says_so(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="holds no record of PubMed, EndNote, arXiv or TEI"):
        load(tmp_path, "<html><body>Ants</body></html>")


def test_pubmed_s_abstracts_authors_and_books(tmp_path: Path) -> None:
    text = """<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" "https://dtd.nlm.nih.gov/x.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">123</PMID><Article><Journal><JournalIssue><PubDate>
<MedlineDate>1998 Dec-1999 Jan</MedlineDate></PubDate></JournalIssue><Title>Journal</Title></Journal>
<ArticleTitle>On <i>E. coli</i> in H<sub>2</sub>O at 10<sup>-5</sup>.</ArticleTitle><Abstract>
<AbstractText Label="BACKGROUND" NlmCategory="BACKGROUND">One &lt; two.</AbstractText>
<AbstractText Label="METHODS">We <b>do</b>.</AbstractText><AbstractText Label="RESULTS" />
<CopyrightInformation>\u00a9 2019</CopyrightInformation></Abstract>
<AuthorList><Author><LastName>Lee</LastName><ForeName>Ann B</ForeName>
<Initials>AB</Initials><Suffix>Jr</Suffix></Author>
<Author><CollectiveName>A Group</CollectiveName></Author></AuthorList></Article></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="pubmed">123</ArticleId></ArticleIdList><ReferenceList><Reference>
<ArticleIdList><ArticleId IdType="doi">10.1000/cited</ArticleId></ArticleIdList></Reference></ReferenceList>
</PubmedData>
</PubmedArticle>
<PubmedBookArticle><BookDocument><PMID>7</PMID><Book><BookTitle>A book</BookTitle><PubDate><Year>2020</Year></PubDate>
</Book>
<ArticleTitle>A chapter</ArticleTitle><AuthorList Type="editors"><Author><LastName>Itor</LastName></Author></AuthorList>
</BookDocument></PubmedBookArticle>
</PubmedArticleSet>"""
    article, chapter = load(tmp_path, text, "export.txt").papers
    assert (article.id, article.doi, article.year, article.venue) == ("pmid:123", None, 1998, "Journal")
    assert article.title == "On E. coli in H2O at 10^-5."
    assert article.abstract == "BACKGROUND: One < two.\nMETHODS: We do."
    assert article.authors == ("Ann B Lee Jr", "A Group")
    assert article.url == "https://pubmed.ncbi.nlm.nih.gov/123/"
    assert article.source.endswith("export.txt:4")
    assert (chapter.title, chapter.venue, chapter.year, chapter.authors) == ("A chapter", "A book", 2020, ())


def test_endnote_s_styles_and_tei_s_paragraphs(tmp_path: Path) -> None:
    endnote = """<xml><records><record><titles><title><style face="normal">On </style><style face="italic">ants</style>
</title>
<secondary-title>Journal</secondary-title></titles><contributors><authors><author><style>Lee, Ann</style></author>
</authors></contributors><dates><year>2021</year></dates><urls><related-urls><url>https://x.org/1</url></related-urls>
<pdf-urls><url>internal-pdf://x.pdf</url></pdf-urls></urls></record></records></xml>"""
    paper = load(tmp_path, endnote).papers[0]
    assert (paper.title, paper.authors, paper.venue, paper.year) == ("On ants", ("Ann Lee",), "Journal", 2021)
    assert paper.url == "https://x.org/1"
    tei = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>
<title level="a">Ants</title></titleStmt>
<sourceDesc><biblStruct><analytic><author><persName>
<forename type="first">Ann</forename><forename>B</forename>
<surname>Lee</surname></persName><email>a@x.org</email></author><author><affiliation>X</affiliation></author></analytic>
<monogr><title>Journal</title><imprint><date when="2021-05" /></imprint></monogr><idno type="DOI">10.1000/x</idno>
</biblStruct></sourceDesc></fileDesc><profileDesc><abstract><div><head>Aim</head><p>We look.</p><p>We see.</p></div>
</abstract></profileDesc></teiHeader><text><body><head>Title of a section</head></body></text></TEI>"""
    paper = load(tmp_path, tei, "a.tei.xml").papers[0]
    assert (paper.title, paper.authors, paper.year, paper.venue) == ("Ants", ("Ann B Lee",), 2021, "Journal")
    assert (paper.abstract, paper.doi) == ("Aim: We look.\nWe see.", "10.1000/x")
