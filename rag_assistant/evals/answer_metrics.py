"""Whether an answer says what it should: nuggets, numbers, sets of papers, and one verdict of right or wrong."""

from __future__ import annotations

from functools import lru_cache

from rag_assistant.evals.case import Case
from rag_assistant.evals.text import numbers
from rag_assistant.types import Answer, Paper, Statement

ANSWERING = frozenset({"answered", "partial"})


def is_refusal(answer: Answer) -> bool:
    """Whether the answer declines: any status but ``answered`` and ``partial``."""
    return answer.status not in ANSWERING


def cited_papers(answer: Answer) -> tuple[str, ...]:
    """The ids of the papers that the answer cites, each once, by number."""
    return tuple(dict.fromkeys(citation.paper.id for citation in answer.citations))


def nuggets(case: Case, answer: Answer) -> dict[str, float]:
    """``nugget_recall_vital`` and ``nugget_recall``: shares of the nuggets found in the text of the answer.

    Only for answerable questions that have nuggets; a refusal finds none.
    """
    if not case.answerable or not case.nuggets:
        return {}
    text = "" if is_refusal(answer) else answer.text
    found = [(nugget.vital, nugget.found(text)) for nugget in case.nuggets]
    vital = [hit for is_vital, hit in found if is_vital]
    scores = {"nugget_recall": sum(hit for _, hit in found) / len(found)}
    return scores | ({"nugget_recall_vital": sum(vital) / len(vital)} if vital else {})


def number_recall(case: Case, answer: Answer) -> dict[str, float]:
    """``number_recall``: share of the gold numbers that the answer states, within their tolerance, and as percentages
    if they are percentages. TeX, ``%``, thousands separators, scales ("300k") and number words are all understood."""
    if not case.answerable or not case.numbers:
        return {}
    text = "" if is_refusal(answer) else answer.text
    return {"number_recall": sum(number.found(text) for number in case.numbers) / len(case.numbers)}


def unsupported_numbers(_: Case, answer: Answer) -> dict[str, float]:
    """``unsupported_numbers``: share of the numbers in statements that the cited papers don't state anywhere.

    If a statement cites nothing, none of its numbers is supported. Answers without numbers have no score.
    """
    if is_refusal(answer):
        return {}
    total = missing = 0
    for statement in answer.statements:
        known = {value for paper in _papers_of(statement, answer) for value in _known(paper)}
        for number in numbers(statement.text):
            total += 1
            missing += round(number.value, 9) not in known
    return {"unsupported_numbers": missing / total} if total else {}


def _papers_of(statement: Statement, answer: Answer) -> list[Paper]:
    return [citation.paper for citation in answer.citations if citation.number in statement.citations]


@lru_cache(maxsize=1024)
def _numbers_in(text: str) -> frozenset[float]:
    return frozenset(round(number.value, 9) for number in numbers(text, words=True))


def _known(paper: Paper) -> frozenset[float]:
    return _numbers_in(f"{paper.abstract}\n{paper.title}\n{paper.year or ''}")


def paper_set(case: Case, answer: Answer) -> dict[str, float]:
    """``set_precision``, ``set_recall`` and ``set_f1`` of the cited papers, for questions that ask for a list.

    Papers of ``also_ok`` count neither for nor against. An answer that cites none has a precision of 0.
    """
    if not case.is_listing or not case.gold:
        return {}
    cited = set() if is_refusal(answer) else set(cited_papers(answer)) - set(case.also_ok)
    right = len(cited & set(case.gold))
    precision = right / len(cited) if cited else 0.0
    recall = right / len(case.gold)
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {"set_precision": precision, "set_recall": recall, "set_f1": f1}


def correct(case: Case, answer: Answer) -> dict[str, float]:
    """``correct``: the one verdict on an answer, 0 or 1, by which two runs are compared.

    - Answerable: it answers, says every vital nugget and number, and nothing of ``must_not``; and if it cites papers,
      at least one is gold or ``also_ok``, since the right words from the wrong paper are no answer. A listing must cite
      exactly the gold papers, apart from those in ``also_ok``.
    - False premise: it refuses, or answers with the correction; in either case nothing of ``must_not``.
    - Not answerable: it refuses, or asks back where that is expected, and says nothing of ``must_not``.
    """
    return {"correct": float(_is_correct(case, answer))}


def _is_correct(case: Case, answer: Answer) -> bool:
    if case.breaks(answer.text):
        return False
    if case.category == "false_premise":
        return is_refusal(answer) or (bool(case.nuggets or case.numbers) and case.accepts(answer.text))
    if not case.answerable:
        return is_refusal(answer) and ("clarify" not in case.expected_status or answer.status in case.expected_status)
    if is_refusal(answer):
        return False
    if case.is_listing and case.gold:
        return paper_set(case, answer)["set_f1"] == 1.0
    cited = set(cited_papers(answer))
    elsewhere = bool(cited and case.papers) and cited.isdisjoint({*case.papers, *case.also_ok})
    return case.accepts(answer.text) and not elsewhere


def answers(case: Case, answer: Answer) -> dict[str, float]:
    """All scores of this module."""
    return {
        **nuggets(case, answer),
        **number_recall(case, answer),
        **unsupported_numbers(case, answer),
        **paper_set(case, answer),
        **correct(case, answer),
    }
