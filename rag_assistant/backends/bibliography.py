"""Answers from the papers' records rather than their abstracts: authors, links, years, venues, and who wrote what."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from rag_assistant.drafts import Draft, Frame, Label, Matched, Piece, Refusal
from rag_assistant.evidence import FAR, Evidence, coverage
from rag_assistant.grounding.gate import judge
from rag_assistant.questions.form import QuestionForm
from rag_assistant.types import Paper

CREDITED = 0.9
"""From this match on a sentence that credits somebody does so with what is asked about."""
MAX_LISTED = 20


def matches_person(paper: Paper, person: str) -> bool:
    """Whether, for each person asked for, one author bears every part of the name.

    Whole words are compared, ignoring case, accents and full stops.

    An initial matches a part that begins with it.
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


def answer_bibliography(form: QuestionForm, evidence: Evidence) -> Iterator[Piece]:
    """The pieces that answer a question on the bibliography; a refusal where no paper or field is found."""
    if form.field == "papers_by":
        return _papers_by(form, evidence)
    if form.field == "count" and not evidence.words:
        return iter([Frame(_count(evidence))])
    return _of_one(form, evidence)


def _count(evidence: Evidence) -> str:
    return "There is 1 paper." if evidence.considered == 1 else f"There are {evidence.considered} papers."


def _papers_by(form: QuestionForm, evidence: Evidence) -> Iterator[Piece]:
    found = [(i, p.hit.paper) for i, p in enumerate(evidence.papers) if matches_person(p.hit.paper, form.person)]
    if not found:
        yield Refusal(
            "not_in_corpus",
            (form.person,),
            f"None of the {evidence.considered} papers has an author named {form.person}.",
        )
        return
    yield Matched(len(found))
    if len(found) > 1:
        yield Frame(f"{len(found)} of {evidence.considered} papers:")
    for index, paper in found[:MAX_LISTED]:
        if len(found) > 1:
            yield Frame("\n- ")
        people = [name.strip() for name in re.split(r",|\band\b|&", form.person) if name.strip()]
        names = tuple(a for a in paper.authors if any(matches_person(Paper("", "", "", (a,)), one) for one in people))
        said = f"{names[0]} is an author" if len(names) == 1 else f"{_joined(names)} are authors"
        yield Draft(f"{said} of “{paper.title}”.", (Label(index),), "bibliography", ("authors", "title"))
    if len(found) > MAX_LISTED:
        yield Frame(f"\n\nThe other {len(found) - MAX_LISTED} are left out here.")


def _of_one(form: QuestionForm, evidence: Evidence) -> Iterator[Piece]:
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
    told = _tell(form, paper)
    if told is None:
        yield Refusal(
            "not_in_abstracts",
            (form.field or "",),
            f"The record of “{paper.title}” doesn't give its {form.field}.",
        )
        return
    text, fields = told
    yield Draft(text, (Label(able[0]),), "bibliography", fields)


_CREDIT = re.compile(
    r"\b(?:proposed|developed|introduced|invented|described|due|suggested)\s+(?:\w+\s+)?(?:by|to)\s+[A-ZÀ-Þ]\w+"
)
_INVENTED = re.compile(r"\b(?:proposed|developed|introduced|invented|created)\b", re.IGNORECASE)
_SOURCE = re.compile(r"\b(?:according\s+to|as\s+told\s+by)\b.*", re.IGNORECASE)
_ABOUT_THE_PAPER = re.compile(r"\b(?:paper|work|article|study|authors?|wrote|written|writer)\b", re.IGNORECASE)


def _credited(form: QuestionForm, evidence: Evidence, index: int) -> Draft | Refusal | None:
    """The sentence that credits somebody with what is asked about; ``None`` where the question is about the paper.

    A refusal where the sentences that credit somebody do so with something else.
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


def _tell(form: QuestionForm, paper: Paper) -> tuple[str, tuple[str, ...]] | None:
    title = f"“{paper.title}”"
    if form.field == "authors" and paper.authors:
        return f"{title} is by {_joined(paper.authors)}.", ("title", "authors")
    if form.field == "count" and paper.authors:
        noun = "author" if len(paper.authors) == 1 else "authors"
        return f"{title} has {len(paper.authors)} {noun}: {_joined(paper.authors)}.", ("title", "authors")
    if form.field == "link" and (paper.url or paper.links):
        urls = [url for name, url in paper.links.items() if name.lower() in form.text.lower()]
        urls = urls or ([paper.url] if paper.url else list(paper.links.values()))
        return f"{title}: {' , '.join(urls)}", ("title", "url")
    if form.field == "doi" and paper.doi:
        return f"The DOI of {title} is {paper.doi}.", ("title", "doi")
    if form.field == "year" and paper.year:
        return f"{title} was published in {paper.year}.", ("title", "year")
    if form.field == "venue" and paper.venue:
        return f"{title} appeared at {paper.venue}.", ("title", "venue")
    if form.field == "title":
        return f"The title is {title}.", ("title",)
    return None


def _joined(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
