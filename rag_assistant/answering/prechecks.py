"""Questions that are refused before any backend is asked."""

from __future__ import annotations

from collections.abc import Callable

from rag_assistant.conversation import RewrittenQuestion
from rag_assistant.drafts import Refusal
from rag_assistant.evidence.answerability import confidence, judge, on_topic
from rag_assistant.evidence.base import QuestionEvidence, heaviest
from rag_assistant.questions.form import QuestionForm, says_thanks
from rag_assistant.questions.language import is_english
from rag_assistant.questions.names import unknown_names
from rag_assistant.retrieval.reading import SURE

QUOTES_ONLY = (
    "The answer before quotes the abstracts word for word; only a model can put it in other words. "
    "Choose one with --backend, or ask for a detail."
)


def precheck(
    form: QuestionForm,
    rewritten: RewrittenQuestion,
    evidence: QuestionEvidence,
    occurs: Callable[[str], bool],
    *,
    model: bool,
) -> Refusal | None:
    """The refusal of a question that no backend needs to see: it is empty, a greeting, or about a name that no paper
    has, or no paper is in reach or on its topic; ``None`` if a backend is to be asked.

    Args:
        form, rewritten: What is asked.
        evidence: What was found.
        occurs: Whether a word occurs in any paper.
        model: Whether a model answers: then a question in another language is passed on whatever its topic seems to
            be, since the words and vectors that show the topic are English.
    """
    if form.kind == "empty":
        return Refusal("clarify", message="Nothing was asked. Ask a question about the papers.")
    if form.kind == "greeting":
        return Refusal("clarify", message=_what_to_ask(evidence.considered, thanked=says_thanks(form.text)))
    if rewritten.asks == "rewording" and not model:
        return Refusal("clarify", message=QUOTES_ONLY)
    if rewritten.unresolved:
        return Refusal("clarify", message="I can't tell what this refers to. Name the paper, method or topic.")
    if not evidence.considered:
        return Refusal("not_in_corpus")
    if form.kind == "bibliography":
        return None
    if not any(not word.carried for word in evidence.words) and not evidence.words:
        return Refusal("clarify")
    if form.kind != "comparison" and not rewritten.focus:
        texts = (f"{paper.hit.paper.title} {paper.hit.paper.abstract}" for paper in evidence.papers)
        unknown = unknown_names(form.text, texts, occurs)
        if unknown:
            return Refusal("not_in_corpus", tuple(unknown), _nobody_names(unknown, evidence.considered))
    if model and evidence.papers and not is_english(form.text):
        return None
    # Of "the paper on X" the reader alone may be misled by what is asked of it.
    named = form.names_a_paper and not rewritten.focus
    if form.kind != "list" and not any(
        (on_topic(paper) or (confidence(paper) or 0.0) >= SURE) if named else judge(evidence.words, paper).on_topic
        for paper in evidence.papers
    ):
        return Refusal("not_in_corpus", heaviest(evidence))
    return None


def _what_to_ask(papers: int, *, thanked: bool) -> str:
    of = "the one abstract here says" if papers == 1 else f"the abstracts of the {papers} papers here say"
    asked = f"sk what {of}, which papers are on a topic, how two methods compare, or who wrote what, when and where."
    return f"You’re welcome: a{asked}" if thanked else f"A{asked}"


def _nobody_names(unknown: dict[str, str], considered: int) -> str:
    near = [name for name in unknown.values() if name]
    offered = f" Did you mean {' or '.join(dict.fromkeys(near))}?" if near else ""
    papers = "The one paper doesn't mention" if considered == 1 else f"None of the {considered} papers mentions"
    return f"{papers} {' or '.join(unknown)}.{offered}"
