"""Whether citations hold: they resolve, quote verbatim, support their statements, and lead to the right papers.

Citation recall and precision are ALCE's (Gao, Yen, Yu and Chen 2023, "Enabling Large Language Models to Generate Text
with Citations"), computed twice: with a support check on the words of statement and quotes, and with the gold evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rag_assistant.evals.answer_metrics import cited_papers, is_refusal
from rag_assistant.evals.case import Case
from rag_assistant.evals.text import content_stems, numbers, plain
from rag_assistant.sentences import sentence_spans
from rag_assistant.types import Answer, Citation, Quote, Statement

SupportCheck = Callable[[str, Sequence[str]], bool]
"""Whether a statement (without its markers) follows from the quotes, taken together."""

SUPPORT_SHARE = 0.6
_MARKER = re.compile(r"\[(\d+(?:\s*[,;]\s*\d+)*)\](?!\()")


def lexical_support(statement: str, quotes: Sequence[str]) -> bool:
    """The support check without a model: the quotes have at least 60% of the statement's content stems and all of its
    numbers. It finds what was made up or cited from the wrong place; it can't see a contradiction."""
    joined = " ".join(quotes)
    stems = content_stems(statement)
    known = {round(number.value, 9) for number in numbers(joined, words=True)}
    stated = {round(number.value, 9) for number in numbers(statement)}
    return bool(joined) and stated <= known and len(stems & content_stems(joined)) >= SUPPORT_SHARE * len(stems)


def validity(_: Case, answer: Answer) -> dict[str, float]:
    """``marker_validity`` and ``quote_validity``: both must be 1.0.

    The share of the markers ``[n]``, in the text and in statements, that name a citation of the answer, and the share
    of the quotes that are in their abstract at exactly the place that they name.
    """
    known = {citation.number for citation in answer.citations}
    written = [int(number) for match in _MARKER.finditer(answer.text) for number in re.findall(r"\d+", match[1])]
    markers = [*written, *(number for statement in answer.statements for number in statement.citations)]
    quotes = [_is_verbatim(citation, quote) for citation in answer.citations for quote in citation.quotes]
    scores = {"marker_validity": sum(marker in known for marker in markers) / len(markers)} if markers else {}
    return scores | ({"quote_validity": sum(quotes) / len(quotes)} if quotes else {})


def _is_verbatim(citation: Citation, quote: Quote) -> bool:
    return bool(quote.text) and citation.paper.abstract[quote.start : quote.end] == quote.text


def gold_citations(case: Case, answer: Answer) -> dict[str, float]:
    """By the gold papers, for answered answerable questions.

    ``gold_citation_recall``: share of the gold papers that are cited. ``gold_citation_precision``: share of the cited
    papers that are gold or ``also_ok``; no score when none is cited.
    """
    if not case.answerable or not case.gold or is_refusal(answer):
        return {}
    cited = set(cited_papers(answer))
    scores = {"gold_citation_recall": len(cited & set(case.gold)) / len(case.gold)}
    if cited:
        scores["gold_citation_precision"] = len(cited & {*case.papers, *case.also_ok}) / len(cited)
    return scores


def statement_support(_: Case, answer: Answer) -> dict[str, float]:
    """``statement_support``: share of the statements that the assistant itself marks as supported."""
    if is_refusal(answer) or not answer.statements:
        return {}
    return {"statement_support": sum(s.support == "supported" for s in answer.statements) / len(answer.statements)}


def alce(answer: Answer, supports: SupportCheck) -> tuple[float | None, float | None]:
    """ALCE's citation recall and precision of one answer, over its statements on abstracts.

    Recall is the share of statements that cite something and follow from all that they cite together. Precision is the
    share of citations that are relevant: one is irrelevant when its statement isn't supported, or when it doesn't
    support the statement alone and the others do without it. Statements on the bibliography have no quotes and don't
    count.

    Returns:
        Recall, ``None`` without statements, and precision, ``None`` without citations.
    """
    recalled: list[bool] = []
    relevant: list[bool] = []
    for statement in answer.statements:
        if statement.basis != "abstract":
            continue
        text = plain(_MARKER.sub("", statement.text))
        quotes = _quotes_of(statement, answer)
        supported = bool(quotes) and supports(text, [quote for group in quotes for quote in group])
        recalled.append(supported)
        for n, group in enumerate(quotes):
            others = [quote for m, rest in enumerate(quotes) if m != n for quote in rest]
            relevant.append(supported and (supports(text, group) or not (bool(others) and supports(text, others))))
    return _share(recalled), _share(relevant)


def _quotes_of(statement: Statement, answer: Answer) -> list[list[str]]:
    by_number = {citation.number: citation for citation in answer.citations}
    return [[quote.text for quote in by_number[n].quotes] for n in statement.citations if n in by_number]


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def gold_support(case: Case) -> SupportCheck:
    """A support check by the gold evidence: a sentence of a quote contains a sentence of the evidence, is contained in
    one, or shares 80% of the words of the shorter of the two. The statement's own words play no part."""
    evidence = [plain(part) for e in case.evidence if e.field == "abstract" for part in _sentences(e.quote)]

    def supports(_: str, quotes: Sequence[str]) -> bool:
        given = [plain(part) for quote in quotes for part in _sentences(quote)]
        return any(_overlap(quote, gold) for quote in given for gold in evidence)

    return supports


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def _overlap(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    if shorter in longer:
        return True
    words, rest = set(shorter.lower().split()), set(longer.lower().split())
    return len(words & rest) >= 0.8 * len(words)


def citations(case: Case, answer: Answer, support: SupportCheck = lexical_support) -> dict[str, float]:
    """All scores of this module; ``citation_*`` by the support check, ``evidence_*`` by the gold evidence."""
    scores = {**validity(case, answer), **gold_citations(case, answer), **statement_support(case, answer)}
    if is_refusal(answer):
        return scores
    recall, precision = alce(answer, support)
    named = {"citation_recall": recall, "citation_precision": precision}
    if case.answerable and any(e.field == "abstract" for e in case.evidence):
        named["evidence_recall"], named["evidence_precision"] = alce(answer, gold_support(case))
    return scores | {name: value for name, value in named.items() if value is not None}
