from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_assistant.assistant import bundled_papers
from rag_assistant.embedders.minilm import MiniLM
from rag_assistant.index.passages import embedding_text, sentences, span_of, windows
from rag_assistant.types import Paper

from .hashing import HashingEmbedder, paper

_WORDS = st.sampled_from(["we", "e.g.", "$x. y$", "DPO", "a [link](https://e.org/a.b)", "0.5", "et al.", "Then", "α"])
_SENTENCES = st.lists(
    st.lists(_WORDS, min_size=1, max_size=30).map(lambda words: f"So {' '.join(words)} end."), max_size=14
)


@given(_SENTENCES, st.integers(4, 40), st.booleans())
@settings(deadline=None)
def test_windows_hold_every_sentence_whole_in_order_and_fit(texts: list[str], room: int, derived: bool) -> None:
    embedder = HashingEmbedder(max_tokens=room)
    it = Paper("p:1", "A title", " ".join(texts), title_derived=derived)
    whole = {(s.start, s.end) for s in sentences(it)}
    starts, ends = {start for start, _ in whole}, {end for _, end in whole}
    found = windows(it, embedder)
    held = set()
    for window in found:
        assert window.text == it.abstract[window.start : window.end]
        assert window.start in starts
        assert window.end in ends
        inside = {span for span in whole if window.start <= span[0] and span[1] <= window.end}
        assert len(inside) == 1 or embedder.count_tokens(embedding_text(it, window)) <= room
        held |= inside
    assert held == whole
    assert [(w.start, w.end) for w in found] == sorted({(w.start, w.end) for w in found})
    assert all(later.end > earlier.end for earlier, later in pairwise(found))
    assert [span_of(w.id) for w in found] == [("p:1", w.start, w.end) for w in found]


def test_an_abstract_that_fits_is_one_window_and_a_longer_one_overlaps() -> None:
    it = Paper("p", "T", " ".join(f"Sentence number {n} says little." for n in range(12)))
    assert len(windows(it, HashingEmbedder(max_tokens=200))) == 1
    found = windows(it, HashingEmbedder(max_tokens=31))
    assert len(found) > 2
    for earlier, later in pairwise(found):
        shared = (earlier.end - later.start) / (earlier.end - earlier.start)
        assert 0.1 < shared < 0.5


def test_the_title_is_embedded_unless_it_was_made_from_the_abstract() -> None:
    it = paper(1)
    (window,) = windows(it, HashingEmbedder())
    assert embedding_text(it, window) == f"{it.title}. {window.text}"
    derived = Paper("p", "We study", "We study it.", title_derived=True)
    assert embedding_text(derived, windows(derived, HashingEmbedder())[0]) == "We study it."


def test_a_title_longer_than_the_embedder_reads_leaves_room_for_the_abstract() -> None:
    it = Paper("p", "word " * 2000, "One sentence. And another one.")
    (window,) = windows(it, HashingEmbedder(max_tokens=100))
    assert embedding_text(it, window).endswith(". One sentence. And another one.")


def test_no_text_of_the_bundled_papers_is_beyond_what_minilm_reads() -> None:
    embedder = MiniLM()
    for it in bundled_papers():
        found = windows(it, embedder)
        assert found[0].start == sentences(it)[0].start
        assert found[-1].end == sentences(it)[-1].end
        assert not any(e.truncated for e in embedder.encode_passages([embedding_text(it, w) for w in found]))


@pytest.mark.parametrize("name", ["", "p", "p:1", "p:1-", "p:-2", "p:a-b", "1-2", "p:1-²"])
def test_what_is_no_passage_id_is_told(name: str) -> None:
    with pytest.raises(ValueError, match="no passage id"):
        span_of(name)
