"""The events of a time that a message asks for: "what did I do last week?", "what have I got on Thursday?"."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from sqlalchemy import Connection

from hippocampe.injection.asker import Asker, concerns, without_author
from hippocampe.language.lexicon import words_of
from hippocampe.language.names import with_other_names
from hippocampe.language.open_questions import OpenQuestion
from hippocampe.language.person import is_about_speaker
from hippocampe.language.statement import parse
from hippocampe.language.subjects import fold_subjects
from hippocampe.language.temporal.habits import names_of_days, recurring
from hippocampe.language.temporal.window import TimeWindow, parse_window
from hippocampe.language.tense import is_over
from hippocampe.language.text import words
from hippocampe.protocols import TALK, Filter
from hippocampe.retrieval import results
from hippocampe.store import always_on, memories, message_rows, turn_rows
from hippocampe.types import Recollection

MAX_OF_PERIOD = 100
"""Turns, live messages and memories, each, that were told in the time of the events."""
MAX_PARSED = 30
"""Texts told at another time that are read for the time of their event: some .3 ms each."""
EVENING = timedelta(hours=6)
"""Time of a part of the day before midnight."""
PLANNED_BEFORE, TOLD_AFTER = timedelta(days=60), timedelta(days=3)
"""Time before an event in which it may be planned, and after it in which it may be told."""


@dataclass(frozen=True)
class Events:
    """The events that a question asks for.

    Attributes:
        asker: The person who asks.
        text: The message.
        now: The time of the turn.
        question: The question.
        window: The time that it names.
    """

    asker: Asker
    text: str
    now: datetime
    question: OpenQuestion
    window: TimeWindow

    def read(self, connection: Connection) -> list[Recollection]:
        """All that was told of the events, in order of time: then, or some days before or afterwards."""
        window = self.window
        dated = always_on.dated_in(
            connection,
            self.asker.scope.space,
            self.now,
            since=window.start,
            until=window.end,
            channel=self.asker.channel,
        )
        found = {each.id: results.of_memory(each) for each in dated}
        if self.question.planned:
            found |= {each.id: each for each in self._habits(connection)}
            periods = [(self.now - PLANNED_BEFORE, self.now, MAX_PARSED)]
        else:
            periods = [
                (window.start, window.end, MAX_OF_PERIOD),
                (window.end, window.end + TOLD_AFTER, MAX_PARSED),
            ]
        for since, until, most in periods:
            told = self._told(connection, since, min(until, self.now), most)
            found |= {each.id: each for each in told}
        theirs = [each for each in found.values() if self._is_theirs(each) and self._is_event(each)]
        theirs.sort(key=lambda item: item.at or self.now)
        return theirs[-self.asker.settings.always_on_limit :]

    def _habits(self, connection: Connection) -> list[Recollection]:
        """Memories that name a day of the window, however long ago they were told: they may be of habits."""
        corpus, space = self.asker.corpus, self.asker.scope.space
        named = " ".join(names_of_days(self.window, timezone=self.asker.settings.timezone))
        if not named:
            return []
        where = Filter(space, ("memory",), self.now.timestamp(), channel=self.asker.channel)
        hits = corpus.index.matching("memory", named, limit=MAX_PARSED, where=where)
        rows = memories.get(connection, space, [hit.id for hit in hits])
        items = [results.of_memory(each) for each in rows.values() if each.current]
        return [each for each in items if self._recurs(each)]

    def may_include(self, item: Recollection) -> bool:
        """Return whether an item that a search found may tell of the events: not if it is of another time."""
        if item.kind == "note":
            return True
        theirs = self._is_of(item) if self.question.of else self.asker.is_concerned(item)
        if not (theirs or self._is_ours(item)):
            return False
        untimed = self.question.planned and item.at == _told_at(item) and not self._time(item)
        return untimed or self._is_event(item)

    def _told(
        self, connection: Connection, since: datetime, until: datetime, most: int
    ) -> list[Recollection]:
        space, channel = self.asker.scope.space, self.asker.channel
        memories = always_on.told_in(
            connection, space, self.now, since=since, until=until, channel=channel, limit=most
        )
        turns = turn_rows.latest(
            connection, space, channel=channel, since=since, until=until, limit=most
        )
        live = message_rows.latest_live(
            connection, space, channel=channel, since=since, until=until, limit=most
        )
        return [
            *map(results.of_memory, memories),
            *map(results.of_turn, turns),
            *map(results.of_live, live),
        ]

    def _is_theirs(self, item: Recollection) -> bool:
        """Return whether an item may be about those whose events the question asks for: the asker, somebody else, or all."""
        if not self._is_of(item):
            return False
        if item.memory is None:
            return self.asker.took_part(item)
        if self._asked is not None or concerns(item.memory, self.asker.names):
            return True
        return self._is_ours(item)

    def _is_ours(self, item: Recollection) -> bool:
        """Return whether somebody in this room told a memory of several, "we dine at Nina's", and the question is not of one."""
        if (
            self._asked is not None
            or item.memory is None
            or item.channel != self.asker.scope.channel
        ):
            return False
        several = words_of("group", language=parse(item.content).language)
        return not several.isdisjoint(words(item.content))

    def _is_of(self, item: Recollection) -> bool:
        """Return whether those of whom the question asks told an item, are named in it, or are its subjects."""
        if self._asked is None:
            return True
        about = item.memory.subjects if item.memory is not None else ()
        named = words(item.content) if self.question.of else ()
        return not self._asked.isdisjoint([*fold_subjects([item.author or "", *about]), *named])

    @cached_property
    def _asked(self) -> frozenset[str] | None:
        """The names of those of whom the question asks, with their aliases; None if it asks of all."""
        if self.question.of:
            names = self.question.of.split()
        elif (user := self.asker.scope.user) and is_about_speaker(self.text):
            names = fold_subjects([user])
        else:
            return None
        aliases = self.asker.corpus.aliases.of(self.asker.scope.space)
        return with_other_names(names, aliases)

    def _is_event(self, item: Recollection) -> bool:
        """Return whether an item tells of something in the window: told then, dated then, said to be then, or a habit."""
        if item.at is None or (item.kind in TALK and not self.asker.is_told(item)):
            return False
        dated = item.at != _told_at(item) or not self.question.planned
        if dated and item.at in self.window:
            return True
        said = self._time(item)
        if said is not None and _overlap(said, self.window):
            return True
        return self.question.planned and self._recurs(item)

    def _recurs(self, item: Recollection) -> bool:
        """Return whether an item tells of a habit that recurs in the window: "yoga is every Wednesday"."""
        said, zone = without_author(item.content.partition("\n")[0]), self.asker.settings.timezone
        habits = recurring(said, self.window, timezone=zone)
        return any(_overlap(each, self.window) for each in habits)

    def _time(self, item: Recollection) -> TimeWindow | None:
        """The time that an item names, if any."""
        said = without_author(item.content.partition("\n")[0])
        told, zone = _told_at(item) or self.now, self.asker.settings.timezone
        found = parse_window(said, now=told, timezone=zone, ahead=True)
        if found is None or not is_over(parse(said)):
            return found
        return parse_window(said, now=told, timezone=zone)


def _overlap(one: TimeWindow, other: TimeWindow) -> bool:
    """Return whether two times overlap; what is in an evening is not on the next day, though that may last longer."""
    ends = (
        min(each.end, each.start + EVENING) if each.kind == "part" else each.end
        for each in (one, other)
    )
    return max(one.start, other.start) < min(ends)


def _told_at(item: Recollection) -> datetime | None:
    return item.at if item.memory is None else item.memory.created_at
