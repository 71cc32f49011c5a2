"""The always-on context: memories read from the store for every turn, independent of the message.

Identity, important and recent memories. A message that asks about a person or about the talk itself
widens it: by memories about the person, or by the turns and live messages that the question means.
"""

import re
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypedDict, cast

from sqlalchemy import Connection

from hippocampe.engine.corpus import Corpus
from hippocampe.injection.context_cache import ContextCache, ContextItem
from hippocampe.language import open_questions
from hippocampe.language.open_questions import OpenQuestion
from hippocampe.language.person import is_about_speaker
from hippocampe.language.questions import only_asks
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.statement import parse
from hippocampe.language.subjects import fold_subjects, subjects_of
from hippocampe.language.temporal.window import TimeWindow, parse_window
from hippocampe.language.tense import Tense, tense_of
from hippocampe.language.text import STOP_WORDS, fold, keywords, words
from hippocampe.retrieval import results
from hippocampe.store import always_on, embeddings, message_rows, turn_rows
from hippocampe.store.turn_rows import Turn
from hippocampe.types import Memory, Recollection, Route, Scope, Settings

KINDS = 3
"""Kinds of always-on memories, which share `always_on_limit`: identities, important and recent ones."""
MAX_TURNS = 10
"""Turns that answer an open question."""
MAX_TURNS_OF_PERIOD = 100
"""Turns of the named period that are scanned for the topic."""
MAX_PARSED = 30
"""Turns, live messages and memories, each, that are read for the time of their event: some .3 ms each."""
PLANNED_BEFORE, TOLD_AFTER = timedelta(days=60), timedelta(days=3)
"""Time before an event in which it may be planned, and after it in which it may be told."""
TALK = ("turn", "live")
"""The kinds of recollections that are talk."""
MAX_TOLD = 200
"""Memories of the space, most important first, scanned for a user's statements about themselves."""
OF_OTHERS = 2
"""Memories read per returned one, because some of those about the speaker are about their teller."""
OF_TALK = 3
"""Turns read per returned turn, because small talk is dropped."""
_TELLER = frozenset({"speaker", "own"})
"""Subjects of statements about their teller: "I", "my brother"."""
_AUTHOR = re.compile(r"^[^:\n]{1,40} ?: ")
_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)


class _Talk(TypedDict):
    """The part of a space's talk to read."""

    channel: str | None
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class ContextReader:
    """Reads the always-on context of one turn.

    Attributes:
        cache: Cache of the context of ordinary turns.
        text: The message.
        scope: The speaker and the channel.
        settings: The settings of the space.
        now: The time of the turn.
        question: The question that the message asks of memory, if any.
        window: The time that the question names, if any.
        subject: What the message asks everything about, if it does.
    """

    corpus: Corpus
    cache: ContextCache
    text: str
    scope: Scope
    settings: Settings
    now: datetime
    question: OpenQuestion | None
    window: TimeWindow | None
    subject: str | None

    def cached(self) -> Sequence[ContextItem] | None:
        """The cached context; None if it is stale or this message needs one of its own."""
        if self.question is not None or self._person() is not None or self._subject():
            return None
        return self.cache.get(self._cache_key(), self.corpus.store.memory_changes, self.now)

    def load(self) -> Sequence[ContextItem]:
        """Read the context from the store; cache it unless it depends on the message."""
        person, subject = self._person(), self._subject()
        # Counted before reading: a concurrent change must invalidate the cached entry.
        changes = self.corpus.store.memory_changes
        items = self._read(person, subject)
        if person is None and self.question is None and subject is None:
            self.cache.put(self._cache_key(), changes, self.now, items)
        return items

    def _cache_key(self) -> Hashable:
        return (
            self.scope.space,
            self._channel(),
            self.settings.important_threshold,
            self.settings.recent_hours,
            self.settings.always_on_limit,
            None if self.settings.shared_memories else self.scope.user,
        )

    def _read(self, person: str | None, subject: str | None) -> list[ContextItem]:
        is_open = self.question is not None and self.question.is_open
        since = self.now - timedelta(hours=self.settings.recent_hours)
        if is_open:
            since = self.window.start if self.window else _LONG_AGO
        names, limit = self._names(), self._share() * (2 if is_open else 1)
        with self.corpus.store.read() as connection:
            if self.window is not None and self.asks_for_events():
                return [("recent", each, None) for each in self._events(connection, self.window)]
            listed = always_on.always_on(
                connection,
                self.scope.space,
                self.now,
                least=self.settings.important_threshold,
                since=since,
                until=self.window.end if is_open and self.window else self.now,
                channel=self._channel(),
                names=names,
                limit=limit if names is None else OF_OTHERS * limit,
            )
            talk = self._talk(connection, names)
            known = self._known(connection, person, subject, names)
            by_path = {
                path: [results.of_memory(each) for each in found if concerns(each, names)][:limit]
                for path, found in listed.items()
            }
            order = ("identity", "important", "recent")
            if known and (subject or self.asks_about_asker()):
                # A question about one person does not get memories about others.
                order = ()
            elif is_open and not known:
                # An open question is answered by the latest memories first.
                order = ("recent", "important", "identity")
            found = [("recent", item) for item in talk]
            found += [("identity", item) for item in known]
            found += [(path, item) for path in order for item in by_path[path]]
            ids = [item.id for _, item in found]
            vectors = embeddings.vectors(connection, self.corpus.vocabulary.embedder.model, ids)
        return [
            (cast("Route", path), item, vectors[item.id].dense if item.id in vectors else None)
            for path, item in found
        ]

    def asks_for_events(self) -> bool:
        """Return whether the message asks for all events of a time."""
        return self.question is not None and self.question.about == "events"

    def _events(self, connection: Connection, window: TimeWindow) -> list[Recollection]:
        """All that was told of the events in the window, in order of time: then, or some days before or afterwards."""
        space, channel = self.scope.space, self._channel()
        dated = always_on.dated_in(
            connection, space, self.now, since=window.start, until=window.end, channel=channel
        )
        found = {each.id: results.of_memory(each) for each in dated}
        if self._planned():
            periods = [(self.now - PLANNED_BEFORE, self.now, MAX_PARSED)]
        else:
            periods = [
                (window.start, window.end, MAX_TURNS_OF_PERIOD),
                (window.end, window.end + TOLD_AFTER, MAX_PARSED),
            ]
        for since, until, most in periods:
            told = self._told(connection, since, min(until, self.now), most)
            found |= {each.id: each for each in told}
        theirs = [
            each
            for each in found.values()
            if self._is_theirs(each) and self._is_event(each, window)
        ]
        theirs.sort(key=lambda item: item.at or self.now)
        return theirs[-self.settings.always_on_limit :]

    def _told(
        self, connection: Connection, since: datetime, until: datetime, most: int
    ) -> list[Recollection]:
        space, channel = self.scope.space, self._channel()
        where: _Talk = {"channel": channel, "since": since, "until": until}
        memories = always_on.told_in(
            connection, space, self.now, since=since, until=until, channel=channel, limit=most
        )
        return [
            *map(results.of_memory, memories),
            *map(results.of_turn, turn_rows.latest(connection, space, limit=most, **where)),
            *map(results.of_live, message_rows.latest_live(connection, space, limit=most, **where)),
        ]

    def _planned(self) -> bool:
        return self.question is not None and self.question.planned

    def _is_theirs(self, item: Recollection) -> bool:
        """Return whether an item may be about those whose events the question asks for: the asker, somebody else, or all."""
        names = self._names()
        if item.memory is None:
            return self._took_part(item, names) and self._is_of(item)
        return self._is_of(item) and (self._asked() is not None or concerns(item.memory, names))

    def _is_of(self, item: Recollection) -> bool:
        """Return whether those of whom the question asks told an item, are named in it, or are its subjects."""
        if (asked := self._asked()) is None:
            return True
        aliases = self.corpus.aliases.of(self.scope.space)
        asked |= {other for name in asked for other in aliases.get(name, ())}
        about = item.memory.subjects if item.memory is not None else ()
        named = words(item.content) if self._asks_of_another() else ()
        return not asked.isdisjoint([*fold_subjects([item.author or "", *about]), *named])

    def _asks_of_another(self) -> bool:
        return self.question is not None and self.question.of != ""

    def _asked(self) -> set[str] | None:
        """The names of those of whom the question asks; None if it asks of all."""
        if self.question is not None and self.question.of:
            return set(self.question.of.split())
        asker = self.scope.user if is_about_speaker(self.text) else None
        return set(fold_subjects([asker])) if asker else None

    def may_tell(self, item: Recollection) -> bool:
        """Return whether an item that a search found may answer: nothing of another time, if the message asks for events."""
        if item.kind == "note" or self.window is None or not self.asks_for_events():
            return True
        theirs = self._is_of if self._asks_of_another() else self.concerns_asker
        if not theirs(item):
            return False
        untimed = self._planned() and item.at == _told_at(item) and not self._time(item)
        return untimed or self._is_event(item, self.window)

    def _is_event(self, item: Recollection, window: TimeWindow) -> bool:
        """Return whether an item tells of something in a window: told then, dated then, or said to be then."""
        if item.at is None or (item.kind in TALK and not self.tells(item)):
            return False
        dated = item.at != _told_at(item) or not self._planned()
        if dated and window.start <= item.at < window.end:
            return True
        said = self._time(item)
        return said is not None and said.start < window.end and said.end > window.start

    def _time(self, item: Recollection) -> TimeWindow | None:
        """The time that an item names, if any."""
        said = _AUTHOR.sub("", item.content.partition("\n")[0])
        told, zone = _told_at(item) or self.now, self.settings.timezone
        found = parse_window(said, now=told, timezone=zone, ahead=True)
        if found is None or tense_of(parse(said)) is not Tense.PAST:
            return found
        return parse_window(said, now=told, timezone=zone)

    def _share(self) -> int:
        """Always-on memories of one kind; an open question, which few kinds answer, gets twice as many."""
        return -(-self.settings.always_on_limit // KINDS)

    def asks_about_asker(self) -> bool:
        """Return whether the speaker asks what is known of them."""
        question = self.question
        if question is not None and question.is_open and question.about == "person":
            return True
        # "Tout sur moi", "all about myself".
        subject = self.subject or ""
        return is_about_speaker(subject) and STOP_WORDS.issuperset(words(subject))

    def _subject(self) -> str | None:
        """The person or thing that the message asks everything about, other than the speaker."""
        return None if self.asks_about_asker() else self.subject

    def _person(self) -> str | None:
        """The speaker, if they introduce themselves or ask about themselves."""
        name = open_questions.introduced(
            self.text, companions=self.settings.companion_names, is_known=self._is_known
        )
        return self.scope.user if name is None and self.asks_about_asker() else name

    def _is_known(self, name: str) -> bool:
        """Return whether a folded name is the speaker's, or has an alias."""
        of_speaker = name.split() == words(self.scope.user or "")
        return of_speaker or name in self.corpus.aliases.of(self.scope.space)

    def _names(self) -> frozenset[str] | None:
        """The names of the speaker; None if what others told is theirs too, or nobody knows who speaks."""
        user = self.scope.user
        if user is None or self.settings.shared_memories:
            return None
        name = fold(user)
        aliases = self.corpus.aliases.of(self.scope.space)
        # SQLite knows no case of accented letters.
        written = (user, user.lower(), user.upper(), user.title())
        return frozenset({*written, name, *aliases.get(name, ())})

    def _talk(self, connection: Connection, names: frozenset[str] | None) -> list[Recollection]:
        """The talk that a question asks about: the latest, or that of a period and its topic."""
        question, window = self.question, self.window
        if question is None or question.about != "talk" or (question.topic and window is None):
            return []
        where: _Talk = {
            "channel": question.room or self._channel(),
            "since": window.start if window else None,
            "until": window.end if window else None,
        }
        space = self.scope.space
        if question.topic:
            turns = turn_rows.latest(connection, space, limit=MAX_TURNS_OF_PERIOD, **where)
            return [
                results.of_turn(turn)
                for turn in turns
                if not question.topic.isdisjoint(words(turn.content))
                and self._took_part(turn, names)
            ][:MAX_TURNS]
        limit = self.settings.live_limit
        most = OF_TALK * MAX_TURNS if names is None else MAX_TURNS_OF_PERIOD
        turns = [
            turn
            for turn in turn_rows.latest(connection, space, limit=most, **where)
            if self._took_part(turn, names)
        ]
        live = message_rows.latest_live(connection, space, limit=OF_TALK * limit, **where)
        talk = [item for item in map(results.of_turn, turns) if self.tells(item)][:MAX_TURNS]
        talk += [item for item in map(results.of_live, live) if self.tells(item)][:limit]
        return sorted(talk, key=lambda item: item.at or self.now, reverse=True)

    def _took_part(self, turn: Turn | Recollection, names: Collection[str] | None) -> bool:
        """Return whether the speaker may have taken part in a turn: their own, or one of this room or a live one."""
        if names is None or turn.author is None or fold(turn.author) in names:
            return True
        return (turn.channel or "") in (self.scope.channel or "", *self.settings.live_rooms)

    def concerns_asker(self, item: Recollection) -> bool:
        """Return whether an item that a search found may answer a question of the speaker about themselves.

        Not if others told it about themselves, or where the speaker was not.
        """
        names = self._names()
        if item.memory is not None:
            return concerns(item.memory, names)
        return self._took_part(item, names)

    def tells(self, item: Recollection) -> bool:
        """Return whether talk is more than small talk, and a turn more than a question that nobody answered.

        Each line may begin with its speaker.
        """
        users = (name for name in (item.author, self.scope.user) if name)
        names = (*self.settings.companion_names, *users)
        lines = (_AUTHOR.sub("", line) for line in item.content.splitlines())
        of_turn = item.kind == "turn"
        return not all(
            is_small_talk(each, names=names) or (of_turn and only_asks(each)) for each in lines
        )

    def _known(
        self,
        connection: Connection,
        person: str | None,
        subject: str | None,
        own: frozenset[str] | None,
    ) -> list[Recollection]:
        """Memories about a person or a subject, most important first.

        Statements in the first person are about their user. "My brother" is the brother of the speaker, whose names
        are `own`.
        """
        space, channel = self.scope.space, self._channel()
        limit = 2 * self._share()
        if person:
            names = set(fold_subjects([person]))
        elif subject:
            limit = self.settings.always_on_limit
            named = frozenset(words(subject))
            names = {each for each in subjects_of(self.text) if named.issuperset(words(each))}
            names |= set(fold_subjects([subject, " ".join(keywords(subject))]))
        else:
            return []
        aliases = self.corpus.aliases.of(space)
        names |= {other for each in names for other in aliases.get(each, ())}
        if self.asks_about_asker():
            limit = self.settings.always_on_limit
        if person:
            own = None if own is None else frozenset(names)
        elif not is_about_speaker(self.text):
            own = None
        about = always_on.about_names(
            connection,
            space,
            sorted(names),
            self.now,
            channel=channel,
            limit=limit if own is None else MAX_TOLD,
        )
        from_them = always_on.by_users(
            connection,
            space,
            lambda user: fold(user) in names,
            self.now,
            channel=channel,
            scanned=MAX_TOLD,
        )
        found = {memory.id: memory for memory in about}
        found |= {each.id: each for each in from_them if is_about_speaker(each.content)}
        ordered = sorted(
            (each for each in found.values() if concerns(each, own)),
            key=lambda each: (-each.importance, -each.created_at.timestamp()),
        )
        return [results.of_memory(memory) for memory in ordered[:limit]]

    def _channel(self) -> str | None:
        return self.scope.channel if self.settings.channel_scope else None


def _told_at(item: Recollection) -> datetime | None:
    return item.at if item.memory is None else item.memory.created_at


def concerns(memory: Memory, names: Collection[str] | None) -> bool:
    """Return whether a memory found for a person, by who told it and by its subjects, concerns them.

    What others say of themselves does not, though they name that person: "I plan a party for Mickael".

    Args:
        memory: The memory.
        names: The names of the person; None if all memories concern them.
    """
    told_by_other = memory.user is not None and names is not None and fold(memory.user) not in names
    return not told_by_other or parse(memory.content).subject not in _TELLER
