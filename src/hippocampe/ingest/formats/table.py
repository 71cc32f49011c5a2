"""Read a table as CSV, whose first row names the columns: talk if it says who said each text, statements otherwise.

Excel separates columns by semicolons where decimals have a comma, and writes no UTF-8 unless told to.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from email.utils import parsedate_to_datetime
from functools import cache

from hippocampe.errors import UnreadableFile
from hippocampe.ingest.formats.format import Format
from hippocampe.ingest.formats.jsonl import parse_message
from hippocampe.ingest.formats.passages import about
from hippocampe.ingest.formats.record import (
    ExternalIds,
    Problem,
    Record,
    Statement,
    label_or,
    parse_content,
    parse_moment,
    parse_subjects,
    parsed,
    with_metadata,
)
from hippocampe.ingest.formats.source import Line, Source, read_lines
from hippocampe.language.lexicon import load_all
from hippocampe.language.temporal.window import parse_window
from hippocampe.language.text import fold

_DATE = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})(?:,? +(\d{1,2})(:\d{2}(?::\d{2})?))?")
_MAIL = re.compile(
    r"(?:[A-Za-z]{3}, +)?\d{1,2} [A-Za-z]{3} \d{4} \d{2}:\d{2}(?::\d{2})? (?:[+-]\d{4}|[A-Z]{1,4})(?: \(.*\))?"
)
_CLOCK = re.compile(
    r",?\s+(?:\w{1,2}\s+)?(\d{1,2})[:h](\d{2})(?::(\d{2}))?(?:\s*([AaPp])\.?[Mm]\.?)?$"
)
_YEAR = re.compile(r"\b\d{4}\b")
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""A date with its year is the same at any time."""
_Row = dict[str, str]
_OPEN = f"a cell has no closing quotation mark, or more than {csv.field_size_limit():,} characters"


@cache
def _roles() -> Mapping[str, str]:
    """The roles of columns by their names."""
    return {fold(name): role for role, names in load_all("columns").items() for name in names}


def _header(line: str) -> tuple[list[str], str] | None:
    """The roles or names of the columns of a first line, and what separates them; None if no column has a text."""
    for mark in ",;\t":
        with suppress(csv.Error, StopIteration):
            names = next(csv.reader([line], delimiter=mark))
            columns = [
                _roles().get(" ".join(fold(name).replace("_", " ").split()), name.strip())
                for name in names
            ]
            if len(columns) > 1 and "text" in columns:
                return columns, mark
    return None


def read_table(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read the rows of a table, with dates in ISO 8601, as in mails, in words, or in an order of day and month that is certain.

    Raises:
        UnreadableFile: No column has a text.
    """
    found = _header(next((line.text for line in read_lines(source)), ""))
    if found is None:
        raise UnreadableFile(
            f"cannot import {source.name}: its first row names no column with a text, such as message, memory or note, "
            "beside others."
        )
    ids = ExternalIds("csv")
    said = not {"author", "role"}.isdisjoint(found[0])
    dates = (row.get("at", "") for _, row in _rows(source, *found) if isinstance(row, dict))
    month_at = _month_at(dates, second=found[1] == ";")

    def read(row: _Row | Problem) -> Iterator[Record | Problem]:
        if isinstance(row, Problem):
            yield row
            return
        at = _as_iso(row["at"].strip(), month_at) if "at" in row else None
        if said:
            yield parse_message({**row, "content": row.get("text"), "at": at}, zone, ids)
        else:
            yield from _statement(row, at, zone, ids)

    yield from parsed(_rows(source, *found), read)


def _rows(source: Source, columns: list[str], mark: str) -> Iterator[tuple[int, _Row | Problem]]:
    """The rows below the first, without empty cells, by the number of the last line of each.

    A quotation mark that is never closed would take all lines after it into its cell. A row that breaks the rules of
    quotation is therefore read by its first line alone, and the reading goes on at the next line.
    """
    fresh, again = read_lines(source), deque[Line]()
    taken: list[Line] = []
    broken: list[tuple[int, Problem]] = []

    def lines() -> Iterator[str]:
        while line := again.popleft() if again else next(fresh, None):
            if line.problem:
                broken.append((line.number, Problem(line.number, line.problem)))
            else:
                taken.append(line)
                yield f"{line.text}\n"

    reader = csv.reader(lines(), delimiter=mark, strict=True)
    while True:
        taken.clear()
        try:
            cells = next(reader, None)
        except csv.Error:
            again.extendleft(reversed(taken[1:]))
            reader = csv.reader(lines(), delimiter=mark, strict=True)
            del taken[1:]
            cells = _cells_of(taken[0].text, mark)
        yield from broken
        broken.clear()
        if cells is None:
            return
        number = taken[-1].number
        if not cells and taken[0].text.strip():
            yield number, Problem(number, _OPEN)
        row = {name: cell for name, cell in zip(columns, cells, strict=False) if cell.strip()}
        if number > 1 and row:
            yield number, row


def _cells_of(line: str, mark: str) -> list[str]:
    """The cells of a line that does not follow the rules of quotation; none if one stays open or is too long."""
    with suppress(csv.Error):
        cells = next(csv.reader([f"{line}\n"], delimiter=mark))
        if not cells[-1].endswith("\n"):
            return cells
    return []


def _month_at(dates: Iterable[str], *, second: bool) -> int:
    """The place of the month in dates with the order of their country; 0 if that is not certain.

    Args:
        dates: All dates of the table: a number above 12 is a day.
        second: Whether the month is second if they tell none.
    """
    found = [date for date in map(_DATE.match, dates) if date]
    days = sum((int(date[1]) > 12) - (int(date[2]) > 12) for date in found)
    return 2 if days > 0 or (second and not days) else 1 if days else 0


def _as_iso(date: str, month_at: int) -> str:
    found = _DATE.fullmatch(date)
    if found is None:
        return _dated_by_mail(date) or _dated_in_words(date) or date
    if not month_at:
        return date
    time = f" {int(found[4]):02}{found[5]}" if found[4] else ""
    return f"{found[3]}-{int(found[month_at]):02}-{int(found[3 - month_at]):02}{time}"


def _dated_by_mail(date: str) -> str | None:
    """The date of a mail (RFC 2822) in ISO 8601: "Sun, 3 Mar 2024 14:30:00 +0100"."""
    with suppress(ValueError):
        return parsedate_to_datetime(date).isoformat() if _MAIL.fullmatch(date) else None
    return None


def _dated_in_words(date: str) -> str | None:
    """A day with the name of its month in ISO 8601: "3 mars 2024 à 14h30", "March 3, 2024"."""
    clock = _CLOCK.search(date)
    day = date[: clock.start()] if clock else date
    found = parse_window(day, now=_ANY_TIME, timezone="UTC") if _YEAR.search(day) else None
    if found is None or found.kind != "day" or found.text != day:
        return None
    time = ""
    if clock:
        hour = int(clock[1]) % 12 + 12 * (clock[4].lower() == "p") if clock[4] else int(clock[1])
        time = f" {hour:02}:{clock[2]}:{clock[3] or '00'}"
    return f"{found.start.date().isoformat()}{time}"


def _statement(
    row: _Row, at: str | None, zone: tzinfo, ids: ExternalIds
) -> Iterator[Record | Problem]:
    content = parse_content(about(label_or(row.get("name"), None), row.get("text", "")))
    own = {name: cell for name, cell in row.items() if name not in load_all("columns")}
    user = label_or(row.get("user"), None)
    subjects: list[object] = [row.get("name"), *re.split("[,;]", row.get("subjects", ""))]
    found = Statement(
        content,
        user=user,
        subjects=parse_subjects([*subjects, user]),
        at=parse_moment(at, zone),
        external_id=ids.derive(user, content),
    )
    yield from with_metadata(found, {**own})


CSV = Format(
    "csv",
    "CSV",
    read_table,
    recognises=lambda head: _header(head.partition("\n")[0].strip("\r")) is not None,
)
"""A table of a spreadsheet or of a program."""
