"""Compute the positions of chart marks. Coordinates are those of an SVG view box; templates draw them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 160
_LABELS = 7
"""Most labels below a chart."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series, as the paths of its line and of its points, which are lines without length; zeros have none."""

    path: str
    points: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of a scale, with its value."""

    y: float
    value: float


@dataclass(frozen=True, slots=True)
class Column:
    """A day of a chart.

    Attributes:
        shown: The values of its series, for people.
        label: Its short name, below the chart; empty between two others.
    """

    title: str
    shown: Sequence[str]
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of lines.

    Attributes:
        ticks: Lines of the scale, from 0 up.
        limit: The y of the line that marks a value; None without one.
    """

    names: Sequence[str]
    lines: Sequence[Line]
    ticks: Sequence[Tick]
    columns: Sequence[Column]
    limit: float | None

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to draw."""
        return not any(line.points for line in self.lines)


def chart(
    names: Sequence[str],
    titles: Sequence[str],
    values: Sequence[Sequence[float | None]],
    shown: Sequence[Sequence[str]],
    *,
    labels: Sequence[str] | None = None,
    limit: float = 0,
) -> Chart:
    """Draw the values of some days as lines.

    Args:
        values: For each day, one number per series; None interrupts its line.
        shown: The same, for people.
        labels: Short names of the days; None: the titles.
        limit: A value to mark with a line; 0 for none.
    """
    known = [value for day in values for value in day if value is not None]
    top = nice_top(max([limit, *known]))
    step = WIDTH / max(len(values), 1)
    every = math.ceil(len(titles) / _LABELS)
    columns = [
        Column(title, texts, label if (len(titles) - 1 - number) % every == 0 else "")
        for number, (title, texts, label) in enumerate(
            zip(titles, shown, labels or titles, strict=True)
        )
    ]
    nothing = not any(known)
    lines = [
        _line([None if nothing else day[series] for day in values], top, step)
        for series in range(len(names))
    ]
    ticks = [Tick(HEIGHT - HEIGHT * share, top * share) for share in (0, 0.5, 1)]
    return Chart(names, lines, ticks, columns, HEIGHT - limit / top * HEIGHT if limit else None)


def _line(values: Sequence[float | None], top: float, step: float) -> Line:
    path: list[str] = []
    points: list[str] = []
    pen = "M"
    for number, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        place = f"{(number + 0.5) * step:.1f} {HEIGHT - value / top * HEIGHT:.1f}"
        path.append(f"{pen}{place}")
        if value:
            points.append(f"M{place}h0")
        pen = "L"
    return Line("".join(path), "".join(points))


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
