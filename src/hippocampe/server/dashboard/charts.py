"""Small bar charts of days. Positions are computed here, because pages have no inline style."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from hippocampe.types import Day

Value = Callable[[Day], float | None]
TALLEST = 96.0
"""Percent of the height of the highest bar: its top line stays visible."""


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart.

    Attributes:
        name: Its name, translated.
        style: The class of its bars: `solid` or `hollow`.
        value: Returns its number on a day; None draws nothing.
    """

    name: str
    style: str
    value: Value


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of one day: its position in percent, from the left and from the top."""

    style: str
    left: float
    width: float
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """A day with its bars, and its numbers in the order of the series."""

    date: date
    bars: tuple[Bar, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """The days of a chart and its highest number."""

    series: tuple[Series, ...]
    columns: tuple[Column, ...]
    highest: float


def chart(days: Sequence[Day], series: Sequence[Series]) -> Chart:
    """Lay out the bars of days, those of one day side by side, on one scale."""
    found = [tuple(each.value(day) for each in series) for day in days]
    highest = max((value for values in found for value in values if value), default=0.0)
    width = 72 / len(series)
    columns: list[Column] = []
    for day, values in zip(days, found, strict=True):
        bars: list[Bar] = []
        for place, (each, value) in enumerate(zip(series, values, strict=True)):
            if value:
                height = max(value / highest * TALLEST, 1.5)
                left = 14 + place * width
                bars.append(Bar(each.style, left, width - 4, 100 - height, height))
        columns.append(Column(day.date, tuple(bars), values))
    return Chart(tuple(series), tuple(columns), highest)
