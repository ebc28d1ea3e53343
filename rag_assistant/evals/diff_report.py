"""A comparison of two runs as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from rag_assistant.evals.diff import Change, Diff, Robustness
from rag_assistant.evals.markdown import table


def render_diff(result: Diff) -> str:
    """A comparison as Markdown, with each flipped question."""
    verdict = "REGRESSION" if result.regressed else "no regression"
    parts = [f"# Eval diff: {verdict}", *(f"- {reason}" for reason in result.regressions)]
    if result.differences:
        parts += ["The runs differ in more than the code:", "\n".join(f"- {line}" for line in result.differences)]
    parts.append(
        f"{result.compared} questions compared; {len(result.left_out)} left out (changed, or in one run only)."
    )
    parts += _robustness(result.robustness) if result.robustness else ()
    for title, changes in (("Scores", result.scores), ("By category: correct", result.categories)):
        rows = [
            [c.name, _f(c.before), _f(c.after), f"{c.after - c.before:+.3f}", _word(c), _f(c.p_adjusted), str(c.n)]
            for c in changes
        ]
        parts += [f"## {title}", table(["", "before", "after", "change", "", "p (Holm)", "n"], rows)]
    for title, flips in (("Newly wrong", result.newly_wrong), ("Newly right", result.newly_right)):
        if flips:
            listed = [[f.id, f.before, f.after, f.question] for f in flips]
            parts += [f"## {title}: {len(flips)}", table(["question", "before", "after", "asked"], listed)]
    return "\n\n".join(parts) + "\n"


def _robustness(found: Robustness) -> Iterator[str]:
    effect = found.effect
    yield f"## Robustness: {effect.name}"
    rows = [
        ["correct, plain", _f(effect.before)],
        ["correct, transformed", _f(effect.after)],
        ["paired change", f"{effect.change:+.3f} (p = {effect.p_value:.4f}, {effect.pairs} pairs)"],
        ["flip rate", _f(effect.flip_rate)],
    ]
    if found.injection_success is not None:
        rows.append(["injection success (lower is better)", str(found.injection_success)])
    if found.utility is not None:
        rows.append(["correct under attack, answerable", str(found.utility)])
    yield table(["", ""], rows)


def _f(value: float) -> str:
    return f"{value:.3f}"


def _word(change: Change) -> str:
    if abs(change.gain) < 1e-12:
        return "same"
    word = "better" if change.gain > 0 else "worse"
    return f"**{word}**" if change.significant else word
