"""Read the bundled talk, with its dates and those that it names moved to the present."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from importlib.resources import files
from typing import Any, cast
from zoneinfo import ZoneInfo

from babel.dates import get_day_names, get_month_names

ZONE = ZoneInfo("Europe/Paris")
TIMES = ("at", "occurred_at", "asked_at")
TEXTS = ("content", "question", "about")

_LANGUAGES = ("en", "fr")
_MONTH_NAMES = {code: cast("dict[int, str]", get_month_names(locale=code)) for code in _LANGUAGES}
_DAY_NAMES = {code: cast("dict[int, str]", get_day_names(locale=code)) for code in _LANGUAGES}
_MONTHS = {
    name: (number, code) for code, names in _MONTH_NAMES.items() for number, name in names.items()
}
_WEEKDAYS = {
    name.lower(): (number, code)
    for code, names in _DAY_NAMES.items()
    for number, name in names.items()
}
_DATE = re.compile(
    r"(?:(?P<first>\d{1,2})(?P<to> au (?:[^\W\d]+ )?))?(?:(?P<day>1er|\d{1,2}) )?(?P<of>\bde |\bd['’])?"
    rf"\b(?P<month>{'|'.join(_MONTHS)})\b(?: (?P<year>\d{{4}}))?"
)
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(_WEEKDAYS)})(?=s?\b)", re.IGNORECASE)
_MIDDLE = "15"
"""The day assumed for a month without one."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The bundled talk, statements and questions, oldest first."""

    messages: Sequence[Mapping[str, Any]]
    statements: Sequence[Mapping[str, Any]]
    questions: Sequence[Mapping[str, Any]]


def at(row: Mapping[str, Any]) -> datetime:
    """The time of a message or a statement."""
    return row["at"]


def load_sample(now: datetime) -> Sample:
    """The sample, moved by whole days so that its last question is asked within a day before a time."""
    folder = files("hippocampe") / "sample"
    talk, statements = (
        [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]
        for name in ("messages.jsonl", "memories.jsonl")
    )
    questions = json.loads((folder / "questions.json").read_text("utf-8"))
    end = max(datetime.fromisoformat(each["asked_at"]) for each in questions)
    days = (now.astimezone(ZONE).date() - end.date()).days
    if _moved(end, days) > now:
        days -= 1
    return Sample(
        *([_moved_row(row, days) for row in each] for each in (talk, statements, questions))
    )


def _moved_row(row: Mapping[str, Any], days: int) -> dict[str, Any]:
    said = datetime.fromisoformat(row["at"] if "at" in row else row["asked_at"]).date()

    def moved(name: str, value: Any) -> Any:
        if name in TIMES:
            return _moved(datetime.fromisoformat(value), days)
        if name == "expect":
            return [moved_text(each, days, said) for each in value]
        return moved_text(value, days, said) if name in TEXTS else value

    return {name: moved(name, value) for name, value in row.items()}


def _moved(time: datetime, days: int) -> datetime:
    """The same time of the day in Paris, some days later."""
    return time.astimezone(ZONE) + timedelta(days=days)


def moved_text(text: str, days: int, said: date) -> str:
    """Move the dates, months and weekdays that a text names, in English and in French.

    Args:
        said: When it was said: a date without a year is the nearest one.
    """

    def moved(found: re.Match[str]) -> str:
        month, language = _MONTHS[found["month"]]
        day = int((found["day"] or _MIDDLE).removesuffix("er"))
        years = [int(found["year"])] if found["year"] else range(said.year - 1, said.year + 2)
        old = min((date(year, month, day) for year in years), key=lambda each: abs(each - said))
        new = old + timedelta(days=days)
        shown = _MONTH_NAMES[language][new.month]
        if found["of"]:
            shown = f"d'{shown}" if shown[0] in "ao" else f"de {shown}"
        if found["year"]:
            shown += f" {new.year}"
        if found["day"]:
            shown = f"{_day(new, language)} {shown}"
        if found["first"]:
            first = old.replace(day=int(found["first"])) + timedelta(days=days)
            name = "" if first.month == new.month else f" {_MONTH_NAMES[language][first.month]}"
            shown = f"{_day(first, language)}{name}{found['to']}{shown}"
        return shown

    def turned(found: re.Match[str]) -> str:
        number, language = _WEEKDAYS[found[0].lower()]
        name = _DAY_NAMES[language][(number + days) % 7]
        return name.capitalize() if found[0][0].isupper() else name

    return _WEEKDAY.sub(turned, _DATE.sub(moved, text))


def _day(at: date, language: str) -> str:
    return "1er" if language == "fr" and at.day == 1 else str(at.day)
