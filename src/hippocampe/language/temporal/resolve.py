"""What each expression of the grammar stands for: from its words to a span of time.

Pure: the clock is always given, and its zone is where days begin. A date without a year looks back,
since what is looked for is remembered: "en mars" is the latest March that has begun. A reader gives
None for a date that does not exist.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal

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
    STEPS,
    UNITS,
    WAYS,
    WEEKDAYS,
)
from hippocampe.language.text import MONTHS

Kind = Literal[
    "moment", "part", "day", "weekend", "week", "month", "season", "holiday", "year",
    "rolling", "range", "since", "before",
]  # fmt: skip
Span = tuple[datetime, datetime]
Words = dict[str, str]

_SOME = 6.0
"""How many "ces derniers jours" may be."""


def _midnight(now: datetime, year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=now.tzinfo)
    except ValueError:  # 31 June, 29 February
        return None


def start_of_day(now: datetime) -> datetime:
    """The first moment of that day, in the zone of ``now``."""
    return datetime(now.year, now.month, now.day, tzinfo=now.tzinfo)


def _occurrence(words: Words, now: datetime, at: Callable[[int], Span | None]) -> Span | None:
    """The year's occurrence that is meant: the named year, or by default the latest begun."""
    if "year" in words:
        return at(int(words["year"]) + 2000 * (len(words["year"]) == 2))
    spans = [span for year in range(now.year - 4, now.year + 5) if (span := at(year))]
    way = WAYS.get(words.get("way", ""))
    if way == "next":
        return next((span for span in spans if span[0] > now), None)
    if way == "this":
        return min(spans, key=lambda span: max(span[0] - now, now - span[1]), default=None)
    past = [span for span in spans if (span[1] if way == "last" else span[0]) <= now]
    return past[-1] if past else None


def _read_date(words: Words, now: datetime) -> Span | None:
    day = 1 if words["day"] in FIRST_DAY else int(words["day"])
    month = MONTHS.get(words["month"]) or int(words["month"])
    if month > 12 >= day and "by" in words:
        day, month = month, day  # 05/17/2023 can only be American
    first = int(words.get("first", day))

    def at(year: int) -> Span | None:
        start, end = (_midnight(now, year, month, first), _midnight(now, year, month, day))
        return (start, end + DAY) if start and end and start <= end else None

    return _occurrence(words, now, at)


def _read_month(words: Words, now: datetime) -> Span | None:
    month = MONTHS[words["month"]]

    def at(year: int) -> Span:
        start = datetime(year, month, 1, tzinfo=now.tzinfo)
        return start, _add_months(start, 1)

    return _occurrence(words, now, at)


def _add_months(start: datetime, months: int) -> datetime:
    index = start.year * 12 + start.month - 1 + months
    return start.replace(year=index // 12, month=index % 12 + 1, day=1)


def _read_year(words: Words, now: datetime) -> Span:
    start = datetime(int(words["year"]), 1, 1, tzinfo=now.tzinfo)
    return start, start.replace(year=start.year + 1)


def _read_season(words: Words, now: datetime) -> Span | None:
    first, last = SEASONS[words["season"]]

    def at(year: int) -> Span:
        start = datetime(year, *first, tzinfo=now.tzinfo)
        return start, datetime(year + (last < first), *last, tzinfo=now.tzinfo)

    return _occurrence(words, now, at)


def _read_feast(words: Words, now: datetime) -> Span | None:
    """Two days on each side: a feast is lived and told on its eve and on the days after."""
    fixed = FEASTS[words["feast"]]

    def at(year: int) -> Span:
        month, day = _easter(year) if EASTER in fixed else fixed
        start = datetime(year, month, day, tzinfo=now.tzinfo)
        return start - 2 * DAY, start + 3 * DAY

    return _occurrence(words, now, at)


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


def _part(words: Words) -> str | None:
    return PARTS.get(words.get("part", ""))


def _read_day(words: Words, now: datetime) -> Span:
    return _part_of(start_of_day(now) + DAYS[words["word"]] * DAY, _part(words))


def _read_dayname(words: Words, now: datetime) -> Span:
    today, weekday = start_of_day(now), WEEKDAYS[words["weekday"]]
    monday = today - today.weekday() * DAY
    way = WAYS.get(words.get("way", ""))
    if "week" in words:
        day = monday + (weekday - 7) * DAY
    elif way == "this":
        day = monday + weekday * DAY
    elif way == "next":
        day = today + ((weekday - today.weekday() - 1) % 7 + 1) * DAY
    else:
        day = today - ((today.weekday() - weekday - 1) % 7 + 1) * DAY
    return _part_of(day, _part(words))


def _read_part(words: Words, now: datetime) -> Span | None:
    if "tonight" in words:
        return _part_of(start_of_day(now), "night")
    part = "night" if "past" in words else PARTS[words["part"]]
    last = "past" in words or WAYS.get(words["way"]) == "last"
    if last and part != "night":
        return None if part != "evening" else _part_of(start_of_day(now) - DAY, part)
    # "cette nuit", said in the day, is the night that ended.
    back = part == "night" and (last or now.hour < 18)
    return _part_of(start_of_day(now) - back * DAY, part)


def _read_period(words: Words, now: datetime) -> Span:
    way = WAYS.get(words.get("way", "this"), "this")
    step = -2 if "twice" in words else STEPS[way]
    unit, today = PERIODS.get(words["unit"]), start_of_day(now)
    monday = today - today.weekday() * DAY
    if unit == "week":
        return monday + step * 7 * DAY, monday + (step + 1) * 7 * DAY
    if unit == "month":
        return _add_months(today, step), _add_months(today, step + 1)
    if unit == "year":
        start = today.replace(month=1, day=1)
        return _add_months(start, 12 * step), _add_months(start, 12 * (step + 1))
    if step == 0:
        step = -1 if today.weekday() < 2 else 0  # on a Monday, "this weekend" is the one just lived
    elif step == 1:
        step = 0 if today.weekday() < 5 else 1
    return _weekend(monday, step)


def _weekend(monday: datetime, weeks: int) -> Span:
    """Friday evening belongs to it in speech."""
    end = monday + (7 + 7 * weeks) * DAY
    return end - timedelta(hours=54), end


def _read_weekends(words: Words, now: datetime) -> Span:
    monday = start_of_day(now) - now.weekday() * DAY
    return _weekend(monday, -round(_numbers(words["count"])[0]))


def _numbers(word: str) -> tuple[float, float]:
    if word in AMOUNTS:
        return AMOUNTS[word]
    number = float(word.replace(",", "."))
    return number, number


def _read_ago(words: Words, now: datetime) -> Span:
    """A point some units away, and room around it.

    People name the nearest round number, and change unit when that is too coarse ("10 days", "18
    months"): a quarter of the unit. And the further away, the vaguer the memory, in proportion
    (Weber's law): an eighth of the distance. Three weeks give 9 days, 3 days give 3, 2 give 1.
    """
    unit, half = UNITS[words["unit"]], 0.5 * ("half" in words)
    low, high = (half + n for n in _numbers(words["low"]))
    if "high" in words:
        high = max(low, _numbers(words["high"])[1])
    near = unit * low - unit * (low / 8 + 0.25)
    far = unit * high + unit * (high / 8 + 0.25)
    if "ahead" in words:
        near, far = -far, -near
    if unit < DAY:
        margin, now = timedelta(minutes=5), now.astimezone(UTC)
        return now - far - margin, now - near + margin
    noon = start_of_day(now) + DAY / 2  # whole days, whatever the hour of the question
    return start_of_day(noon - far), start_of_day(noon - near - timedelta(seconds=1)) + DAY


def _read_later(words: Words, now: datetime) -> Span:
    return _read_ago(words | {"ahead": ""}, now)


def _read_rolling(words: Words, now: datetime) -> Span:
    unit = UNITS[words["unit"]]
    count = _numbers(words["low"])[1] if "low" in words else _SOME
    if "one" in words:
        count = 1.0
    if unit < DAY:
        return now.astimezone(UTC) - unit * count, now
    return start_of_day(now - unit * count), now


def _read_lately(words: Words, now: datetime) -> Span:
    return start_of_day(now - 30 * DAY), now


Reader = Callable[[Words, datetime], Span | None]
READERS: dict[str, tuple[Reader, Kind]] = {
    "iso": (_read_date, "day"), "full": (_read_date, "day"), "short": (_read_date, "day"),
    "days": (_read_date, "range"), "days_after": (_read_date, "range"),
    "date": (_read_date, "day"), "date_after": (_read_date, "day"),
    "month": (_read_month, "month"), "dayname": (_read_dayname, "day"),
    "day": (_read_day, "day"), "part": (_read_part, "part"), "period": (_read_period, "week"),
    "season": (_read_season, "season"), "feast": (_read_feast, "holiday"),
    "ago": (_read_ago, "moment"), "ago_after": (_read_ago, "moment"),
    "later": (_read_later, "moment"), "weekends": (_read_weekends, "weekend"),
    "rolling": (_read_rolling, "rolling"), "lately": (_read_lately, "rolling"),
    "year": (_read_year, "year"),
}  # fmt: skip
