"""Find the time window named in a sentence.

Wall-clock arithmetic is done in the zone of the reader, where days begin; returned datetimes are UTC.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final
from zoneinfo import ZoneInfo

from hippocampe.language.calendar import FULL_MONTHS
from hippocampe.language.datetimes import as_utc, as_zone
from hippocampe.language.lexicon import words_of
from hippocampe.language.temporal.grammar import (
    AMOUNTS,
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
    SHORT_WEEKDAYS,
    TO,
    UNITS,
    VERBS,
    WAYS,
    WORD,
    grammar,
    prefix_role,
)
from hippocampe.language.temporal.resolve import RESOLVERS, Groups, Span, WindowKind, start_of_day
from hippocampe.language.text import APOSTROPHE, STOP_WORDS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # start of open windows such as "before May"


_CLAUSE = 120  # characters of a clause, on each side, that may say how long something takes
_BREAK = re.compile(r"[.,;:!?\n]")
_NEXT_WORD = re.compile(r"(?:'s)?(?:[ \t]+|-)(\w+)")
_MAY_FOLLOW = STOP_WORDS - words_of("grammar.be") - PLACED["not_before"]
"""Words that may follow a time which is no attribute of a noun."""
_DETERMINERS = (
    words_of("grammar.own") | words_of("grammar.others_own") | words_of("grammar.indefinite")
)
_AT = words_of("grammar.at")
_LASTING = re.compile(
    rf"n't\b|\b(?:{'|'.join(words_of('lasting', file='time') | words_of('past_auxiliaries') | words_of('past_forms'))}"
    rf"|\w+(?:{'|'.join(words_of('past_endings'))}))\b"
)
"""Words by which "in three days" is how long something took: "I built it in three days", "I can do it in an hour"."""
LONGEST_EVENT = timedelta(days=10)
"""Longest time of an event: "last month" does not determine a day."""
MAX_EVENT_CHARACTERS = 500
"""Characters of a statement searched for the time of its event. Longer statements tell several events."""


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
        """The role of its first word: since, after, before, until, deadline, between, from."""
        return prefix_role(self.match["link"] or "")


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
    folded, places = _folded(text)
    best: tuple[timedelta, TimeWindow] | None = None
    expressions = (
        replace(each, span=_coming(each, here)) if ahead or each.link == "deadline" else each
        for each in _expressions(folded, text, places, here, ahead=ahead)
    )
    for start, end, (first, last), kind in _windows(expressions, here):
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
        The middle of the time named, UTC; noon for a day. A night is on the day on which it begins.

    Raises:
        InvalidInput: `now` has no timezone, or `timezone` is unknown.
    """
    found = _event(text, as_utc(now, name="now").astimezone(as_zone(timezone)))
    return _middle(found) if found else None


def days_told(
    text: str, *, now: datetime, timezone: str | ZoneInfo, past: bool
) -> list[tuple[datetime, datetime]]:
    """Find the days that a statement gives relative to now: "yesterday", "on Tuesday", "since last week".

    A date that is the same whenever it is told is left out, and so is a habit.

    Args:
        text: A statement, of any length.
        now: The time of the statement; aware.
        timezone: Zone of the speaker.
        past: Whether it tells of the past, so that a bare weekday is the last one; else it is today or the next one.

    Returns:
        For each expression the start of its first day and the end of its last one, UTC.

    Raises:
        InvalidInput: `now` has no timezone, or `timezone` is unknown.
    """
    here = as_utc(now, name="now").astimezone(as_zone(timezone))
    folded, places = _folded(text[:MAX_EVENT_CHARACTERS])
    days: list[tuple[datetime, datetime]] = []
    for found in _expressions(folded, text, places, here):
        if not found.sure or found.name not in _OF_NOW:
            continue
        start, end = found.span if past else _coming(found, here)
        last = start_of_day(end - timedelta.resolution)
        days.append(_utc((start_of_day(start), last + DAY)))
    return days


def _coming(found: _Expression, here: datetime) -> Span:
    """The span of an expression; for a bare weekday or a date without a year that is over, the next one."""
    start, end = found.span
    if found.link in ("since", "after") or end > start_of_day(here):
        return start, end
    bare = _OTHERS_AHEAD.isdisjoint(found.groups)
    this_weekend = _kind(found) == "weekend" and WAYS.get(found.groups.get("way", "")) == "this"
    if this_weekend or (bare and found.name in ("dayname", "weekend")):
        return start + 7 * DAY, end + 7 * DAY
    if bare and found.name in _REPEATED:
        later = (here + days * DAY for days in _REPEATED[found.name])
        spans = (RESOLVERS[found.name][0](found.groups, each) for each in later)
        return next((span for span in spans if span and span[1] > here), found.span)
    return start, end


_OTHERS_AHEAD: Final = frozenset({"way", "week", "oneweek", "twoweeks", "year"})
"""Parts of an expression that say which of several times it means."""
_REPEATED: Final = {
    **dict.fromkeys(
        ("date", "date_after", "short", "days", "days_after", "month", "feast", "season"), (365,)
    ),
    "day_of_month": (31, 62),
}
"""The kinds of expressions that name a time of each year or month, with the days after which the next one has begun."""
_OF_NOW: Final = frozenset(
    (
        "day",
        "ago",
        "ago_after",
        "later",
        "part",
        "dayname",
        "weekday_and_day",
        "period",
        "weekends",
        "rolling",
    )
)
"""The kinds of expressions that name another time on another day."""


def is_vague_event(text: str, at: datetime, *, now: datetime, timezone: str | ZoneInfo) -> bool:
    """Return whether a statement dates its event by a longer time than a day: "last week", "a few days ago".

    Args:
        text: A statement, of any length.
        at: The time of the event; False if it is another than the one that `parse_event` finds.
        now: The time of the statement; aware.
        timezone: Zone of the speaker.

    Raises:
        InvalidInput: `now` has no timezone, or `timezone` is unknown.
    """
    found = _event(text, as_utc(now, name="now").astimezone(as_zone(timezone)))
    if found is None or _middle(found) != at:
        return False
    start, end = found.span
    return end - start > DAY and not _counts_days(found)


def _event(text: str, here: datetime) -> _Expression | None:
    """The only time expression of a statement, if it tells when an event happens."""
    folded, places = _folded(text[:MAX_EVENT_CHARACTERS])
    found = [each for each in _expressions(folded, text, places, here) if each.sure]
    return found[0] if len(found) == 1 and _is_event(found[0]) else None


def _middle(found: _Expression) -> datetime:
    start, end = found.span
    if _kind(found) == "part":
        # The middle of a night is midnight, which is the next day.
        end = min(end, start_of_day(start) + DAY)
    start, end = _utc((start, end))
    return start + (end - start) / 2


def _counts_days(found: _Expression) -> bool:
    """Return whether an expression gives a number of days: "3 days ago", whose window is wider than a day."""
    groups = found.groups
    low, high = AMOUNTS.get(groups.get("low", ""), (0, 0))
    return low == high and "high" not in groups and UNITS.get(groups.get("unit", "")) == DAY


def _is_event(found: _Expression) -> bool:
    """Return whether an expression is a short time at a distance from now."""
    start, end = found.span
    if found.link or found.match["portion"] or end - start > LONGEST_EVENT:
        return False
    match found.name:
        case "day" | "ago" | "ago_after" | "later":
            return "within" not in found.groups
        case "part":
            return "past" in found.groups or _is_other(found)
        case "dayname":
            weeks = {"week", "oneweek", "twoweeks"}
            return not weeks.isdisjoint(found.groups) or _is_other(found)
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
        if APOSTROPHE.match(character):
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
    folded: str, text: str, places: Sequence[int], now: datetime, *, ahead: bool = False
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
            confirms = _CONFIRMS.get(name)
            capital = "month" in groups and text[places[match.start(f"{name}_month")]].isupper()
            around = _Surroundings.of(match, groups, capital=capital, ahead=ahead)
            sure = confirms is None or confirms(groups, around)
            yield _Expression(match, name, groups, span, sure)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The words around the core of an expression: "may", "mars" or "2022" alone may be no time.

    Attributes:
        place: Its preposition: "en", "in".
        article: Its article.
        link: Its first word: "since", "from".
        before: The characters before it.
        alone: Whether no noun follows that it may describe: "Sunday lunch", "the 27th floor".
        lasts: Whether it tells how long something takes: "I built it in three days".
        capital: Whether its month is written with a capital.
        bound: Whether a word is used with times only: "since", "early", "next".
        ahead: Whether the sentence is about what is to come.
    """

    place: str
    article: str
    link: str
    before: str
    alone: bool
    lasts: bool
    capital: bool
    bound: bool
    ahead: bool

    @property
    def word_before(self) -> str:
        """The word before it; empty at the beginning."""
        return self.before.split(" ")[-2]

    @classmethod
    def of(
        cls, match: re.Match[str], groups: Groups, *, capital: bool, ahead: bool
    ) -> "_Surroundings":
        place, article, link = (
            " ".join((match[group] or "").split()) for group in ("place", "article", "link")
        )
        after = _NEXT_WORD.match(match.string, match.end())
        return cls(
            place=place,
            article=article,
            link=link,
            before=f" {match.string[max(0, match.start() - 12) : match.start()]}",
            lasts="lasts" in groups and _LASTING.search(_clause_around(match)) is not None,
            alone=after is None or after[1][0].isdigit() or after[1] in _MAY_FOLLOW,
            capital=capital,
            bound=prefix_role(link) not in ("", "from", "between")
            or bool(match["about"] or match["portion"])
            or "way" in groups,
            ahead=ahead,
        )


def _clause_around(match: re.Match[str]) -> str:
    """The other words of the clause of an expression."""
    text, (start, end) = match.string, match.span()
    before = _BREAK.split(text[max(0, start - _CLAUSE) : start])[-1]
    return before + _BREAK.split(text[end : end + _CLAUSE])[0]


def _confirms_short_date(groups: Groups, around: _Surroundings) -> bool:
    placed = not PLACED["date"].isdisjoint((around.article, around.place, around.link))
    placed = placed or "weekday" in groups
    return (around.bound or placed) and (groups["day"], groups["month"]) != ("24", "7")


def _confirms_date(groups: Groups, around: _Surroundings) -> bool:
    if groups["month"] not in VERBS or around.capital or around.bound:
        return True
    return "ordinal" in groups or "year" in groups or around.place in PLACED["date"]


def _confirms_month(groups: Groups, around: _Surroundings) -> bool:
    month, way = groups["month"], groups.get("way")
    if "year" in groups:
        return True
    if month not in FULL_MONTHS:
        return False
    verb = month in VERBS and not around.capital
    if verb and way and (WAYS.get(way) == "this" or around.article):
        return False  # "this may help", "the next march"
    if month in CAPITAL_MONTHS and around.capital and not way:
        return around.place == CAPITAL_MONTHS[month]  # "Mars" alone is the planet
    return around.bound or around.place in PLACED["month"]


def _confirms_weekday(groups: Groups, around: _Surroundings) -> bool:
    if not {"oneweek", "twoweeks"}.isdisjoint(groups):
        return True
    if groups["weekday"] in SHORT_WEEKDAYS:
        return around.alone and (around.bound or around.place in PLACED["date"])
    if around.before.endswith(HABITS[groups["weekday"]]):  # "tous les lundis"
        return groups["weekday"] in BARE_WEEKDAYS and around.bound
    of_habit = around.link in HABIT["habit_links"]
    if groups["weekday"] not in BARE_WEEKDAYS:
        named = "part" in groups or "week" in groups or around.place in PLACED["date"]
        if around.bound or named or (prefix_role(around.link) == "from" and not of_habit):
            return True
        determined = not _DETERMINERS.isdisjoint((around.place, around.word_before))
        return around.alone and not (around.article or determined)
    habit = around.article in HABIT["habit_articles"] or around.place in HABIT["habit_places"]
    return around.bound or not (habit or of_habit)


def _confirms_weekday_and_day(groups: Groups, around: _Surroundings) -> bool:
    if around.before.endswith(HABITS[groups["weekday"]]):
        return False
    if groups["weekday"] in BARE_WEEKDAYS:
        return True
    return "ordinal" in groups or around.bound or around.place in PLACED["date"]


def _confirms_season(groups: Groups, around: _Surroundings) -> bool:
    if around.bound or around.place in PLACED["season"]:
        return True
    placed = groups["season"] not in OTHER_SENSES or around.article or around.place
    return "year" in groups and bool(placed)


def _confirms_feast(groups: Groups, around: _Surroundings) -> bool:
    return around.ahead or around.bound or "year" in groups or around.place in PLACED["feast"]


def _confirms_weekend(_groups: Groups, around: _Surroundings) -> bool:
    habit = around.before.endswith(tuple(HABIT["each"]))
    return around.bound or around.place in PLACED["weekend"] or (around.ahead and not habit)


def _confirms_part(groups: Groups, around: _Surroundings) -> bool:
    """Confirm a part of the day: "in the morning" is a habit, but of a plan."""
    named = "part" not in groups or "way" in groups
    placed = not PLACED["part"].isdisjoint((around.place, around.word_before))
    return named or (around.ahead and placed)


def _confirms_day_of_month(groups: Groups, around: _Surroundings) -> bool:
    placed = "ordinal" in groups and (around.bound or around.place in PLACED["date"])
    placed = placed or (around.article in PLACED["date"] and around.word_before not in _AT)
    return around.alone and placed


def _confirms_later(_groups: Groups, around: _Surroundings) -> bool:
    return not around.lasts


def _confirms_year(groups: Groups, around: _Surroundings) -> bool:
    return around.bound or "called" in groups or around.place in PLACED["year"]


_CONFIRMS: Final[Mapping[str, Callable[[Groups, _Surroundings], bool]]] = {
    "short": _confirms_short_date,
    "date": _confirms_date,
    "date_after": _confirms_date,
    "month": _confirms_month,
    "dayname": _confirms_weekday,
    "weekday_and_day": _confirms_weekday_and_day,
    "season": _confirms_season,
    "feast": _confirms_feast,
    "weekend": _confirms_weekend,
    "part": _confirms_part,
    "day_of_month": _confirms_day_of_month,
    "later": _confirms_later,
    "year": _confirms_year,
}
"""The confirmation of an expression by its surroundings, by its kind; all other kinds are sure."""


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
        case "deadline":
            return (min(now, start), end), kind
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
