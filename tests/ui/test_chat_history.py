"""What a browser keeps comes back as it was; what a visitor changed can't do harm."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.types import Answer, Citation, Paper, Quote, QuoteRef, Statement, Usage
from rag_assistant.ui.chat_history import MOST_CHARACTERS, Chat, ChatHistory, Exchange, read

PAPER = Paper("p", "Title", "It holds. It is fast.", ("Ada",), 2024, "ICML", "https://example.org")
ANSWER = Answer(
    "Q?",
    "Q?",
    "answered",
    "It holds. [1]",
    (Statement("It holds. [1]", 0, 13, (1,), quotes=(QuoteRef(1, 0, 9),)),),
    (Citation(1, PAPER, (Quote("It holds.", 0, 9),)),),
    nearest=(PAPER,),
    considered=3,
    usage=Usage(1, 2, 0.5, 1),
    timings_ms={"total": 5.0},
)
LIKED = Exchange("Q?", ANSWER, ANSWER.to_dict(), liked=True, word="good")
BOOK = ChatHistory(
    (Chat("c1", "Name", (Exchange("Q?", ANSWER, ANSWER.to_dict(), liked=True, word="good"), Exchange("R?"))),), "c1"
)
_NAMES = (
    "version open chats id exchanges question answer status text statements citations paper quotes start end support"
    " number title usage timings_ms draft citation"
).split()
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4),
    max_leaves=15,
)


def test_a_book_comes_back_as_it_was() -> None:
    back = read(json.loads(json.dumps(BOOK.write())))
    assert back.chat.exchanges[0].answer == ANSWER
    assert back.chat.exchanges[0].liked is True
    assert back.chat.exchanges[1].pending
    assert back.write() == BOOK.write()


def test_what_was_written_of_a_stopped_answer_comes_back_with_its_sources() -> None:
    draft = Answer("Q?", "", "answered", ANSWER.text, ANSWER.statements, ANSWER.citations)
    book = ChatHistory((Chat("c1", "", (Exchange("Q?", draft=draft, stopped=True),)),), "c1")
    back = read(json.loads(json.dumps(book.write()))).chat.exchanges[0]
    assert back.draft == draft
    assert back.stopped
    assert not back.pending


def test_a_quote_that_is_not_in_the_abstract_is_dropped() -> None:
    stored = json.loads(json.dumps(BOOK.write()))
    stored["chats"][0]["exchanges"][0]["answer"]["citations"][0]["quotes"][0]["text"] = "It fails."
    answer = read(stored).chat.exchanges[0].answer
    assert answer is not None
    assert answer.citations[0].quotes == ()


def test_an_answer_that_is_none_is_left_out() -> None:
    stored = json.loads(json.dumps(BOOK.write()))
    stored["chats"][0]["exchanges"][0]["answer"]["statements"][0]["end"] = 10**6
    assert read(stored).chat.exchanges[0].answer is None


def test_the_oldest_chats_go_when_there_is_no_more_room() -> None:
    long = Exchange("x" * (MOST_CHARACTERS // 3))
    book = ChatHistory(tuple(Chat(f"c{n}", "", (long,)) for n in range(5)), "c0")
    stored = book.write()
    assert [chat["id"] for chat in stored["chats"]] == ["c0", "c1"]
    assert read(stored).shortened


def test_chats_are_put_and_taken_away() -> None:
    book = BOOK.put(Chat("c2", "", (Exchange("New?"),)))
    assert [chat.id for chat in book.chats] == ["c2", "c1"]
    assert book.open_id == "c2"
    assert book.without("c2").open_id != "c2"
    assert BOOK.put(replace(BOOK.chat, name="Other")).chats[0].title == "Other"


@given(_JSON)
@settings(deadline=None, max_examples=300)
def test_anything_can_be_read(stored: object) -> None:
    assert isinstance(read(stored), ChatHistory)
    if isinstance(stored, dict):
        assert isinstance(read({**stored, "version": 1}), ChatHistory)
        exchange = {"question": "q", "answer": stored, "nearest": [stored], "draft": stored}
        made = {"version": 1, "chats": [{"id": "a", "exchanges": [exchange]}], "open": "a"}
        assert read(made).chat.exchanges[0].question == "q"
