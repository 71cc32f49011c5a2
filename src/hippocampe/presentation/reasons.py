"""Sum up the signals of a score as reasons."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from hippocampe.types import Signal

LEAST_SHOWN = 0.05
"""The smallest contribution to the log-odds that is shown."""

REASONS = {
    "matching words, in the text or around it": (
        *("late", "passage", "density", "mass", "soft", "rarest"),
    ),
    "read as an answer": ("reader",),
    "close in meaning": ("dense", "window"),
    "the same words": ("bm25", "exact", "phrase"),
    "about the same topic": ("covered",),
    "all that was asked for": ("met_both",),
    "better than the other candidates": ("ahead", "rivals"),
    "a matching conversation": ("before", "after", "before_2", "session", "session_top"),
    "the answer to a similar question": ("answers", "answers_before"),
    "said by the person in the question": ("named",),
    "states a date": ("date_asked",),
    "states a number": ("number_asked",),
    "states a place": ("place_asked",),
    "from the time in the question": ("in_window",),
    "important": ("importance",),
    "often recalled": ("use",),
}
"""The signals that each reason sums up."""

OBJECTIONS = {
    "of_other": "someone else says it of themselves",
    "asks_nothing": "the message asks nothing of memory",
}
"""Signals shown when they lower a score. All others calibrate it, and mean nothing to a reader."""

REASON_OF = {name: reason for reason, names in REASONS.items() for name in names}
"""The reason of each signal that has one."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason of a score.

    Attributes:
        name: Its name in `REASONS` or `OBJECTIONS`.
        text: Its name in the language of the reader.
        amount: Its contribution to the log-odds of relevance; negative ones lower the score.
    """

    name: str
    text: str
    amount: float

    @property
    def objection(self) -> bool:
        """True if it is one of `OBJECTIONS`."""
        return self.name in OBJECTIONS.values()


def strongest(signals: Iterable[Signal]) -> list[tuple[str, float]]:
    """The reasons of a score with their contributions, strongest first."""
    sums: dict[str, float] = defaultdict(float)
    for signal in signals:
        if name := REASON_OF.get(signal.name) or OBJECTIONS.get(signal.name):
            sums[name] += signal.contribution
    found = sorted(sums.items(), key=lambda each: -abs(each[1]))
    return [(name, amount) for name, amount in found if abs(amount) >= LEAST_SHOWN]
