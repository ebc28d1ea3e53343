"""Follow-up questions: what they leave out is put back from the turns before, without a model."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant import Assistant, Paper
from rag_assistant.conversation import RewrittenQuestion, cited_papers, stand_alone
from rag_assistant.questions.form import analyse, parts
from rag_assistant.types import Turn

MEMORY = Paper(
    "memory",
    "Reducing Memory Overhead by Shared Backpropagation",
    "Fine-tuning suffers from huge memory overhead. We propose the Approx-BP theory for that.",
    ("Ada Author",),
)
ROBUST = Paper(
    "robust",
    "Fault Tolerant Learning by Meta Aggregation",
    "Byzantine workers send wrong updates to the server. We introduce CTMA, an efficient meta-aggregator.",
    ("Bo Author",),
)
MUSIC = Paper(
    "music", "Aligning Music Generation", "MusicRL is finetuned from human feedback on music.", ("Cy Author",)
)
PAPERS = (ROBUST, MUSIC, MEMORY)
ANSWER = (
    "We propose the Approx-BP theory for that. [1] We introduce CTMA, an efficient meta-aggregator. [2] "
    "MusicRL is finetuned from human feedback on music. [3]"
)
HISTORY: tuple[Turn, ...] = (("How is memory overhead reduced?", ANSWER),)


def follow(question: str, history: tuple[Turn, ...] = HISTORY) -> RewrittenQuestion:
    return stand_alone(question, history, PAPERS)


def test_what_stands_alone_is_left_alone() -> None:
    assert follow("What is Approx-BP?") == RewrittenQuestion("What is Approx-BP?")
    assert follow("What is Approx-BP?", ()) == RewrittenQuestion("What is Approx-BP?")


def test_another_thing_in_the_place_of_one() -> None:
    alone = follow("And DPO?", (("Does RLHF pay for wrong rewards?", "It does so, with a constant error."),))
    assert alone.text.startswith("And DPO")
    assert {"pay", "wrong", "rewards"} <= alone.carried
    assert "dpo" not in alone.carried
    assert alone.replaced
    assert not alone.unresolved


@pytest.mark.parametrize("question", ["Which variant is best?", "How many users?", "What rate is reached?"])
def test_a_question_with_hardly_a_word_of_its_own_is_on_what_was_talked_of(question: str) -> None:
    assert follow(question).focus[0] == "memory"


@pytest.mark.parametrize(
    "question",
    [
        "Which papers study music?",
        "What is overfitting?",
        "Which optimizer does CTMA use?",
        "How many papers are there?",
    ],
)
def test_a_question_that_names_its_topic_is_not(question: str) -> None:
    assert follow(question) == RewrittenQuestion(question)


@pytest.mark.parametrize("refusal", ["is on this. Looked for: rice.", "mentions RiceCooker 2."])
def test_what_was_refused_was_talked_about(refusal: str) -> None:
    refused = f"None of the 3 papers {refusal} Nearest: “{MUSIC.title}”, “{ROBUST.title}”."
    alone = follow("What is its cost?", (*HISTORY, ("How do I cook rice?", refused)))
    assert alone.focus == ()
    assert "rice" in alone.text


def test_its_carries_the_paper_last_cited() -> None:
    alone = follow("What about its memory cost?")
    assert MEMORY.title in alone.text
    assert alone.focus[0] == "memory"
    assert "backpropagation" in alone.carried
    assert "memory" not in alone.carried  # it is the question's own word
    assert not alone.only_focus


@pytest.mark.parametrize(
    ("question", "paper"),
    [
        ("the second one", "robust"),
        ("What does the second paper introduce?", "robust"),
        ("Tell me about the 2nd one", "robust"),
        ("and the third one?", "music"),
        ("What does [2] introduce?", "robust"),
        ("What does paper 3 do?", "music"),
        ("What does the first of them propose?", "memory"),
        ("the last one?", "music"),
        ("What does the former propose?", "memory"),
    ],
)
def test_an_ordinal_names_one_cited_paper(question: str, paper: str) -> None:
    alone = follow(question)
    assert (alone.focus, alone.only_focus, alone.unresolved) == ((paper,), True, False)
    assert {p.id: p.title for p in PAPERS}[paper] in alone.text


def test_the_latter_of_two() -> None:
    two = (("How?", ANSWER[: ANSWER.index(" MusicRL")]),)
    assert follow("And the latter?", two).focus == ("robust",)


@pytest.mark.parametrize("question", ["the fifth one", "What does [9] say?", "What does [0] say?", "paper 7?"])
def test_an_ordinal_beyond_what_was_cited_is_unresolved(question: str) -> None:
    alone = follow(question)
    assert alone.unresolved
    assert alone.focus == ()


@pytest.mark.parametrize(
    "question",
    [
        "tell me about the second",
        "What about the second?",
        "the second",
        "and summarize the 2nd",
        "What does the second say about costs or losses?",
        "How did the second handle stale updates?",
        "Is the second about servers or workers?",
        "In the second, who sends updates?",
    ],
)
def test_an_ordinal_without_a_noun(question: str) -> None:
    assert follow(question).focus == ("robust",)


@pytest.mark.parametrize("question", ["What does the first author work on?", "Which is the second moment of noise?"])
def test_an_ordinal_before_another_noun_names_no_paper(question: str) -> None:
    assert not follow(question).only_focus


@pytest.mark.parametrize("question", ["How fast is Gemma?", "how slow is pruning", "How much does Money-LM cost?"])
def test_a_question_with_a_subject_of_its_own_is_not_pinned_to_the_paper_before(question: str) -> None:
    assert follow(question) == RewrittenQuestion(question)


@pytest.mark.parametrize(
    ("question", "limit"),
    [
        ("Which papers are on music? Give me three.", 3),
        ("Which papers are on the aligned generation of music? At most two, please.", 2),
        ("List five papers on music", 5),
        ("Show me the first 3 papers on music.", 3),
        ("Which two papers are on music?", 2),
        ("Which papers have two authors?", None),
        ("Which 2024 papers are on music?", None),
    ],
)
def test_how_many_papers_are_wanted(question: str, limit: int | None) -> None:
    (part,) = parts(question)
    alone = follow(part, ())
    assert alone.limit == limit
    if limit:
        assert not {"two", "three", "five", "3"} & set(alone.text.rstrip(".?").split())


def test_a_list_is_told_so_many_at_a_time(assistant: Assistant) -> None:
    history: list[Turn] = []
    told: list[str] = []
    for question in ("Which papers are about optimization? Give me three.", "The next three, please.", "two more"):
        answer = assistant.ask(question, history=history)
        history.append((question, answer.text))
        told += [citation.paper.id for citation in answer.citations]
        assert answer.matched == int(answer.text.split()[0])
        assert "are left out here" in answer.text or question == "two more"
    assert len(told) == len(set(told)) == 8


@pytest.mark.parametrize(
    "question",
    ["Which other papers are on music?", "Is there another paper on music?", "any further studies of music?"],
)
def test_other_papers_are_not_those_just_shown(question: str) -> None:
    assert follow(question).exclude == ("memory", "robust", "music")
    assert follow(question, ()).exclude == ()


def test_other_papers_and_more_like_one_leave_out_what_was_just_shown(assistant: Assistant) -> None:
    history: list[Turn] = []
    told: list[list[str]] = []
    for question in (
        "Which paper introduces MusicRL?",
        "Are there other papers on human feedback?",
        "And more like the first one?",
    ):
        answer = assistant.ask(question, history=history)
        history.append((question, answer.text))
        told.append([citation.paper.id for citation in answer.citations])
    assert told[0] == ["cideron24a"]
    assert "cideron24a" not in told[1]
    assert not set(told[1]) & set(told[2])
    titles = {paper.id: paper.title for paper in assistant.papers()}
    assert answer.text.startswith(f"Nearest to “{titles[told[1][0]]}”")


@pytest.mark.parametrize(
    "question", ["any others?", "More?", "what else is there?", "show me the rest", "any more papers", "the next two"]
)
def test_others_are_those_not_told_yet(question: str) -> None:
    listed = f"1 of 3 papers matches:\n- {MUSIC.title}: {MUSIC.abstract} [1]"
    alone = follow(question, (("Which papers are on music?", listed),))
    assert alone.text == "Which papers are on music?"
    assert alone.exclude == ("music",)


@pytest.mark.parametrize(
    "question",
    [
        "Can you explain that more simply?",
        "in other words?",
        "please rephrase it",
        "summarize that",
        "ELI5",
        "Could you put that in plainer words?",
        "Would you phrase this in less technical terms, please?",
        "say it for a layperson",
        "Explain it to me in plain language.",
        "make that shorter",
    ],
)
def test_the_same_in_other_words(question: str) -> None:
    alone = follow(question)
    assert alone.asks == "rewording"
    assert alone.focus[0] == "memory"
    assert follow(question, ()).unresolved


@pytest.mark.parametrize(
    "question", ["Show me more papers like this one", "similar papers?", "anything similar to it?"]
)
def test_papers_like_the_one_talked_about(question: str) -> None:
    alone = follow(question)
    assert (alone.asks, alone.focus) == ("similar", ("memory",))
    assert follow(question, ()).unresolved


@pytest.mark.parametrize("question", ["any others?", "More?", "show me the rest"])
def test_others_like_it_are_the_next_ones(question: str) -> None:
    near = f"Nearest to “{MEMORY.title}” by what they are about:\n- “{MUSIC.title}”. [1]"
    history = (*HISTORY, ("similar papers?", near))
    alone = follow(question, history)
    assert (alone.asks, alone.focus) == ("similar", ("memory",))
    assert set(alone.exclude) == {"memory", "music", "robust"}  # all that was told
    again = follow(question, (*history, ("any others?", "There is no other paper.")))
    assert (again.asks, again.focus) == ("similar", ("memory",))


def test_papers_like_one_are_told_one_page_after_another(assistant: Assistant) -> None:
    history: list[Turn] = []
    told: list[set[str]] = []
    for question in ("What is MusicRL?", "Show me more papers like this one", "any others?"):
        answer = assistant.ask(question, history=history)
        history.append((question, answer.text))
        told.append({citation.paper.id for citation in answer.citations})
    assert [len(papers) for papers in told] == [1, 5, 5]
    assert len(set.union(*told)) == 11
    assert "has 14 authors" in assistant.ask("How many authors does it have?", history=history).text


@pytest.mark.parametrize(
    "question",
    [
        "Which of these papers talk about transformers?",
        "Which of the papers are about transformers?",
        "What do these abstracts say about transformers?",
        "Do any of those papers study transformers?",
    ],
)
def test_these_papers_are_all_of_them_in_a_first_question(assistant: Assistant, question: str) -> None:
    assert follow(question, ()) == RewrittenQuestion(question)
    answer = assistant.ask(question)
    assert answer.status == "answered"
    assert "li24bn" in [citation.paper.id for citation in answer.citations]


@pytest.mark.parametrize("question", ["What else did they write?", "any other papers by the same authors?"])
def test_what_the_same_people_wrote(question: str) -> None:
    alone = follow(question)
    assert alone.text == "Which papers are by Ada Author?"
    assert alone.exclude == ("memory",)


@pytest.mark.parametrize("question", ["And what does it cost?", "And what are the limitations?", "does it scale"])
def test_a_first_question_without_a_subject_asks_back(question: str) -> None:
    assert follow(question, ()).unresolved


@pytest.mark.parametrize(
    "question",
    [
        "And pruning?",
        "What does it cost to train a language model?",
        "more data",
        "Do other methods fail when they are attacked?",
        "Which other clients slow them down?",
        "Explain for which graphs persistence helps",
        "explain in what sense the bound is tight",
    ],
)
def test_a_first_question_with_a_subject_is_asked(question: str) -> None:
    assert not follow(question, ()).unresolved


def test_why_asks_the_question_before_again() -> None:
    alone = follow("Why?")
    assert "How is memory overhead reduced" in alone.text
    assert alone.text.startswith("Why")
    assert "memory" in alone.focus
    assert not alone.unresolved


def test_what_was_asked_two_turns_ago_is_found_behind_an_empty_turn() -> None:
    alone = follow("Why?", (*HISTORY, ("Thanks!", "You can ask about the papers.")))
    assert "memory overhead" in alone.text.lower()


def test_the_latest_answer_with_papers_counts() -> None:
    later = (*HISTORY, ("What of music?", "MusicRL is finetuned from human feedback on music. [1]"))
    assert follow("What does it need?", later).focus == ("music",)


@pytest.mark.parametrize("question", ["Thanks!", "thank you very much", "Hi", "Hello!", "ok, great", "Good morning"])
@pytest.mark.parametrize("history", [(), HISTORY])
def test_greetings_ask_nothing(question: str, history: tuple[Turn, ...]) -> None:
    alone = follow(question, history)
    assert (alone.text, alone.unresolved) == (question, False)
    assert analyse(question).kind == "greeting"


@pytest.mark.parametrize("question", ["What is it?", "the second one", "Why?", "And that?", "[2]", "the latter?"])
def test_a_reference_to_nothing_is_unresolved(question: str) -> None:
    assert follow(question, ()).unresolved
    assert follow(question, (("", ""), ("  ", "x"))).unresolved


def test_papers_are_recognised_by_sentences_and_titles_in_the_order_of_the_text() -> None:
    text = f"Nearest: “{MEMORY.title}”.\nByzantine workers send wrong updates to the server. [1]"
    assert cited_papers(text, PAPERS) == ["memory", "robust"]
    assert cited_papers("", PAPERS) == []
    assert cited_papers("Nothing of that kind stands in any of them.", PAPERS) == []


def test_a_follow_up_is_answered_from_the_paper_it_refers_to(assistant: Assistant) -> None:
    first = assistant.ask("What is CTMA?")
    history: list[Turn] = [(first.question, first.text)]
    who = assistant.ask("Who wrote it?", history=history)
    assert "Tehila Dahan" in who.text
    assert "Fault Tolerant ML" in who.standalone_question
    assert [citation.paper.id for citation in who.citations] == ["dahan24a"]

    both = assistant.ask("Does DPO keep its advantage when the true reward is not realizable?")
    listed = assistant.ask("Which papers are about alignment with human feedback?", history=history)
    second = listed.citations[1].paper
    asked = assistant.ask("Who wrote the second one?", history=[*history, (listed.question, listed.text)])
    assert [citation.paper.id for citation in asked.citations] == [second.id]
    assert second.authors[0] in asked.text

    assert assistant.ask("Why?", history=[(both.question, both.text)]).standalone_question != "Why?"
    assert assistant.ask("the ninth one? [9]", history=history).status == "clarify"
    assert assistant.ask("Thanks!", history=history).status == "clarify"


WORDS = (
    "it its that [1] [2] [99] the second one former latter paper 3 and or why CTMA memory how about é \ud800".split()
)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
    st.lists(
        st.tuples(st.text(max_size=40), st.one_of(st.text(max_size=80), st.sampled_from([ANSWER, MUSIC.title]))),
        max_size=3,
    ),
)
def test_no_conversation_breaks_it(question: str, history: list[Turn]) -> None:
    alone = stand_alone(question, history, PAPERS)
    assert set(alone.focus) <= {paper.id for paper in PAPERS}
    assert all(word in alone.text.lower() for word in alone.carried)
    assert not (alone.only_focus and len(alone.focus) != 1)
