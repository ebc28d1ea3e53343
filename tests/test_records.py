"""Questions that the papers' records answer: years, venues, authors and their number, alone, joined, and negated."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assistant import Assistant, Filters
from rag_assistant.questions.records import record_query


def cited(assistant: Assistant, question: str) -> set[str]:
    return {citation.paper.id for citation in assistant.ask(question).citations}


@pytest.mark.parametrize(
    "question",
    [
        "List all papers",
        "what papers do you have?",
        "show me everything",
        "Hi, can you list all the papers in the collection please?",
        "Which papers are there?",
        "What are all the papers you know of?",
        "give me a full list of the papers",
        "Show every paper.",
        "everything",
        "papers",
        "What's in the corpus?",
        "Do you have any papers?",
    ],
)
def test_all_papers_are_listed_with_their_count(assistant: Assistant, question: str) -> None:
    for history in ((), (("What is CTMA?", "CTMA is a meta-aggregator. [1]"),)):
        answer = assistant.ask(question, history=history)
        assert answer.status == "answered"
        assert answer.text.startswith("There are 19 papers:")
        assert answer.matched == 19
        assert [citation.paper for citation in answer.citations] == list(assistant.papers())
        assert all(statement.basis == "bibliography" for statement in answer.statements)


def test_all_papers_are_those_that_the_filters_let_through(assistant: Assistant) -> None:
    answer = assistant.ask("List all papers", filters=Filters(ids=("dahan24a",)))
    assert answer.text.startswith("There is 1 paper:\n- “Fault Tolerant ML")
    assert assistant.ask("List all papers", filters=Filters(years=(1999, 1999))).status == "not_in_corpus"


@pytest.mark.parametrize(
    "question",
    ["List all papers on music", "show me everything about pruning", "What papers do you have on alignment?"],
)
def test_a_topic_is_no_list_of_all(assistant: Assistant, question: str) -> None:
    assert 0 < len(assistant.ask(question).citations) < 10


def test_of_many_papers_the_first_are_listed_and_the_rest_is_told(tmp_path: Path) -> None:
    records = [{"id": f"p{n}", "title": f"On {n}", "abstract": f"We study case {n}."} for n in range(30)]
    (tmp_path / "many.jsonl").write_text("\n".join(map(json.dumps, records)))
    with Assistant.open(tmp_path / "index", corpus=tmp_path / "many.jsonl", reader="none") as many:
        answer = many.ask("List all papers")
    assert answer.text.startswith("There are 30 papers:")
    assert len(answer.citations) == 20
    assert answer.text.endswith("The other 10 are left out here; `rag-assistant papers` lists them all.")


@pytest.mark.parametrize(
    "question",
    ["Hello", "hi!", "Hi there", "Good morning", "thanks", "Thank you very much!", "How are you?", "What can you do?"],
)
def test_a_greeting_is_told_what_can_be_asked(assistant: Assistant, question: str) -> None:
    for history in ((), (("What is CTMA?", "CTMA is a meta-aggregator. [1]"),)):
        answer = assistant.ask(question, history=history)
        assert (answer.status, answer.citations, answer.nearest) == ("clarify", (), ())
        assert answer.standalone_question == question
        assert "sk what the abstracts of the 19 papers here say" in answer.text
        assert answer.text.count(".") == 1
        assert answer.text.startswith("You’re welcome") == question.lower().startswith("thank")


def test_a_greeting_before_a_question_is_passed_over(assistant: Assistant) -> None:
    plain = assistant.ask("Who wrote MusicRL?")
    for question in ("Hello? Who wrote MusicRL?", "Hi! Who wrote MusicRL?"):
        assert assistant.ask(question).text == plain.text


@pytest.mark.parametrize(
    "question", ["Which papers were published in 2024?", "papers from 2024", "anything since 2023?", "2024 papers"]
)
def test_a_year_that_all_have(assistant: Assistant, question: str) -> None:
    assert len(cited(assistant, question)) == 19


@pytest.mark.parametrize("question", ["Anything before 2020?", "papers not from 2024", "work between 2016 and 2019"])
def test_a_year_that_none_has(assistant: Assistant, question: str) -> None:
    answer = assistant.ask(question)
    assert answer.status == "not_in_corpus"
    assert "They are from 2024." in answer.text


@pytest.mark.parametrize(
    ("question", "low", "high"),
    [
        ("Which papers have exactly two authors?", 2, 2),
        ("papers with 10 or more authors", 10, 99),
        ("How many papers have fewer than three authors?", 1, 2),
        ("everything with more than 12 co-authors", 13, 99),
        ("list papers by no more than 3 authors", 1, 3),
        ("which papers were written by seven people", 7, 7),
    ],
)
def test_numbers_of_authors(assistant: Assistant, question: str, low: int, high: int) -> None:
    expected = {paper.id for paper in assistant.papers() if low <= len(paper.authors) <= high}
    answer = assistant.ask(question)
    assert answer.text.startswith(f"{len(expected)} of 19 papers")
    assert {citation.paper.id for citation in answer.citations} == expected


def test_the_most_and_the_fewest_authors(assistant: Assistant) -> None:
    sizes = {paper.id: len(paper.authors) for paper in assistant.papers()}
    for question, most in (("Which paper has the most authors?", max), ("papers with the fewest authors", min)):
        assert cited(assistant, question) == {key for key, size in sizes.items() if size == most(sizes.values())}


@pytest.mark.parametrize(
    ("question", "size", "best"),
    [
        ("Which paper has the longest abstract?", lambda paper: len(paper.abstract.split()), max),
        ("papers with the shortest title", lambda paper: len(paper.title.split()), min),
        ("Who is the last author of the longest author list?", lambda paper: len(paper.authors), max),
        ("Who wrote the newest paper?", lambda paper: paper.year, max),
    ],
)
def test_the_extremes_of_a_field_with_ties(assistant: Assistant, question: str, size, best) -> None:
    extreme = best(map(size, assistant.papers()))
    answer = assistant.ask(question)
    assert {citation.paper.id for citation in answer.citations} == {
        paper.id for paper in assistant.papers() if size(paper) == extreme
    }
    if question.startswith("Who"):
        assert all(citation.paper.authors[-1] in answer.text for citation in answer.citations)


def test_the_extreme_paper_on_a_topic_is_looked_for_among_those_on_it(assistant: Assistant) -> None:
    assert cited(assistant, "Which paper on Byzantine robustness has the most authors?") == {"allouah24a"}


@pytest.mark.parametrize(
    ("question", "fits"),
    [
        (
            "Which papers have no author called Li?",
            lambda paper: not any("Li" in name.split() for name in paper.authors),
        ),
        ("papers without an author named Li", lambda paper: not any("Li" in name.split() for name in paper.authors)),
        ("Which papers aren't by Sharon Li?", lambda paper: "Sharon Li" not in paper.authors),
        ("papers with no more than three authors", lambda paper: len(paper.authors) <= 3),
        ("papers not published in 2024", lambda paper: False),
        ("papers not from ICML", lambda paper: False),
        ("Which papers weren't published at ICML?", lambda paper: False),
    ],
)
def test_a_negated_condition_gets_the_complement(assistant: Assistant, question: str, fits) -> None:
    assert cited(assistant, question) == {paper.id for paper in assistant.papers() if fits(paper)}


def test_conditions_join_with_a_topic(assistant: Assistant) -> None:
    many = {paper.id for paper in assistant.papers() if len(paper.authors) > 5}
    answer = assistant.ask("2024 papers on alignment by more than five authors")
    found = {citation.paper.id for citation in answer.citations}
    assert found
    assert found <= many
    assert f"Looked among the {len(many)} papers that fit “2024” and “by more than five authors”." in answer.notices
    assert cited(assistant, "papers by Cotterell about steering") == {"singh24d"}


def test_filters_hold_beside_conditions(assistant: Assistant) -> None:
    only = Filters(ids=("cideron24a", "singh24d"))
    answer = assistant.ask("papers from 2024", filters=only)
    assert {citation.paper.id for citation in answer.citations} == set(only.ids)


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Which papers are not about music?", "music"),
        ("everything except the music one", "music"),
        ("papers that don't deal with music", "music"),
        ("What isn't about music?", "music"),
        ("Which of these do not mention Byzantine workers?", "Byzantine"),
    ],
)
def test_a_negated_scope_gets_the_complement(assistant: Assistant, question: str, about: str) -> None:
    answer = assistant.ask(question)
    saying = {paper.id for paper in assistant.papers() if about in f"{paper.title} {paper.abstract}"}
    found = {citation.paper.id for citation in answer.citations}
    assert answer.status == "answered"
    assert not found & saying
    match = re.match(r"The abstracts of (\d+) of 19 papers say nothing of", answer.text)
    assert match is not None
    assert len(found) == int(match[1])


@pytest.mark.parametrize(
    ("question", "paper"),
    [
        ("What does Shauli Ravfogel show about steering?", "singh24d"),
        ("What did Kfir Levy propose for aggregation?", "dahan24a"),
        ("According to Oikonomou, what convergence rate is achieved?", "cai24f"),
    ],
)
def test_what_an_author_says_is_looked_for_in_their_papers(assistant: Assistant, question: str, paper: str) -> None:
    answer = assistant.ask(question)
    assert answer.status == "answered"
    assert {citation.paper.id for citation in answer.citations} == {paper}
    assert answer.notices[0].startswith("Looked among the 1 paper that fits “by ")


@pytest.mark.parametrize(
    "question", ["What does Shauli Ravfogl show about steering?", "Which papers are by Shauli Ravfogl?"]
)
def test_a_misspelt_author_is_offered(assistant: Assistant, question: str) -> None:
    answer = assistant.ask(question)
    assert answer.status == "not_in_corpus"
    assert "has an author named Shauli Ravfogl. Did you mean Shauli Ravfogel?" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "What does the paper on diffusion models for protein folding find?",
        "What does the study on sourdough fermentation show?",
        "Which paper on sourdough has the most authors?",
        "Which papers on sourdough are not about rice?",
    ],
)
def test_a_paper_on_a_topic_that_none_is_on(assistant: Assistant, question: str) -> None:
    assert assistant.ask(question).status == "not_in_corpus"


@pytest.mark.parametrize(
    ("question", "considered", "others"),
    [
        ("Which paper on Byzantine failures does not deal with federated learning?", 2, {"dahan24a"}),
        ("Is there a study of Byzantine robustness that isn't about federated learning?", 2, {"dahan24a"}),
        ("Which papers about human feedback are not about language models?", 4, None),
    ],
)
def test_a_negated_scope_within_a_topic(assistant: Assistant, question: str, considered: int, others) -> None:
    answer = assistant.ask(question)
    assert re.search(rf"abstracts of \d of {considered} papers say nothing of", answer.text)
    found = {citation.paper.id for citation in answer.citations}
    assert found == others if others else "im24a" not in found


@pytest.mark.parametrize(
    "question",
    [
        "Which papers on pruning show that labels are not needed?",
        "How many authors does it have?",
        "What did the 2024 election change?",
        "Which papers show that pruning does not hurt accuracy?",
        "Which methods do not need labels?",
        "studies of 2000 patients",
        "papers with 3 experiments",
        "Who wrote the 2024 paper on music?",
        "papers on learning without labels",
        "Does it work without labels?",
        "Which method works without labels?",
        "Is the bound one that does not depend on the dimension?",
        "Which papers had music rated by ten people?",
        "Which paper scales with two authors' annotations?",
    ],
)
def test_what_only_looks_like_it_takes_the_ordinary_way(question: str) -> None:
    assert record_query(question) is None


@given(st.text(max_size=300))
def test_any_text_is_parsed(text: str) -> None:
    record_query(text)


@given(st.integers(1900, 2099), st.integers(1900, 2099))
def test_years_bound_what_they_say(one: int, other: int) -> None:
    low, high = sorted((one, other))
    for question, expected in (
        (f"papers between {one} and {other}", (low, high)),
        (f"papers before {one}", (None, one - 1)),
        (f"papers since {one}", (one, None)),
        (f"works published after {one}", (one + 1, None)),
    ):
        query = record_query(question)
        assert query is not None
        assert [(condition.low, condition.high) for condition in query.conditions] == [expected]
        assert not query.topic
