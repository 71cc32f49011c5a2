"""Find the time expressions of a text, each with its time span."""

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hippocampe.language.temporal.confirmation import is_confirmed
from hippocampe.language.temporal.grammar import (
    CORE,
    DAY,
    MAX_WORDS_BEFORE_CORE,
    PERIODS,
    WAYS,
    WORD,
    grammar,
    prefix_role,
)
from hippocampe.language.temporal.resolve import RESOLVERS, Groups, Span, WindowKind, start_of_day
from hippocampe.language.text import APOSTROPHE

_OTHERS_AHEAD: Final = frozenset({"way", "week", "oneweek", "twoweeks", "year"})
"""Parts of an expression that say which of several times it means."""
_REPEATED: Final = {
    **dict.fromkeys(
        ("date", "date_after", "short", "days", "days_after", "month", "feast", "season"), (365,)
    ),
    "day_of_month": (31, 62),
}
"""The kinds of expressions that name a time of each year or month, with the days after which the next one has begun."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A match of the grammar.

    Attributes:
        match: The match, in the folded text.
        place: Its place in the text, ``(start, end)`` in characters.
        name: The name of its pattern.
        groups: Its groups.
        span: Its time span.
        sure: Whether it is certainly a time expression.
    """

    match: re.Match[str]
    place: tuple[int, int]
    name: str
    groups: Groups
    span: Span
    sure: bool

    @property
    def link(self) -> str:
        """The role of its first word: since, after, before, until, deadline, between, from."""
        return prefix_role(self.match["link"] or "")

    @property
    def kind(self) -> WindowKind:
        """The kind of its window."""
        if "part" in self.groups:
            return "part"
        if self.name == "period":
            return PERIODS.get(self.groups["unit"], "weekend")
        return RESOLVERS[self.name][1]

    def coming(self, here: datetime) -> Span:
        """The span; for a bare weekday or a date without a year that is over, the next one."""
        start, end = self.span
        if self.link in ("since", "after") or end > start_of_day(here):
            return start, end
        bare = _OTHERS_AHEAD.isdisjoint(self.groups)
        this_weekend = self.kind == "weekend" and WAYS.get(self.groups.get("way", "")) == "this"
        if this_weekend or (bare and self.name in ("dayname", "weekend")):
            return start + 7 * DAY, end + 7 * DAY
        if bare and self.name in _REPEATED:
            later = (here + days * DAY for days in _REPEATED[self.name])
            spans = (RESOLVERS[self.name][0](self.groups, each) for each in later)
            return next((span for span in spans if span and span[1] > here), self.span)
        return start, end


def time_expressions(text: str, now: datetime, *, ahead: bool = False) -> Iterator[Expression]:
    """Find the time expressions of a text, in order.

    Args:
        text: The text.
        now: Its time, in the zone of the speaker.
        ahead: Whether it is about what is to come.
    """
    folded, places = _folded(text)
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
            sure = is_confirmed(match, name, groups, capital=capital, ahead=ahead)
            place = places[match.start()], places[match.end() - 1] + 1
            yield Expression(match, place, name, groups, span, sure)


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
