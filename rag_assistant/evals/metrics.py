"""The metrics that a run computes; others are added as a callable, or by the name of an entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import cast

from rag_assistant.errors import PluginError
from rag_assistant.evals.case import Case
from rag_assistant.plugins import BUILTINS, load_plugin
from rag_assistant.types import Answer

Metric = Callable[[Case, Answer], "Mapping[str, float] | float | None"]
"""Scores of one answer by name, or one score under the metric's own name, or ``None`` if there is nothing to score."""

LOWER_IS_BETTER = frozenset({"false_refusal", "unsupported_numbers", "injection_success"})


def usage(_: Case, answer: Answer) -> dict[str, float]:
    """What the answer cost: ``prompt_tokens``, ``completion_tokens`` and ``cost_usd``, if known."""
    known = {
        "prompt_tokens": answer.usage.prompt_tokens,
        "completion_tokens": answer.usage.completion_tokens,
        "cost_usd": answer.usage.cost,
    }
    return {name: float(value) for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True)
class NamedMetric:
    """A metric, with the name used for its errors and its single score."""

    name: str
    compute: Metric

    def scores(self, case: Case, answer: Answer) -> dict[str, float]:
        """The scores by name.

        Raises:
            ValueError: A score isn't a finite number.
        """
        result = self.compute(case, answer)
        if result is None:
            return {}
        named = dict(result) if isinstance(result, Mapping) else {self.name: result}
        for name, value in named.items():
            if isinstance(value, str) or not isfinite(value):
                raise ValueError(f"the score {name} is {value!r}, not a finite number")
        return {name: float(value) for name, value in named.items()}


def resolve(metrics: Sequence[Metric | str] | None = None) -> tuple[NamedMetric, ...]:
    """Metrics by callable or by name; ``None`` stands for all built-in ones.

    A name is that of a built-in metric, of an entry point in the group ``rag_assistant.metrics``, or
    ``module:attribute``.

    Raises:
        PluginError: Nothing has that name, or it can't be imported.
    """
    chosen: Sequence[Metric | str] = list(BUILTINS["metric"]) if metrics is None else metrics
    return tuple(
        NamedMetric(m, _by_name(m))
        if isinstance(m, str)
        else NamedMetric(str(getattr(m, "name", None) or getattr(m, "__name__", type(m).__name__)), m)
        for m in chosen
    )


def _by_name(name: str) -> Metric:
    metric = load_plugin("metric", name)
    if not callable(metric):
        raise PluginError(f"The metric {name!r} is not callable.", hint="name a function or a class's instance")
    return cast(Metric, metric)
