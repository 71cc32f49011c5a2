"""Compute the time span of each kind of time expression.

The current time is an argument, and days begin in its zone. A date without a year resolves to the
past, because queries search memories: "en mars" is the latest March that has begun. Resolvers return
None for a date that does not exist.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal

from hippocampe.language.calendar import MONTHS, WEEKDAYS
from hippocampe.language.temporal.grammar import (
    AMOUNTS,
    DAY,
    DAYS,
    EASTER,
    FEASTS,
    FIRST_DAY,
    HOURS,
    PARTS,
    PERIODS,
    SEASONS,
    SHORT_WEEKDAYS,
    STEPS,
    UNITS,
    WAYS,
)

WindowKind = Literal[
    "moment", "part", "day", "weekend", "week", "month", "season", "holiday", "year",
    "rolling", "range", "since", "before",
]  # fmt: skip
Span = tuple[datetime, datetime]
Groups = dict[str, str]
"""Matched text by short group name."""

_UNSTATED_COUNT = 6.0
"""Units covered by an expression without a number ("ces derniers jours")."""
_MONTHS_UNNAMED = 2
"""Months before and after this one in which a date without a month may be."""


def _midnight(now: datetime, year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=now.tzinfo)
    except ValueError:  # 31 June, 29 February
        return None


def start_of_day(now: datetime) -> datetime:
    """Return midnight of the day of `now`, in its zone."""
    return datetime(now.year, now.month, now.day, tzinfo=now.tzinfo)


def in_utc(span: Span) -> Span:
    """Return a span in UTC."""
    return span[0].astimezone(UTC), span[1].astimezone(UTC)


def _occurrence(groups: Groups, now: datetime, at: Callable[[int], Span | None]) -> Span | None:
    """Return the occurrence in the stated year, or by default the latest one that has begun."""
    if "year" in groups:
        return at(int(groups["year"]) + 2000 * (len(groups["year"]) == 2))
    spans = [span for year in range(now.year - 4, now.year + 5) if (span := at(year))]
    way = WAYS.get(groups.get("way", ""))
    if way == "next":
        return next((span for span in spans if span[0] > now), None)
    if way == "this":
        return _nearest(spans, now)
    past = [span for span in spans if (span[1] if way == "last" else span[0]) <= now]
    return past[-1] if past else None


def _nearest(spans: Iterable[Span], now: datetime) -> Span | None:
    return min(spans, key=lambda span: max(span[0] - now, now - span[1]), default=None)


def _day_number(groups: Groups) -> int:
    return 1 if groups["day"] in FIRST_DAY else int(groups["day"])


def _resolve_date(groups: Groups, now: datetime) -> Span | None:
    day = _day_number(groups)
    month = MONTHS.get(groups["month"]) or int(groups["month"])
    if month > 12 >= day and "by" in groups:
        day, month = month, day  # 05/17/2023 can only be American
    first = int(groups.get("first", day))

    def at(year: int) -> Span | None:
        start, end = (_midnight(now, year, month, first), _midnight(now, year, month, day))
        return (start, end + DAY) if start and end and start <= end else None

    if "weekday" in groups and "year" not in groups and "way" not in groups:
        weekday, years = WEEKDAYS[groups["weekday"]], range(now.year - 4, now.year + 5)
        fitting = (span for span in map(at, years) if span and span[0].weekday() == weekday)
        if found := _nearest(fitting, now):
            return found
    return _occurrence(groups, now, at)


def _resolve_weekday_and_day(groups: Groups, now: datetime) -> Span | None:
    """Resolve "Monday the 16th" to the nearest month in which both fit; further ones are rather named."""
    days = _days_of_months(groups, now, range(-_MONTHS_UNNAMED, _MONTHS_UNNAMED + 1))
    weekday = WEEKDAYS[groups["weekday"]]
    return _nearest((span for span in days if span[0].weekday() == weekday), now)


def _resolve_day_of_month(groups: Groups, now: datetime) -> Span | None:
    """Resolve "the 27th" to the latest one that has begun."""
    days = _days_of_months(groups, now, range(0, -1 - _MONTHS_UNNAMED, -1))
    return next((span for span in days if span[0] <= now), None)


def _days_of_months(groups: Groups, now: datetime, months: Iterable[int]) -> Iterator[Span]:
    """Yield a day of the month, in months counted from this one."""
    this = now.year * 12 + now.month - 1
    for month in (this + each for each in months):
        if at := _midnight(now, month // 12, month % 12 + 1, _day_number(groups)):
            yield at, at + DAY


def _resolve_month(groups: Groups, now: datetime) -> Span | None:
    month = MONTHS[groups["month"]]

    def at(year: int) -> Span:
        start = datetime(year, month, 1, tzinfo=now.tzinfo)
        return start, _add_months(start, 1)

    return _occurrence(groups, now, at)


def _resolve_part_of(groups: Groups, now: datetime) -> Span | None:
    """Resolve "the last two weeks of August 2023" to the first or last units of the month."""
    span = _resolve_month(groups, now)
    if span is None:
        return None
    start, end = span
    count = _numbers(groups["low"])[1] if "low" in groups else 1.0
    if groups["unit"] not in UNITS:
        if "first" in groups:
            start += (-start.weekday() % 7 - 1) * DAY
            return _weekend(_monday(start), 0)
        return _weekend(_monday(end - DAY), -((end - DAY).weekday() < 5))
    length = UNITS[groups["unit"]] * count
    if "first" in groups:
        return start, min(start + length, end)
    return max(end - length, start), end


def _add_months(start: datetime, months: int) -> datetime:
    index = start.year * 12 + start.month - 1 + months
    return start.replace(year=index // 12, month=index % 12 + 1, day=1)


def _resolve_year(groups: Groups, now: datetime) -> Span:
    start = datetime(int(groups["year"]), 1, 1, tzinfo=now.tzinfo)
    return start, start.replace(year=start.year + 1)


def _resolve_season(groups: Groups, now: datetime) -> Span | None:
    first, last = SEASONS[groups["season"]]

    def at(year: int) -> Span:
        start = datetime(year, *first, tzinfo=now.tzinfo)
        return start, datetime(year + (last < first), *last, tzinfo=now.tzinfo)

    return _occurrence(groups, now, at)


def _resolve_feast(groups: Groups, now: datetime) -> Span | None:
    """Add two days on each side: people mention a feast on its eve and in the days after."""
    fixed = FEASTS[groups["feast"]]

    def at(year: int) -> Span:
        month, day = _easter(year) if EASTER in fixed else fixed
        start = datetime(year, month, day, tzinfo=now.tzinfo)
        return start - 2 * DAY, start + 3 * DAY

    return _occurrence(groups, now, at)


def _easter(year: int) -> tuple[int, int]:
    """Month and day of Easter Sunday (the anonymous Gregorian algorithm, Nature, 1876)."""
    golden, (century, rest) = year % 19, divmod(year, 100)
    leap = century - century // 4 - (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + leap + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return month, day + 1


def _part_of(day: datetime, part: str | None) -> Span:
    if part is None:
        return day, day + DAY
    first, last = HOURS[part]
    return day + timedelta(hours=first), day + timedelta(hours=last)


def _part(groups: Groups) -> str | None:
    return PARTS.get(groups.get("part", ""))


def _resolve_day(groups: Groups, now: datetime) -> Span:
    return _part_of(start_of_day(now) + DAYS[groups["word"]] * DAY, _part(groups))


def _resolve_dayname(groups: Groups, now: datetime) -> Span:
    today, name = start_of_day(now), groups["weekday"]
    weekday, monday = WEEKDAYS.get(name, SHORT_WEEKDAYS.get(name, 0)), _monday(today)
    weeks = 2 * ("twoweeks" in groups) + ("oneweek" in groups)
    way = WAYS.get(groups.get("way", ""))
    if weeks:
        day = today + ((weekday - today.weekday() - 1) % 7 + 1 + 7 * weeks) * DAY
    elif "week" in groups:
        day = monday + (weekday - 7) * DAY
    elif way == "this":
        day = monday + weekday * DAY
    elif way == "next":
        day = today + ((weekday - today.weekday() - 1) % 7 + 1) * DAY
    else:
        day = today - ((today.weekday() - weekday - 1) % 7 + 1) * DAY
    return _part_of(day, _part(groups))


def _resolve_part(groups: Groups, now: datetime) -> Span | None:
    if "tonight" in groups:
        return _part_of(start_of_day(now), "night")
    part = "night" if "past" in groups else PARTS[groups["part"]]
    if "past" not in groups and "way" not in groups:
        start, end = _part_of(start_of_day(now), part)
        return (start, end) if end > now else (start + DAY, end + DAY)
    last = "past" in groups or WAYS.get(groups["way"]) == "last"
    if last and part != "night":
        return None if part != "evening" else _part_of(start_of_day(now) - DAY, part)
    # In the daytime, "cette nuit" is the previous night.
    back = part == "night" and (last or now.hour < 18)
    return _part_of(start_of_day(now) - back * DAY, part)


def _resolve_period(groups: Groups, now: datetime) -> Span:
    way = WAYS.get(groups.get("way", "this"), "this")
    step = -2 if "twice" in groups else STEPS[way]
    unit, today = PERIODS.get(groups["unit"]), start_of_day(now)
    monday = _monday(today)
    if unit == "week":
        return monday + step * 7 * DAY, monday + (step + 1) * 7 * DAY
    if unit == "month":
        return _add_months(today, step), _add_months(today, step + 1)
    if unit == "year":
        start = today.replace(month=1, day=1)
        return _add_months(start, 12 * step), _add_months(start, 12 * (step + 1))
    if step == 0:
        step = -1 if today.weekday() < 2 else 0  # on Monday, "this weekend" is the past one
    elif step == 1:
        step = 0 if today.weekday() < 5 else 1
    return _weekend(monday, step)


def _monday(day: datetime) -> datetime:
    """The Monday of the week of a day, at its start."""
    return day - day.weekday() * DAY


def _weekend(monday: datetime, weeks: int) -> Span:
    """Return a weekend, including Friday evening as in everyday usage."""
    end = monday + (7 + 7 * weeks) * DAY
    return end - timedelta(hours=54), end


def _resolve_weekend(_groups: Groups, now: datetime) -> Span:
    """Resolve "at the weekend" to the latest one that has begun."""
    monday = _monday(start_of_day(now))
    start, end = _weekend(monday, 0)
    return (start, end) if start <= now else _weekend(monday, -1)


def _resolve_weekends(groups: Groups, now: datetime) -> Span:
    return _weekend(_monday(start_of_day(now)), -round(_numbers(groups["count"])[0]))


def _numbers(word: str) -> tuple[float, float]:
    if word in AMOUNTS:
        return AMOUNTS[word]
    number = float(word.replace(",", "."))
    return number, number


def _resolve_ago(groups: Groups, now: datetime) -> Span:
    """Resolve "3 weeks ago" to an interval around that point.

    The margin is a quarter of the unit, because people round to the nearest number and change units
    when that is too coarse ("10 days", "18 months"), plus an eighth of the distance, because memory
    gets vaguer in proportion (Weber's law). Three weeks give 9 days, 3 days give 3, 2 give 1.
    """
    unit, half = UNITS[groups["unit"]], 0.5 * ("half" in groups)
    low, high = (half + n for n in _numbers(groups["low"]))
    if "high" in groups:
        high = max(low, _numbers(groups["high"])[1])
    near = unit * low - unit * (low / 8 + 0.25)
    far = unit * high + unit * (high / 8 + 0.25)
    if "ahead" in groups:
        near, far = -far, -near
    if unit < DAY:
        margin, now = timedelta(minutes=5), now.astimezone(UTC)
        return now - far - margin, now - near + margin
    noon = start_of_day(now) + DAY / 2  # whole days, independent of the current hour
    return start_of_day(noon - far), start_of_day(noon - near - timedelta(seconds=1)) + DAY


def _resolve_later(groups: Groups, now: datetime) -> Span:
    start, end = _resolve_ago(groups | {"ahead": ""}, now)
    return (now if "within" in groups else start), end


def _resolve_rolling(groups: Groups, now: datetime) -> Span:
    unit = UNITS[groups["unit"]]
    count = _numbers(groups["low"])[1] if "low" in groups else _UNSTATED_COUNT
    if "one" in groups:
        count = 1.0
    if unit < DAY:
        return now.astimezone(UTC) - unit * count, now
    return start_of_day(now - unit * count), now


def _resolve_lately(groups: Groups, now: datetime) -> Span:
    return start_of_day(now - 30 * DAY), now


Resolver = Callable[[Groups, datetime], Span | None]
RESOLVERS: dict[str, tuple[Resolver, WindowKind]] = {
    "part_of": (_resolve_part_of, "range"), "iso": (_resolve_date, "day"), "full": (_resolve_date, "day"), "short": (_resolve_date, "day"),
    "days": (_resolve_date, "range"), "days_after": (_resolve_date, "range"),
    "date": (_resolve_date, "day"), "date_after": (_resolve_date, "day"),
    "weekday_and_day": (_resolve_weekday_and_day, "day"),
    "month": (_resolve_month, "month"), "dayname": (_resolve_dayname, "day"),
    "day": (_resolve_day, "day"), "part": (_resolve_part, "part"), "period": (_resolve_period, "week"),
    "season": (_resolve_season, "season"), "feast": (_resolve_feast, "holiday"),
    "ago": (_resolve_ago, "moment"), "ago_after": (_resolve_ago, "moment"),
    "later": (_resolve_later, "moment"), "weekends": (_resolve_weekends, "weekend"),
    "weekend": (_resolve_weekend, "weekend"), "day_of_month": (_resolve_day_of_month, "day"),
    "rolling": (_resolve_rolling, "rolling"), "lately": (_resolve_lately, "rolling"),
    "year": (_resolve_year, "year"),
}  # fmt: skip
