"""Whether the papers bear out a claim: the reader judges each paper against it, and code compares the numbers.

A claim that is word for word a sentence of an abstract is supported, whatever the reader says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_assistant.errors import InputError
from rag_assistant.evidence.base import EvidenceSentence, PaperEvidence
from rag_assistant.grounding.figures import missing_numbers
from rag_assistant.grounding.injection import without_instructions
from rag_assistant.questions.form import MAX_QUESTION, clean
from rag_assistant.questions.names import spelt_as
from rag_assistant.reader.base import Abstract, Reader, Stance
from rag_assistant.retrieval.retriever import Query, Retriever
from rag_assistant.types import Citation, ClaimVerdict, Filters, Paper, Quote, Verification

DECIDED = 0.5
"""The probability from which a paper decides a claim, and from which a sentence is quoted."""
MOST_QUOTES = 3
NEAREST = 3
NOT_QUOTED = "not in the quoted words: "


def verify(
    retriever: Retriever, reader: Reader | None, claim: str, *, paper: str | None, k: int, filters: Filters | None
) -> Verification:
    """Judges a claim against one paper, or against the ``k`` papers found for it; the clearest verdict counts.

    Raises:
        InputError: There is no reader, the claim is empty or too long, or the paper isn't within reach.
    """
    if reader is None:
        raise InputError("Without a reader no claim can be verified.", hint="--reader trained")
    text = clean(claim)
    if not any(character.isalnum() for character in text):
        raise InputError("The claim is empty.", hint="give a statement, such as “DPO needs no reward model.”")
    if len(text) > MAX_QUESTION:
        raise InputError(f"The claim is over {MAX_QUESTION:,} characters long.", hint="verify its sentences one by one")
    if paper is not None:
        filters = _only(retriever, paper, filters)
    evidence = without_instructions(retriever.retrieve(Query(text, judged=False), k=k, filters=filters), text)
    read = [judged for found in evidence.papers if (judged := _judged(reader, text, found)) is not None]
    papers = [found.hit.paper for found in evidence.papers]
    # On a tie the first: the search ranked it higher.
    best = max(read, key=lambda one: one.decided, default=None)
    if best is None:
        reason = "nothing to read is in reach"
        return Verification(claim, "unsaid", 1.0, (), tuple(papers[:NEAREST]), evidence.considered, reason)
    if best.decided < DECIDED:
        return Verification(claim, "unsaid", 1 - best.decided, (), tuple(papers[:NEAREST]), evidence.considered)
    quotes = best.quotes()
    supported = best.stance.supported >= best.stance.contradicted
    missing = _missing(text, quotes, best.paper) if supported else []
    if missing:
        nearest = [best.paper, *(other for other in papers if other.id != best.paper.id)]
        reason = NOT_QUOTED + ", ".join(missing)
        return Verification(claim, "unsaid", None, (), tuple(nearest[:NEAREST]), evidence.considered, reason)
    verdict: ClaimVerdict = "supported" if supported else "contradicted"
    cited = (Citation(1, best.paper, quotes),)
    return Verification(claim, verdict, best.decided, cited, (), evidence.considered)


@dataclass(frozen=True, slots=True)
class _JudgedPaper:
    """A paper, the sentences that the reader read, and its verdict on the claim."""

    paper: Paper
    sentences: tuple[EvidenceSentence, ...]
    stance: Stance

    @property
    def decided(self) -> float:
        return max(self.stance.supported, self.stance.contradicted)

    def quotes(self) -> tuple[Quote, ...]:
        """The likeliest sentences, at least one, in the order of the abstract."""
        chances = self.stance.sentences
        order = sorted(range(len(self.sentences)), key=lambda at: -chances[at])
        chosen = [at for place, at in enumerate(order[:MOST_QUOTES]) if not place or chances[at] >= DECIDED]
        passages = [self.sentences[at].passage for at in sorted(chosen)]
        return tuple(Quote(passage.text, passage.start, passage.end) for passage in passages)


def _judged(reader: Reader, claim: str, found: PaperEvidence) -> _JudgedPaper | None:
    """``None`` for an abstract without a sentence that may be evidence."""
    sentences = tuple(sentence for sentence in found.sentences if not sentence.orders)
    if not sentences:
        return None
    texts = tuple(sentence.passage.text for sentence in sentences)
    abstract = Abstract(found.hit.paper.title, texts)
    claim = spelt_as(claim, abstract.text)
    same = tuple(float(_bare(text) == _bare(claim)) for text in texts)
    if any(same):
        return _JudgedPaper(found.hit.paper, sentences, Stance(1.0, 0.0, 0.0, same))
    [stance] = reader.judge([claim], abstract)
    return _JudgedPaper(found.hit.paper, sentences, stance)


def _bare(text: str) -> str:
    return clean(text).casefold().rstrip(".")


def _missing(claim: str, quotes: Sequence[Quote], paper: Paper) -> list[str]:
    """The numbers of the claim that the quotes don't have."""
    texts = [quote.text for quote in quotes]
    if any(_bare(text) == _bare(claim) for text in texts):
        return []
    return missing_numbers(claim, texts, f"{paper.title} {paper.abstract}")


def _only(retriever: Retriever, paper: str, filters: Filters | None) -> Filters:
    if not any(known.id == paper for known in retriever.all_papers):
        raise InputError(f"The index holds no paper {paper}.", hint="rag-assistant papers lists the ids")
    if not any(known.id == paper for known in retriever.papers(filters)):
        raise InputError(f"The filters leave out the paper {paper}.", hint="leave the filters out")
    return replace(filters or Filters(), ids=(paper,))
