"""Format values for a reader: one language, one timezone, one current time.

Names of values, such as `below_threshold` of an outcome, are entries of the catalogues with the kind of the value
as context. The English catalogue has a text only for a value whose name is not its own label.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from gettext import c2py
from math import floor, log10
from typing import Any, cast
from zoneinfo import ZoneInfo

from hippocampe.language.humanize import clock_label, date_and_time, relative_time
from hippocampe.language.i18n import catalogue, translate
from hippocampe.presentation import decisions
from hippocampe.presentation.reasons import Reason, strongest
from hippocampe.types import Association, AuditEntry, Memory, Signal, State

_FOUR_DECIMALS_BELOW = 0.1
"""Dollars below which an amount has up to four decimals: calls of small models cost less than a cent."""

_FIRST_LINES = 5
"""Lines that a problem of an import names: a wrong column has one in each row."""

_UNITS = ("byte", "kilobyte", "megabyte", "gigabyte", "terabyte")
_BESIDE_PUNCTUATION = re.compile(r"(?<=[\w»)}]) (?=[:;?!»%])|(?<=«) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """The person for whom values are formatted.

    Attributes:
        language: Code of a language with a catalogue.
        timezone: IANA name; days begin there.
        now: The current time.
        tied: Whether spaces beside punctuation break no line, as French needs on pages.
    """

    language: str
    timezone: str
    now: datetime
    tied: bool = False

    def say(self, text: str, **values: Any) -> str:
        """Translate a text and fill its placeholders, escaped for HTML if a value is markup."""
        return _filled(_translated(text, self.language, self.tied), values)

    def agrees(self, typed: str) -> bool:
        """Return whether the reader typed yes, in their language or in English."""
        return typed.strip().lower() in {"y", "yes", self.say("y"), self.say("yes")}

    def label(self, kind: str, value: str) -> str:
        """The name of a value of a kind; a value that the catalogue does not list is its own name.

        Args:
            kind: Context of the entry: `"outcome"`.
            value: The value: `"below_threshold"`.
        """
        return _label(kind, value, self.language, self.tied)

    def count(self, one: str, many: str, number: int) -> str:
        """Translate the text for a number, which replaces the placeholder `number`."""
        return self._numbered(self._forms(one) or (one, many), number)

    def amount(self, number: int, noun: str) -> str:
        """A number with its noun: `1 memory`, `1,200 memories`; a noun that no catalogue lists is invariable."""
        return self._numbered(self._forms(noun, "count") or (f"{{number}} {noun}",), number)

    def _forms(self, text: str, context: str | None = None) -> Sequence[str]:
        """The plural forms of a text; none if one of them is not translated."""
        entry = catalogue(self.language).get(text, context)
        forms = () if entry is None else [str(each) for each in entry.string or ()]
        return forms if all(forms) else ()

    def _numbered(self, forms: Sequence[str], number: int) -> str:
        form = c2py(catalogue(self.language).plural_expr)(number)
        return _tied(forms[min(form, len(forms) - 1)], self.tied).format(number=self.number(number))

    def counted(self, counts: Mapping[str, int]) -> str:
        """Several counts by noun: `3 memories, 1 turn`. Zeros are dropped."""
        shown = [self.amount(number, noun) for noun, number in counts.items() if number]
        return ", ".join(shown) or self.say("nothing")

    def reasons(self, signals: Iterable[Signal], most: int | None = None) -> list[Reason]:
        """The strongest reasons of a score, strongest first."""
        return [
            Reason(name, self.label("reason", name), amount)
            for name, amount in strongest(signals)[:most]
        ]

    def decision_reason(self, stored: str) -> str:
        """The reason of a decision on two statements, stored in English."""
        found = decisions.parse(stored)
        if found is None:
            return stored
        form, values = found
        for name in ("outcome", "relation"):
            if name in values:
                values[name] = self.label(f"decided {name}", values[name])
        if "reason" in values:
            values["reason"] = self.decision_reason(values["reason"])
        return self.label(decisions.FORM, form).format(**values)

    def recorded(self, stored: str) -> str:
        """The outcome of a job, or the reason why a memory was hidden, stored in English."""
        found = decisions.parse(stored, decisions.RECORDED)
        if found is None:
            return stored
        return self.label(decisions.RECORDED, found[0]).format(**found[1])

    def audited(self, entry: AuditEntry) -> str:
        """The detail of an entry of the audit log: numbers and names; ids only of a single item."""
        shown: list[str] = []
        for name, value in entry.detail.items():
            if name == "count":
                shown.append(self.amount(value, "item"))
            elif name == "role":
                shown.append(self.label("role", value))
            elif name != "ids":
                shown.append(
                    ", ".join(cast("list[str]", value)) if isinstance(value, list) else str(value)
                )
            elif len(value) == 1:
                shown.append(value[0])
        return " · ".join(shown)

    def error(self, message: str) -> str:
        """The message of an error, which is English."""
        return decisions.error(message, self.language)

    def problems(self, found: Iterable[tuple[int, str]]) -> list[str]:
        """The problems of an import, one for each reason, with the first of its lines."""
        lines: dict[str, list[int]] = {}
        for line, reason in found:
            lines.setdefault(reason, []).extend([line] if line else [])
        return [self._at_lines(numbers, self.error(reason)) for reason, numbers in lines.items()]

    def _at_lines(self, numbers: list[int], problem: str) -> str:
        lines = ", ".join(map(str, numbers[:_FIRST_LINES]))
        if len(numbers) > _FIRST_LINES:
            more = self.number(len(numbers) - _FIRST_LINES)
            return self.say(
                "lines {lines} and {number} more: {problem}",
                lines=lines,
                number=more,
                problem=problem,
            )
        if len(numbers) > 1:
            return self.say("lines {lines}: {problem}", lines=lines, problem=problem)
        return (
            self.say("line {lines}: {problem}", lines=lines, problem=problem) if lines else problem
        )

    def asked(self, stored: str) -> str:
        """The question about a pair that waits for a person, from the reason that is stored with it."""
        if decisions.question(stored)[0] in ("same", "in another language"):
            return self.say("Do both say the same thing?")
        return self.say("Does the second replace the first?")

    def why_asked(self, stored: str) -> str:
        """Why a pair waits for a person, as a sentence, from the reason that is stored with it."""
        kind, values = decisions.question(stored)
        relation = self.label("decided relation", values.get("relation", ""))
        return self.label("why asked", kind).format(relation=relation)

    def why_linked(self, link: Association) -> str:
        """Why two memories are linked: a sentence for a pair that resembles, else the stored reason."""
        stored = link.reason or ""
        resembles = link.kind == "related_to" and decisions.parse(stored) is not None
        return self.why_asked(stored) if resembles else self.decision_reason(stored)

    def number(self, value: float, digits: int = 0) -> str:
        """A number with `digits` decimals: `1,204` or `1 204`."""
        return _number(value, self.language, digits)

    def size(self, bytes: float) -> str:
        """A number of bytes in a unit that suits it: `380.9 kB`, `380,9 ko`."""
        from babel.units import format_unit

        step = min(int(log10(max(bytes, 1)) / 3), len(_UNITS) - 1)
        value, unit = bytes / 1000**step, f"digital-{_UNITS[step]}"
        return format_unit(value, unit, "short", "#,##0.#", locale=self.language)

    def milliseconds(self, value: float) -> str:
        """A duration: `12 ms`; one under 10 ms has a decimal."""
        return f"{self.number(value, 0 if value >= 10 else 1)} ms"

    def dollars(self, value: float) -> str:
        """An amount of US dollars: `$0.25`, `0,25 $US`; small amounts have four decimals, or more to show a digit."""
        from babel import Locale
        from babel.numbers import format_currency

        pattern = Locale(self.language).currency_formats["standard"].pattern
        if 0 < value < _FOUR_DECIMALS_BELOW:
            decimals = max(4, -floor(log10(value)))
            pattern = pattern.replace("0.00", "0.00" + "#" * (decimals - 2))
        return format_currency(value, "USD", pattern, locale=self.language, currency_digits=False)

    def ago(self, at: datetime) -> str:
        """A time relative to now: `3 days ago`, `il y a 3 jours`."""
        return relative_time(at, now=self.now, timezone=self.timezone, language=self.language)

    def exact(self, at: datetime) -> str:
        """A time with its weekday: `Sat 17 Jan 2026, 22:19`."""
        return date_and_time(at, timezone=self.timezone, language=self.language)

    def clock(self, at: datetime) -> str:
        """A short time: its hour, after its day and month: `17/01 10:23`."""
        return clock_label(at, self.timezone, self.language, now=self.now)

    def here(self, at: datetime) -> datetime:
        """A time in the timezone of the reader."""
        return at.astimezone(ZoneInfo(self.timezone))

    def day(self, at: date, pattern: str = "EEE d MMM") -> str:
        """A day by a pattern of Unicode: `EEE` is `Sat`, `d MMM` is `17 Jan`."""
        return _day(at, self.language, pattern)


def state_of(memory: Memory) -> State:
    """The state of a memory."""
    if memory.forgotten_at is not None:
        return "forgotten"
    return "current" if memory.current else "superseded"


def standing(memory: Memory, now: datetime) -> str:
    """The state of a memory in more detail: a current one may be expired, a replaced one may be `former`."""
    if state_of(memory) == "current" and memory.has_expired(now):
        return "expired"
    return "former" if memory.former and state_of(memory) == "superseded" else state_of(memory)


def _tied(text: str, tied: bool) -> str:
    return _BESIDE_PUNCTUATION.sub("\u00a0", text) if tied else text


@lru_cache(maxsize=4_096)
def _translated(text: str, language: str, tied: bool) -> str:
    return _tied(translate(text, language), tied)


@lru_cache(maxsize=4_096)
def _label(kind: str, value: str, language: str, tied: bool) -> str:
    entry = catalogue(language).get(value, kind)
    label = value if entry is None else str(entry.string) or value.replace("_", " ")
    return _tied(label, tied)


def _filled(text: str, values: Mapping[str, Any]) -> str:
    if not values:
        return text
    for each in values.values():
        if hasattr(each, "__html__"):
            # The class of markup escapes what is filled into its text.
            return each.__class__(text).format(**values)
    return text.format(**values)


@lru_cache(maxsize=4_096)
def _number(value: float, language: str, digits: int) -> str:
    from babel.numbers import format_decimal

    pattern = "#,##0" + ("." + "0" * digits if digits else "")
    return format_decimal(value, pattern, locale=language)


@lru_cache(maxsize=1_024)
def _day(at: date, language: str, pattern: str) -> str:
    from babel.dates import format_date

    return format_date(at, pattern, locale=language)
