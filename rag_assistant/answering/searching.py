"""From a self-contained question to the evidence for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rag_assistant.conversation import RewrittenQuestion, stand_alone
from rag_assistant.evidence.answerability import judge
from rag_assistant.evidence.base import Corrections, QuestionEvidence
from rag_assistant.evidence.comparison_subjects import names_subject, subjects_of
from rag_assistant.questions.content import BIBLIOGRAPHY_WORDS, is_content
from rag_assistant.questions.form import MAX_QUESTION, QuestionForm, analyse, halves, list_on
from rag_assistant.questions.records import Condition, RecordQuery
from rag_assistant.retrieval.reading import read_by_sides
from rag_assistant.retrieval.retriever import Query, Retriever
from rag_assistant.types import Filters, Turn
from rag_assistant.writers.bibliography import fitting_papers
from rag_assistant.writers.lists import belongs

REPLACED_WEIGHT = 0.6


def form_of(rewritten: RewrittenQuestion, retriever: Retriever) -> QuestionForm:
    """What a rewritten question asks for; where it names authors, of their papers."""
    if rewritten.asks == "similar":
        return QuestionForm(rewritten.text, "bibliography", field="similar", multi=True, limit=rewritten.limit)
    form = replace(analyse(rewritten.text), limit=rewritten.limit)
    if form.kind not in ("fact", "yesno", "list") or form.records is not None or rewritten.only_focus:
        return form
    people = retriever.authors.named(form.text)
    if not people:
        person = retriever.authors.misspelt(form.text)
        return replace(form, kind="bibliography", field="papers_by", person=person) if person else form
    named = tuple(Condition("author", name=name, said=f"by {name}") for name in people.values())
    text = form.text
    for said in people:
        text = text.replace(said, "the authors")
    return replace(form, text=text, records=RecordQuery(named, None, text, form.counts))


def answerable_halves(
    retriever: Retriever, question: str, history: Sequence[Turn], k: int, filters: Filters | None
) -> tuple[str, ...]:
    """The halves of a question that asks the same of two things, if two different papers answer them; else none."""
    asked = halves(question)
    best = []
    for half in asked:
        rewritten, form = stand_alone(half, history, retriever.all_papers), analyse(half)
        if rewritten.text != half or form.kind not in ("fact", "yesno"):
            return ()
        evidence = search(retriever, form, rewritten, k, filters)
        if not evidence.papers or not judge(evidence.words, evidence.papers[0]).says:
            return ()
        best.append(evidence.papers[0].hit.paper.id)
    return asked if len(set(best)) > 1 else ()


def excluding(retriever: Retriever, rewritten: RewrittenQuestion, filters: Filters | None) -> Filters | None:
    """The filters, without the papers that earlier answers cited."""
    if not rewritten.exclude:
        return filters
    left = tuple(paper.id for paper in retriever.papers(filters) if paper.id not in rewritten.exclude)
    return replace(filters or Filters(), ids=left or ("",))


def search(
    retriever: Retriever, form: QuestionForm, rewritten: RewrittenQuestion, k: int, filters: Filters | None
) -> QuestionEvidence:
    """What is found for a question: for a list everything that may be on the topic, else the ``k`` best papers."""
    if form.kind in ("empty", "greeting") or rewritten.unresolved:
        return QuestionEvidence((), (), len(retriever.papers(filters)))
    if form.field in ("papers_by", "records"):
        return retriever.records(filters)
    if form.field == "similar":
        return _similar(retriever, rewritten.focus[0], form.at_most(k), filters)
    scan = form.kind == "list"
    query = query_of(rewritten)
    if form.records is not None:
        narrowed = replace(filters or Filters(), ids=fitting(retriever, form.records, filters))
        text = list_on(form.records.without).text if form.field == "without" else form.text
        return retriever.retrieve(replace(query, text=text), k=len(narrowed.ids), filters=narrowed, scan=True)
    if form.kind == "bibliography":
        query = replace(query, ignored=BIBLIOGRAPHY_WORDS, judged=False)
    if rewritten.only_focus:
        in_reach = {paper.id for paper in retriever.papers(filters)}
        focus = tuple(paper_id for paper_id in rewritten.focus if paper_id in in_reach)
        if not focus:  # the paper that is meant is outside the filters
            return QuestionEvidence((), (), 0)
        narrowed = replace(filters or Filters(), ids=focus)
        return replace(retriever.retrieve(query, k=k, filters=narrowed), considered=len(in_reach))
    return retriever.retrieve(query, k=len(retriever.all_papers) if scan else k, filters=filters, scan=scan)


def _similar(retriever: Retriever, paper_id: str, k: int, filters: Filters | None) -> QuestionEvidence:
    """The papers nearest to a given one, which comes first."""
    papers = {paper.id: paper for paper in retriever.all_papers}
    paper = papers[paper_id]
    itself = retriever.records(Filters(ids=(paper_id,)))
    others = tuple(each.id for each in retriever.papers(filters) if each.id != paper_id) or ("",)
    query = Query(f"{paper.title}. {paper.abstract}"[:MAX_QUESTION], judged=False)
    found = retriever.retrieve(query, k=k, filters=replace(filters or Filters(), ids=others))
    return replace(found, words=(), papers=(*itself.papers, *found.papers), corrections=Corrections())


def fitting(retriever: Retriever, records: RecordQuery, filters: Filters | None) -> tuple[str, ...]:
    """Ids of the papers in reach whose records fit; where papers on something are to be left out, or only the extreme
    ones are asked for, only those on the topic."""
    fit = fitting_papers(replace(records, order=None), retriever.papers(filters))
    if fit and (records.without or records.order) and any(map(is_content, records.topic.split())):
        form = list_on(records.topic)
        narrowed = replace(filters or Filters(), ids=tuple(paper.id for paper in fit))
        found = retriever.retrieve(Query(form.text), k=len(fit), filters=narrowed, scan=True)
        fit = [paper.hit.paper for paper in found.papers if belongs(form, found.words, paper)]
    return tuple(paper.id for paper in fitting_papers(replace(records, conditions=()), fit))


def with_each_subject(
    retriever: Retriever,
    form: QuestionForm,
    rewritten: RewrittenQuestion,
    evidence: QuestionEvidence,
    filters: Filters | None,
) -> QuestionEvidence:
    """The evidence, followed by the best paper on each thing that the question names and no paper found so far does."""
    if rewritten.only_focus:
        return evidence
    found: list[str] = []
    for subject in subjects_of(form, evidence.words):
        if any(names_subject(evidence.words, paper, subject) for paper in evidence.papers):
            continue
        text = " ".join(evidence.words[at].text for at in subject.words)
        found += (paper.hit.paper.id for paper in retriever.retrieve(Query(text), k=1, filters=filters).papers)
    if not found:
        return evidence
    narrowed = replace(filters or Filters(), ids=tuple(found))
    more = retriever.retrieve(query_of(rewritten), k=len(found), filters=narrowed).papers
    last = len(evidence.papers)
    ranked = (replace(paper, hit=replace(paper.hit, rank=last + paper.hit.rank)) for paper in more)
    return replace(evidence, papers=(*evidence.papers, *ranked))


def read_for_sides(retriever: Retriever, form: QuestionForm, evidence: QuestionEvidence) -> QuestionEvidence:
    """The evidence of a question that names several things, with what the reader says about each of them in the papers
    that name one."""
    subjects = subjects_of(form, evidence.words)
    naming = [
        place
        for place, paper in enumerate(evidence.papers)
        if paper.reading is not None and any(names_subject(evidence.words, paper, subject) for subject in subjects)
    ]
    if retriever.reader is None or not naming:
        return evidence
    papers = list(evidence.papers)
    names = [subject.name for subject in subjects]
    for place, paper in zip(naming, read_by_sides(retriever.reader, names, [papers[at] for at in naming]), strict=True):
        papers[place] = paper
    return replace(evidence, papers=tuple(papers))


def query_of(rewritten: RewrittenQuestion) -> Query:
    """The search query for a rewritten question."""
    weight = REPLACED_WEIGHT if rewritten.replaced else None
    query = Query(rewritten.text, rewritten.carried, frozenset(rewritten.focus))
    return query if weight is None else replace(query, carried_weight=weight)
