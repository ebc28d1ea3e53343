"""Answers from the papers' records rather than their abstracts: authors, links, years, venues, and who wrote what."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from textwrap import shorten

from rag_assistant.drafts import Draft, Frame, Label, Matched, Piece, Refusal
from rag_assistant.evidence.answerability import confidence, judge
from rag_assistant.evidence.base import FAR, PaperEvidence, QuestionEvidence, QuestionWord, coverage
from rag_assistant.questions.form import QuestionForm, list_on
from rag_assistant.questions.patterns import Field
from rag_assistant.questions.records import Condition, Order, RecordQuery
from rag_assistant.retrieval.authors import nearest_name
from rag_assistant.types import Paper
from rag_assistant.writers.lists import LISTED_IF_MATCHING, belongs

CREDITED = 0.9
"""The match from which a sentence that credits somebody is taken to credit them with what is asked about."""
HALF = 0.5
"""The share of a topic's words, by weight, from which an abstract may be about it."""
MAX_LISTED = 20


def matches_person(paper: Paper, person: str) -> bool:
    """Whether, for each person asked for, one author's name has every part of theirs.

    Whole words are compared, ignoring case, accents and full stops; an initial matches a part that begins with it.
    """
    people = [asked for name in re.split(r",|\band\b|&", person) if (asked := _name_parts(name))]
    authors = [_name_parts(author) for author in paper.authors]
    return bool(people) and all(any(_has_all(asked, author) for author in authors) for asked in people)


def _name_parts(name: str) -> list[str]:
    folded = "".join(c for c in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(c))
    return [
        part for part in "".join(c if c.isalnum() else " " for c in folded).split() if part not in {"and", "et", "al"}
    ]


def _has_all(asked: list[str], author: list[str]) -> bool:
    return all(
        any(part == have or (len(part) == 1 and have.startswith(part)) for have in author) for part in asked
    ) and any(len(part) > 1 for part in asked)


def answer_bibliography(form: QuestionForm, evidence: QuestionEvidence) -> Iterator[Piece]:
    """The pieces that answer a question about the bibliography; a refusal if no paper or field is found."""
    if form.field == "papers_by":
        return _papers_by(form, evidence)
    if form.field == "records" and form.records is not None:
        return _records(form.records, evidence, form.at_most(MAX_LISTED))
    if form.field == "similar":
        return _similar(evidence)
    if form.field == "without" and form.records is not None:
        return _without(form.records.without, evidence, form.at_most(MAX_LISTED))
    if form.field == "count" and not evidence.words:
        return iter([Frame(_count(evidence))])
    return _of_one(form, evidence)


def _count(evidence: QuestionEvidence) -> str:
    return "There is 1 paper." if evidence.considered == 1 else f"There are {evidence.considered} papers."


def _papers_by(form: QuestionForm, evidence: QuestionEvidence) -> Iterator[Piece]:
    found = [(i, p.hit.paper) for i, p in enumerate(evidence.papers) if matches_person(p.hit.paper, form.person)]
    if not found:
        near = nearest_name(form.person, (name for paper in evidence.papers for name in paper.hit.paper.authors))
        offered = f" Did you mean {near}?" if near else ""
        yield Refusal(
            "not_in_corpus",
            (form.person,),
            f"None of the {evidence.considered} papers has an author named {form.person}.{offered}",
        )
        return
    most = form.at_most(MAX_LISTED)
    yield Matched(len(found))
    if len(found) > 1:
        yield Frame(f"{len(found)} of {evidence.considered} papers:")
    for index, paper in found[:most]:
        if len(found) > 1:
            yield Frame("\n- ")
        people = [name.strip() for name in re.split(r",|\band\b|&", form.person) if name.strip()]
        names = tuple(a for a in paper.authors if any(matches_person(Paper("", "", "", (a,)), one) for one in people))
        said = f"{names[0]} is an author" if len(names) == 1 else f"{_joined(names)} are authors"
        yield Draft(f"{said} of “{paper.title}”.", (Label(index),), "bibliography", ("authors", "title"))
    if len(found) > most:
        yield Frame(f"\n\nThe other {len(found) - most} are left out here.")


def fitting_papers(records: RecordQuery, papers: Sequence[Paper]) -> list[Paper]:
    """The papers whose records fit every condition; if extremes are asked for, only those."""
    fit = [paper for paper in papers if all(_fits(paper, condition) for condition in records.conditions)]
    if records.order is None:
        return fit
    values = {paper.id: _extreme(paper, records.order) for paper in fit}
    best = max((value for value in values.values() if value is not None), default=None)
    return [paper for paper in fit if best is not None and values[paper.id] == best]


def _extreme(paper: Paper, order: Order) -> int | None:
    """The number by which the papers are ordered, largest first; ``None`` if the record doesn't have it."""
    if order.endswith("authors"):
        value = len(paper.authors) or None
    elif order.endswith(("abstract", "title")):
        value = len((paper.abstract if order.endswith("abstract") else paper.title).split()) or None
    else:
        value = paper.year
    return value if value is None or order.startswith(("most", "newest", "longest")) else -value


def _fits(paper: Paper, condition: Condition) -> bool:
    """Whether the record meets the condition, or, if that is negated, says otherwise; a missing field does neither."""
    known = {"year": paper.year, "count": paper.authors, "author": paper.authors, "venue": paper.venue}[condition.field]
    if not known:
        return False
    if condition.field == "author":
        fits = any(matches_person(paper, name) for name in _alternatives(condition.name))
    elif condition.field == "venue":
        fits = " ".join(_name_parts(condition.name)) in " ".join(_name_parts(paper.venue or ""))
    else:
        value = len(paper.authors) if condition.field == "count" else paper.year or 0
        fits = (condition.low is None or value >= condition.low) and (condition.high is None or value <= condition.high)
    return fits != condition.negated


def _alternatives(name: str) -> list[str]:
    return re.split(r",\s*(?:or\s+)?|\s+or\s+", name) if " or " in name else [name]


_FIELD_SHOWN: dict[str, Field] = {"year": "year", "count": "count", "author": "authors", "venue": "venue"}
_FIELD_ORDERED: dict[str, Field] = {"authors": "count", "abstract": "abstract", "title": "title"}


def _records(records: RecordQuery, evidence: QuestionEvidence, most: int) -> Iterator[Piece]:
    papers = [paper.hit.paper for paper in evidence.papers]
    fit = {paper.id for paper in fitting_papers(records, papers)}
    if not fit:
        said = tuple(condition.said for condition in records.conditions) or (records.order or "",)
        wanted = " and ".join(f"“{shorten(one, 80, placeholder=' …')}”" for one in said)
        message = f"None of the {len(papers)} papers fits {wanted} by its record."
        years = sorted({paper.year for paper in papers if paper.year})
        if years and any(condition.field == "year" for condition in records.conditions):
            message += f" They are from {years[0]}{f' to {years[-1]}' if len(years) > 1 else ''}."
        yield Refusal("not_in_corpus", said, message)
        return
    fields = [_FIELD_SHOWN[condition.field] for condition in records.conditions]
    if records.order is not None:
        shown = _FIELD_ORDERED.get(records.order.split()[-1], "year")
        fields.append(shown if records.shown in (None, "authors") and shown == "count" else records.shown or shown)
    yield Matched(len(fit))
    if not fields:
        yield from _all(papers, most)
        return
    yield Frame(f"{len(fit)} of {len(papers)} {'paper' if len(papers) == 1 else 'papers'}:")
    rows = [index for index, paper in enumerate(papers) if paper.id in fit]
    for index in rows[:most]:
        row = _field_sentence(fields[-1], papers[index])
        if row is not None:
            yield Frame("\n- ")
            yield Draft(row[0], (Label(index),), "bibliography", row[1])
    if len(rows) > most:
        yield Frame(f"\n\nThe other {len(rows) - most} are left out here.")


def _all(papers: Sequence[Paper], most: int) -> Iterator[Piece]:
    yield Frame("There is 1 paper:" if len(papers) == 1 else f"There are {len(papers)} papers:")
    for index, paper in enumerate(papers[:most]):
        yield Frame("\n- ")
        yield Draft(f"“{paper.title}”.", (Label(index),), "bibliography", ("title",))
    if len(papers) > most:
        more = f"The other {len(papers) - most} are left out here; `rag-assistant papers` lists them all."
        yield Frame(f"\n\n{more}")


def _without(topic: str, evidence: QuestionEvidence, most: int) -> Iterator[Piece]:
    """The papers that aren't about a topic by their words and by the reader: more the abstracts can't show."""
    form = list_on(topic)
    rows = [at for at, paper in enumerate(evidence.papers) if not _is_about(form, evidence.words, paper)]
    others = evidence.considered - len(evidence.papers) + len(rows)
    if not others:
        message = f"All {evidence.considered} papers seem to be about “{topic}”: none is left."
        yield Refusal("not_in_corpus", (topic,), message)
        return
    yield Matched(others)
    yield Frame(f"The abstracts of {others} of {evidence.considered} papers say nothing of “{topic}”:")
    for index in rows[:most]:
        yield Frame("\n- ")
        yield Draft(f"“{evidence.papers[index].hit.paper.title}”.", (Label(index),), "bibliography", ("title",))
    if others > len(rows[:most]):
        yield Frame(f"\n\nThe other {others - len(rows[:most])} are left out here.")


def _is_about(form: QuestionForm, words: tuple[QuestionWord, ...], paper: PaperEvidence) -> bool:
    """Whether a paper has half of a topic's words, by weight: unchanged, unless the reader is sure that it is about
    something else, or others like them, if the reader takes it to be on the topic."""
    same, like = (coverage(words, tuple(float(match >= least) for match in paper.matches)) for least in (1.0, FAR))
    sure = confidence(paper)
    if same >= HALF and (sure is None or sure >= LISTED_IF_MATCHING):
        return True
    return like >= HALF and belongs(form, words, paper)


def _similar(evidence: QuestionEvidence) -> Iterator[Piece]:
    """The papers nearest to the first, by their vectors and words."""
    itself, *others = (paper.hit.paper for paper in evidence.papers)
    if not others:
        yield Refusal("not_in_corpus", (), f"There is no other paper than “{itself.title}” to look through.")
        return
    yield Frame(f"Nearest to “{itself.title}” by what they are about:")
    for index, paper in enumerate(others, start=1):
        yield Frame("\n- ")
        yield Draft(f"“{paper.title}”.", (Label(index),), "bibliography", ("title",))


def _of_one(form: QuestionForm, evidence: QuestionEvidence) -> Iterator[Piece]:
    words = evidence.words
    judgements = [judge(words, paper) for paper in evidence.papers]
    able = [index for index, judgement in enumerate(judgements) if judgement.says]
    if not words or not evidence.papers:
        yield Refusal("clarify", message="Which paper is meant? Name its title, its topic or an author.")
        return
    if not able:
        looked_for = judgements[0].missing or tuple(word.text for word in words[:6])
        yield Refusal("not_in_corpus", looked_for)
        return
    paper = evidence.papers[able[0]].hit.paper
    if form.field in ("authors", "year") and (credited := _credited(form, evidence, able[0])) is not None:
        yield credited
        return
    quoted = _quoted_address(form, evidence, able[0])
    if quoted is not None:
        yield quoted
        return
    found = _field_sentence(form.field, paper, form.text)
    if found is None:
        yield Refusal(
            "not_in_abstracts",
            (form.field or "",),
            f"The record of “{paper.title}” doesn't give its {form.field}.",
        )
        return
    text, fields = found
    yield Draft(text, (Label(able[0]),), "bibliography", fields)


_ADDRESS = re.compile(r"https?://(?P<host>[\w.-]+)")
_CREDIT = re.compile(
    r"\b(?:proposed|developed|introduced|invented|described|due|suggested)\s+(?:\w+\s+)?(?:by|to)\s+[A-ZÀ-Þ]\w+"
)
_INVENTED = re.compile(r"\b(?:proposed|developed|introduced|invented|created)\b", re.IGNORECASE)
_SOURCE = re.compile(r"\b(?:according\s+to|as\s+told\s+by)\b.*", re.IGNORECASE)
_ABOUT_THE_PAPER = re.compile(r"\b(?:paper|work|article|study|authors?|wrote|written|writer)\b", re.IGNORECASE)


def _credited(form: QuestionForm, evidence: QuestionEvidence, index: int) -> Draft | Refusal | None:
    """The sentence that credits somebody with what is asked about; ``None`` if the question is about the paper itself.

    A refusal if the sentences that credit somebody credit them with something else.
    """
    asked = _SOURCE.sub("", form.text)
    if _ABOUT_THE_PAPER.search(asked) or not _INVENTED.search(asked):
        return None
    crediting = [
        (coverage(evidence.words, sentence.matches), -place)
        for place, sentence in enumerate(evidence.papers[index].sentences)
        if _CREDIT.search(sentence.passage.text)
    ]
    best, place = max(crediting, default=(0.0, 0))
    if best < FAR:
        return None
    if best < CREDITED:
        missing = judge(evidence.words, evidence.papers[index]).missing
        return Refusal("not_in_abstracts", missing or tuple(word.text for word in evidence.words[:6]))
    return Draft(evidence.papers[index].sentences[-place].passage.text, (Label(index, -place),))


def _quoted_address(form: QuestionForm, evidence: QuestionEvidence, index: int) -> Draft | None:
    """The sentence of the abstract with the address asked for: that of the code, or one at a host that the question
    names and the record has no link to."""
    paper = evidence.papers[index]
    named = form.field == "link" and not any(name.lower() in form.text.lower() for name in paper.hit.paper.links)
    for place, sentence in enumerate(paper.sentences):
        for match in _ADDRESS.finditer(sentence.passage.text):
            host = match["host"].lower().removeprefix("www.").split(".")[0]
            if form.field == "code" or (named and host and host in form.text.lower()):
                return Draft(sentence.passage.text, (Label(index, place),))
    return None


def _field_sentence(field: Field | None, paper: Paper, asked: str = "") -> tuple[str, tuple[str, ...]] | None:
    """A sentence with a field of a paper's record, and the fields that it repeats; ``None`` if the record lacks it."""
    title = f"“{paper.title}”"
    if field == "authors" and paper.authors:
        return f"{title} is by {_joined(paper.authors)}.", ("title", "authors")
    if field == "count" and paper.authors:
        noun = "author" if len(paper.authors) == 1 else "authors"
        return f"{title} has {len(paper.authors)} {noun}: {_joined(paper.authors)}.", ("title", "authors")
    if field == "link" and (paper.url or paper.links):
        urls = [url for name, url in paper.links.items() if name.lower() in asked.lower()]
        urls = urls or ([paper.url] if paper.url else list(paper.links.values()))
        return f"{title}: {' , '.join(urls)}", ("title", "url")
    if field == "doi" and paper.doi:
        return f"The DOI of {title} is {paper.doi}.", ("title", "doi")
    if field == "year" and paper.year:
        return f"{title} was published in {paper.year}.", ("title", "year")
    if field == "venue" and paper.venue:
        return f"{title} appeared at {paper.venue}.", ("title", "venue")
    if field == "abstract":
        return f"The abstract of {title} has {len(paper.abstract.split())} words.", ("title",)
    if field == "title":
        return f"The title is {title}.", ("title",)
    return None


def _joined(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
