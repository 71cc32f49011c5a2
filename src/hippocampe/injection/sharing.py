"""Invalidate caches and synchronise injection histories between the processes of a database."""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from sqlalchemy import select

from hippocampe.engine.context import Context
from hippocampe.errors import StoreError
from hippocampe.injection.channel_history import Told
from hippocampe.injection.turn_state import TurnState
from hippocampe.store import audits, embeddings, meta
from hippocampe.store.driver import grouped
from hippocampe.store.listening import BEAT_SECONDS, MISSED_BEATS, Listener, Message
from hippocampe.store.postgres import PostgresStore
from hippocampe.store.shown import TABLES
from hippocampe.system.recent import Recent
from hippocampe.types import Scope

ITEMS = 60
"""Items of one message."""
MESSAGES = "messages of other processes"
"""Name of what fails if one cannot be handled, for the log."""
MAX_PROCESSES = 1_000
"""Other processes in memory, those that ended included; the one silent for longest is dropped."""
ENDED = -math.inf
"""The last sign of life of a process that has said that it ends: what it still writes is none."""


class Sharing:
    """Receives events of other processes and broadcasts injections.

    Args:
        context: Returns the context that serves now, of a database.
        turns: What this process gave in each channel.
    """

    def __init__(self, context: Callable[[], Context], turns: TurnState) -> None:
        corpus = context().corpus
        assert isinstance(corpus.store, PostgresStore)
        self._context = context
        self._store = corpus.store
        self._turns = turns
        self._channels = turns.channels
        self._alive = Recent[str, float](MAX_PROCESSES)
        """The last sign of life of each other process, on the monotonic clock."""
        # Not in the turn, which does not wait for it; one thread, so that messages keep their order.
        self._telling = ThreadPoolExecutor(1, thread_name_prefix="hippocampe-telling")
        turns.channels.tell = self._tell
        turns.tell = self._tell_forgotten
        with self._store.read() as connection:
            self._heard = meta.get(connection, meta.LAST_ERASURE)
        # Not the same from then on: the log may know of an erasure that the hosts do not.
        turns.retrievals.erasure = self._heard
        url = corpus.config.database_listen_url or self._store.url
        attempt = partial(corpus.outages.attempt, MESSAGES)
        self._listener = Listener(self._store, url, self._hear, attempt)

    @property
    def processes(self) -> int:
        """The number of processes that share the database now, this one included."""
        return 1 + sum(map(self.beats, list(self._alive)))

    def beats(self, sender: str) -> bool:
        """Return whether another process has said lately that it lives."""
        since = time.monotonic() - MISSED_BEATS * BEAT_SECONDS
        return self._alive.get(sender, ENDED) > since

    def stop(self) -> None:
        """Tell what is left and stop. Idempotent."""
        self._listener.stop()
        self._telling.shutdown()

    def _tell(self, scope: Scope, what: str, items: Sequence[tuple[str, str]]) -> None:
        # After closing, nobody is served here.
        with suppress(RuntimeError):
            self._telling.submit(self._send, scope, what, list(items))

    def _tell_forgotten(self, space: str) -> None:
        with suppress(RuntimeError):
            self._telling.submit(self._say, {"forgotten": space})

    def _send(self, scope: Scope, what: str, items: Sequence[tuple[str, str]]) -> None:
        for start in range(0, max(len(items), 1), ITEMS):
            said = {
                "what": what if start == 0 else "more",
                "scope": [scope.space, scope.user, scope.channel],
                "items": items[start : start + ITEMS],
            }
            self._say(said)

    def _say(self, said: Message) -> None:
        with suppress(StoreError):
            self._store.tell(said)

    def _hear(self, messages: Sequence[Message] | None) -> None:
        corpus = self._context().corpus
        if messages is None:
            self._drop_erased()
            self._forget(None)
            return
        for each in messages:
            sender = each["from"]
            if not each.get("alive", True):
                self._alive[sender] = ENDED
            elif self._alive.get(sender) != ENDED:
                self._alive[sender] = time.monotonic()
        if erased := {each["erased"]: each.get("mark") for each in messages if "erased" in each}:
            for space, mark in erased.items():
                # What they quote must not stay in memory, nor be logged.
                self._heard = mark
                self._turns.retrievals.drop(space, mark)
                self._turns.erased(space)
            with suppress(StoreError):
                corpus.forget_erased()
        for space in {each["forgotten"] for each in messages if "forgotten" in each}:
            # The injections that hosts repeat quote it.
            self._turns.forget(space, told=True)
        if changed := [each["changed"] for each in messages if "changed" in each]:
            self._forget(None if None in changed else set(changed))
        for each in messages:
            if "what" in each:
                with suppress(StoreError):
                    self._take(each, corpus.vocabulary.embedder.model)

    def _drop_erased(self) -> None:
        """Drop what is in memory if another process has erased and this one did not hear it."""
        with self._store.read() as connection:
            mark = meta.get(connection, meta.LAST_ERASURE)
            if mark == self._heard:
                return
            spaces = audits.spaces_erased(connection)
        self._heard = mark
        self._turns.retrievals.drop(None, mark)
        for space in spaces:
            self._turns.erased(space)
        self._context().corpus.forget_erased()

    def _forget(self, spaces: set[str] | None) -> None:
        """Drop what is cached of spaces that another process changed; None for all."""
        corpus = self._context().corpus
        corpus.store.memory_changes += 1
        corpus.settings.clear(spaces)
        with suppress(StoreError):
            corpus.vocabulary.follow(spaces)

    def _take(self, message: Message, model: str) -> None:
        space, user, channel = message["scope"]
        scope = Scope(space=space, user=user, channel=channel)
        if message["what"] == "restarted":
            self._channels.restart(scope, told=True)
            return
        at = self._store.now()
        told = self._read(space, message["items"], model)
        self._channels.channel(scope).told(told, at, served=message["what"] == "given")

    def _read(self, space: str, items: Sequence[tuple[str, str]], model: str) -> list[Told]:
        """The contents and vectors of items."""
        ids = grouped((kind if kind in TABLES else "memory", id) for kind, id in items)
        contents: dict[str, str] = {}
        with self._store.fenced(space), self._store.read() as connection:
            vectors = embeddings.vectors(connection, model, [id for _, id in items])
            for kind, some in ids.items():
                table = TABLES[kind]
                query = select(table.c.id, table.c.content).where(table.c.id.in_(some))
                contents |= {row.id: row.content for row in connection.execute(query)}
        return [
            (id, contents.get(id, ""), vectors[id].dense if id in vectors else None)
            for _, id in items
        ]
