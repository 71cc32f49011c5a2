"""Confirm time expressions by the words around them: "may", "mars" or "2022" alone may be no time."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from hippocampe.language.calendar import FULL_MONTHS
from hippocampe.language.lexicon import any_of, words_of
from hippocampe.language.temporal.grammar import (
    BARE_WEEKDAYS,
    CAPITAL_MONTHS,
    HABIT,
    HABITS,
    OTHER_SENSES,
    PLACED,
    SHORT_WEEKDAYS,
    VERBS,
    WAYS,
    prefix_role,
)
from hippocampe.language.temporal.resolve import Groups
from hippocampe.language.text import STOP_WORDS

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
    rf"n't\b|\b(?:{any_of(words_of('lasting', file='time') | words_of('past_auxiliaries') | words_of('past_forms'))}"
    rf"|\w+{any_of(words_of('past_endings'))})\b"
)
"""Words by which "in three days" is how long something took: "I built it in three days", "I can do it in an hour"."""


def is_confirmed(
    match: re.Match[str], kind: str, groups: Groups, *, capital: bool, ahead: bool
) -> bool:
    """Return whether a match of the grammar certainly is a time expression.

    Args:
        match: The match, in a folded text.
        kind: The kind of expression.
        groups: Its groups.
        capital: Whether its month is written with a capital.
        ahead: Whether the sentence is about what is to come.
    """
    confirms = _CONFIRMS.get(kind)
    if confirms is None:
        return True
    return confirms(groups, _Surroundings.of(match, groups, capital=capital, ahead=ahead))


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The words around the core of an expression.

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
