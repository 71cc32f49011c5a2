"""Reasons of a result, and the timing of a turn, in words."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hippocampe.language.reasons import OBJECTIONS, REASON_OF
from hippocampe.server.dashboard.wording import marked
from hippocampe.types import Signal

REASONS: Mapping[str, str] = {
    "matching words, in the text or around it": marked("matching words, in the text or around it"),
    "close in meaning": marked("close in meaning"),
    "the same words": marked("the same words"),
    "about the same topic": marked("about the same topic"),
    "better than the other candidates": marked("better than the other candidates"),
    "a matching conversation": marked("a matching conversation"),
    "the answer to a similar question": marked("the answer to a similar question"),
    "said by the person in the question": marked("said by the person in the question"),
    "states a date": marked("states a date"),
    "states a number": marked("states a number"),
    "states a place": marked("states a place"),
    "from the time in the question": marked("from the time in the question"),
    "important": marked("important"),
    "often recalled": marked("often recalled"),
    "someone else says it of themselves": marked("someone else says it of themselves"),
    "all that was asked for": marked("all that was asked for"),
    "about the person asked about": marked("about the person asked about"),
    "the message asks nothing of memory": marked("the message asks nothing of memory"),
}

STAGES: Mapping[str, str] = {
    "queue": marked("waiting for its turn"),
    "context": marked("reading the context"),
    "gather": marked("waiting for sources"),
    "analyse": marked("reading the question"),
    "search": marked("searching"),
    "fuse": marked("joining the lists"),
    "features": marked("measuring"),
    "score": marked("scoring"),
    "read": marked("reading the texts"),
    "choose": marked("choosing"),
    "render": marked("writing the text"),
}
"""The stages of a turn, in order."""
_INSIDE_GATHER = ("analyse", "search", "fuse", "features", "score", "read")


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason with what it adds to the log-odds of relevance.

    Attributes:
        text: The reason, to translate.
        amount: Its contribution; negative ones lower the score.
        start: Left end of its bar, in percent of the width of all bars.
        width: Width of its bar, in percent.
    """

    text: str
    amount: float
    start: float
    width: float


def reasons(signals: Iterable[Signal], most: int = 6) -> list[Reason]:
    """The strongest reasons of a score, strongest first."""
    sums: dict[str, float] = defaultdict(float)
    for signal in signals:
        name = REASON_OF.get(signal.name) or OBJECTIONS.get(signal.name)
        if name is not None:
            sums[name] += signal.contribution
    found = sorted(sums.items(), key=lambda each: -abs(each[1]))[:most]
    found = [(text, amount) for text, amount in found if abs(amount) >= 0.05]
    low = min([0.0, *(amount for _, amount in found)])
    high = max([0.0, *(amount for _, amount in found)])
    scale = 100 / (high - low) if high > low else 0.0
    return [
        Reason(
            REASONS[text], amount, (min(amount, 0.0) - low) * scale, max(abs(amount) * scale, 0.5)
        )
        for text, amount in found
    ]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a turn: its name to translate, milliseconds, and its position in percent of the whole."""

    text: str
    took_ms: float
    start: float
    width: float


def stages(spent: Mapping[str, float]) -> list[Stage]:
    """The stages of a turn in order; the search runs in parallel with the wait for sources."""
    inside = sum(spent.get(name, 0.0) for name in _INSIDE_GATHER)
    times = {**spent, "gather": max(spent.get("gather", 0.0) - inside, 0.0)}
    ordered = [(STAGES.get(name, name), times.get(name, 0.0)) for name in STAGES if name in spent]
    total = sum(took for _, took in ordered) or 1.0
    found: list[Stage] = []
    start = 0.0
    for text, took in ordered:
        found.append(Stage(text, took, start, took / total * 100))
        start += took / total * 100
    return found
