"""Compute the positions of chart marks. Coordinates are those of an SVG view box; templates draw them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 160
GAP = 0.25
"""Empty share of a column."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a column or of a bar; `series` is the number of its series."""

    x: float
    y: float
    width: float
    height: float
    series: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of a scale, with its value."""

    y: float
    value: float


@dataclass(frozen=True, slots=True)
class Columns:
    """A chart of columns.

    Attributes:
        bars: All parts.
        ticks: Lines of the scale, from 0 up.
        columns: By column, its x, its width and its title.
    """

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    columns: tuple[Bar, ...]


def columns(
    values: Sequence[Sequence[float | None]],
    titles: Sequence[str],
    *,
    stacked: bool = True,
    at_least: float = 0,
) -> Columns:
    """Stack the values of each column, first series at the bottom, or place them side by side.

    Args:
        values: For each column, one number per series; None draws nothing.
        titles: Of the columns.
        stacked: False places the bars of a column side by side.
        at_least: Minimum of the top of the scale.
    """
    known = [[part or 0.0 for part in parts] for parts in values]
    top = nice_top(max([at_least, *((sum if stacked else max)(parts) for parts in known)]))
    step = WIDTH / max(len(known), 1)
    bars: list[Bar] = []
    wholes: list[Bar] = []
    for number, parts in enumerate(known):
        x, y = number * step + step * GAP / 2, float(HEIGHT)
        width = step * (1 - GAP) / (1 if stacked else len(parts))
        for series, part in enumerate(parts):
            height = part / top * HEIGHT
            y = (y if stacked else HEIGHT) - height
            if part:
                bars.append(_bar(x, y, width, height, series))
            x += 0 if stacked else width
        wholes.append(Bar(round(number * step, 2), 0, round(step, 2), HEIGHT, 0, titles[number]))
    ticks = tuple(Tick(HEIGHT - HEIGHT * share, top * share) for share in (0, 0.5, 1))
    return Columns(tuple(bars), ticks, tuple(wholes))


def _bar(x: float, y: float, width: float, height: float, series: int) -> Bar:
    return Bar(round(x, 2), round(y, 2), round(width, 2), round(height, 2), series)


def nice_top(most: float) -> float:
    """A round upper bound: 1, 2, 4, 5, 8 or 10 times a power of ten."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(factor * power for factor in (1, 2, 4, 5, 8, 10) if factor * power >= most)


def line(values: Sequence[float], width: int = 96, height: int = 20) -> str:
    """The points of a sparkline, from the oldest value to the newest."""
    top = max(*values, 1) if values else 1
    step = width / max(len(values) - 1, 1)
    room = height - 3
    return " ".join(
        f"{number * step:.1f},{1.5 + room - value / top * room:.1f}"
        for number, value in enumerate(values)
    )
