"""From drafted pieces to text, statements and citations: numbers, verbatim quotes, exact spans."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.assistant import bundled_papers
from rag_assistant.drafts import Draft, Frame, Label, Matched, Missing, Piece
from rag_assistant.grounding.ground import Grounder
from rag_assistant.types import Usage

from .papers import FIRST, SECOND, evidence, found


def grounder() -> Grounder:
    return Grounder(evidence(found(FIRST), found(SECOND)))


def holds(ground: Grounder) -> None:
    """What is true of every answer, whatever was drafted."""
    citations = ground.citations()
    assert [citation.number for citation in citations] == list(range(1, len(citations) + 1))
    for citation in citations:
        for quote in citation.quotes:
            assert citation.paper.abstract[quote.start : quote.end] == quote.text
        assert list(citation.quotes) == sorted(set(citation.quotes), key=lambda quote: quote.start)
    cited: list[int] = []
    end = 0
    for statement in ground.statements:
        assert ground.text[statement.start : statement.end] == statement.text
        assert statement.start >= end
        end = statement.end
        assert set(statement.citations) <= {citation.number for citation in citations}
        held = {(c.number, quote.start, quote.end) for c in citations for quote in c.quotes}
        refs = {(ref.citation, ref.start, ref.end) for ref in statement.quotes}
        assert len(refs) == len(statement.quotes)
        assert refs <= {ref for ref in held if ref[0] in statement.citations}
        assert (statement.support == "uncited") == (not statement.citations)
        assert bool(statement.reason) == (statement.support != "supported")
        cited += statement.citations
    assert list(dict.fromkeys(cited)) == list(range(1, len(citations) + 1))


def test_papers_are_numbered_by_first_appearance() -> None:
    ground = grounder()
    told = [
        ground.add(Draft("CTMA is robust.", (Label(1, 1),))),
        ground.add(Draft("We study min-max problems.", (Label(0, 0),))),
        ground.add(Draft("CTMA is robust.", (Label(1, 1),))),
    ]
    assert told == ["CTMA is robust. [1]", " We study min-max problems. [2]", " CTMA is robust. [1]"]
    assert ground.text == "".join(told)
    assert [citation.paper.id for citation in ground.citations()] == ["second", "first"]
    assert [len(citation.quotes) for citation in ground.citations()] == [1, 1]
    holds(ground)


def test_a_sentence_of_two_papers_bears_both_numbers() -> None:
    ground = grounder()
    ground.add(Draft("Min-max problems; CTMA is robust.", (Label(0, 0), Label(1, 1), Label(0, 1))))
    assert ground.text.endswith(" [1] [2]")
    assert ground.statements[0].citations == (1, 2)
    assert [quote.start for quote in ground.citations()[0].quotes] == [0, FIRST.abstract.index("It attains")]
    ground.add(Draft("We study min-max problems.", (Label(0, 0),)))
    rests = [[(ref.citation, ref.start) for ref in statement.quotes] for statement in ground.statements]
    attains, robust = FIRST.abstract.index("It attains"), SECOND.abstract.index("CTMA is robust.")
    assert rests == [[(1, 0), (2, robust), (1, attains)], [(1, 0)]]
    holds(ground)


def test_unknown_labels_are_dropped_and_counted() -> None:
    ground = grounder()
    ground.add(Draft("CTMA is robust.", (Label(1, 1), Label(1, 2), Label(2, 0), Label(-1, 0), Label(0, -1))))
    assert ground.dropped_markers == 4
    assert ground.statements[0].support == "supported"
    ground.add(Draft("CTMA is robust.", (Label(7),)))
    assert ground.dropped_markers == 5
    assert (ground.statements[1].support, ground.statements[1].reason) == ("uncited", "no citation")
    assert ground.statements[1].text == "CTMA is robust."
    holds(ground)


def test_what_the_cited_words_do_not_say_is_shown_as_unsupported() -> None:
    ground = grounder()
    ground.add(Draft("Aliens bake excellent sourdough bread.", (Label(1, 1),)))
    ground.add(Draft("CTMA is robust.", (Label(1),)))  # a paper as a whole has no words to show
    assert [statement.support for statement in ground.statements] == ["unsupported", "unsupported"]
    assert "Aliens" in ground.text
    holds(ground)


def test_frames_are_text_but_no_statements() -> None:
    ground = grounder()
    for piece in (Frame("2 of 19 papers:"), Frame("\n- "), Draft("CTMA is robust.", (Label(1, 1),)), Frame("\n")):
        ground.add(piece)
    assert ground.text == "2 of 19 papers:\n- CTMA is robust. [1]\n"
    assert [statement.start for statement in ground.statements] == [18]
    holds(ground)


def test_the_other_pieces_are_kept_and_add_no_text() -> None:
    ground = grounder()
    told = [ground.add(piece) for piece in (Matched(3), Missing("the cost"), Usage(calls=2))]
    assert told == ["", "", ""]
    assert (ground.matched, ground.missing, ground.usage.calls) == (3, ["the cost"], 2)


def test_the_bibliography_is_checked_by_field() -> None:
    ground = grounder()
    right = [
        Draft("“Accelerated Extragradient” is by Ada Lovelace.", (Label(0),), "bibliography", ("title", "authors")),
        Draft("“Accelerated Extragradient” is of 2024.", (Label(0),), "bibliography", ("title", "year")),
        Draft("See https://openreview.net/forum?id=1", (Label(0),), "bibliography", ("url",)),
        Draft("It appeared at ICML 2024.", (Label(0),), "bibliography", ("venue",)),
    ]
    wrong = [
        (Draft("It is by Bo Beck.", (Label(0),), "bibliography", ("authors",)), "authors"),
        (Draft("It is of 1999.", (Label(0),), "bibliography", ("year",)), "year"),
        (Draft("See https://example.org/other", (Label(0),), "bibliography", ("url",)), "url"),
        (Draft("It has the DOI 10.1/1.", (Label(0),), "bibliography", ("doi",)), "doi"),
        (Draft("“Accelerated Extragradient”, both.", (Label(0), Label(1)), "bibliography", ("title",)), "title"),
    ]
    for draft in (*right, *(draft for draft, _ in wrong)):
        ground.add(draft)
    assert [s.support for s in ground.statements] == ["supported"] * 4 + ["unsupported"] * 5
    for statement, (_, field) in zip(ground.statements[4:], wrong, strict=True):
        assert field in statement.reason
    assert {s.basis for s in ground.statements} == {"bibliography"}
    assert all(citation.quotes == () for citation in ground.citations())
    holds(ground)


LABELS = st.builds(Label, st.integers(-2, 3), st.one_of(st.none(), st.integers(-2, 4)))
PIECES: st.SearchStrategy[Piece] = st.one_of(
    st.builds(Frame, st.text(max_size=20)),
    st.builds(
        Draft,
        st.one_of(st.text(min_size=1, max_size=30), st.sampled_from(["CTMA is robust.", "1,000 wrong updates"])),
        st.lists(LABELS, max_size=4).map(tuple),
    ),
    st.builds(Missing, st.text(max_size=9)),
)


@settings(deadline=None, max_examples=100)
@given(st.lists(PIECES, max_size=8))
def test_any_pieces_keep_what_holds_of_an_answer(pieces: list[Piece]) -> None:
    ground = grounder()
    assert "".join(ground.add(piece) for piece in pieces) == ground.text
    holds(ground)


def test_every_sentence_of_the_corpus_supports_itself() -> None:
    papers = [found(paper) for paper in bundled_papers()]
    ground = Grounder(evidence(*papers))
    for index, paper in enumerate(papers):
        for place, sentence in enumerate(paper.sentences):
            ground.add(Draft(sentence.passage.text, (Label(index, place),)))
    assert len(ground.statements) > 100
    assert {statement.support for statement in ground.statements} == {"supported"}
    assert len(ground.citations()) == len(papers)
    assert len(re.findall(r" \[\d+\]", ground.text)) >= len(ground.statements)
    holds(ground)
