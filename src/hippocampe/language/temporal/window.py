"""Find the time window named in a sentence.

Wall-clock arithmetic is done in the zone of the reader, where days begin; returned datetimes are UTC.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from zoneinfo import ZoneInfo

from hippocampe.language.datetimes import as_utc, as_zone
from hippocampe.language.temporal.expressions import Expression, time_expressions
from hippocampe.language.temporal.grammar import DAY, HABIT, JOIN, TO, prefix_role
from hippocampe.language.temporal.resolve import RESOLVERS, Span, WindowKind, in_utc, start_of_day

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # start of open windows such as "before May"


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A time window named in a sentence.

    Attributes:
        start: Start, UTC.
        end: End, UTC; exclusive.
        text: The expression, as written.
        span: Position of the expression in the sentence, ``(start, end)`` in characters.
        kind: Kind of window.
    """

    start: datetime
    end: datetime
    text: str
    span: tuple[int, int]
    kind: WindowKind

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


def parse_window(
    text: str, *, now: datetime, timezone: str | ZoneInfo, ahead: bool = False
) -> TimeWindow | None:
    """Find the time window named in a sentence.

    The shortest window wins; on a tie, the first.

    Args:
        text: A sentence, of any length.
        now: Time of the sentence; aware.
        timezone: Zone of the speaker (``"Europe/Paris"``): days begin there.
        ahead: Whether the sentence is about what is to come: a bare weekday, or a date without a year, is then the next one,
            else the last; "in the morning" and "le week-end" are the next ones, else habits.

    Returns:
        The window, or None when the sentence names no time.

    Raises:
        InvalidInput: `now` has no timezone, or `timezone` is unknown.
    """
    here = as_utc(now, name="now").astimezone(as_zone(timezone))
    best: TimeWindow | None = None
    expressions = (
        replace(each, span=each.coming(here)) if ahead or each.link == "deadline" else each
        for each in time_expressions(text, here, ahead=ahead)
    )
    for start, end, place, kind in _windows(expressions, here):
        if start < end and (best is None or end - start < best.end - best.start):
            best = TimeWindow(start, end, text[slice(*place)], place, kind)
    return best


def _windows(
    found: Iterator[Expression], now: datetime
) -> Iterator[tuple[datetime, datetime, tuple[int, int], WindowKind]]:
    """Yield the windows of single expressions, and of pairs ("entre mars et mai")."""
    pending = None
    for expression in chain(found, (None,)):
        if pending is None:
            pending = expression
            continue
        if expression and (span := _joined(pending, expression, now)):
            yield *in_utc(span), (pending.place[0], expression.place[1]), "range"
            pending = None
            continue
        if pending.sure and (single := _single(pending, now)):
            span, kind = single
            yield *in_utc(span), pending.place, kind
        pending = expression


def _joined(first: Expression, second: Expression, now: datetime) -> Span | None:
    if first.link not in ("between", "from"):
        return None
    gap = first.match.string[first.match.end() : second.match.start()]
    if not (JOIN.fullmatch(gap) or (gap.isspace() and TO.match(second.match[0]))):
        return None
    start, end = first.span[0], second.span[1]
    if "year" not in first.groups and ("year" in second.groups or start > second.span[0]):
        # The year of the end applies to the start: "entre mars et mai 2024".
        start = (RESOLVERS[first.name][0](first.groups, end.astimezone(now.tzinfo)) or first.span)[
            0
        ]
    # "du lundi au mercredi" is a habit.
    habit = first.name == "dayname" and first.match["link"] in HABIT["habit_links"]
    return None if habit else (start, end)


def _single(found: Expression, now: datetime) -> tuple[Span, WindowKind] | None:
    start, end = found.span
    kind = found.kind
    if portion := found.match["portion"]:
        start, end = _portion(start, end, portion)
    if found.match["about"]:
        margin = max(3 * DAY, (end - start) / 4)
        start, end = start - margin, end + margin
    match found.link:
        case "since":
            return ((start, now), "since") if start < now else None
        case "after":
            return ((end, now), "since") if end < now else None
        case "before":
            return (_EPOCH, start), "before"
        case "until":
            return (_EPOCH, end), "before"
        case "deadline":
            return (min(now, start), end), kind
        case _:
            return (start, end), kind


def _portion(start: datetime, end: datetime, word: str) -> Span:
    """Return the early, middle or late part: two fifths each, because usage is loose."""
    whole = end - start
    if whole <= 2 * DAY:
        return start, end
    role = prefix_role(word)
    if role == "early":
        return start, start_of_day(start + whole * 0.4)
    if role == "late":
        return start_of_day(end - whole * 0.4), end
    return start_of_day(start + whole * 0.3), start_of_day(end - whole * 0.3)
