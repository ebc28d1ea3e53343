"""A comparison of two runs as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from rag_assistant.evals.diff import Change, Diff, Robustness
from rag_assistant.evals.markdown import Cell, Heading, Lower, Part, Strong, Table, markdown


def render_diff(result: Diff) -> str:
    """A comparison as Markdown, with each flipped question."""
    return markdown(diff_parts(result))


def diff_parts(result: Diff) -> Iterator[Part]:
    """The parts of what :func:`render_diff` writes."""
    yield Heading(f"Eval diff: {'REGRESSION' if result.regressed else 'no regression'}", 1)
    for reason in result.regressions:
        yield f"- {reason}"
    if result.differences:
        yield "The runs differ in more than the code:"
        yield "\n".join(f"- {line}" for line in result.differences)
    yield f"{result.compared} questions compared; {len(result.left_out)} left out (changed, or in one run only)."
    if result.robustness:
        yield from _robustness(result.robustness)
    for title, changes in (("Scores", result.scores), ("By category: correct", result.categories)):
        yield Heading(title)
        yield Table(
            ["", "before", "after", "change", "", "p (Holm)", "n"],
            [
                [c.name, _f(c.before), _f(c.after), f"{c.after - c.before:+.3f}", _word(c), _f(c.p_adjusted), str(c.n)]
                for c in changes
            ],
        )
    for title, flips in (("Newly wrong", result.newly_wrong), ("Newly right", result.newly_right)):
        if flips:
            yield Heading(f"{title}: {len(flips)}")
            yield Table(
                ["question", "before", "after", "asked"], [[f.id, f.before, f.after, f.question] for f in flips]
            )


def _robustness(found: Robustness) -> Iterator[Part]:
    effect = found.effect
    yield Heading(f"Robustness: {effect.name}")
    rows: list[list[Cell]] = [
        ["correct, plain", _f(effect.before)],
        ["correct, transformed", _f(effect.after)],
        ["paired change", f"{effect.change:+.3f} (p = {effect.p_value:.4f}, {effect.pairs} pairs)"],
        ["flip rate", _f(effect.flip_rate)],
    ]
    if found.injection_success is not None:
        rows.append([Lower("injection success"), found.injection_success])
    if found.utility is not None:
        rows.append(["correct under attack, answerable", found.utility])
    yield Table(["", ""], rows)


def _f(value: float) -> str:
    return f"{value:.3f}"


def _word(change: Change) -> Cell:
    if abs(change.gain) < 1e-12:
        return "same"
    word = "better" if change.gain > 0 else "worse"
    return Strong(word) if change.significant else word
