"""Open and close a data folder: lock, store, embedder, index."""

import shutil
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from threading import Event, Lock, Thread

from hippocampe.cells import Fence, check_cell, folder_of
from hippocampe.client.host import Host
from hippocampe.config import DATABASE, Config
from hippocampe.curation import erase
from hippocampe.embed import missing_key, open_embedder
from hippocampe.engine import deliveries
from hippocampe.engine.caches import RowCache
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.outages import log
from hippocampe.engine.tracing import Tracer
from hippocampe.engine.writer import Writer
from hippocampe.errors import EmbedderMismatch, HippocampeError, IndexUnavailable, StoreFull
from hippocampe.folder import copying, maintenance, rederivation, relabelling, soundness
from hippocampe.folder.lock import FolderLock
from hippocampe.index import open_index, open_read_only_index, open_shared_index, own
from hippocampe.model.background import BackgroundModel
from hippocampe.protocols import Embedder, Index, LanguageModel
from hippocampe.retrieval.log import RetrievalBuffer
from hippocampe.store import embeddings, meta, outbox
from hippocampe.store.store import BACKUPS, Store, check_exists
from hippocampe.system import private, temporary
from hippocampe.system.atomic_file import OWN_FILES
from hippocampe.types import Progress

Loading = Callable[[Corpus, Event], None]
"""Loads ahead in the background, until the event is set."""


READING, WARMING = "hippocampe-reading", "hippocampe-warming"
"""Names of the threads that load in the background."""


@dataclass(slots=True)
class Opened:
    """An open data folder."""

    context: Context
    """The one that serves now; a change of embedder replaces it."""
    tracer: Tracer
    owner: FolderLock | None
    """None when the folder was opened read-only, or many processes share the database."""
    loading: list[Thread]
    """Threads that load in the background."""
    leaving: Event
    """Set when closing begins: long calls end between their transactions, short ones are finished."""
    ending: Event
    """Set once no call of another program is under way: no call begins any more."""
    _closing: Lock
    fence: Fence | None = None
    """Keeps a cell from using spaces of other cells; None in a folder that is not divided."""

    def wait(self) -> None:
        """Wait for background loading."""
        for thread in self.loading:
            thread.join()

    @property
    def warming(self) -> bool:
        """True while what the first turns need is loaded."""
        return any(each.name == WARMING and each.is_alive() for each in self.loading)

    def announce(self, address: str) -> None:
        """Publish the address at which the owner of the folder serves HTTP."""
        if self.owner is not None:
            self.owner.announce(address)

    @property
    def host(self) -> Host | None:
        """The server of other programs, if any."""
        return None if self.owner is None else self.owner.host

    def close(self, buffer: RetrievalBuffer, end_turns: Callable[[], None]) -> None:
        """Close; idempotent.

        Args:
            end_turns: Called once no other program can begin a turn.
        """
        self.leaving.set()
        with self._closing:
            if self.ending.is_set():
                return
            if self.host is not None:
                # The calls of other programs need the memory until they end.
                self.host.close()
            self.ending.set()
        try:
            self.wait()
            end_turns()
            maintenance.close(self.context, buffer)
        finally:
            if self.owner is not None:
                self.owner.release()


def keeps_spaces_apart(config: Config) -> bool:
    """Return whether the database of a configuration does; nothing is created in it.

    Raises:
        StoreError: It cannot be reached.
    """
    if config.database_url is None:
        return True
    from hippocampe.store.postgres import PostgresStore

    with closing(PostgresStore(config.database_url, config.folder)) as store:
        return store.keeps_spaces_apart()


def check_data(config: Config) -> None:
    """Raise `StoreMissing` if a data folder holds no data, without creating it."""
    if config.database_url is None:
        check_cell(config.database)
        check_exists(config.database, config.folder)


def open_read_only(config: Config, clock: Callable[[], datetime] | None, warm: Loading) -> Opened:
    """Open a data folder read-only, beside its owner or alone; nothing is written.

    The errors are those of `Hippocampe.open`.

    Args:
        warm: Loads what the first turn needs.
    """
    check_data(config)
    tracer = Tracer(on=config.tracing)
    store = Store.open(config.database, config.folder, read_only=True, clock=clock)
    try:
        config, embedder = _choose_embedder(config, store)
        index = open_read_only_index(store, embedder)
        vocabulary = maintenance.open_vocabulary(store, embedder)
        fence = Fence.of(config.folder)
        keys = _key_store(fence, read_only=True)
        context = Context.of(Corpus.of(config, store, index, vocabulary, keys))
    except BaseException:
        store.close()
        raise
    return _opened(context, config, tracer, warm, fence=fence)


def _key_store(fence: Fence | None, *, read_only: bool = False) -> Store | None:
    """The store of the first cell, for another one: it has the keys of all. None for a folder with its own."""
    if fence is None or fence.cell == 0:
        return None
    database = folder_of(fence.divided.root, 0) / DATABASE
    check_cell(database)
    return Store.open(database, database.parent, read_only=read_only)


@dataclass(slots=True)
class Following:
    """Keeps the caches of a read-only process in step with the store.

    The index of such a process follows the store by itself.
    """

    corpus: Corpus
    _position: int | None = None

    def __call__(self) -> None:
        """Invalidate caches that the owner's writes since the last call made stale.

        Raises:
            StoreError: The store cannot be read.
        """
        corpus = self.corpus
        with corpus.store.read() as connection:
            position = outbox.last_position(connection)
        corpus.settings.clear()
        if position != self._position:
            self._position = position
            corpus.store.memory_changes += 1
            corpus.vocabulary.follow()


def open_folder(
    config: Config,
    clock: Callable[[], datetime] | None,
    warm: Loading,
    progress: Progress | None = None,
) -> Opened:
    """Open a data folder; the errors are those of `Hippocampe.open`.

    Args:
        config: The folder, created if it does not exist.
        clock: Returns the current time; default: the clock of the system.
        warm: Loads what the first turns need.
        progress: Called while the index is rebuilt.
    """
    tracer, owner, fence = Tracer(on=config.tracing), None, None
    with ExitStack() as opened:
        if config.database_url is not None:
            from hippocampe.store.postgres import PostgresStore

            # Many processes share it. The folder is of this process: it is not locked.
            url, prepared = config.database_url, config.prepares_statements
            store = PostgresStore(url, config.folder, clock=clock, prepared=prepared).opened()
            opened.callback(store.close)
            if not store.keeps_spaces_apart():
                log.warning(
                    "row-level security does not restrict the user of database_url: see hippocampe doctor"
                )
        else:
            check_cell(config.database)
            owner = FolderLock(config.folder, share=config.share)
            opened.callback(owner.release)
            temporary.remove_left(config.folder)
            _make_private(config.folder)
            store = Store.open(config.database, config.folder, clock=clock)
            opened.callback(store.close)
            fence = Fence.of(config.folder)
        context = _assemble(config, store, progress)
        context.corpus.key_store = _key_store(fence)
        # Nothing failed: both stay open.
        opened.pop_all()
    return _opened(context, config, tracer, warm, owner, fence)


def _make_private(folder: Path) -> None:
    """Remove the access of other users that an earlier version, or a copy of the folder, left."""
    # In a new folder, there was nothing to read.
    used = (folder / DATABASE).exists()
    mended, refused = private.mend(folder, {*OWN_FILES, BACKUPS})
    if mended and used:
        log.warning(
            "other users of this machine could read %d files and folders of %s: now only this user can",
            mended,
            folder,
        )
    if refused:
        log.warning(
            "other users of this machine can read %d files and folders of %s, and this user cannot change "
            "that: change their owner to this user, or remove the access of others",
            refused,
            folder,
        )


def _opened(
    context: Context,
    config: Config,
    tracer: Tracer,
    warm: Loading,
    owner: FolderLock | None = None,
    fence: Fence | None = None,
) -> Opened:
    """Begin to load in the background: the files of the index too, if they are this process's."""
    loading, ending = list[Thread](), Event()
    if config.background:
        if owner is not None:
            _start(loading, READING, partial(_read_ahead, context.writer, ending))
        _start(loading, WARMING, partial(warm, context.corpus, ending))
    return Opened(context, tracer, owner, loading, Event(), ending, Lock(), fence)


def _start(loading: list[Thread], name: str, work: Callable[[], None]) -> None:
    thread = Thread(target=work, name=name, daemon=True)
    loading.append(thread)
    thread.start()


def _read_ahead(writer: Writer, ending: Event) -> None:
    with suppress(HippocampeError):
        own(writer.corpus.index).read_ahead(stop=ending.is_set)
        writer.corpus.store.read_ahead(stop=ending.is_set)
    soundness.check_sample(writer, ending)


def _assemble(config: Config, store: Store, progress: Progress | None) -> Context:
    copying.check_complete(store)
    config, embedder = _choose_embedder(config, store)
    if store.created:
        rederivation.mark_current(store)
    relabelled = relabelling.relabel(store)
    if store.shared:
        index, damaged = open_shared_index(config, embedder), False
    else:
        index, damaged = _open_index(config, embedder)
    vocabulary = maintenance.open_vocabulary(store, embedder)
    corpus = Corpus.of(config, store, index, vocabulary)
    corpus.rows = RowCache.of(store)
    context = Context.of(corpus, _language_model(config))
    index_state = context.writer.deliveries
    index_state.damaged = damaged or relabelled
    try:
        maintenance.catch_up(context.writer, progress)
        if relabelled and not index_state.incomplete:
            relabelling.finish(store)
        _finish_erasure(context.writer)
    except BaseException:
        index.close()
        raise
    return context


def _language_model(config: Config) -> LanguageModel | None:
    """The language model of background work; None if none is configured."""
    name = config.background_model or config.model
    if name is None:
        return None
    return BackgroundModel(name, config.fallback_model, config.model_timeout)


def _finish_erasure(writer: Writer) -> None:
    try:
        erase.finish_erasure(writer)
    except HippocampeError as exc:
        # A full disk, for example: the remaining data can still be used.
        log.warning(
            "the erasure is not finished, erased text may remain in the files until it is: %s",
            exc,
        )


def _choose_embedder(config: Config, store: Store) -> tuple[Config, Embedder]:
    with store.read() as connection:
        name = meta.get(connection, "embedder")
        model = meta.get(connection, "model")
    chosen = config.embedder or name or "local"
    key = missing_key(chosen, url=config.embedder_url)
    if key is not None:
        with store.read() as connection:
            if not embeddings.has_any(connection):
                name = model = None
        chosen = _without_key(config, store, chosen, name, key)
    mean = maintenance.stored_mean(store, chosen)
    embedder = _embedder(chosen, config, None if mean is None else len(mean))
    if model is None and not store.read_only:
        with store.write() as connection:
            meta.put(connection, "embedder", chosen)
            meta.put(connection, "model", embedder.model)
    elif model not in (None, embedder.model):
        raise EmbedderMismatch(
            f"the data in {config.folder} was embedded with {model}, not with {embedder.model}. Open it with "
            f"embedder {name!r}, then change it with `hippocampe reindex --embedder {chosen}`."
        )
    return replace(config, embedder=chosen), embedder


def _without_key(config: Config, store: Store, chosen: str, name: str | None, key: str) -> str:
    """The embedder to use instead of one whose key is missing: that of the folder, or the bundled one.

    A folder that was embedded with the same one is opened all the same: search goes by words.

    Args:
        chosen: The embedder without its key.
        name: That of the folder; None if nothing is embedded.
        key: The environment variable that is not set.
    """
    if name == chosen and maintenance.stored_mean(store, chosen) is not None:
        log.warning(
            "%s is skipped, since %s is not set: search goes by words, and no statement is stored until it is",
            *(chosen, key),
        )
        return chosen
    usable = name or "local"
    if missing_key(usable, url=config.embedder_url) is not None:
        return chosen
    log.warning(
        "%s is skipped, since %s is not set: texts are embedded with %s. Set it, then run "
        "hippocampe reindex --embedder %s",
        *(chosen, key, usable, chosen),
    )
    return usable


def _embedder(name: str, config: Config, dimensions: int | None) -> Embedder:
    if name == "local" and config.embedder_url is None:
        return _local_embedder()
    return open_embedder(
        name,
        url=config.embedder_url,
        timeout=config.embedder_timeout,
        dimensions=dimensions,
    )


@cache
def _local_embedder() -> Embedder:
    """The bundled model, once per process."""
    return open_embedder("local")


def _open_index(config: Config, embedder: Embedder) -> tuple[Index, bool]:
    """The index, and whether it was damaged and must be rebuilt."""
    folder = deliveries.index_folder(config.folder, embedder.model)
    for other in folder.parent.glob("*"):
        if other != folder:
            # Of a change of embedder that was killed: no erasure would reach it.
            shutil.rmtree(other, ignore_errors=True)
    try:
        return open_index(folder, embedder), False
    except IndexUnavailable as exc:
        log.warning("rebuilding the index from the store: %s", exc)
        deliveries.remove_index(folder)
        return open_index(folder, embedder), True
    except StoreFull as exc:
        raise StoreFull(
            f"{exc} Meanwhile, the folder opens with read_only=True; commands that only read do so."
        ) from exc
