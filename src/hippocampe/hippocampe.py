"""The facade of the library: each verb checks its scope and calls its step."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from hippocampe.config import Config
from hippocampe.curation import associate, erase, lookup, revise
from hippocampe.curation import forget as forget_step
from hippocampe.distillation import compaction, extraction
from hippocampe.distillation import digest as digest_step
from hippocampe.engine import api_keys, audit, model_calls
from hippocampe.engine import settings as settings_step
from hippocampe.engine.context import Context, Retired
from hippocampe.engine.projection import Progress
from hippocampe.engine.replies import Replies
from hippocampe.engine.tracing import Traced, note_result
from hippocampe.errors import IndexUnavailable, InvalidInput, StoreError, StoreReadOnly
from hippocampe.ingest import conversation, importer, remember, remember_many
from hippocampe.ingest.notes.sync import NoteSync, open_notes
from hippocampe.injection import before_turn, preview, replay
from hippocampe.injection.burst import Burst
from hippocampe.injection.channel_history import ChannelHistories
from hippocampe.injection.incoming import HostMessage
from hippocampe.injection.turn_state import TurnState
from hippocampe.jobs import ledger
from hippocampe.jobs.runner import Runner
from hippocampe.lifecycle import (
    maintenance,
    opening,
    rederivation,
    reembed,
    soundness,
    verification,
)
from hippocampe.remote.door import RESULTS, RemoteHippocampe
from hippocampe.remote.host import Host
from hippocampe.remote.joining import own_or_join
from hippocampe.retrieval import activity, browse, graph, recall
from hippocampe.retrieval import log as retrieval_log
from hippocampe.types import (
    UNSET,
    ApiKey,
    Association,
    AuditEntry,
    Compacted,
    Cost,
    Counts,
    Day,
    Distilled,
    Graph,
    History,
    Imported,
    Injection,
    JobRun,
    JobState,
    Memory,
    Message,
    Metadata,
    Mode,
    ModelUsage,
    NewKey,
    Note,
    Order,
    Page,
    Receipt,
    Recollection,
    Reindexed,
    Remembered,
    Retrieval,
    Review,
    Role,
    Scope,
    Settings,
    State,
    Stats,
    Unset,
    Verification,
    Vitals,
)
from hippocampe.validation import (
    MAX_TOKEN_CHARACTERS,
    check_flag,
    check_id,
    check_path,
    check_scope,
)

if TYPE_CHECKING:
    from opentelemetry.trace import Span

T = TypeVar("T")
When = datetime | str | None
UNSCOPED = Scope()
"""The scope of verbs without one."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Hippocampe:
    """A long-term memory in one data folder. Thread-safe; open it once and share it.

    Create one with `Hippocampe.open`. Most verbs take a `scope`: the space, user and channel of the call. Times are
    aware datetimes or ISO 8601 text with an offset. Every error is a `HippocampeError`.
    """

    def __init__(self, opened: opening.Opened, note_sync: NoteSync | None = None) -> None:
        self._opened = opened
        self._context: Context = opened.context
        self._turns = TurnState(opened.context.config)
        self._maintenance = None
        self._note_sync = note_sync
        config = opened.context.config
        self._follow = opening.Following(self._context) if opened.owner is None else None
        if config.background and opened.owner is not None:
            self._maintenance = maintenance.Maintenance(
                lambda: self._context,
                self._turns.retrievals,
                config.flush_seconds,
            )
        self._runner = Runner(lambda: self._context)
        if config.background and opened.owner is not None:
            self._runner.start()
        if note_sync is not None:
            note_sync.start(
                lambda step: self._write(step, UNSCOPED),
                opened.context.outages,
                config.notes_seconds,
                thread=config.background,
            )

    @classmethod
    def open(
        cls,
        where: Config | str | os.PathLike[str],
        *,
        join: bool = True,
        read_only: bool = False,
        clock: Callable[[], datetime] | None = None,
        progress: Progress | None = None,
    ) -> "Hippocampe":
        """Open a data folder, creating it if it does not exist.

        One process owns a folder. If another program of this user already does, the memory is used through
        it: the verbs, results and errors are the same.

        Args:
            where: The folder, or a `Config`.
            join: Whether to use the memory through the process that owns the folder, if there is one. A memory
                with a `clock` of its own never does.
            read_only: Read beside the process that owns the folder, or alone. Nothing is written:
                verbs that write raise `StoreReadOnly`, recalls are not counted, turns are not logged.
                The next call sees what the owner has written. Vectors are read from the database
                and searched exactly; only stored notes are found.
            clock: Returns the current time as an aware datetime; default: the clock of the system.
            progress: Called while the index is rebuilt, if necessary.

        Raises:
            FolderInUse: Another process, or another `Hippocampe`, holds the folder, and does not share it or does
                not answer.
            ServerUnavailable: The process that owns the folder has another version.
            StoreCorrupt: The database is damaged; nothing was overwritten.
            StoreTooNew: A later version wrote the data.
            StoreReadOnly: The folder cannot be written; with `read_only`, an earlier version wrote
                the data, or the last writes of a killed process need a writable folder.
            StoreMissing: With `read_only`: there is no data; nothing was created.
            EmbedderMismatch: The data was made with another embedder.
            EmbedderUnavailable: The embedder cannot be used.
            NotesUnavailable: Notes are configured and a required package is missing.
            InvalidInput: `where` is not a path, or tracing is on without OpenTelemetry installed.
        """
        config = Config.of(where)
        if read_only:
            return cls(opening.open_read_only(config, clock or _utc_now))

        def own() -> Hippocampe:
            note_sync = open_notes(config)
            opened = opening.open_folder(config, clock or _utc_now, progress)
            memory = cls(opened, note_sync)
            if opened.host is not None:
                opened.host.serve(memory, partial(audit.acting, "local"))
            return memory

        return own_or_join(config, own, JoinedHippocampe) if join and clock is None else own()

    @property
    def owns(self) -> bool:
        """True if this process has the folder open itself, instead of using the process that owns it."""
        return True

    @property
    def read_only(self) -> bool:
        """True if it was opened read-only."""
        return self._follow is not None

    @property
    def channels(self) -> ChannelHistories:
        """The histories of injections per channel, for hosts whose messages do not contain their injections."""
        return self._turns.channels

    @property
    def replies(self) -> Replies:
        """The stored replies to the server's idempotent writes."""
        return Replies(lambda: self._context)

    def _read(
        self,
        step: Callable[[Context], T],
        scope: Scope,
        traced: Traced | None = None,
        *,
        stale_allowed: bool = False,
    ) -> T:
        """Run a step that writes nothing, also when opened read-only.

        Args:
            step: The call, on the context that serves now.
            scope: Checked first.
            traced: The span around it, if any.
            stale_allowed: Whether a read-only process may answer from its caches while the store is
                down.
        """
        with self._span(scope, traced) as span:
            result = self._run(step, stale_allowed=stale_allowed)
            note_result(span, result)
        return result

    def _write(
        self,
        step: Callable[[Context], T],
        scope: Scope,
        traced: Traced | None = None,
        *,
        dry_run: bool = False,
    ) -> T:
        """Run a step that writes, unless `dry_run`; refused when opened read-only."""
        with self._span(scope, traced) as span:
            if self._follow is not None and not dry_run:
                self._context.store.check_writable()
            result = self._run(step)
            note_result(span, result)
        return result

    def _span(self, scope: Scope, traced: Traced | None) -> "AbstractContextManager[Span | None]":
        space = check_scope(scope).space
        return nullcontext() if traced is None else self._context.tracer.span(traced, space=space)

    def _run(self, step: Callable[[Context], T], *, stale_allowed: bool = False) -> T:
        while True:
            context = self._context
            if self._opened.ending.is_set():
                raise StoreError("this Hippocampe was closed: open the data folder again.")
            if self._follow is not None:
                with suppress(StoreError) if stale_allowed else nullcontext():
                    self._follow()
            try:
                return step(context)
            except (Retired, IndexUnavailable):
                if not context.retired:
                    raise
                # Wait for the switch to another embedder to finish, then retry.
                with context.store.exclusive():
                    continue

    # Memories

    def remember(
        self,
        content: str,
        *,
        scope: Scope,
        type: str | None = None,
        collection: str | None = None,
        category: str | None = None,
        key: str | None = None,
        subjects: Sequence[str] = (),
        importance: float | None = None,
        ttl: str | timedelta | Unset | None = UNSET,
        occurred_at: When = None,
        source: str = "conversation",
        replaces: Sequence[str] = (),
        evidence: Sequence[str] = (),
        metadata: Metadata | None = None,
    ) -> Remembered:
        """Store one durable statement; memories that it corrects become history.

        A correction inherits the type, importance, subjects, category and collection that the caller
        omits. A new type replaces the default importance of the old type.

        Args:
            content: The statement, 1 to 100,000 characters. Secrets in it are masked.
            scope: The space, and the user and channel it comes from.
            type: One of `hippocampe.types.DEFAULT_IMPORTANCE`; default of a new memory: `fact`.
            collection: `memory` (default of a new memory), `self`, `goal` or `summary`.
            category: Of `self` and `goal`: one of `hippocampe.types.CATEGORIES`.
            key: A unique name in the space; writing it again replaces the value.
            subjects: Flat tags; an empty list counts as omitted.
            importance: 0 to 1; default of a new memory: that of its type.
            ttl: Time to live: `"1h"`, `"7d"`, `"2w"`, a timedelta, or None for ever. By default that
                of the category in the setting `category_ttl`, or for ever.
            occurred_at: When it happened, if not now.
            source: Its origin.
            replaces: Ids of memories that it supersedes.
            evidence: Ids of the messages it was extracted from.
            metadata: Key-value pairs of the caller, up to 32 keys and 4 KiB: strings, numbers,
                booleans, None. Secrets are masked. A correction inherits omitted pairs.

        Returns:
            The memory, and whether it was `inserted`, `updated` or `reinforced`.

        Raises:
            InvalidInput: An argument is invalid; nothing was changed.
            NotFound: An id in `replaces` is not a current memory of the space.
        """
        return self._write(
            lambda context: remember.remember(
                context,
                content,
                scope=scope,
                type=type,
                collection=collection,
                category=category,
                key=key,
                subjects=subjects,
                importance=importance,
                ttl=ttl,
                occurred_at=occurred_at,
                source=source,
                replaces=replaces,
                evidence=evidence,
                metadata=metadata,
            ),
            scope,
            Traced("upsert_memory", "remember"),
        )

    def remember_many(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        scope: Scope,
        progress: Progress | None = None,
    ) -> list[Remembered]:
        """Store many statements by the rules of `remember`, in order.

        Much faster than `remember` one by one. All items are checked before the first is stored;
        they are then stored in transactions of 128, in order.

        Args:
            items: Mappings with the arguments of `remember`: `content`, and any of the others.
            scope: The space, and the user and channel they come from.
            progress: Called after each transaction with the number of items stored durably.

        Returns:
            One result for each item, in order.

        Raises:
            InvalidInput: An item is invalid; the message names its number, counted from 1.
            NotFound: An id in `replaces` is not a current memory of the space. Transactions
                reported to `progress` stay stored.
        """
        drafts = self._write(
            lambda context: remember_many.check_items(context, items, scope=scope), scope
        )
        results: list[Remembered] = []

        def store_next(context: Context) -> list[Remembered]:
            return remember_many.store_batch(context, drafts, start=len(results), scope=scope)

        while len(results) < len(drafts):
            # A retry must not store a batch twice: one call per transaction.
            results += self._write(store_next, scope, Traced("upsert_memory", "remember_many"))
            if progress is not None:
                progress("remembering", len(results), len(drafts))
        return results

    def recall(
        self,
        query: str,
        *,
        scope: Scope,
        limit: int = 10,
        collections: Sequence[str] = ("memory",),
        types: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        category: str | None = None,
        metadata: Metadata | None = None,
        since: When = None,
        until: When = None,
        user: str | None = None,
        channel: str | None = None,
        min_score: float | None = None,
        mode: Mode = "hybrid",
        explain: bool = False,
    ) -> list[Recollection]:
        """Find the items that answer a question, best first, without a language model.

        Args:
            query: The question, or any words.
            scope: The space, and the user who asks.
            limit: At most this many, 1 to 1,000.
            collections: Among `memory`, `self`, `goal`, `summary`, `turn`, `live`, `note`.
            types: Only memories of these types.
            subjects: Only memories with any of these subjects.
            category: Only memories of this category.
            metadata: Only memories with all these pairs, equal in value and type.
            since: Earliest time, inclusive.
            until: Latest time, exclusive.
            user: Only memories, turns and messages of this user.
            channel: Only those of this channel.
            min_score: Minimum relevance, 0 to 1.
            mode: `hybrid`, `semantic` (by meaning only) or `text` (by words only).
            explain: Fill `Recollection.why`.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._read(
            lambda context: recall.recall(
                context,
                query,
                scope=scope,
                limit=limit,
                collections=collections,
                types=types,
                subjects=subjects,
                category=category,
                metadata=metadata,
                since=since,
                until=until,
                user=user,
                channel=channel,
                min_score=min_score,
                mode=mode,
                explain=explain,
            ),
            scope,
            Traced("search_memory", "recall"),
        )

    def recent(
        self, limit: int = 10, *, scope: Scope, since: When = None, channel_only: bool = False
    ) -> list[Memory]:
        """The newest memories, newest first.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._read(
            lambda context: lookup.recent(
                context, limit, scope=scope, since=since, channel_only=channel_only
            ),
            scope,
        )

    def memories(
        self,
        *,
        scope: Scope,
        collection: str | None = None,
        types: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        category: str | None = None,
        user: str | None = None,
        channel: str | None = None,
        metadata: Metadata | None = None,
        since: When = None,
        until: When = None,
        state: State = "current",
        order: Order = "newest",
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """List the memories of the space, page by page.

        Pages neither repeat nor skip a memory when others are added or removed in between.

        Args:
            scope: Only its space counts.
            collection: `memory`, `self`, `goal` or `summary`; default: all.
            types: Only memories of these types.
            subjects: Only memories with any of these subjects.
            category: Only memories of this category.
            user: Only memories of this user.
            channel: Only memories of this channel.
            metadata: Only memories with all these pairs, equal in value and type.
            since: Only memories learnt at or after this time.
            until: Only memories learnt before this time.
            state: `current`, `superseded`, `forgotten` (also expired) or `all`.
            order: `newest` or `oldest` learnt first, or `importance`, the highest first.
            limit: At most this many per page, 1 to 1,000.
            cursor: `next_cursor` of the page before; the other arguments must be the same, except
                `limit`.

        Raises:
            InvalidInput: An argument cannot be used, or the cursor belongs to another query.
        """
        return self._read(
            lambda context: browse.memories(
                context,
                scope=scope,
                collection=collection,
                types=types,
                subjects=subjects,
                category=category,
                user=user,
                channel=channel,
                metadata=metadata,
                since=since,
                until=until,
                state=state,
                order=order,
                limit=limit,
                cursor=cursor,
            ),
            scope,
        )

    def spaces(self) -> dict[str, Counts]:
        """The spaces with their counts, largest first. Takes no scope."""
        return self._read(lambda context: browse.spaces(context), UNSCOPED)

    def users(self, *, scope: Scope) -> dict[str, Counts]:
        """The users of the space with their counts, most active first."""
        return self._read(lambda context: browse.users(context, scope=scope), scope)

    def subjects(self, *, scope: Scope) -> dict[str, int]:
        """The subjects of the space, folded, with the number of current memories, most frequent first."""
        return self._read(lambda context: browse.subjects(context, scope=scope), scope)

    def get(self, id: str, *, scope: Scope) -> Memory:
        """One memory, current or not.

        Raises:
            NotFound: The space has no memory with this id.
        """
        return self._read(lambda context: lookup.get(context, id, scope=scope), scope)

    def history(self, id: str, *, scope: Scope) -> History:
        """All versions of a memory, oldest first, with their associations.

        Raises:
            NotFound: The space has no memory with this id.
        """
        return self._read(lambda context: lookup.history(context, id, scope=scope), scope)

    def edit(
        self,
        id: str,
        *,
        scope: Scope,
        content: str | None = None,
        type: str | None = None,
        category: str | None = None,
        subjects: Sequence[str] | None = None,
        importance: float | None = None,
        ttl: str | timedelta | Unset | None = UNSET,
        occurred_at: datetime | str | Unset | None = UNSET,
        metadata: Metadata | None = None,
    ) -> Memory:
        """Change fields of a current memory in place; omitted fields stay.

        `metadata` replaces all of the memory's pairs; `{}` removes them. A new statement supersedes the
        memories that it contradicts, as in `remember`. A new type brings its default importance, unless
        the memory had a custom one.

        Raises:
            NotFound: The space has no current memory with this id.
            InvalidInput: A value is invalid, or another current memory states the same; nothing was
                changed.
        """
        return self._write(
            lambda context: revise.edit(
                context,
                id,
                scope=scope,
                content=content,
                type=type,
                category=category,
                subjects=subjects,
                importance=importance,
                ttl=ttl,
                occurred_at=occurred_at,
                metadata=metadata,
            ),
            scope,
            Traced("update_memory", "edit"),
        )

    def delete(self, id: str, *, scope: Scope, reason: str) -> Memory:
        """Hide a memory from recall; it stays in history and `restore` brings it back.

        Raises:
            NotFound: The space has no current memory with this id.
            InvalidInput: The reason is empty.
        """
        return self._write(
            lambda context: revise.delete(context, id, scope=scope, reason=reason),
            scope,
            Traced("delete_memory", "delete"),
        )

    def restore(self, id: str, *, scope: Scope) -> Memory | Recollection:
        """Make a forgotten, expired or superseded memory current again, or a forgotten turn of talk.

        The rules of `remember` apply: memories that it contradicts or that hold its key become history;
        undecided pairs are listed for review.

        Raises:
            NotFound: The space has no memory and no turn with this id.
            InvalidInput: It is current already, or another current memory states the same.
        """
        return self._write(lambda context: revise.restore(context, id, scope=scope), scope)

    def associate(
        self, source_id: str, target_id: str, kind: str, *, scope: Scope, reason: str | None = None
    ) -> Association:
        """Add a typed edge between two memories.

        Raises:
            InvalidInput: The kind is not in `hippocampe.types.ASSOCIATIONS`.
            NotFound: The space lacks one of the memories.
        """
        return self._write(
            lambda context: associate.associate(
                context, source_id, target_id, kind, scope=scope, reason=reason
            ),
            scope,
        )

    def neighbours(
        self, id: str, *, scope: Scope, depth: int = 2
    ) -> tuple[tuple[Memory, ...], tuple[Association, ...]]:
        """The memories within `depth` edges of one (itself first), and the edges between them.

        Raises:
            NotFound: The space has no memory with this id.
            InvalidInput: `depth` is not 1 to 5.
        """
        return self._read(
            lambda context: associate.neighbours(context, id, scope=scope, depth=depth), scope
        )

    def reviews(self, *, scope: Scope) -> list[Review]:
        """Pairs of memories that no rule could decide, newest first."""
        return self._read(lambda context: associate.reviews(context, scope=scope), scope)

    def settle(self, id: str, other_id: str, *, scope: Scope, keep: str | None = None) -> None:
        """Remove a pair from the review list.

        The memory in `keep`, if given, supersedes the other one, and takes its key if it has none.

        Raises:
            NotFound: The space lacks one of the memories.
            InvalidInput: `keep` is neither of them.
        """
        self._write(
            lambda context: associate.settle(context, id, other_id, scope=scope, keep=keep), scope
        )

    def graph(self, *, scope: Scope, limit: int = 5_000) -> Graph:
        """The current memories and the subjects of the space as a graph.

        Args:
            scope: The space.
            limit: At most this many memories, the most important first, newest first among equals.

        Raises:
            InvalidInput: `limit` is not a whole number from 1 to 20,000.
        """
        return self._read(lambda context: graph.graph(context, scope=scope, limit=limit), scope)

    def facts(self, *, scope: Scope) -> dict[str, Memory]:
        """The current memories that have a key, by key."""
        return self._read(lambda context: lookup.facts(context, scope=scope), scope)

    def set_fact(self, key: str, value: str, *, scope: Scope) -> Remembered:
        """Set a fact; the old value becomes history.

        Raises:
            InvalidInput: The key or the value cannot be stored.
        """
        return self._write(
            lambda context: remember.remember(
                context, value, scope=scope, key=check_id(key, name="key")
            ),
            scope,
            Traced("upsert_memory", "remember"),
        )

    def delete_fact(self, key: str, *, scope: Scope, reason: str = "deleted") -> Memory:
        """Hide a fact.

        Raises:
            NotFound: The space has no fact with this key.
        """
        return self._write(
            lambda context: revise.delete_fact(context, key, scope=scope, reason=reason), scope
        )

    # Talk

    def observe(
        self, content: str, *, scope: Scope, at: When = None, external_id: str | None = None
    ) -> Message | None:
        """Store a message of an observed room as live: recall finds it until the next digest.

        Only messages of the rooms in the setting `live_rooms` are stored, except those that contain a
        name of the setting `companion_names` as a word: the companion handles those.

        Args:
            content: The message. Web addresses stay text.
            scope: The space, the author, and the room as the channel.
            at: The time of the message; None is now.
            external_id: Its id in the source; a repeat returns the stored message.

        Returns:
            The stored message; None if it was not stored.

        Raises:
            InvalidInput: The message cannot be stored.
        """
        return self._write(
            lambda context: conversation.observe(
                context, content, scope=scope, at=at, external_id=external_id
            ),
            scope,
        )

    def before_turn(
        self,
        message: HostMessage | Sequence[HostMessage],
        *,
        scope: Scope,
        role: str = "user",
        fresh: bool = False,
    ) -> Injection:
        """Select what to put in front of the model before it answers.

        No model is called. Failures never raise: late (`hook_timeout_ms`) or failed sources are
        skipped and named in the trace. Items recently injected into the channel are not repeated.

        Args:
            message: The message, or the messages of a burst, joined into one. Each is a text, or a
                mapping with `content` (a text, or a list of parts) and an optional `role`.
            scope: The speaker and the channel.
            role: Role of messages without one; `system`, `developer` and tool messages are skipped.
            fresh: Whether the model has lost earlier injections, because its context is new or
                was compacted: any item may be injected again.

        Raises:
            StoreError: This `Hippocampe` was closed.
        """
        begun = self._begin_turn(message, scope=scope, role=role, fresh=fresh)
        if isinstance(begun, Injection):
            return begun
        time.sleep(begun.wait_seconds)
        return self._end_turn(begun, scope=scope)

    def _begin_turn(
        self,
        message: HostMessage | Sequence[HostMessage],
        *,
        scope: Scope,
        role: str,
        joined: bool = False,
        fresh: bool = False,
    ) -> Injection | Burst:
        """Serve a turn, or return the wait for the rest of its burst; never a wait with `joined`."""
        if check_flag("fresh", fresh):
            self._turns.channels.restart(check_scope(scope))
        return self._read(
            lambda context: before_turn.before_turn(
                context,
                self._turns,
                message,
                scope=scope,
                role=role,
                note_sync=self._note_sync,
                joined=joined,
            ),
            scope,
            Traced("search_memory", "before_turn"),
            stale_allowed=True,
        )

    def _end_turn(self, burst: Burst, *, scope: Scope) -> Injection:
        """Serve a burst after its waiting time."""
        messages = burst.take()
        if messages is None:
            return before_turn.joined_to_a_later_message()
        served = self._begin_turn(messages, scope=scope, role="user", joined=True)
        assert isinstance(served, Injection)
        return served

    def preview(
        self,
        message: HostMessage | Sequence[HostMessage],
        *,
        scope: Scope,
        role: str = "user",
        at: When = None,
    ) -> Injection:
        """Preview the injection of `before_turn`, without side effects: nothing is counted or logged, and the
        channel may still get the same items.

        It waits for late sources instead of dropping them.

        Args:
            message: As for `before_turn`.
            scope: The speaker and the channel.
            role: Role of messages without one.
            at: Preview as of this time: with memories learnt by then, and not yet superseded,
                forgotten or expired. Earlier injections do not count; the settings are the present ones.
                Memories edited in place since then have their present text.

        Raises:
            InvalidInput: The time is invalid.
        """
        return self._read(
            lambda context: preview.preview(
                context,
                self._turns,
                message,
                scope=scope,
                role=role,
                at=at,
                note_sync=self._note_sync,
            ),
            scope,
        )

    def after_turn(
        self,
        user_message: str,
        reply: str | None,
        *,
        scope: Scope,
        assistant: str = "assistant",
        at: When = None,
        tool_results: Sequence[str] = (),
        external_id: str | None = None,
    ) -> str:
        """Store an exchange and return the id of its turn; embedding and indexing follow in the background.

        With a language model, memories are extracted in the background too. A crash loses nothing: the next
        open indexes pending turns. The turn is not injected into its own
        channel again. Injected text is removed from the messages before storing.

        Args:
            user_message: The message of the user of the scope.
            reply: The answer of the assistant, if any.
            scope: The space, the user and the channel.
            assistant: Author of the reply.
            at: Time of the exchange, if not now.
            tool_results: Results of the assistant's tools: `search_text` and the extraction read
                them; `recall` finds the turn without them.
            external_id: Its id in the host, unique in the channel; a repeat returns the stored turn.

        Raises:
            InvalidInput: A message cannot be stored; nothing was stored.
        """
        turn_id = self._write(
            lambda context: conversation.after_turn(
                context,
                user_message,
                reply,
                scope=scope,
                assistant=assistant,
                at=at,
                tool_results=tool_results,
                external_id=external_id,
            ),
            scope,
        )
        self._turns.channels.channel(scope).heard(turn_id, self._context.now())
        if self._context.language_model is not None:
            self._runner.wake()
        return turn_id

    def digest(self, *, scope: Scope) -> Distilled:
        """Turn the live messages of the space into memories now, independent of the `digest_hours`.

        Each message is digested once; messages that arrive meanwhile stay live. Without a configured
        language model they become turns. A call during another digest waits, and finds nothing left.

        Raises:
            ModelError: The language model gave no usable answer. Parts digested before stay digested; the rest
                stays live.
            EmbedderError: Statements cannot be embedded; likewise.
        """
        return self._write(
            lambda context: digest_step.digest(context, space=scope.space),
            scope,
            Traced("upsert_memory", "digest"),
        )

    def compact(self, *, scope: Scope) -> Compacted:
        """Summarise the oldest messages in the working history of the scope's channel.

        Does nothing up to twice `recent_messages`; beyond that, the newest `recent_messages` stay. The
        other messages can still be found by full text and as turns. Without a configured language
        model, the summary consists of their most informative sentences.

        Raises:
            InvalidInput: The scope has no channel.
            ModelError: The language model gave no usable answer; the messages stay.
            EmbedderError: The summary cannot be embedded; likewise.
        """
        channel = check_scope(scope).channel
        if channel is None:
            raise InvalidInput("compact needs a channel: give one in the scope.")
        return self._write(
            lambda context: compaction.compact(context, space=scope.space, channel=channel),
            scope,
            Traced("upsert_memory", "compact"),
        )

    def extract(self, turn_id: str, *, scope: Scope) -> Distilled:
        """Extract memories from an exchange now, with the language model.

        With a model, this happens in the background after each `after_turn`. Known facts, statements of the
        assistant alone, and small talk are skipped.

        Returns:
            The number of messages read, and the stored memories, in order.

        Raises:
            NotFound: The space has no such turn, or it was forgotten.
            ModelUnavailable: No language model is configured, or none answered.
            InvalidAnswer: The answer of the model does not have the requested form.
            BudgetSpent: The background share of the daily budget is spent.
            InvalidInput: The id is not text.
        """
        check_id(turn_id, name="turn_id")
        return self._write(
            lambda context: extraction.extract(context, turn_id, space=scope.space), scope
        )

    def messages(
        self,
        *,
        scope: Scope,
        since: When = None,
        until: When = None,
        working: bool = False,
        live: bool = False,
        ids: Sequence[str] | None = None,
        limit: int = 20,
    ) -> list[Message]:
        """The latest messages of the scope's channel (of all channels without one), oldest first.

        Args:
            scope: The space, and the channel if only one is wanted.
            since: Earliest time, inclusive.
            until: Latest time, exclusive.
            working: Only the working history: exchanges that are not compacted yet.
            live: Only messages overheard since the last digest.
            ids: Only messages with these ids, such as the evidence of a memory.
            limit: At most this many, 1 to 1,000.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._read(
            lambda context: conversation.messages(
                context,
                scope=scope,
                since=since,
                until=until,
                working=working,
                live=live,
                ids=ids,
                limit=limit,
            ),
            scope,
        )

    def search_text(
        self,
        query: str,
        *,
        scope: Scope,
        user: str | None = None,
        channel: str | None = None,
        since: When = None,
        until: When = None,
        limit: int = 20,
    ) -> list[Message]:
        """Messages with all the words of a query, newest first.

        Quoted words match as a phrase, and a word that ends in `*` as a prefix.

        Args:
            query: The words.
            scope: The space, and the channel if it has one.
            user: Only messages of this user.
            channel: Only messages of this channel, instead of the channel of the scope.
            since: Earliest time, inclusive.
            until: Latest time, exclusive.
            limit: At most this many, 1 to 1,000.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._read(
            lambda context: conversation.search_text(
                context,
                query,
                scope=scope,
                user=user,
                channel=channel,
                since=since,
                until=until,
                limit=limit,
            ),
            scope,
        )

    def notes(self, *, scope: Scope, refresh: bool = False) -> list[Note]:
        """The notes of the space by path, as of the last refresh.

        Args:
            scope: The space.
            refresh: Read changed notes first, instead of in the background.

        Raises:
            NotesUnavailable: With `refresh`, notes cannot be read now.
        """
        check_scope(scope)
        wanted = check_flag("refresh", refresh)
        note_sync = self._note_sync
        if note_sync is None:
            return []
        if wanted and scope.space == note_sync.space:
            self._write(lambda context: note_sync.refresh(context), UNSCOPED)
        return note_sync.notes(space=scope.space)

    # Forgetting

    def forget(self, topic: str, *, scope: Scope, dry_run: bool = False) -> Receipt:
        """Hide everything about a topic from recall; `restore` brings memories back.

        Raises:
            InvalidInput: The topic is empty.
        """
        return self._write(
            lambda context: forget_step.forget(context, topic, scope=scope, dry_run=dry_run),
            scope,
            Traced("delete_memory", "forget"),
            dry_run=dry_run,
        )

    def erase(
        self,
        *,
        scope: Scope,
        id: str | None = None,
        user: str | None = None,
        subject: str | None = None,
        whole_space: bool = False,
        dry_run: bool = False,
    ) -> Receipt:
        """Remove data permanently: rows, history, full text, vectors, index, backups.

        Give exactly one of `id`, `user`, `subject` and `whole_space`.

        Raises:
            InvalidInput: None or several of them are given.
            NotFound: The space has nothing with this id.
        """
        return self._write(
            lambda context: erase.erase(
                context,
                self._turns,
                scope=scope,
                id=id,
                user=user,
                subject=subject,
                whole_space=whole_space,
                dry_run=dry_run,
            ),
            scope,
            Traced("delete_memory", "erase"),
            dry_run=dry_run,
        )

    def expire(self, *, scope: Scope) -> Receipt:
        """Hide expired memories of the space. Recall already excludes them."""
        return self._write(
            lambda context: forget_step.expire(
                context, space=check_scope(scope).space, audited=True
            ),
            scope,
        )

    def audit(self, *, scope: Scope, since: When = None, limit: int = 100) -> list[AuditEntry]:
        """The audit log of the space, newest first: deletes, erasures, restores, changes of settings and keys,
        each with its actor.

        Args:
            scope: The space.
            since: Earliest time, inclusive.
            limit: At most this many, 1 to 1,000.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._read(
            lambda context: audit.entries(context, scope=scope, since=since, limit=limit), scope
        )

    # Turns

    def settings(self, *, scope: Scope) -> Settings:
        """The settings of the space.

        Raises:
            StoreError: They cannot be read, and none are cached.
        """
        return self._read(lambda context: settings_step.read(context, scope=scope), scope)

    def update_settings(self, *, scope: Scope, **changes: Any) -> Settings:
        """Change settings of the space, all or none; effective from the next turn. None resets one.

        Args:
            scope: The space.
            changes: New values by name, the fields of `hippocampe.types.Settings`.

        Raises:
            InvalidInput: The setting does not exist or the value is invalid; nothing was changed.
        """
        return self._write(
            lambda context: settings_step.update(context, changes, scope=scope), scope
        )

    def retrievals(
        self,
        *,
        scope: Scope,
        limit: int = 20,
        since: When = None,
        channel_only: bool = False,
        cursor: str | None = None,
    ) -> list[Retrieval]:
        """The retrieval log of the space, newest first: the items of each turn, with their outcomes.

        Args:
            scope: The space, and the channel for `channel_only`.
            limit: At most this many, 1 to 1,000.
            since: Earliest time, inclusive.
            channel_only: Only turns of the scope's channel.
            cursor: The id of the last retrieval of the page before.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._read(
            lambda context: retrieval_log.retrievals(
                context,
                self._turns.retrievals,
                scope=scope,
                limit=limit,
                since=since,
                channel_only=channel_only,
                cursor=cursor,
            ),
            scope,
        )

    def retrieval(self, id: str, *, scope: Scope) -> Retrieval:
        """One entry of the retrieval log, by the id of its injection.

        Raises:
            NotFound: The log of the space has no entry with this id.
        """
        return self._read(
            lambda context: retrieval_log.retrieval(
                context, self._turns.retrievals, id, scope=scope
            ),
            scope,
        )

    def replay(self, id: str, *, scope: Scope) -> Injection:
        """Rebuild the injection of a logged turn, with the memories of its time.

        Memories edited in place since have their present text; erased items and digested live messages are missing.
        The trace explains the scores that are reproduced.

        Raises:
            NotFound: The log of the space has no entry with this id.
        """
        return self._read(
            lambda context: replay.replay(context, self._turns, id, scope=scope), scope
        )

    # Background jobs

    def jobs(
        self,
        *,
        scope: Scope,
        job: str | None = None,
        states: Sequence[JobState] | None = None,
        limit: int = 50,
    ) -> list[JobRun]:
        """The runs of background jobs of the space, newest first; finished runs are deleted after 30 days.

        Args:
            scope: The space.
            job: Only runs of this job: `extract`, `digest`, `compact`, `settle`, `expire`, `decay` or
                `prune`.
            states: Only runs in these states: `waiting`, `running`, `done`, `failed`, `parked`.
            limit: At most this many, 1 to 1,000.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._read(
            lambda context: ledger.jobs(context, scope=scope, job=job, states=states, limit=limit),
            scope,
        )

    def run_jobs(self, *, scope: Scope) -> list[JobRun]:
        """Queue the scheduled jobs that are due, and run all due jobs of the space now.

        With `Config(background=True)`, a thread does the same. A failed job does not raise: its run has the
        reason and the time of the retry.

        Returns:
            The runs with their outcomes.
        """
        return self._write(
            lambda context: self._runner.run_due(context, space=scope.space),
            scope,
        )

    def retry_job(self, id: str, *, scope: Scope) -> JobRun:
        """Make a failed or parked run due now, with all its attempts available again.

        Raises:
            NotFound: The space has no failed or parked run with this id.
        """
        run = self._write(lambda context: ledger.retry_job(context, id, scope=scope), scope)
        self._runner.wake()
        return run

    # Language models

    def names(self, user: str, *, scope: Scope) -> tuple[str, ...]:
        """The name of a user and the other names that aliases give to it.

        Raises:
            InvalidInput: The name is not text.
        """
        return self._read(lambda context: lookup.names(context, user, scope=scope), scope)

    def check_budget(self, *, scope: Scope) -> None:
        """Raise `BudgetSpent` if language models have spent the daily budget of the space.

        Raises:
            BudgetSpent: The budget is spent; the setting `daily_budget` raises the limit.
        """
        self._read(lambda context: model_calls.check_budget(context, scope.space), scope)

    def usage(self, *, scope: Scope, since: When = None, limit: int = 100) -> list[ModelUsage]:
        """The calls of language models made for the space, newest first.

        Raises:
            InvalidInput: An argument is invalid.
        """
        return self._read(
            lambda context: model_calls.usage(context, scope=scope, since=since, limit=limit), scope
        )

    def costs(self, *, scope: Scope, days: int = 30) -> list[Cost]:
        """The costs of language models over the latest days, in order of day, purpose and model.

        Days are those of the setting `timezone`; a day, purpose or model without calls has no entry.

        Raises:
            InvalidInput: `days` is not a whole number from 1 to 366.
        """
        return self._read(lambda context: model_calls.costs(context, scope=scope, days=days), scope)

    def record_usage(
        self,
        *,
        scope: Scope,
        model: str,
        purpose: str,
        input_tokens: int,
        output_tokens: int,
        injected_tokens: int = 0,
        price: float | None = None,
    ) -> ModelUsage:
        """Record the cost of a call of a language model that the host made.

        Args:
            scope: The space that pays.
            model: The model that answered.
            purpose: One word: `chat`.
            input_tokens: Tokens of the request.
            output_tokens: Tokens of the answer.
            injected_tokens: The part of the input tokens that injections added.
            price: In US dollars, if known.

        Raises:
            InvalidInput: A label or a number cannot be used.
        """
        return self._write(
            lambda context: model_calls.record_usage(
                context,
                scope=scope,
                model=model,
                purpose=purpose,
                input_tokens=input_tokens,
                output_tokens=output_tokens,
                injected_tokens=injected_tokens,
                price=price,
            ),
            scope,
        )

    # The server

    def create_key(self, *, scope: Scope, role: Role, label: str | None = None) -> NewKey:
        """Make a key of the server that opens one space. Its text is returned once and not stored.

        Args:
            scope: The space.
            role: `read`; `write`, which also stores and hides; or `admin`, which also changes
                settings and runs digests.
            label: Its purpose, up to 200 characters.

        Raises:
            InvalidInput: The role is unknown, or the label cannot be stored.
        """
        return self._write(
            lambda context: api_keys.create_key(context, scope=scope, role=role, label=label), scope
        )

    def keys(self) -> list[ApiKey]:
        """The keys of the server for all spaces, revoked ones included, newest first. Takes no scope."""
        return self._read(api_keys.keys, UNSCOPED)

    def revoke_key(self, id: str) -> ApiKey:
        """Revoke a key of the server: it is refused from the next request on. Takes no scope.

        Raises:
            NotFound: There is no such key, or it was revoked before.
        """
        return self._write(lambda context: api_keys.revoke_key(context, id), UNSCOPED)

    def find_key(self, secret: str) -> ApiKey | None:
        """The key with a text; None if there is no such key, or it is revoked. Takes no scope.

        Raises:
            InvalidInput: It is not text.
        """
        return self._read(lambda context: api_keys.find_key(context, secret), UNSCOPED)

    def announce(self, address: str) -> None:
        """Publish the base URL at which this process serves the memory over HTTP, for people to read.

        Raises:
            InvalidInput: The address is not text.
            StoreReadOnly: This memory was opened read-only: it does not own the folder.
        """
        check_id(address, name="address", limit=MAX_TOKEN_CHARACTERS)
        self._write(lambda context: self._opened.announce(address), UNSCOPED)

    @property
    def host(self) -> Host | None:
        """The server of other programs of this user; None without one."""
        return self._opened.host

    # Upkeep

    def now(self) -> datetime:
        """The current time, by the clock that this memory was opened with; aware, in UTC."""
        return self._context.now()

    @property
    def config(self) -> Config:
        """The configuration that this memory was opened with."""
        return self._context.config

    def stats(self, *, scope: Scope) -> Stats:
        """Counts of the space, and the state of the index."""
        dropped = self._turns.retrievals.dropped
        return self._read(
            lambda context: verification.stats(context, scope=scope, retrievals_dropped=dropped),
            scope,
        )

    def activity(self, *, scope: Scope, days: int = 30) -> list[Day]:
        """The activity of the space on each of the latest days up to today, oldest first.

        Days are those of the setting `timezone`; days without activity are included.

        Raises:
            InvalidInput: `days` is not a whole number from 1 to 366.
        """
        return self._read(
            lambda context: activity.activity(
                context, self._turns.retrievals, scope=scope, days=days
            ),
            scope,
        )

    def vitals(self) -> Vitals:
        """Numbers of the whole data folder: of the index, of jobs, of its files. Takes no scope."""
        return self._read(verification.vitals, UNSCOPED)

    def verify(self, *, absent: Sequence[str] = ()) -> Verification:
        """Compare store and index, check database and vectors, and check that given texts are absent.

        The index's answer for each item is compared with the store, which takes seconds per
        100,000 items. `reindex` repairs differences and damage.

        Args:
            absent: Texts that no file of the data folder may contain.

        Raises:
            InvalidInput: `absent` is a single text, or contains an empty one.
        """
        return self._read(lambda context: verification.verify(context, absent=absent), UNSCOPED)

    def reindex(
        self, *, embedder: str | None = None, progress: Progress | None = None
    ) -> Reindexed:
        """Build the index again from the store, with its graphs, while reading goes on.

        First derives rows of older rules again, and re-embeds the texts of damaged vectors.

        Args:
            embedder: Re-embed everything with this embedder; default: keep the vectors.
            progress: Called with the current work, the number done and the total.

        Raises:
            EmbedderUnavailable: The new embedder cannot be used; nothing was changed.
        """
        self._write(lambda context: rederivation.rederive(context), UNSCOPED)
        if embedder is None:
            return self._write(lambda context: soundness.rebuild(context, progress), UNSCOPED)
        return self._write(
            lambda context: reembed.change_embedder(context, embedder, progress, self._take_over),
            UNSCOPED,
        )

    def _take_over(self, context: Context) -> None:
        self._context = context
        self._turns.embedder_changed(context.config)

    def backup(
        self, target: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> Path:
        """Copy the database while it is in use; return the copy's path.

        Args:
            target: The file of the copy; default: a dated file in the data folder's `backups`.
            overwrite: Replace a file that exists; a failure leaves it unchanged.

        Raises:
            InvalidInput: The file exists, or is one of the data folder's own; or `target` is not a path.
            StoreError: The copy cannot be written.
        """
        copy = None if target is None else check_path("target", target)
        check_flag("overwrite", overwrite)
        return self._read(
            lambda context: verification.backup(context, copy, overwrite=overwrite), UNSCOPED
        )

    def export_to(
        self, path: str | os.PathLike[str], *, scope: Scope, overwrite: bool = False
    ) -> int:
        """Write the whole space as JSON Lines; return the number of lines.

        `import_from` with format `hippocampe` reads it back with nothing lost.

        Args:
            path: The file to write.
            scope: The space.
            overwrite: Replace a file that exists; a failure leaves it unchanged.

        Raises:
            InvalidInput: The file exists, or is one of the data folder's own; or `path` is not a path.
            StoreError: The file cannot be written.
        """
        return self._read(
            lambda context: importer.export_to(
                context,
                check_path("path", path),
                scope=scope,
                overwrite=check_flag("overwrite", overwrite),
            ),
            scope,
        )

    def import_from(
        self,
        path: str | os.PathLike[str],
        *,
        scope: Scope,
        format: str | None = None,
        timezone: str = "Europe/Paris",
        one_space: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Import exported conversations, or an export of Hippocampe. Idempotent.

        Args:
            path: The file.
            scope: The space, and the channel of messages without one.
            format: `jsonl`, `whatsapp`, `chatgpt`, `claude`, `telegram` or `hippocampe`; default:
                detected from the file.
            timezone: Timezone of times without one.
            one_space: Skip messages that name another space, and report them as problems;
                otherwise they go to the space that they name.
            progress: Called while messages are stored.

        Raises:
            UnreadableFile: The file is damaged or does not have the format.
            InvalidInput: The format or the timezone is not known.
        """
        return self._write(
            lambda context: importer.import_from(
                context,
                check_path("path", path),
                scope=scope,
                format=format,
                timezone=timezone,
                one_space=one_space,
                progress=progress,
            ),
            scope,
        )

    def flush(self) -> None:
        """Wait for background work (loading, embedding, reading notes) and make the index durable.

        Optional: the store is durable already.
        """
        self._opened.wait()
        if self._note_sync is not None:
            self._note_sync.wait()
        self._read(lambda context: maintenance.flush(context, self._turns.retrievals), UNSCOPED)

    def close(self) -> None:
        """Flush and release the data folder. Idempotent."""
        if self._note_sync is not None:
            self._note_sync.stop()
        self._runner.stop()
        if self._maintenance is not None:
            self._maintenance.stop()
        self._opened.close(self._context, self._turns)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class JoinedHippocampe(Hippocampe):
    """A memory in a folder that another process of this user owns: each verb is executed there."""

    _follow = None

    def __init__(self, remote: RemoteHippocampe) -> None:
        self._remote = remote
        self._channels = ChannelHistories()

    def __getattribute__(self, name: str) -> Any:
        if name in RESULTS or name in ("config", "close"):
            return getattr(object.__getattribute__(self, "_remote"), name)
        return object.__getattribute__(self, name)

    @property
    def owns(self) -> bool:
        return False

    @property
    def read_only(self) -> bool:
        return False

    @property
    def channels(self) -> ChannelHistories:
        return self._channels

    @property
    def host(self) -> None:
        return None

    def _run(self, *_: Any, **__: Any) -> Any:
        raise StoreReadOnly(
            "another process owns the folder, and only the owner can do this: open it with join=False."
        )
