"""The always-on context: memories read from the store for every turn, independent of the message.

Identity, important and recent memories. A message that asks about a person or about the talk itself
widens it: what is known of the person, or the turns and live messages that the question means.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypedDict, cast

from sqlalchemy import Connection

from hippocampe.engine.context import Context
from hippocampe.index.documents import fold_subjects
from hippocampe.injection import open_questions
from hippocampe.injection.context_cache import ContextCache, ContextItem
from hippocampe.injection.open_questions import OpenQuestion
from hippocampe.language.temporal.window import TimeWindow
from hippocampe.language.text import words
from hippocampe.retrieval import results
from hippocampe.store import always_on, conversations, embeddings
from hippocampe.types import Recollection, Route, Scope, Settings

CONTEXT_LIMIT = 6
"""Always-on memories per kind; doubled for open questions."""
MAX_TURNS = 10
"""Turns that answer an open question."""
MAX_TURNS_OF_PERIOD = 100
"""Turns of the named period that are scanned for the topic."""
_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)


class _Talk(TypedDict):
    """Which talk of a space is read."""

    channel: str | None
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class ContextReader:
    """Reads the always-on context of one turn.

    Attributes:
        context: The shared services.
        cache: Where the context of ordinary turns is kept.
        text: The message.
        scope: Who speaks, and where.
        settings: Those of the space.
        now: The moment of the turn.
        question: What the message asks of memory, if it does.
        window: The time that the question names, if any.
    """

    context: Context
    cache: ContextCache
    text: str
    scope: Scope
    settings: Settings
    now: datetime
    question: OpenQuestion | None
    window: TimeWindow | None

    def cached(self) -> Sequence[ContextItem] | None:
        """The cached context; None if it is stale or this message needs one of its own."""
        if self.question is not None or self._person() is not None:
            return None
        return self.cache.get(self._cache_key(), self.context.revision.number, self.now)

    def load(self) -> Sequence[ContextItem]:
        """Read the context from the store; cache it unless it depends on the message."""
        person = self._person()
        # As it was before reading: a concurrent change must invalidate what is cached.
        changes = self.context.revision.number
        items = self._read(person)
        if person is None and self.question is None:
            self.cache.put(self._cache_key(), changes, self.now, items)
        return items

    def _cache_key(self) -> Hashable:
        return (
            self.scope.space,
            self._channel(),
            self.settings.important_threshold,
            self.settings.recent_hours,
        )

    def _read(self, person: str | None) -> list[ContextItem]:
        is_open = self.question is not None and self.question.is_open
        since = self.now - timedelta(hours=self.settings.recent_hours)
        if is_open:
            since = self.window.start if self.window else _LONG_AGO
        with self.context.store.read() as connection:
            listed = always_on.always_on(
                connection,
                self.scope.space,
                self.now,
                least=self.settings.important_threshold,
                since=since,
                until=self.window.end if is_open and self.window else self.now,
                channel=self._channel(),
                limit=2 * CONTEXT_LIMIT if is_open else CONTEXT_LIMIT,
            )
            talk = self._talk(connection)
            known = self._known_of(connection, person) if person else []
            by_path = {
                path: [results.of_memory(memory) for memory in each]
                for path, each in listed.items()
            }
            order = ("identity", "important", "recent")
            if is_open and not known:
                # An open question is answered by the latest memories first.
                order = ("recent", "important", "identity")
            found = [("recent", item) for item in talk]
            found += [("identity", item) for item in known]
            found += [(path, item) for path in order for item in by_path[path]]
            ids = [item.id for _, item in found]
            vectors = embeddings.vectors(connection, self.context.embedder.model, ids)
        return [
            (cast("Route", path), item, vectors[item.id].dense if item.id in vectors else None)
            for path, item in found
        ]

    def _person(self) -> str | None:
        """The speaker who introduces themselves, or asks what is known of them."""
        name = open_questions.introduced(self.text, companions=self.settings.companion_names)
        question = self.question
        if name is None and question and question.is_open and question.about == "person":
            return self.scope.user
        return name

    def _talk(self, connection: Connection) -> list[Recollection]:
        """The talk that a question asks about: the latest, or that of a period and its topic."""
        question, window = self.question, self.window
        if question is None or question.about != "talk" or (question.topic and window is None):
            return []
        where: _Talk = {
            "channel": self._channel(),
            "since": window.start if window else None,
            "until": window.end if window else None,
        }
        space = self.scope.space
        if question.topic:
            turns = conversations.latest(connection, space, limit=MAX_TURNS_OF_PERIOD, **where)
            return [
                results.of_turn(turn)
                for turn in turns
                if not question.topic.isdisjoint(words(turn.content))
            ][:MAX_TURNS]
        turns = conversations.latest(connection, space, limit=MAX_TURNS, **where)
        limit = self.settings.live_limit
        live = conversations.latest_live(connection, space, limit=limit, **where)
        found = [results.of_turn(turn) for turn in turns]
        found += [results.of_live(each) for each in live]
        return sorted(found, key=lambda item: item.at or self.now, reverse=True)

    def _known_of(self, connection: Connection, person: str) -> list[Recollection]:
        names = set(fold_subjects([person]))
        aliases = self.context.aliases(self.scope.space)
        names |= {other for each in names for other in aliases.get(each, ())}
        found = always_on.about_names(
            connection,
            self.scope.space,
            sorted(names),
            self.now,
            channel=self._channel(),
            limit=2 * CONTEXT_LIMIT,
        )
        return [results.of_memory(memory) for memory in found]

    def _channel(self) -> str | None:
        return self.scope.channel if self.settings.channel_scope else None
