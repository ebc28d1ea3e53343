"""What no backend needs to be asked about."""

from __future__ import annotations

from rag_assistant.conversation import Standalone
from rag_assistant.drafts import Refusal
from rag_assistant.evidence import Evidence, heaviest
from rag_assistant.grounding.gate import judge
from rag_assistant.questions.form import QuestionForm
from rag_assistant.questions.language import is_english


def early_refusal(form: QuestionForm, alone: Standalone, evidence: Evidence, *, model: bool) -> Refusal | None:
    """What no backend needs to be asked about: an empty question, no paper in reach, none on the topic.

    Args:
        form, alone: What is asked.
        evidence: What was found.
        model: Whether a model answers: then a question in another language is asked whatever the topic seems to be,
            since the words and vectors that tell the topic are English.
    """
    if form.kind == "empty":
        return Refusal("clarify", message="Nothing was asked. Ask a question about the papers.")
    if alone.unresolved:
        return Refusal("clarify", message="I can't tell what this refers to. Name the paper, method or topic.")
    if not evidence.considered:
        return Refusal("not_in_corpus")
    if form.kind == "bibliography":
        return None
    if not any(not word.carried for word in evidence.words) and not evidence.words:
        return Refusal("clarify")
    if model and evidence.papers and not is_english(form.text):
        return None
    if form.kind != "list" and not any(judge(evidence.words, paper).on_topic for paper in evidence.papers):
        return Refusal("not_in_corpus", heaviest(evidence))
    return None
