"""Offer the library as one class: each verb checks its scope and calls the step that does the work.

Beside it: functions that need no open memory, for the programs of this package.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from hippocampe.actor import acting
from hippocampe.client.host import Host
from hippocampe.client.joining import own_or_join
from hippocampe.client.remote import RemoteHippocampe
from hippocampe.config import Config
from hippocampe.curation import associate as associations
from hippocampe.curation import erase, revise
from hippocampe.curation import forget as forget_step
from hippocampe.embed import tokens
from hippocampe.engine import api_keys, audit, model_calls
from hippocampe.engine import settings as settings_step
from hippocampe.engine.context import Context, Retired
from hippocampe.engine.replies import Replies
from hippocampe.engine.tracing import note_result
from hippocampe.errors import IndexUnavailable, InvalidInput, StoreError, StoreReadOnly
from hippocampe.extraction import compaction, extraction
from hippocampe.extraction import digest as digest_step
from hippocampe.extraction.jobs import ledger
from hippocampe.extraction.jobs.runner import Runner
from hippocampe.folder import maintenance, opening, rederivation, reembed, soundness, verification
from hippocampe.ingest import conversation, importer, remember_many
from hippocampe.ingest import remember as remember_step
from hippocampe.injection import before_turn, preview, render, replay, warmup
from hippocampe.injection.burst import Burst
from hippocampe.injection.channel_history import ChannelHistories
from hippocampe.injection.turn_state import TurnState
from hippocampe.notes.sync import NoteSync, open_notes, open_source
from hippocampe.retrieval import activity, browse, graph, lookup, recall
from hippocampe.retrieval import log as retrieval_log
from hippocampe.types import (
    Compacted,
    Distilled,
    HostMessage,
    Injection,
    JobRun,
    Note,
    Progress,
    Receipt,
    Recollection,
    Reindexed,
    Remembered,
    Scope,
    Settings,
)
from hippocampe.validation import (
    MAX_TOKEN_CHARACTERS,
    check_flag,
    check_id,
    check_scope,
)
from hippocampe.verbs import SENT, VERBS, Bound, Here

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")
When = datetime | str | None
UNSCOPED = Scope()
"""The scope of verbs without one."""

SETTING_VALUES: Mapping[str, str] = {
    name: accepted.says for name, accepted in settings_step.ACCEPTED.items()
}
"""The values that each setting accepts, in words."""
IMPORT_FORMATS = importer.FORMATS
"""The formats of `import_from` by name, with the program that writes each."""
check_setting = settings_step.check
check_data = opening.check_data


def quote(items: Sequence[Recollection], settings: Settings, now: datetime) -> render.Rendered:
    """Quote items as an injection does, within its budget: for a host that adds items of its own to a turn.

    Args:
        items: Most useful first.
        settings: Those of the space.
        now: The reference of relative times; aware.
    """
    return render.render(
        items,
        language=settings.language,
        now=now,
        timezone=settings.timezone,
        budget=settings.injection_token_budget,
        count=tokens.count,
    )


def count_notes(config: Config) -> int | None:
    """Count the notes of a configuration; None if it names no source.

    Raises:
        NotesUnavailable: They cannot be listed.
        InvalidInput: The certificate file cannot be used.
    """
    source = open_source(config)
    if source is None:
        return None
    with closing(source):
        return len(source.listing())


def check_reader() -> str | None:
    """Check the files of the local reader; return its package, or None if it is not installed.

    Raises:
        ModelUnavailable: A file is damaged, or belongs to another version.
    """
    from hippocampe.updates.cross_encoder import base, judge

    if base.installed() is None:
        return None
    base.Base.open()
    judge.load_learnt()
    return base.PACKAGE


def _utc_now() -> datetime:
    return datetime.now(UTC)


def bound(step: Callable[Concatenate[Context, P], T]) -> Bound[P, T]:
    """Make a verb of a step."""

    def call(name: str, memory: "Verbs", /, *args: Any, **named: Any) -> T:
        execute = memory._execute  # pyright: ignore[reportPrivateUsage]
        return execute(name, lambda context: step(context, *args, **named), named)

    return Bound(step, call)


def provided(
    provide: "Callable[[Verbs], U]", step: Callable[Concatenate[Context, U, P], T]
) -> Bound[P, T]:
    """Make a verb of a step whose second argument the memory provides."""

    def call(name: str, memory: "Verbs", /, *args: Any, **named: Any) -> T:
        execute, more = memory._execute, provide(memory)  # pyright: ignore[reportPrivateUsage]
        return execute(name, lambda context: step(context, more, *args, **named), named)

    return Bound(step, call, provided=2)


def own(method: "Callable[Concatenate[Verbs, P], T]") -> Bound[P, T]:
    """Make a verb of a method, which does more than one step."""

    def call(_: str, memory: "Verbs", /, *args: Any, **named: Any) -> T:
        return method(memory, *args, **named)

    return Bound(method, call)


class Verbs:
    """The verbs: called on a `Hippocampe`, and awaited on an `AsyncHippocampe`.

    Most are bound to the step that has their signature and documentation. `hippocampe.verbs` declares who may
    call each, and how it is executed.
    """

    _opened: opening.Opened
    _context: Context
    _turns: TurnState
    _note_sync: NoteSync | None
    _maintenance: maintenance.Maintenance | None
    _runner: Runner
    _follow: opening.Following | None

    def _execute(
        self,
        name: str,
        step: Callable[[Context], T],
        named: Mapping[str, Any],
        *,
        stale_allowed: bool = False,
    ) -> T:
        """Execute a verb: check its scope, trace it, and refuse to write when opened read-only.

        Args:
            name: The verb.
            step: The call, on the context that serves now.
            named: The named arguments of the verb; `scope` and `dry_run` count.
            stale_allowed: Whether a read-only process may answer from its caches while the store is down.
        """
        verb = VERBS[name]
        space = check_scope(named.get("scope", UNSCOPED)).space
        with self._context.tracer.span(verb, space=space) as span:
            if verb.writes and not named.get("dry_run"):
                result = self._write(step)
            else:
                result = self._run(step, stale_allowed=stale_allowed)
            note_result(span, result)
        return result

    def _write(self, step: Callable[[Context], T]) -> T:
        if self._follow is not None:
            self._context.store.check_writable()
        return self._run(step)

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

    remember = bound(remember_step.remember)

    @own
    def remember_many(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        scope: Scope,
        progress: Progress | None = None,
    ) -> list[Remembered]:
        """Store many statements by the rules of `remember`, each as if it came after the one before.

        Much faster than `remember` one by one. All items are checked before the first is stored;
        they are then stored in transactions of 128, in order.

        Args:
            items: Mappings with the arguments of `remember`: `content`, and any of the others.
            scope: The space, and the user and channel they come from.
            progress: Called after each transaction with how many items are stored for good.

        Returns:
            One result for each item, in order.

        Raises:
            InvalidInput: An item is invalid; the message names its number, counted from 1.
            NotFound: An id in `replaces` is not a current memory of the space. Transactions
                reported to `progress` stay stored.
        """
        check_scope(scope)
        drafts = self._write(lambda context: remember_many.check_items(context, items, scope=scope))
        results: list[Remembered] = []

        def store_next(context: Context) -> list[Remembered]:
            return remember_many.store_batch(context, drafts, start=len(results), scope=scope)

        while len(results) < len(drafts):
            # A retry must not store a batch twice: one call per transaction.
            results += self._execute("remember_many", store_next, {"scope": scope})
            if progress is not None:
                progress("remembering", len(results), len(drafts))
        return results

    recall = bound(recall.recall)
    recent = bound(lookup.recent)
    memories = bound(browse.memories)
    spaces = bound(browse.spaces)
    users = bound(browse.users)
    subjects = bound(browse.subjects)
    get = bound(lookup.get)
    history = bound(lookup.history)
    edit = bound(revise.edit)
    delete = bound(revise.delete)
    restore = bound(revise.restore)
    associate = bound(associations.associate)
    neighbours = bound(associations.neighbours)
    graph = bound(graph.graph)
    reviews = bound(associations.reviews)
    settle = bound(associations.settle)
    facts = bound(lookup.facts)
    set_fact = bound(remember_step.set_fact)
    delete_fact = bound(revise.delete_fact)

    # Talk

    observe = bound(conversation.observe)

    @own
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
        skipped and named in the trace. Items recently given to the channel are not repeated.

        Args:
            message: The message, or the messages of a burst, joined into one. Each is a text, or a
                mapping with `content` (a text, or a list of parts) and an optional `role`.
            scope: The speaker and the channel.
            role: Role of messages without one; `system`, `developer` and tool messages are skipped.
            fresh: Whether the model has lost what the channel was given, because its context is new or
                was compacted: everything may be given again.

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
        role: str = "user",
        joined: bool = False,
        fresh: bool = False,
    ) -> Injection | Burst:
        """Serve a turn, or say how long to wait for the rest of its burst; never with `joined`."""
        if check_flag("fresh", fresh):
            self._turns.channels.restart(check_scope(scope))
        return self._execute(
            "before_turn",
            lambda context: before_turn.before_turn(
                context,
                self._turns,
                message,
                scope=scope,
                role=role,
                note_sync=self._note_sync,
                joined=joined,
            ),
            {"scope": scope},
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

    @own
    def preview(
        self,
        message: HostMessage | Sequence[HostMessage],
        *,
        scope: Scope,
        role: str = "user",
        at: When = None,
    ) -> Injection:
        """Preview an injection of `before_turn`, while nothing changes: nothing is counted or logged, and the
        channel may still be given the same.

        It waits for late sources instead of leaving them out.

        Args:
            message: As for `before_turn`.
            scope: The speaker and the channel.
            role: Role of messages without one.
            at: Only what was known at this time: what was learnt by then, and not yet superseded,
                forgotten or expired. The channel was given nothing before; the settings are those
                of now. Memories edited in place since then have their present text.

        Raises:
            InvalidInput: The time is invalid.
        """
        return self._execute(
            "preview",
            lambda context: preview.preview(
                context,
                self._turns,
                message,
                scope=scope,
                role=role,
                at=at,
                note_sync=self._note_sync,
            ),
            {"scope": scope},
        )

    @own
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

        With a language model, what is worth remembering is extracted in the background too. A crash
        loses nothing: the next open indexes pending turns. The turn is not injected into its own
        channel again. Injected text is removed from the messages before storing.

        Args:
            user_message: What the user of the scope wrote.
            reply: What the assistant answered, if anything.
            scope: The space, the user and the channel.
            assistant: Author of the reply.
            at: Time of the exchange, if not now.
            tool_results: What tools returned to the assistant: `search_text` and the extraction read
                them; `recall` finds the turn without them.
            external_id: Its id in the host, unique in the channel; a repeat returns the stored turn.

        Raises:
            InvalidInput: A message cannot be stored; nothing was stored.
        """
        turn_id = self._execute(
            "after_turn",
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
            {"scope": scope},
        )
        self._turns.channels.channel(scope).heard(turn_id, self._context.now())
        if self._context.language_model is not None:
            self._runner.wake()
        return turn_id

    @own
    def digest(self, *, scope: Scope) -> Distilled:
        """Turn the live messages of the space into memories now, whatever the `digest_hours`.

        Each message is digested once; messages that arrive meanwhile stay live. Without a configured
        language model they become turns. A call during another digest waits, and finds nothing left.

        Raises:
            ModelError: The language model gave no usable answer. What was digested before stays; the
                rest stays live.
            EmbedderError: Statements cannot be embedded; likewise.
        """
        return self._execute(
            "digest",
            lambda context: digest_step.digest(context, space=scope.space),
            {"scope": scope},
        )

    @own
    def compact(self, *, scope: Scope) -> Compacted:
        """Summarise the oldest messages in the working history of the scope's channel.

        Does nothing up to twice `recent_messages`; beyond, the newest `recent_messages` stay. The
        other messages are still found by full text and as turns. Without a configured language
        model, the summary is made of their most telling sentences.

        Raises:
            InvalidInput: The scope names no channel.
            ModelError: The language model gave no usable answer; the messages stay.
            EmbedderError: The summary cannot be embedded; likewise.
        """
        channel = check_scope(scope).channel
        if channel is None:
            raise InvalidInput("compact needs a channel: give one in the scope.")
        return self._execute(
            "compact",
            lambda context: compaction.compact(context, space=scope.space, channel=channel),
            {"scope": scope},
        )

    @own
    def extract(self, turn_id: str, *, scope: Scope) -> Distilled:
        """Extract what is worth remembering from an exchange now, with the language model.

        With a model, this happens in the background after each `after_turn`. What is known already, what
        only the assistant said, and small talk are left out.

        Returns:
            The number of messages read, and what was stored, in order.

        Raises:
            NotFound: The space has no such turn, or it was forgotten.
            ModelUnavailable: No language model is configured, or none answered.
            InvalidAnswer: The answer of the model does not have the requested form.
            BudgetSpent: The background share of the daily budget is spent.
            InvalidInput: The id is not text.
        """
        check_id(turn_id, name="turn_id")
        return self._execute(
            "extract",
            lambda context: extraction.extract(context, turn_id, space=scope.space),
            {"scope": scope},
        )

    messages = bound(conversation.messages)
    search_text = bound(conversation.search_text)

    @own
    def notes(self, *, scope: Scope, refresh: bool = False) -> list[Note]:
        """The notes of the space as last read, by path.

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
            self._write(lambda context: note_sync.refresh(context))
        return note_sync.notes(space=scope.space)

    # Forgetting

    forget = bound(forget_step.forget)
    erase = provided(lambda memory: memory._turns, erase.erase)

    @own
    def expire(self, *, scope: Scope) -> Receipt:
        """Hide expired memories of the space. Recall already excludes them."""
        return self._execute(
            "expire",
            lambda context: forget_step.expire(
                context, space=check_scope(scope).space, audited=True
            ),
            {"scope": scope},
        )

    audit = bound(audit.entries)

    # Turns

    settings = bound(settings_step.read)
    update_settings = bound(settings_step.update)
    retrievals = provided(lambda memory: memory._turns.retrievals, retrieval_log.retrievals)
    retrieval = provided(lambda memory: memory._turns.retrievals, retrieval_log.retrieval)
    replay = provided(lambda memory: memory._turns, replay.replay)

    # Background jobs

    jobs = bound(ledger.jobs)

    @own
    def run_jobs(self, *, scope: Scope) -> list[JobRun]:
        """Queue the scheduled jobs that are due, and run all due jobs of the space now.

        With `Config(background=True)`, a thread does the same. A job that fails does not raise: its
        run says why and when it is retried.

        Returns:
            The runs, as they ended.
        """
        return self._execute(
            "run_jobs",
            lambda context: self._runner.run_due(context, space=scope.space),
            {"scope": scope},
        )

    @own
    def retry_job(self, id: str, *, scope: Scope) -> JobRun:
        """Make a failed or parked run due now, with all its attempts.

        Raises:
            NotFound: The space has no failed or parked run with this id.
        """
        run = self._execute(
            "retry_job",
            lambda context: ledger.retry_job(context, id, scope=scope),
            {"scope": scope},
        )
        self._runner.wake()
        return run

    # Language models

    names = bound(lookup.names)

    @own
    def check_budget(self, *, scope: Scope) -> None:
        """Raise `BudgetSpent` if language models have spent the daily budget of the space.

        Raises:
            BudgetSpent: They have; the setting `daily_budget` raises the limit.
        """
        self._execute(
            "check_budget",
            lambda context: model_calls.check_budget(context, scope.space),
            {"scope": scope},
        )

    usage = bound(model_calls.usage)
    costs = bound(model_calls.costs)
    record_usage = bound(model_calls.record_usage)

    # The server

    create_key = bound(api_keys.create_key)
    keys = bound(api_keys.keys)
    revoke_key = bound(api_keys.revoke_key)
    find_key = bound(api_keys.find_key)

    @own
    def announce(self, address: str) -> None:
        """Publish the base URL at which this process serves the memory over HTTP, for people to read.

        Raises:
            InvalidInput: The address is not text.
            StoreReadOnly: This memory was opened read-only: it does not own the folder.
        """
        check_id(address, name="address", limit=MAX_TOKEN_CHARACTERS)
        self._write(lambda context: self._opened.announce(address))

    # Upkeep

    @own
    def now(self) -> datetime:
        """The current time, by the clock that this memory was opened with; aware, in UTC."""
        return self._context.now()

    stats = provided(lambda memory: memory._turns.retrievals.dropped, verification.stats)
    activity = provided(lambda memory: memory._turns.retrievals, activity.activity)
    vitals = bound(verification.vitals)
    verify = bound(verification.verify)

    @own
    def reindex(
        self, *, embedder: str | None = None, progress: Progress | None = None
    ) -> Reindexed:
        """Build the index again from the store, with its graphs, while reading goes on.

        Derives rows of older rules again first, and damaged vectors from their texts.

        Args:
            embedder: Re-embed everything with this embedder; default: keep the vectors.
            progress: Called with the current work, the number done and the total.

        Raises:
            EmbedderUnavailable: The new embedder cannot be used; nothing was changed.
        """
        self._write(lambda context: rederivation.rederive(context))
        if embedder is None:
            return self._write(lambda context: soundness.rebuild(context, progress))
        return self._write(
            lambda context: reembed.change_embedder(context, embedder, progress, self._take_over)
        )

    def _take_over(self, context: Context) -> None:
        self._context = context
        self._turns.embedder_changed(context.config)

    backup = bound(verification.backup)
    export_to = bound(importer.export_to)
    import_from = bound(importer.import_from)

    @own
    def flush(self) -> None:
        """Wait for background work (loading, embedding, reading notes) and make the index durable.

        Optional: the store is durable already.
        """
        self._opened.wait()
        if self._note_sync is not None:
            self._note_sync.wait()
        self._run(lambda context: maintenance.flush(context, self._turns.retrievals))

    @own
    def close(self) -> None:
        """Flush and release the data folder. Idempotent."""
        if self._note_sync is not None:
            self._note_sync.stop()
        self._runner.stop()
        if self._maintenance is not None:
            self._maintenance.stop()
        self._opened.close(self._context, self._turns.retrievals, self._turns.close)


class Hippocampe(Verbs, Here):
    """A long-term memory in one data folder. Thread-safe; open it once and share it.

    Create one with `Hippocampe.open`. Most verbs take a `scope`: the space, user and channel of the call. Times are
    aware datetimes or ISO 8601 text with an offset. Every error is a `HippocampeError`.
    """

    def __init__(self, opened: opening.Opened, note_sync: NoteSync | None = None) -> None:
        self._opened = opened
        self._context = opened.context
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
                self._write,
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
            # One space only: each searched space is cached in RAM.
            warm = partial(warmup.warm_spaces, spaces=1)
            return cls(opening.open_read_only(config, clock or _utc_now, warm))
        note_sync = open_notes(config)

        def own() -> Hippocampe:
            opened = opening.open_folder(config, clock or _utc_now, warmup.warm_spaces, progress)
            memory = cls(opened, note_sync)
            if opened.host is not None:
                opened.host.serve(memory, partial(acting, "local"))
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

    @property
    def host(self) -> Host | None:
        """The server of other programs of this user; None without one."""
        return self._opened.host

    @property
    def config(self) -> Config:
        """The configuration that this memory was opened with."""
        return self._context.config

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
        if name in SENT or name in ("config", "close"):
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

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise StoreReadOnly(
            "another process owns the folder, and only the owner can do this: open it with join=False."
        )

    _execute = _run = _refuse
