"""Offer the library as one class: each verb checks its scope and calls the step that does the work.

Beside it: functions that need no open memory, for the programs of this package.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar

from hippocampe.actor import acting
from hippocampe.cells import Fence
from hippocampe.client.calls import signature_of
from hippocampe.client.host import Host
from hippocampe.client.joining import connect, own_or_join
from hippocampe.client.remote import RemoteHippocampe
from hippocampe.config import Config
from hippocampe.curation import associate as associations
from hippocampe.curation import erase, requested, revise
from hippocampe.curation import forget as forget_step
from hippocampe.engine import api_keys, audit, model_calls
from hippocampe.engine import settings as settings_step
from hippocampe.engine.context import (
    Context,
    aliases_of,
    corpus_of,
    keys_of,
    settings_of,
    store_of,
    whole_context,
    writer_of,
)
from hippocampe.engine.corpus import Retired
from hippocampe.engine.replies import Replies
from hippocampe.engine.tracing import note_result
from hippocampe.errors import (
    IndexUnavailable,
    InvalidInput,
    StoreError,
    StoreReadOnly,
    files_refused,
)
from hippocampe.extraction import compaction, extraction
from hippocampe.extraction import digest as digest_step
from hippocampe.extraction.jobs import ledger
from hippocampe.extraction.jobs.runner import Runner
from hippocampe.folder import (
    division,
    maintenance,
    opening,
    rederivation,
    reembed,
    soundness,
    verification,
)
from hippocampe.folder.relocation import Relocation
from hippocampe.ingest import conversation, importer, remember_many
from hippocampe.ingest import remember as remember_step
from hippocampe.ingest.conversation import Said
from hippocampe.injection import (
    before_turn,
    channel_history,
    preview,
    render,
    replay,
    trial,
    warmup,
)
from hippocampe.injection.burst import Burst
from hippocampe.injection.turn_state import Erasures, TurnState
from hippocampe.notes.sync import NoteSync, open_notes, open_source
from hippocampe.reader.network import load_reader
from hippocampe.retrieval import activity, browse, graph, lookup, recall
from hippocampe.retrieval import exchanges as exchanges_step
from hippocampe.retrieval import log as retrieval_log
from hippocampe.types import (
    HostMessage,
    Injection,
    JobRun,
    Memory,
    Note,
    Progress,
    Reindexed,
    Remembered,
    Scope,
)
from hippocampe.validation import (
    MAX_LIMIT,
    MAX_TOKEN_CHARACTERS,
    check_clock,
    check_flag,
    check_id,
    check_scope,
)
from hippocampe.verbs import SENT, VERBS, Bound, Here

if TYPE_CHECKING:
    from hippocampe.injection.sharing import Sharing

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
When = datetime | str | None
UNSCOPED = Scope()
"""The scope of verbs without one."""

SETTINGS = settings_step.ACCEPTED
"""The values that each setting accepts."""
SETTING_GROUPS = settings_step.GROUPS
"""The settings by what they govern."""
SETTING_VALUES: Mapping[str, str] = {name: accepted.says for name, accepted in SETTINGS.items()}
"""The values that each setting accepts, in words."""
IMPORT_FORMATS = importer.FORMATS
"""The formats of `import_from` by name, with the program that writes each."""
preview_import = importer.preview
ImportPreview = importer.ImportPreview
check_setting = settings_step.check
default_settings = settings_step.defaults
check_data = opening.check_data
keeps_spaces_apart = opening.keeps_spaces_apart
divide = division.divide
back_up_cells = division.back_up
KeyRegister = division.KeyRegister
render_for = render.render_for
check_reader = load_reader
Reminder = channel_history.Reminder
Exchanged = channel_history.Exchanged


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


def check_process(opener: int) -> None:
    """Check that this process opened a memory.

    A fork has copies of its connections and of its index, with which it would damage what both have open, and none of
    its threads.

    Raises:
        StoreError: It did not.
    """
    if os.getpid() != opener:
        raise StoreError(
            "this Hippocampe was opened before this process was forked: open the data folder again in this process. "
            "Both then share it."
        )


def every_memory(hippo: "Hippocampe", **chosen: Any) -> Iterator[Memory]:
    """The memories of all pages; the arguments are those of `memories`."""
    cursor: str | None = None
    while True:
        page = hippo.memories(**chosen, limit=MAX_LIMIT, cursor=cursor)
        yield from page.items
        if (cursor := page.next_cursor) is None:
            return


def bound(part: Callable[[Context], U], step: Callable[Concatenate[U, P], T]) -> Bound[P, T]:
    """Make a verb of a step, whose first argument is a part of the open memory."""

    def call(name: str, memory: "Verbs", /, *args: Any, **named: Any) -> T:
        execute = memory._execute  # pyright: ignore[reportPrivateUsage]
        return execute(name, lambda context: step(part(context), *args, **named), named)

    return Bound(step, call)


def provided(
    part: Callable[[Context], U],
    provide: "Callable[[Verbs], V]",
    step: Callable[Concatenate[U, V, P], T],
) -> Bound[P, T]:
    """Make a verb of a step whose second argument the memory provides."""

    def call(name: str, memory: "Verbs", /, *args: Any, **named: Any) -> T:
        execute, more = memory._execute, provide(memory)  # pyright: ignore[reportPrivateUsage]
        return execute(name, lambda context: step(part(context), more, *args, **named), named)

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

    _process: int
    _opened: opening.Opened
    _turns: TurnState
    _note_sync: NoteSync | None
    _maintenance: maintenance.Maintenance | None
    _runner: Runner
    _follow: opening.Following | None
    _sharing: "Sharing | None"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} cannot be pickled or copied: pass the path of its folder, and open it there."
        )

    @property
    def _context(self) -> Context:
        """The context that serves now."""
        return self._opened.context

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
        check_process(self._process)
        verb = VERBS[name]
        space = check_scope(named.get("scope", UNSCOPED)).space
        scoped, writes = "scope" in named, verb.writes and not named.get("dry_run")
        cell = self._opened.fence if scoped else None
        self._context.corpus.store.check_space(space)
        with (
            cell.using(space, writes=writes, erases=name == "erase") if cell else nullcontext(),
            self._context.corpus.store.fenced(space if scoped and not verb.crosses else None),
            self._opened.tracer.span(verb, space=space) as span,
        ):
            result = self._write(step) if writes else self._run(step, stale_allowed=stale_allowed)
            note_result(span, result)
        return result

    def _write(self, step: Callable[[Context], T]) -> T:
        if self._follow is not None:
            self._context.corpus.store.check_writable()
        return self._run(step)

    def _run(self, step: Callable[[Context], T], *, stale_allowed: bool = False) -> T:
        check_process(self._process)
        while True:
            context = self._context
            if self._opened.ending.is_set():
                raise StoreError("this Hippocampe was closed: open the data folder again.")
            if self._follow is not None:
                with suppress(StoreError) if stale_allowed else nullcontext():
                    self._follow()
            try:
                with files_refused():
                    return step(context)
            except (Retired, IndexUnavailable):
                if not context.corpus.retired:
                    raise
                # Wait for the switch to another embedder to finish, then retry.
                with context.corpus.store.exclusive():
                    continue

    # Memories

    remember = bound(writer_of, remember_step.remember)

    @own
    def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        scope: Scope,
        progress: Progress | None = None,
    ) -> list[Remembered]:
        """Store many statements by the rules of `remember`, each as if it came after the one before.

        Much faster than `remember` one by one. All items are checked before the first is stored;
        they are then stored in transactions of 128, in order.

        Args:
            items: Texts, or mappings with the arguments of `remember`: `content`, and any of the others.
            scope: The space, and the user and channel they come from.
            progress: Called after each transaction with how many items are stored for good.

        Returns:
            One result for each item, in order.

        Raises:
            InvalidInput: An item is invalid; the message names its number, counted from 1.
            NotFound: An id in `replaces` is not a current memory of the space. Transactions
                reported to `progress` stay stored.
            StoreError: The memory was closed meanwhile; the message says which items are stored.
        """
        check_scope(scope)
        drafts = self._write(
            lambda context: remember_many.check_items(context.corpus, items, scope=scope)
        )
        results: list[Remembered] = []

        def store_next(context: Context) -> list[Remembered]:
            return remember_many.store_batch(context.writer, drafts, start=len(results))

        while len(results) < len(drafts):
            if self._opened.leaving.is_set():
                raise StoreError(
                    f"this Hippocampe was closed when {len(results)} of {len(drafts)} items were stored, in order: open "
                    "the data folder again, and give it the others."
                )
            # A retry must not store a batch twice: one call per transaction.
            results += self._execute("remember_many", store_next, {"scope": scope})
            if progress is not None:
                progress("remembering", len(results), len(drafts))
        return results

    recall = bound(whole_context, recall.recall)
    recent = bound(store_of, lookup.recent)
    memories = bound(store_of, browse.memories)
    about = bound(corpus_of, browse.about)
    changes = bound(store_of, browse.changes)
    spaces = bound(store_of, browse.spaces)
    users = bound(store_of, browse.users)
    subjects = bound(store_of, browse.subjects)
    get = bound(store_of, lookup.get)
    history = bound(store_of, lookup.history)
    edit = bound(writer_of, revise.edit)
    delete = provided(writer_of, lambda memory: memory._turns, revise.delete)
    restore = bound(writer_of, revise.restore)
    associate = bound(store_of, associations.associate)
    neighbours = bound(store_of, associations.neighbours)
    graph = bound(store_of, graph.graph)
    reviews = bound(store_of, associations.reviews)
    settle = bound(writer_of, associations.settle)
    facts = bound(store_of, lookup.facts)
    set_fact = bound(writer_of, remember_step.set_fact)
    delete_fact = provided(writer_of, lambda memory: memory._turns, revise.delete_fact)

    # Talk

    observe = bound(writer_of, conversation.observe)

    @own
    def before_turn(
        self,
        message: HostMessage | Sequence[HostMessage],
        *,
        scope: Scope,
        role: str = "user",
        fresh: bool = False,
        keep: bool | None = None,
    ) -> Injection:
        """Select what to put in front of the model before it answers.

        No model is called. Failures never raise: late (`hook_timeout_ms`) or failed sources are
        skipped and named in the trace. What this user was recently given in the channel is not repeated.

        Args:
            message: The message, or the messages of a burst, joined into one. Each is a text, or a
                mapping with `content` (a text, or a list of parts) and an optional `role`.
            scope: The speaker and the channel.
            role: Role of messages without one; `system`, `developer` and tool messages are skipped.
            fresh: Whether the model has lost earlier injections, because its context is new or was
                compacted: everything may be injected again.
            keep: Whether later requests of the host repeat earlier injections; default: the setting
                `keep_injections`. If not, what was injected in earlier turns may be injected again.

        Raises:
            StoreError: This `Hippocampe` was closed.
        """
        begun = self._begin_turn(message, scope=scope, role=role, fresh=fresh, keep=keep)
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
        keep: bool | None = None,
    ) -> Injection | Burst:
        """Serve a turn, or say how long to wait for the rest of its burst; never with `joined`."""
        if check_flag("fresh", fresh):
            self._turns.channels.restart(check_scope(scope))
        if keep is not None:
            check_flag("keep", keep)
        return self._execute(
            "before_turn",
            lambda context: before_turn.before_turn(
                context,
                self._turns,
                message,
                scope=scope,
                role=role,
                joined=joined,
                keep=keep,
            ),
            {"scope": scope},
            stale_allowed=True,
        )

    def _end_turn(self, burst: Burst, *, scope: Scope) -> Injection:
        """Serve a burst after its waiting time."""
        messages = burst.take()
        if messages is None:
            return before_turn.joined_to_a_later_message()
        served = self._begin_turn(messages, scope=scope, role="user", joined=True, keep=burst.keep)
        assert isinstance(served, Injection)
        return served

    preview = provided(corpus_of, lambda memory: memory._turns, preview.preview)

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
        expression: str | None = None,
        replaces: Sequence[str] = (),
    ) -> str:
        """Store an exchange and return the id of its turn; embedding and indexing follow in the background.

        With a language model, what is worth remembering is extracted in the background too. A crash
        loses nothing: the next open indexes pending turns. The turn is not injected into its own
        channel again. Injected text is removed from the messages before storing.

        "Forget that I play the tuba" hides what was said and remembered of it, as `forget` does, and this exchange
        too. If much would go, nothing is hidden until the user says yes.

        Args:
            user_message: What the user of the scope wrote.
            reply: What the assistant answered, if anything.
            scope: The space, the user and the channel.
            assistant: Author of the reply.
            at: Time of the exchange, if not now.
            tool_results: What tools returned to the assistant: `search_text` and the extraction read
                them; `recall` finds the turn without them.
            external_id: Its id in the host, unique in the channel; a repeat returns the stored turn, with the texts of
                the repeat.
            expression: The face of the assistant in its reply, such as `happy`: `messages` return it.
            replaces: Ids of turns that the conversation no longer has, such as those from a message on that the user
                edited: they are hidden, and `restore` brings each back.

        Raises:
            InvalidInput: A message cannot be stored; nothing was stored.
            NotFound: The space has no turn of an id in `replaces`; nothing was stored.
        """
        said = Said(
            user_message,
            reply,
            scope,
            assistant,
            at,
            tool_results,
            external_id,
            expression,
            replaces,
        )
        turn_id = self._execute(
            "after_turn",
            lambda context: requested.after_turn(context, self._turns, said),
            {"scope": scope},
        )
        self._turns.channels.channel(scope).heard(turn_id, self._context.corpus.store.now())
        self._turns.channels.tell(scope, "heard", [("turn", turn_id)])
        if self._context.language_model is not None:
            self._runner.wake()
        return turn_id

    digest = bound(whole_context, digest_step.digest)
    compact = bound(whole_context, compaction.compact)
    extract = bound(whole_context, extraction.extract)
    messages = bound(store_of, exchanges_step.messages)
    search_text = bound(store_of, exchanges_step.search_text)
    conversations = bound(store_of, exchanges_step.conversations)
    exchanges = bound(store_of, exchanges_step.exchanges)
    exchange = provided(store_of, lambda memory: memory._turns.retrievals, exchanges_step.exchange)

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
            self._write(lambda context: note_sync.refresh(context.writer))
        return note_sync.notes(space=scope.space)

    # Forgetting

    forget = provided(whole_context, lambda memory: memory._turns, forget_step.forget)
    erase = provided(writer_of, lambda memory: memory._turns, erase.erase)

    expire = bound(writer_of, forget_step.expire)
    audit = provided(store_of, lambda memory: memory._context.corpus.key_store, audit.entries)

    # Turns

    settings = bound(settings_of, settings_step.read)
    update_settings = bound(settings_of, settings_step.update)
    try_settings = provided(corpus_of, lambda memory: memory._turns, trial.try_settings)
    retrievals = provided(
        store_of, lambda memory: memory._turns.retrievals, retrieval_log.retrievals
    )
    retrieval = provided(store_of, lambda memory: memory._turns.retrievals, retrieval_log.retrieval)
    replay = provided(corpus_of, lambda memory: memory._turns, replay.replay)

    # Background jobs

    jobs = bound(store_of, ledger.jobs)

    @own
    def run_jobs(self, *, scope: Scope, job: str | None = None) -> list[JobRun]:
        """Queue the scheduled jobs that are due, and run all due jobs of the space now.

        With `Config(background=True)`, a thread does the same. A job that fails does not raise: its
        run says why and when it is retried.

        Args:
            scope: The space.
            job: Run only this job: `extract`, `digest`, `compact`, `settle`, `expire`, `decay` or `prune`; those
                but `extract` and `compact` also before they are due.

        Returns:
            The runs, as they ended.

        Raises:
            InvalidInput: There is no such job.
        """
        return self._execute(
            "run_jobs",
            lambda context: self._runner.run_due(context, space=scope.space, job=job),
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
            lambda context: ledger.retry_job(context.corpus.store, id, scope=scope),
            {"scope": scope},
        )
        self._runner.wake()
        return run

    # Language models

    names = bound(aliases_of, lookup.names)

    check_budget = bound(corpus_of, model_calls.check_budget)
    usage = bound(store_of, model_calls.usage)
    costs = bound(corpus_of, model_calls.costs)
    record_usage = bound(store_of, model_calls.record_usage)

    # The server

    create_key = bound(keys_of, api_keys.create_key)
    keys = bound(keys_of, api_keys.keys)
    revoke_key = bound(keys_of, api_keys.revoke_key)
    find_key = bound(keys_of, api_keys.find_key)

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
        return self._context.corpus.store.now()

    stats = provided(corpus_of, lambda memory: memory._turns.retrievals.dropped, verification.stats)
    activity = provided(corpus_of, lambda memory: memory._turns.retrievals, activity.activity)
    vitals = bound(corpus_of, verification.vitals)
    verify = bound(writer_of, verification.verify)

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
        self._write(lambda context: rederivation.rederive(context.writer))
        if embedder is None:
            return self._write(lambda context: soundness.rebuild(context.writer, progress))
        return self._write(
            lambda context: reembed.change_embedder(context, embedder, progress, self._take_over)
        )

    def _take_over(self, context: Context) -> None:
        self._opened.context = context
        self._turns.embedder_changed(context.corpus.config)

    backup = bound(store_of, verification.backup)
    export_to = bound(store_of, importer.export_to)
    import_from = bound(writer_of, importer.import_from)

    @own
    def flush(self) -> None:
        """Wait for background work (loading, embedding, reading notes) and make the index durable.

        Optional: the store is durable already.
        """
        self._opened.wait()
        if self._note_sync is not None:
            self._note_sync.wait()
        self._run(lambda context: maintenance.bring_up_to_date(context, self._turns.retrievals))

    @own
    def close(self) -> None:
        """Flush and release the data folder. Idempotent."""
        if os.getpid() != self._process:
            return
        if self._note_sync is not None:
            self._note_sync.stop()
        self._runner.stop()
        if self._maintenance is not None:
            self._maintenance.stop()
        if self._sharing is not None:
            self._sharing.stop()
        self._opened.close(self._turns.retrievals, self._turns.close)


class Hippocampe(Verbs, Here):
    """A long-term memory in one data folder. Open it once and share it among threads; a forked process opens it again.

    Create one with `Hippocampe.open`. Most verbs take a `scope`: the space, user and channel of the call. Times are
    aware datetimes or ISO 8601 text with an offset. Every error is a `HippocampeError`.
    """

    def __init__(self, opened: opening.Opened, note_sync: NoteSync | None = None) -> None:
        if not isinstance(opened, opening.Opened):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise folder_given()
        self._process = os.getpid()
        self._opened = opened
        corpus = opened.context.corpus
        config = corpus.config
        self._turns = TurnState(config, note_sync, shared=corpus.store.shared)
        self._maintenance = None
        self._note_sync = note_sync
        self._follow = opening.Following(corpus) if corpus.store.read_only else None
        self._runner = Runner(lambda: self._context)
        if config.background and not corpus.store.read_only:
            self._maintenance = maintenance.Maintenance(
                lambda: self._context,
                self._turns.retrievals,
                config.flush_seconds,
            )
            self._runner.start()
        self._sharing = None
        if corpus.store.shared:
            from hippocampe.injection.sharing import Sharing

            self._sharing = Sharing(lambda: self._context, self._turns)
        if note_sync is not None:
            note_sync.start(
                lambda step: self._write(lambda context: step(context.writer)),
                corpus.outages,
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
            StoreMissing: With `read_only`, there is no data; or the database of a cell is gone. Nothing was created.
            EmbedderMismatch: The data was made with another embedder.
            EmbedderUnavailable: The embedder cannot be used.
            InvalidInput: `where` is not a path, the time of `clock` is naive, or tracing is on without OpenTelemetry
                installed.
        """
        config = Config.of(where)
        check_clock(clock)
        if read_only:
            # One space only: each searched space is cached in RAM.
            warm = partial(warmup.warm_spaces, spaces=1)
            return cls(opening.open_read_only(config, clock, warm))
        note_sync = open_notes(config)

        def own() -> Hippocampe:
            opened = opening.open_folder(config, clock, warmup.warm_spaces, progress)
            memory = cls(opened, note_sync)
            if opened.host is not None:
                memory._turns.on_forget.append(opened.host.drop_candidates)
                opened.host.serve(memory, partial(acting, "local"))
            return memory

        return own_or_join(config, own, JoinedHippocampe) if join and clock is None else own()

    @classmethod
    def connect(cls, address: str, *, key: str | None = None) -> "Hippocampe":
        """Use the memory of a server, with the same verbs, results and errors.

        Args:
            address: Its base URL.
            key: Its key; None on loopback.

        Raises:
            InvalidInput: The address cannot be used.
            ServerUnavailable: The server cannot be reached, or has another version.
            HippocampeError: It refuses the key.
        """
        where = check_id(address, name="address", limit=MAX_TOKEN_CHARACTERS)
        secret = None if key is None else check_id(key, name="key")
        return JoinedHippocampe(connect(where, secret, Config(Path())))

    @property
    def owns(self) -> bool:
        """True if this process has the folder open itself, instead of using the process that owns it."""
        return True

    @property
    def processes(self) -> int:
        """The number of processes that share the database now, this one included."""
        return 1 if self._sharing is None else self._sharing.processes

    @property
    def warming(self) -> bool:
        """True while what the first turns need is loaded in the background."""
        return self._opened.warming

    @property
    def read_only(self) -> bool:
        """True if it was opened read-only."""
        return self._follow is not None

    @property
    def channels(self) -> channel_history.ChannelHistories:
        """The histories of injections per channel, for hosts whose messages do not contain their injections."""
        return self._turns.channels

    @property
    def erasures(self) -> Erasures:
        """Tells hosts in this process of erasures; not of those by a process that it joined."""
        return self._turns.erasures

    @property
    def replies(self) -> Replies:
        """The stored replies to the server's idempotent writes."""
        lives = None if self._sharing is None else self._sharing.beats
        return Replies(self._context.corpus.store, lives)

    @property
    def fence(self) -> Fence | None:
        """Keeps a cell of a divided folder from using spaces of other cells; None otherwise."""
        return self._opened.fence

    @property
    def relocation(self) -> Relocation:
        """Copies of whole spaces, out of the folder and into it."""
        return Relocation(self._context, self._turns)

    @property
    def leaving(self) -> Event:
        """Set by a host that will close the memory: long calls end between their transactions."""
        return self._opened.leaving

    @property
    def host(self) -> Host | None:
        """The server of other programs of this user; None without one."""
        return self._opened.host

    @property
    def config(self) -> Config:
        """The configuration that this memory was opened with."""
        return self._context.corpus.config

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def folder_given() -> InvalidInput:
    """The error of a class that is given a folder in place of an open memory."""
    return InvalidInput("use Hippocampe.open(folder) in place of Hippocampe(folder).")


def _sent(name: str, send: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """Send a call if it is one of the verb; otherwise, raise the error of a memory in this process."""
    try:
        signature_of(Hippocampe, name)[0].bind(*arguments, **named)
    except TypeError as exc:
        raise TypeError(f"{name}(): {exc}") from None
    return send(*arguments, **named)


class JoinedHippocampe(Hippocampe):
    """A memory that another process owns, of this user or at an address: each verb is executed there."""

    _follow = _sharing = None

    def __init__(self, remote: RemoteHippocampe) -> None:
        self._process = os.getpid()
        self._remote = remote
        self._channels = channel_history.ChannelHistories()

    def __getattribute__(self, name: str) -> Any:
        if name in SENT:
            check_process(object.__getattribute__(self, "_process"))
            return partial(_sent, name, getattr(object.__getattribute__(self, "_remote"), name))
        if name in ("config", "close"):
            return getattr(object.__getattribute__(self, "_remote"), name)
        return object.__getattribute__(self, name)

    @property
    def owns(self) -> bool:
        return False

    @property
    def warming(self) -> bool:
        return False

    @property
    def channels(self) -> channel_history.ChannelHistories:
        return self._channels

    @property
    def erasures(self) -> Erasures:
        return Erasures()

    @property
    def host(self) -> None:
        return None

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise StoreReadOnly(
            "another process owns the folder, and only the owner can do this: open it with join=False."
        )

    _execute = _run = _refuse
