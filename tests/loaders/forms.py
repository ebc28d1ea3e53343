"""How each form of file is written, so that one test can ask the same of every loader."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import yaml

Record = dict[str, object]


@dataclass(frozen=True)
class Form:
    """A form of file: its extension, how records are written, and what it can hold.

    ``keeps_id`` says whether an id in it is a paper's id; ``links`` whether it holds addresses; ``verbatim`` whether an
    abstract arrives as it stands, whatever it holds, and isn't cleaned as those of other programs' exports are.
    """

    extension: str
    write: Callable[[Sequence[Record]], str]
    one_a_file: bool = False
    abstract_only: bool = False
    keeps_id: bool = False
    links: bool = True
    verbatim: bool = False


def names(record: Record) -> list[str]:
    authors = record.get("authors", ())
    assert isinstance(authors, list | tuple)
    return [str(name) for name in authors]


def links(record: Record) -> list[str]:
    return [str(record[key]) for key in ("url", "openreview") if key in record]


def as_jsonl(records: Sequence[Record]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def as_json(records: Sequence[Record]) -> str:
    return json.dumps(list(records), ensure_ascii=False, indent=1)


def as_text(records: Sequence[Record]) -> str:
    return "Some abstracts\n\n" + "\n\n\n".join(str(record["abstract"]) for record in records) + "\n"


def as_record(records: Sequence[Record]) -> str:
    (record,) = records
    lines = ["---"]
    for key, value in record.items():
        if isinstance(value, list):
            lines += [f"author: {name}" for name in value]
        elif key != "abstract":
            lines.append(f"{key}: {value}")
    return "\n".join([*lines, "---", str(record["abstract"]), ""])


def tagged(records: Sequence[Record], lines: Callable[[Record], list[tuple[str, str]]], end: str = "") -> str:
    """Records of lines that a tag begins; a line that a value breaks goes on with an indent."""
    written = []
    for record in records:
        rows = [f"{tag}{value}".replace("\n", "\n      ") for tag, value in lines(record)]
        written.append("\n".join([*rows, end, ""]))
    return "\n".join(written)


def rows(record: Record, tags: dict[str, str]) -> list[tuple[str, str]]:
    """The fields of a record under their tags."""
    found = []
    for tag, field in tags.items():
        if field == "authors":
            found += [(tag, name) for name in names(record)]
        elif field == "links":
            found += [(tag, link) for link in links(record)]
        elif field in record:
            found.append((tag, str(record[field])))
    return found


def as_ris(records: Sequence[Record]) -> str:
    tags = {
        "TI  - ": "title", "AU  - ": "authors", "PY  - ": "year", "T2  - ": "venue", "DO  - ": "doi", "UR  - ": "links",
        "AB  - ": "abstract",
    }  # fmt: skip
    return tagged(records, lambda record: [("TY  - ", "JOUR"), *rows(record, tags)], "ER  - ")


def as_medline(records: Sequence[Record]) -> str:
    tags = {
        "TI  - ": "title", "FAU - ": "authors", "DP  - ": "year", "JT  - ": "venue", "LID - ": "doi", "AID - ": "links",
        "AB  - ": "abstract",
    }  # fmt: skip

    def lines(record: Record) -> list[tuple[str, str]]:
        with_doi = {**record, "doi": f"{record['doi']} [doi]"} if "doi" in record else record
        return [("OWN - ", "NLM"), *rows(with_doi, tags)]

    return tagged(records, lines)


def as_web_of_science(records: Sequence[Record]) -> str:
    tags = {"TI ": "title", "PY ": "year", "SO ": "venue", "DI ": "doi", "AB ": "abstract"}

    def lines(record: Record) -> list[tuple[str, str]]:
        authors = [("AF ", "\n".join(names(record)))] if names(record) else []
        return [("PT ", "J"), *authors, *rows(record, {"AU ": "none", **tags})]

    return "FN Clarivate Analytics Web of Science\nVR 1.0\n" + tagged(records, lines, "ER") + "EF"


def as_refworks(records: Sequence[Record]) -> str:
    tags = {
        "A1 ": "authors", "T1 ": "title", "JF ": "venue", "YR ": "year", "DO ": "doi", "UL ": "links", "AB ": "abstract"
    }  # fmt: skip
    return tagged(records, lambda record: [("RT ", "Journal Article"), *rows(record, tags)])


def as_endnote(records: Sequence[Record]) -> str:
    tags = {
        "%T ": "title", "%A ": "authors", "%J ": "venue", "%D ": "year", "%R ": "doi", "%U ": "links", "%X ": "abstract"
    }  # fmt: skip
    return tagged(records, lambda record: [("%0 ", "Journal Article"), *rows(record, tags)])


def as_bibtex(records: Sequence[Record]) -> str:
    tags = {
        "title": "title",
        "year": "year",
        "booktitle": "venue",
        "doi": "doi",
        "url": "url",
        "openreview": "openreview",
    }
    entries = []
    for record in records:
        fields = {tag: str(record[field]) for tag, field in {**tags, "abstract": "abstract"}.items() if field in record}
        if names(record):
            fields["author"] = " and ".join(names(record))
        key = record.get("id", "")
        entries.append("\n".join([f"@inproceedings{{{key},", *(f"  {k} = {{{v}}}," for k, v in fields.items()), "}\n"]))
    return "% written by a test\n" + "\n".join(entries)


def as_pubmed(records: Sequence[Record]) -> str:
    def article(record: Record) -> str:
        people = "".join(
            f"<Author><LastName>{escape(name.split()[-1])}</LastName>"
            f"<ForeName>{escape(' '.join(name.split()[:-1]))}</ForeName></Author>"
            for name in names(record)
        )
        doi = f'<ArticleId IdType="doi">{record["doi"]}</ArticleId>' if "doi" in record else ""
        return (
            f"<PubmedArticle><MedlineCitation><Article><Journal><JournalIssue><PubDate><Year>{record.get('year', '')}"
            f"</Year></PubDate></JournalIssue><Title>{escape(str(record.get('venue', '')))}</Title></Journal>"
            f"<ArticleTitle>{escape(str(record.get('title', '')))}</ArticleTitle>"
            f"<Abstract><AbstractText>{escape(str(record['abstract']))}</AbstractText></Abstract>"
            f"<AuthorList>{people}</AuthorList></Article></MedlineCitation>\n"
            f"<PubmedData><ArticleIdList>{doi}</ArticleIdList></PubmedData></PubmedArticle>\n"
        )

    doctype = '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/x.dtd">'
    return (
        f'<?xml version="1.0" ?>\n{doctype}\n<PubmedArticleSet>\n{"".join(map(article, records))}</PubmedArticleSet>\n'
    )


def as_endnote_xml(records: Sequence[Record]) -> str:
    def record_of(record: Record) -> str:
        people = "".join(f"<author><style>{escape(name)}</style></author>" for name in names(record))
        urls = "".join(f"<url>{escape(link)}</url>" for link in links(record))
        return (
            f"<record><contributors><authors>{people}</authors></contributors>"
            f"<titles><title><style>{escape(str(record.get('title', '')))}</style></title></titles>"
            f"<periodical><full-title>{escape(str(record.get('venue', '')))}</full-title></periodical>"
            f"<dates><year>{record.get('year', '')}</year></dates><urls><related-urls>{urls}</related-urls></urls>"
            f"<electronic-resource-num>{record.get('doi', '')}</electronic-resource-num>"
            f"<abstract><style>{escape(str(record['abstract']))}</style></abstract></record>\n"
        )

    return f"<xml><records>\n{''.join(map(record_of, records))}</records></xml>\n"


def as_atom(records: Sequence[Record]) -> str:
    def entry(record: Record) -> str:
        people = "".join(f"<author><name>{escape(name)}</name></author>\n" for name in names(record))
        urls = "".join(f'<link href="{escape(link)}" />\n' for link in links(record))
        venue = f"<arxiv:journal_ref>{escape(str(record['venue']))}</arxiv:journal_ref>" if "venue" in record else ""
        doi = f"<arxiv:doi>{record['doi']}</arxiv:doi>" if "doi" in record else ""
        return (
            f"<entry>\n<title>{escape(str(record.get('title', '')))}</title>\n"
            f"<summary>{escape(str(record['abstract']))}</summary>\n{people}{urls}{venue}{doi}"
            f"<published>{record.get('year', '')}-07-27T08:18:33Z</published></entry>\n"
        )

    spaces = 'xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom"'
    return f"<?xml version='1.0'?>\n<feed {spaces}>\n<title>A feed</title>\n{''.join(map(entry, records))}</feed>\n"


def as_tei(records: Sequence[Record]) -> str:
    def document(record: Record) -> str:
        people = "".join(
            f"<author><persName><forename>{escape(' '.join(name.split()[:-1]))}</forename>"
            f"<surname>{escape(name.split()[-1])}</surname></persName></author>"
            for name in names(record)
        )
        urls = "".join(f'<ptr target="{escape(link)}" />' for link in links(record))
        return (
            f"<TEI><teiHeader><fileDesc><titleStmt><title>{escape(str(record.get('title', '')))}</title></titleStmt>"
            f"<sourceDesc><biblStruct><analytic>{people}</analytic>"
            f"<monogr><title>{escape(str(record.get('venue', '')))}</title>"
            f'<imprint><date when="{record.get("year", "")}" /></imprint></monogr>'
            f'<idno type="DOI">{record.get("doi", "")}</idno>{urls}</biblStruct></sourceDesc></fileDesc>'
            f"<profileDesc><abstract><p>{escape(str(record['abstract']))}</p></abstract></profileDesc></teiHeader></TEI>\n"
        )

    return f'<teiCorpus xmlns="http://www.tei-c.org/ns/1.0">\n{"".join(map(document, records))}</teiCorpus>\n'


def as_table(records: Sequence[Record]) -> str:
    written = io.StringIO()
    columns = {field: field for record in records for field in record}
    table = csv.DictWriter(written, [*columns], lineterminator="\n")
    table.writeheader()
    table.writerows({**record, "authors": "; ".join(names(record))} if names(record) else record for record in records)
    return written.getvalue()


def as_post(records: Sequence[Record]) -> str:
    (record,) = records
    fields = {key: value for key, value in record.items() if key not in ("authors", "venue")}
    if names(record):
        fields["author"] = [{"given": " ".join(n.split()[:-1]), "family": n.split()[-1]} for n in names(record)]
    if "venue" in record:
        fields["booktitle"] = record["venue"]
    return f"---\n{yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=80)}---\n"


FORMS = {
    "jsonl": Form(".jsonl", as_jsonl, keeps_id=True, verbatim=True),
    "json": Form(".json", as_json, keeps_id=True, verbatim=True),
    "ris": Form(".ris", as_ris),
    "nbib": Form(".nbib", as_medline),
    "ciw": Form(".ciw", as_web_of_science, links=False),
    "refworks": Form(".refworks", as_refworks),
    "enw": Form(".enw", as_endnote),
    "bib": Form(".bib", as_bibtex, keeps_id=True),
    "pubmed": Form(".xml", as_pubmed, links=False),
    "endnote": Form(".xml", as_endnote_xml),
    "atom": Form(".xml", as_atom),
    "tei": Form(".tei", as_tei),
    "csv": Form(".csv", as_table, keeps_id=True),
    "pmlr": Form(".md", as_post, one_a_file=True, keeps_id=True),
    "md": Form(".md", as_record, one_a_file=True, keeps_id=True, verbatim=True),
    "txt": Form(".txt", as_text, abstract_only=True, verbatim=True),
}
NO_TEXT = ("pdf", "sqlite", "xlsx")
"""Forms that are no text files: what holds for these is told in tests of their own."""
