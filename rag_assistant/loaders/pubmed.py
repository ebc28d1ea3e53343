"""PubMed's XML (``PubmedArticleSet``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from rag_assistant.loaders.base import Form, Problem
from rag_assistant.loaders.fields import Record
from rag_assistant.loaders.identity import pubmed_page
from rag_assistant.loaders.xml_records import load_xml, text_of, texts_of
from rag_assistant.types import Paper

_BEGINS = re.compile(r"<Pubmed(?:Book)?Article(?:Set)?[\s>]")


def load_pubmed(path: Path) -> Iterator[Paper | Problem]:
    """The articles and books of a file, the sections of an abstract a line each behind their labels.

    One without a DOI has ``pmid:`` and its number for an id.
    """
    yield from load_xml(path, ("PubmedArticle", "PubmedBookArticle"), _record)


def _record(file: str, line: int, element: Element) -> Record:
    article = _one(element, "MedlineCitation/Article", "BookDocument")
    pmid = element.findtext("MedlineCitation/PMID") or element.findtext("BookDocument/PMID")
    doi = _one(
        element,
        "PubmedData/ArticleIdList/ArticleId[@IdType='doi']",
        "MedlineCitation/Article/ELocationID[@EIdType='doi']",
        "BookDocument/ArticleIdList/ArticleId[@IdType='doi']",
    )
    return Record(
        file=file,
        line=line,
        title=text_of(_one(article, "ArticleTitle", "Book/BookTitle", "VernacularTitle")),
        abstract=_abstract(article),
        authors=[name for author in _authors(article) if (name := _name(author))],
        year=_year(article),
        venue=text_of(_one(article, "Journal/Title", "Journal/ISOAbbreviation", "Book/BookTitle")),
        url=pubmed_page(pmid),
        doi=text_of(doi),
    )


def _one(element: Element | None, *paths: str) -> Element | None:
    """The first element that is there and holds any text."""
    found = (element.find(path) for path in paths) if element is not None else ()
    return next((one for one in found if one is not None and "".join(one.itertext()).strip()), None)


def _abstract(article: Element | None) -> str | None:
    parts = article.findall("Abstract/AbstractText") if article is not None else []
    lines = []
    for part in parts:
        label, text = part.get("Label", ""), (text_of(part) or "").strip()
        if text:
            lines.append(f"{label}: {text}" if label and label != "UNLABELLED" else text)
    return "\n".join(lines) or None


def _authors(article: Element | None) -> list[Element]:
    if article is None:
        return []
    lists = [one for one in article.findall("AuthorList") if one.get("Type") != "editors"]
    return [author for one in lists for author in one.findall("Author")]


def _name(author: Element) -> str:
    parts = (_one(author, "ForeName", "Initials"), author.find("LastName"), author.find("Suffix"))
    return " ".join(texts_of(part for part in (*parts, author.find("CollectiveName")) if part is not None))


def _year(article: Element | None) -> str | None:
    date = _one(article, "Journal/JournalIssue/PubDate/Year", "Journal/JournalIssue/PubDate/MedlineDate")
    return text_of(date if date is not None else _one(article, "ArticleDate/Year", "Book/PubDate/Year"))


PUBMED = Form(load_pubmed, lambda head: bool(_BEGINS.search(head)), ("xml",))
