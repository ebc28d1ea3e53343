"""The coordinates of the lines and marks in the page's drawings; the template only writes them out.

Every drawing has a scale from 0 to 1 on both axes. Coordinates are in units of the drawing's view box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_assistant.evals.abstention_metrics import RiskCoverage
from rag_assistant.evals.calibration import Calibration

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 40, 22, 26, 40
_LARGEST_MARK, _SMALLEST_MARK = 9.0, 3.0


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line with its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: the position of its run, and its points in SVG notation."""

    run: int
    points: str
    last_x: float
    last_y: float


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot with the whiskers of its interval, the number of answers behind it, and its tooltip."""

    x: float
    y: float
    low_y: float
    high_y: float
    radius: float
    n: int
    tooltip: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing."""

    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...] = ()
    marks: tuple[Dot, ...] = ()
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def _x(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _y(share: float, top: float = 1.0) -> float:
    return round(HEIGHT - BOTTOM - share / top * (HEIGHT - TOP - BOTTOM), 1)


def _ticks(top: float = 1.0) -> tuple[tuple[Tick, ...], tuple[Tick, ...]]:
    fifths = [n / 5 for n in range(6)]
    return (
        tuple(Tick(_x(share), f"{share:.0%}") for share in fifths),
        tuple(Tick(_y(share * top, top), f"{share * top:.0%}") for share in fifths),
    )


def risk_plot(curves: Mapping[int, RiskCoverage]) -> Plot:
    """Risk by coverage, one line per run. The axis of the risk ends at 0.5 unless a curve goes beyond."""
    top = 0.5 if all(risk <= 0.5 for curve in curves.values() for _, risk in curve.points) else 1.0
    lines = []
    for run, curve in curves.items():
        points = [(_x(coverage), _y(risk, top)) for coverage, risk in curve.points]
        lines.append(Line(run, " ".join(f"{x},{y}" for x, y in points), *points[-1]))
    return Plot(*_ticks(top), lines=tuple(lines))


def reliability_plot(calibration: Calibration) -> Plot:
    """The share of right answers by confidence; the size of a mark shows its number of answers."""
    most = max(found.n for found in calibration.bins)
    marks = tuple(
        Dot(
            _x(found.confidence),
            _y(found.right),
            _y(found.right_low),
            _y(found.right_high),
            round(_SMALLEST_MARK + (_LARGEST_MARK - _SMALLEST_MARK) * (found.n / most) ** 0.5, 1),
            found.n,
            f"confidence {found.low:.1f} to {found.high:.1f}: {found.right:.0%} of {found.n} right",
        )
        for found in calibration.bins
    )
    line = Line(0, " ".join(f"{mark.x},{mark.y}" for mark in marks), marks[-1].x, marks[-1].y)
    return Plot(*_ticks(), lines=(line,), marks=marks)


def scaled(values: Sequence[float]) -> tuple[float, ...]:
    """Lengths of bars, in percent of the longest."""
    longest = max(values, default=0.0) or 1.0
    return tuple(round(100 * value / longest, 2) for value in values)
