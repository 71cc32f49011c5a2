"""The always-on context: memories read from the store for every turn, independent of the message.

Identity, important and recent memories. A message that asks about a person or about the talk itself
widens it: by memories about the person, or by the turns and live messages that the question means.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypedDict

from sqlalchemy import Connection

from hippocampe.engine.corpus import Corpus
from hippocampe.injection.asker import Asker, concerns
from hippocampe.injection.context_cache import ContextCache, ContextItem
from hippocampe.injection.events import Events
from hippocampe.language import open_questions
from hippocampe.language.names import with_other_names
from hippocampe.language.open_questions import OpenQuestion
from hippocampe.language.person import is_about_speaker
from hippocampe.language.speakers import means_speaker
from hippocampe.language.subjects import fold_subjects, subjects_of
from hippocampe.language.temporal.window import TimeWindow
from hippocampe.language.text import fold, keywords, words
from hippocampe.protocols import TALK
from hippocampe.retrieval import results
from hippocampe.store import always_on, embeddings, message_rows, turn_rows
from hippocampe.types import Recollection, Route, Scope, Settings

KINDS = 3
"""Kinds of always-on memories, which share `always_on_limit`: identities, important and recent ones."""
MAX_TURNS = 10
"""Turns that answer an open question."""
MAX_TURNS_OF_PERIOD = 100
"""Turns of the named period that are scanned for the topic."""
MAX_TOLD = 200
"""Memories of the space, most important first, scanned for a user's statements about themselves."""
OF_OTHERS = 2
"""Memories read per returned one, because some of those about the speaker are about their teller."""
OF_TALK = 3
"""Turns read per returned turn, because small talk is dropped."""
_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)


class _Talk(TypedDict):
    """The part of a space's talk to read."""

    channel: str | None
    since: datetime | None
    until: datetime | None


@dataclass(slots=True)
class ContextReader:
    """Reads the always-on context of one turn, and tells which found items answer it.

    Attributes:
        cache: Cache of the context of ordinary turns.
        text: The message.
        scope: The speaker and the channel.
        settings: The settings of the space.
        now: The time of the turn.
        question: The question that the message asks of memory, if any.
        window: The time that the question names, if any.
        subject: What the message asks everything about, other than the speaker, if it does.
        asker: The speaker.
        events: The events that the message asks for, if it does.
        of_asker: Whether the speaker asks what is known of them.
        person: The speaker, if they introduce themselves or ask about themselves.
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
    asker: Asker = field(init=False)
    events: Events | None = field(init=False, default=None)
    of_asker: bool = field(init=False)
    person: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.asker = Asker(self.corpus, self.scope, self.settings)
        question, window = self.question, self.window
        if question is not None and window is not None and question.about == "events":
            self.events = Events(self.asker, self.text, self.now, question, window)
        # "Tout sur moi", "all about myself".
        subject = self.subject or ""
        by_name = means_speaker(subject)
        asks_who = question is not None and question.is_open and question.about == "person"
        self.of_asker = asks_who or by_name
        self.subject = None if self.of_asker else self.subject
        self.person = open_questions.introduced(
            self.text, companions=self.settings.companion_names, is_known=self._is_known
        )
        if self.person is None and self.of_asker:
            self.person = self.scope.user

    def _is_ordinary(self) -> bool:
        """Return whether the context does not depend on the message."""
        return self.question is None and self.person is None and not self.subject

    def cached(self) -> Sequence[ContextItem] | None:
        """The cached context; None if it is stale or this message needs one of its own."""
        if not self._is_ordinary():
            return None
        return self.cache.get(self._cache_key(), self.corpus.store.memory_changes, self.now)

    def load(self) -> Sequence[ContextItem]:
        """Read the context from the store; cache it unless it depends on the message."""
        # Counted before reading: a concurrent change must invalidate the cached entry.
        changes = self.corpus.store.memory_changes
        items = self._read()
        if self._is_ordinary():
            self.cache.put(self._cache_key(), changes, self.now, items)
        return items

    def _cache_key(self) -> Hashable:
        return (
            self.corpus.vocabulary.embedder.model,
            self.scope.space,
            self.asker.channel,
            self.settings.important_threshold,
            self.settings.recent_hours,
            self.settings.always_on_limit,
            None if self.settings.shared_memories else self.scope.user,
        )

    def _read(self) -> list[ContextItem]:
        with self.corpus.store.read() as connection:
            if self.events is not None:
                return [("recent", each, None) for each in self.events.read(connection)]
            found = list(self._find(connection))
            ids = [item.id for _, item in found]
            vectors = embeddings.vectors(connection, self.corpus.vocabulary.embedder.model, ids)
        return [
            (path, item, vectors[item.id].dense if item.id in vectors else None)
            for path, item in found
        ]

    def _find(self, connection: Connection) -> Iterator[tuple[Route, Recollection]]:
        """The items of the context, the first most useful, each with its path."""
        for item in self._talk(connection):
            yield "recent", item
        known = self._known(connection)
        for item in known:
            yield "identity", item
        if known and (self.subject or self.of_asker):
            # A question about one person does not get memories about others.
            return
        listed = self._always_on(connection)
        order: tuple[Route, ...] = ("identity", "important", "recent")
        if self._is_open() and not known:
            # An open question is answered by the latest memories first.
            order = ("recent", "important", "identity")
        for path in order:
            for item in listed[path]:
                yield path, item

    def _always_on(self, connection: Connection) -> dict[str, list[Recollection]]:
        """The memories of each path that are given to every message."""
        names, limit = self.asker.names, self._share()
        since, until = self.now - timedelta(hours=self.settings.recent_hours), self.now
        if self._is_open():
            limit *= 2
            since, until = _LONG_AGO, self.now
            if self.window is not None:
                since, until = self.window.start, self.window.end
        read = partial(
            always_on.always_on,
            connection,
            self.scope.space,
            self.now,
            least=self.settings.important_threshold,
            since=since,
            until=until,
        )
        most = limit if names is None else OF_OTHERS * limit
        listed = read(channel=self.asker.channel, names=names, limit=most)
        if names is not None and self.scope.channel and self._is_open_of_talk():
            here = read(channel=self.scope.channel, names=None, limit=most)["recent"]
            both = {each.id: each for each in (*listed["recent"], *here)}
            listed["recent"] = sorted(both.values(), key=lambda each: each.created_at, reverse=True)
        return {
            path: [results.of_memory(each) for each in found if concerns(each, names)][:limit]
            for path, found in listed.items()
        }

    def _is_open(self) -> bool:
        return self.question is not None and self.question.is_open

    def _is_open_of_talk(self) -> bool:
        """Return whether the message asks what was said in the room, by all: "quoi de neuf ?"."""
        return self.question is not None and self.question.is_open and self.question.about == "talk"

    def admits(self, item: Recollection) -> bool:
        """Return whether an item that a search found may answer the message.

        A question about the asker, about events or about the talk of a time is answered by what concerns them.
        """
        of_talk = self.question is not None and self.question.about == "talk"
        if of_talk and item.kind in TALK and not self._is_then(item):
            return False
        if self.of_asker and not self.asker.is_concerned(item):
            return False
        return self.events is None or self.events.may_include(item)

    def _is_then(self, item: Recollection) -> bool:
        return self.window is None or (item.at is not None and item.at in self.window)

    def _share(self) -> int:
        """Always-on memories of one kind; an open question, which few kinds answer, gets twice as many."""
        return -(-self.settings.always_on_limit // KINDS)

    def _is_known(self, name: str) -> bool:
        """Return whether a folded name is the speaker's, or has an alias."""
        of_speaker = name.split() == words(self.scope.user or "")
        return of_speaker or name in self.corpus.aliases.of(self.scope.space)

    def _talk(self, connection: Connection) -> list[Recollection]:
        """The talk that a question asks about: the latest, or that of a period and its topic."""
        question, window = self.question, self.window
        if question is None or question.about != "talk" or (question.topic and window is None):
            return []
        where: _Talk = {
            "channel": question.room or self.asker.channel,
            "since": window.start if window else None,
            "until": window.end if window else None,
        }
        space = self.scope.space
        if question.topic:
            turns = turn_rows.latest(connection, space, limit=MAX_TURNS_OF_PERIOD, **where)
            return [
                results.of_turn(turn)
                for turn in turns
                if not question.topic.isdisjoint(words(turn.content)) and self.asker.took_part(turn)
            ][:MAX_TURNS]
        limit = self.settings.live_limit
        most = OF_TALK * MAX_TURNS if self.asker.names is None else MAX_TURNS_OF_PERIOD
        turns = [
            turn
            for turn in turn_rows.latest(connection, space, limit=most, **where)
            if self.asker.took_part(turn)
        ]
        live = message_rows.latest_live(connection, space, limit=OF_TALK * limit, **where)
        talk = [item for item in map(results.of_turn, turns) if self.asker.is_told(item)][
            :MAX_TURNS
        ]
        talk += [item for item in map(results.of_live, live) if self.asker.is_told(item)][:limit]
        return sorted(talk, key=lambda item: item.at or self.now, reverse=True)

    def _known(self, connection: Connection) -> list[Recollection]:
        """Memories about a person or a subject, most important first.

        Statements in the first person are about their user. "My brother" is the brother of the speaker.
        """
        space, channel, own = self.scope.space, self.asker.channel, self.asker.names
        limit = self.settings.always_on_limit
        if self.person:
            limit = limit if self.of_asker else 2 * self._share()
            names = set(fold_subjects([self.person]))
        elif self.subject:
            named = frozenset(words(self.subject))
            names = {each for each in subjects_of(self.text) if named.issuperset(words(each))}
            names |= set(fold_subjects([self.subject, " ".join(keywords(self.subject))]))
        else:
            return []
        names = with_other_names(names, self.corpus.aliases.of(space))
        if self.person:
            own = None if own is None else names
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
