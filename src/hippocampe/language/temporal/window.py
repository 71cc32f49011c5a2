"""Find the time window named in a sentence.

Wall-clock arithmetic is done in the zone of the reader, where days begin; returned datetimes are UTC.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from zoneinfo import ZoneInfo

from hippocampe.language.calendar import FULL_MONTHS
from hippocampe.language.datetimes import as_utc, as_zone
from hippocampe.language.temporal.grammar import (
    BARE_WEEKDAYS,
    CAPITAL_MONTHS,
    CORE,
    DAY,
    HABIT,
    HABITS,
    JOIN,
    MAX_WORDS_BEFORE_CORE,
    OTHER_SENSES,
    PERIODS,
    PLACED,
    TO,
    VERBS,
    WAYS,
    WORD,
    grammar,
    prefix_role,
)
from hippocampe.language.temporal.resolve import RESOLVERS, Groups, Span, WindowKind, start_of_day

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # start of open windows such as "before May"


LONGEST_EVENT = timedelta(days=10)
"""Longest time of an event: "last month" does not determine a day."""


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


@dataclass(frozen=True, slots=True)
class _Expression:
    """A match of the grammar, with its time span, and whether it is certainly a time expression."""

    match: re.Match[str]
    name: str
    groups: Groups
    span: Span
    sure: bool

    @property
    def link(self) -> str:
        """The role of its first word: since, after, before, until, between, from."""
        return prefix_role(self.match["link"] or "")


def parse_window(text: str, *, now: datetime, timezone: str | ZoneInfo) -> TimeWindow | None:
    """Find the time window named in a sentence.

    The shortest window wins; on a tie, the first.

    Args:
        text: A sentence, of any length.
        now: Time of the sentence; aware.
        timezone: Zone of the speaker (``"Europe/Paris"``): days begin there.

    Returns:
        The window, or None when the sentence names no time.

    Raises:
        InvalidInput: `now` has no timezone, or `timezone` is unknown.
    """
    here = as_utc(now, name="now").astimezone(as_zone(timezone))
    folded, places = _folded(text)
    best: tuple[timedelta, TimeWindow] | None = None
    for start, end, (first, last), kind in _windows(_expressions(folded, text, places, here), here):
        if start < end and (best is None or end - start < best[0]):
            span = places[first], places[last - 1] + 1
            window = TimeWindow(start, end, text[slice(*span)], span, kind)
            best = end - start, window
    return best[1] if best else None


def parse_event(text: str, *, now: datetime, timezone: str | ZoneInfo) -> datetime | None:
    """Find the time of a statement's event, if it is relative to now: "yesterday", "next Tuesday".

    A date without a year may be past or future, a bare weekday may be a habit, and the middle of last year is not a
    date: these give None, and so does a statement with several times.

    Args:
        text: A statement, of any length.
        now: The time of the statement; aware.
        timezone: Zone of the speaker.

    Returns:
        The middle of the time named, UTC; noon for a day.

    Raises:
        InvalidInput: `now` has no timezone, or `timezone` is unknown.
    """
    here = as_utc(now, name="now").astimezone(as_zone(timezone))
    folded, places = _folded(text)
    found = [each for each in _expressions(folded, text, places, here) if each.sure]
    if len(found) != 1 or not _tells_event(found[0]):
        return None
    start, end = _utc(found[0].span)
    return start + (end - start) / 2


def _tells_event(found: _Expression) -> bool:
    """Return whether an expression is a short time at a distance from now."""
    start, end = found.span
    if found.link or found.match["portion"] or end - start > LONGEST_EVENT:
        return False
    match found.name:
        case "day" | "ago" | "ago_after" | "later":
            return True
        case "part":
            return "past" in found.groups
        case "dayname":
            return "week" in found.groups or _is_other(found)
        case "period":
            return _is_other(found)
        case _:
            return False


def _is_other(found: _Expression) -> bool:
    return WAYS.get(found.groups.get("way", "")) in ("last", "next")


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """Return the text in lower case without accents, and the source offset of each character."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character in "\u2019\u2018\u02bc":
            plain = "'"
        elif character in "\u2010\u2011":
            plain = "-"
        else:
            plain = unicodedata.normalize("NFD", character.lower())[0]
            if unicodedata.combining(plain):
                continue
        folded.append(plain)
        places.append(place)
    return "".join(folded), places


def _matches(folded: str) -> Iterator[re.Match[str]]:
    starts: deque[int] = deque(maxlen=MAX_WORDS_BEFORE_CORE + 1)
    expression, done = grammar()[0], 0
    for word in WORD.finditer(folded):
        starts.append(word.start())
        if word[0] not in CORE and not word[0][0].isdigit():
            continue
        while starts:
            start = starts.popleft()
            if start >= done and (match := expression.match(folded, start)):
                done = match.end()
                yield match


def _expressions(
    folded: str, text: str, places: Sequence[int], now: datetime
) -> Iterator[_Expression]:
    group_names = grammar()[1]
    for match in _matches(folded):
        name = match.lastgroup or ""
        groups = {
            key: " ".join(match[group].replace("-", " ").split())
            for key, group in group_names[name]
            if match[group]
        }
        if span := RESOLVERS[name][0](groups, now):
            capital = "month" in groups and text[places[match.start(f"{name}_month")]].isupper()
            before = folded[max(0, match.start() - 8) : match.start()]
            yield _Expression(
                match, name, groups, span, _is_sure(match, name, groups, capital, before)
            )


def _is_sure(match: re.Match[str], name: str, groups: Groups, capital: bool, before: str) -> bool:
    """Return whether the context confirms a time expression: "may", "mars" or "2022" alone may not be one."""
    place, article, link = (
        " ".join((match[group] or "").split()) for group in ("place", "article", "link")
    )
    bound = bool(
        prefix_role(link) not in ("", "from", "between")
        or match["about"]
        or match["portion"]
        or "way" in groups
    )
    match name:
        case "short":
            placed = bound or not PLACED["date"].isdisjoint((article, place, link))
            return placed and (groups["day"], groups["month"]) != ("24", "7")
        case "date" | "date_after":
            verb = groups["month"] in VERBS and not capital
            named = "ordinal" in groups or "year" in groups
            return not verb or bound or named or place in PLACED["date"]
        case "month":
            return "year" in groups or _is_month(groups, capital, place, bound, article)
        case "dayname":
            named = "part" in groups or "week" in groups or place in PLACED["date"]
            return _is_day(groups, bound, named, (article, place, link), before)
        case "season":
            year = "year" in groups and (groups["season"] not in OTHER_SENSES or article or place)
            return bool(bound or year or (article and place in PLACED["season"]))
        case "feast":
            return bound or "year" in groups or place in PLACED["feast"]
        case "year":
            return bound or place in PLACED["year"] or "called" in groups
        case _:
            return True


def _is_day(
    groups: Groups, bound: bool, named: bool, around: tuple[str, str, str], before: str
) -> bool:
    article, place, link = around
    each = before.endswith(HABITS[groups["weekday"]])
    of_habit = link in HABIT["habit_links"]
    if groups["weekday"] not in BARE_WEEKDAYS:
        begins = prefix_role(link) == "from" and not of_habit
        return (bound or named or begins) and not each
    habit = article in HABIT["habit_articles"] or place in HABIT["habit_places"]
    return bound or not (habit or of_habit or each)


def _is_month(groups: Groups, capital: bool, place: str, bound: bool, article: str) -> bool:
    month, way = groups["month"], groups.get("way")
    if month not in FULL_MONTHS:
        return False
    if month in VERBS and not capital and way and (WAYS.get(way) == "this" or article):
        return False  # "this may help", "the next march"
    if month in CAPITAL_MONTHS and capital and not way:
        return place == CAPITAL_MONTHS[month]  # "Mars" alone is the planet
    return bound or place in PLACED["month"]


def _windows(
    found: Iterator[_Expression], now: datetime
) -> Iterator[tuple[datetime, datetime, tuple[int, int], WindowKind]]:
    """Yield the windows of single expressions, and of pairs ("entre mars et mai")."""
    pending = None
    for expression in chain(found, (None,)):
        if pending is None:
            pending = expression
            continue
        if expression and (span := _joined(pending, expression, now)):
            yield *_utc(span), (pending.match.start(), expression.match.end()), "range"
            pending = None
            continue
        if pending.sure and (single := _single(pending, now)):
            span, kind = single
            yield *_utc(span), pending.match.span(), kind
        pending = expression


def _joined(first: _Expression, second: _Expression, now: datetime) -> Span | None:
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


def _single(found: _Expression, now: datetime) -> tuple[Span, WindowKind] | None:
    start, end = found.span
    kind = _kind(found)
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
        case _:
            return (start, end), kind


def _kind(found: _Expression) -> WindowKind:
    if "part" in found.groups:
        return "part"
    if found.name != "period":
        return RESOLVERS[found.name][1]
    match PERIODS.get(found.groups["unit"]):
        case "week":
            return "week"
        case "month":
            return "month"
        case "year":
            return "year"
        case _:
            return "weekend"


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


def _utc(span: Span) -> Span:
    return span[0].astimezone(UTC), span[1].astimezone(UTC)
