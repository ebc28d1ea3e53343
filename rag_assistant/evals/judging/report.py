"""A judgement as a report."""

from __future__ import annotations

from collections.abc import Iterator

from rag_assistant.evals.judging.judgement import Judgement, agreements
from rag_assistant.evals.markdown import Heading, Part, Table

_TOLD = 12


def judgement_parts(judgement: Judgement) -> Iterator[Part]:
    """Who judged what, the agreement with the patterns, and where they differ: there one of the two is wrong."""
    prompt = judgement.prompt
    yield Heading("Judge")
    yield (
        f"{judgement.model}, prompt {prompt.get('name')} v{prompt.get('version')}: {len(judgement.verdicts)} verdicts, "
        f"{judgement.unreadable} neither yes nor no. It gates nothing."
    )
    found = agreements(judgement)
    rows = [[a.what, str(a.n), f"{a.share:.3f}", "–" if a.kappa is None else f"{a.kappa:.3f}"] for a in found]
    if rows:
        yield "Agreement with the patterns of the set (kappa: Cohen 1960; 0 is chance, 1 always):"
        yield Table(["", "n", "the same", "kappa"], rows)
    yield f"Contradicting their evidence: {_listed(judgement.contradicting)}."
    for agreement in found:
        if agreement.only_judge or agreement.only_patterns:
            yield (
                f"{agreement.what[0].upper()}{agreement.what[1:]}: only by the judge {_listed(agreement.only_judge)}; "
                f"only by the patterns {_listed(agreement.only_patterns)}."
            )


def _listed(ids: tuple[str, ...]) -> str:
    if not ids:
        return "none"
    more = f" and {len(ids) - _TOLD} more" if len(ids) > _TOLD else ""
    return f"{', '.join(ids[:_TOLD])}{more} ({len(ids)})"
