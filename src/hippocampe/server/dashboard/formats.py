"""Numbers and times in the format of the reader's language."""

from datetime import date, datetime
from functools import lru_cache

from babel import Locale
from babel.dates import format_date
from babel.numbers import format_currency, format_decimal

from hippocampe.language.humanize import clock_label, date_and_time, relative_time
from hippocampe.server.dashboard.wording import Language


@lru_cache(maxsize=4_096)
def number(value: float, language: Language, digits: int = 0) -> str:
    """A number with `digits` decimals: `1,204` or `1 204`."""
    pattern = "#,##0" + ("." + "0" * digits if digits else "")
    return format_decimal(value, pattern, locale=language)


def dollars(value: float, language: Language) -> str:
    """An amount of US dollars: `$0.25`, `0,25 $US`; amounts under a cent have two more digits."""
    pattern = Locale(language).currency_formats["standard"].pattern
    if 0 < value < 0.01:
        pattern = pattern.replace("0.00", "0.0000")
    return format_currency(value, "USD", pattern, locale=language, currency_digits=False)


def ago(at: datetime, *, now: datetime, zone: str, language: Language) -> str:
    """A time relative to now: `3 days ago`, `il y a 3 jours`."""
    return relative_time(at, now=now, timezone=zone, language=language)


def exact(at: datetime, *, zone: str, language: Language) -> str:
    """A time with its weekday: `Sat Jan 17, 2026, 22:19`."""
    return date_and_time(at, timezone=zone, language=language)


def clock(at: datetime, *, now: datetime, zone: str, language: Language) -> str:
    """A short time: its hour, after its day and month: `17/01 10:23`."""
    return clock_label(at, zone, language, now=now)


@lru_cache(maxsize=1_024)
def day(at: date, language: Language, pattern: str) -> str:
    """A day by a pattern of Unicode: `EEE` is `Sat`, `d MMM` is `17 Jan`."""
    return format_date(at, pattern, locale=language)
