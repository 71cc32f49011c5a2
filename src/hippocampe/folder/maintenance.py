"""Keep the index consistent with the store: catch up at open, flush, reindex, build graphs, close."""

import base64
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from hippocampe.curation import erase
from hippocampe.embed import is_remote
from hippocampe.embed.word_space import Floats, WordSpace, shipped
from hippocampe.engine import backlog, deliveries, generations, replies
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Retired
from hippocampe.engine.deliveries import ACKNOWLEDGED, acknowledged_mark
from hippocampe.engine.outages import log
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.engine.writer import Writer
from hippocampe.errors import (
    EmbedderUnavailable,
    HippocampeError,
    IndexUnavailable,
    StoreFull,
    StoreReadOnly,
)
from hippocampe.folder import filling, rederivation
from hippocampe.index import own, shared
from hippocampe.language.text import STOP_WORDS
from hippocampe.protocols import KINDS, Embedder, Index
from hippocampe.retrieval import log as retrieval_log
from hippocampe.retrieval.log import RetrievalBuffer
from hippocampe.store import meta, shown
from hippocampe.store.store import Store
from hippocampe.system import free_space
from hippocampe.types import Progress, Reindexed

_MEAN = "word_mean"
LOG_SECONDS = 5.0
"""Seconds between writes of the buffered retrieval log."""

REDERIVING_SECONDS = 1.0
"""Time budget per round of rederivation; in the background, or at closing without a background thread."""


def word_space(store: Store, embedder: Embedder) -> WordSpace:
    """The shipped word space of an embedder, or one fitted on stop words.

    Stop words suffice to find the direction common to all short texts. That of a remote embedder is stored:
    opening needs no answer of it.
    """
    measured = shipped(embedder.model)
    if measured is not None:
        return measured
    kept = is_remote(embedder.model)
    mean = stored_mean(store, embedder.model) if kept else None
    if mean is None:
        mean = embedder.embed(sorted(STOP_WORDS)).mean(axis=0)
        if kept and not store.read_only:
            with store.write() as connection:
                text = base64.b64encode(mean.tobytes()).decode()
                meta.put(connection, f"{_MEAN} {embedder.model}", text)
    return WordSpace(mean)


def stored_mean(store: Store, model: str) -> Floats | None:
    """The mean of the word vectors of a remote embedder, as first measured; None before that."""
    with store.read() as connection:
        text = meta.get(connection, f"{_MEAN} {model}")
    return None if text is None else np.frombuffer(base64.b64decode(text), np.float32)


def open_vocabulary(store: Store, embedder: Embedder) -> Vocabulary:
    """Load the vocabulary in the word space of the embedder.

    Raises:
        StoreReadOnly: The store was opened read-only, and its words must be written again.
    """
    vocabulary = Vocabulary(store, embedder, word_space(store, embedder))
    if store.read_only and vocabulary.is_outdated():
        raise StoreReadOnly(
            f"cannot read the data in {store.folder}: its word vectors were made by another version. Open "
            "it once without read_only to update them."
        )
    vocabulary.refresh()
    return vocabulary


def flush(context: Context, buffer: RetrievalBuffer, *, wait: bool = True) -> None:
    """Make the index durable; count recalls and log turns in the store, unless the disk is full.

    Args:
        wait: See `deliveries.settle`.
    """
    context.corpus.store.check_in_place()
    if free_space.has_room(context.corpus.store.folder):
        context.accesses.flush()
        retrieval_log.flush(context.corpus.store, buffer)
    deliveries.settle(context.writer, wait=wait)


def bring_up_to_date(context: Context, buffer: RetrievalBuffer) -> None:
    """Flush, and do what only a thread does otherwise: complete the index after an outage, or a shared one that lost its
    points."""
    if context.writer.deliveries.incomplete:
        catch_up(context.writer)
    flush(context, buffer)
    filling.complete(context.writer)


def catch_up(writer: Writer, progress: Progress | None = None) -> None:
    """Bring the index up to date at open: replay the outbox, or rebuild.

    Rebuilds when the index is damaged, or is not the one that the store last acknowledged: the index was
    deleted, or the database was restored from a backup. A full disk, or an embedder that is away, does not prevent
    opening; a later round of maintenance continues.
    """
    known = writer.deliveries
    try:
        if writer.corpus.store.shared:
            _catch_up_shared(writer, progress)
        elif known.damaged:
            reindex(writer, progress, graphs=False)
        else:
            _catch_up(writer, progress)
    except StoreFull as exc:
        known.incomplete = known.behind = True
        writer.corpus.outages.failed("indexing", exc)
    except EmbedderUnavailable as exc:
        known.incomplete = True
        writer.corpus.outages.failed("embedder", exc)
    else:
        known.incomplete = known.damaged = False


def _catch_up(writer: Writer, progress: Progress | None) -> None:
    corpus = writer.corpus
    with corpus.store.read() as connection:
        acknowledged = int(meta.get(connection, ACKNOWLEDGED) or 0)
        unembedded = backlog.has_unembedded(connection)
    try:
        marked = int(acknowledged_mark(corpus).read_text())
    except (OSError, ValueError):
        marked = 0
    if marked > acknowledged or (acknowledged and not marked):
        log.warning(
            "the index of %s is not that of its database, which was restored from a copy, or lost its index: "
            "rebuilding it from the database; nothing else needs to be done",
            corpus.config.folder,
        )
        reindex(writer, progress, graphs=False)
        return
    deliveries.replay(writer, all_now=True)
    backlog.embed_or_wait(writer)
    if unembedded:
        backlog.embed_imported(writer, progress)
        corpus.outages.works("embedder")
    if not writer.pending.rows and not filling.agree_in_number(corpus):
        log.warning(
            "the index of %s lacks items of its database or has others, as after copying only some files: "
            "rebuilding it from the database; nothing else needs to be done",
            corpus.config.folder,
        )
        reindex(writer, progress, graphs=False)


def _catch_up_shared(writer: Writer, progress: Progress | None) -> None:
    """Bring an index up to date that other processes use meanwhile; if it is away, later rounds do."""
    corpus = writer.corpus
    try:
        filling.complete(writer, progress)
        _embed_imported(writer, progress)
        deliveries.settle(writer, all_now=not corpus.config.background)
    except EmbedderUnavailable:
        writer.deliveries.behind = True
        raise
    except IndexUnavailable as exc:
        writer.deliveries.behind = True
        corpus.outages.failed("indexing", exc)


def _embed_imported(writer: Writer, progress: Progress | None) -> None:
    """Embed what an import of a process that died left, unless another process embeds or fills now."""
    store = writer.corpus.store
    with store.read() as connection:
        unembedded = backlog.has_unembedded(connection)
    if unembedded:
        with store.filling() as alone:
            if alone:
                backlog.embed_imported(writer, progress)


def reindex(writer: Writer, progress: Progress | None = None, *, graphs: bool = True) -> Reindexed:
    """Build the whole index again from the store; reading goes on meanwhile.

    Args:
        graphs: With the graphs of large kinds, which takes minutes; else maintenance builds them.

    Raises:
        StoreFull: The disk has too little free space; the old index goes on serving.
    """
    corpus = writer.corpus
    free_space.check(corpus.store.folder)
    with writer.builder.building, corpus.store.filling():
        corpus.check_serving()
        without = generations.refill(writer, progress, graphs=graphs)
        deliveries.settle(writer, all_now=True)
        # Also where no row waits: the index is that of this database now.
        deliveries.acknowledge(writer, ())
    return Reindexed(corpus.model, without)


def scrub(writer: Writer, progress: Progress | None = None) -> tuple[str, ...]:
    """Write a shared database and its index again, without bytes of erased rows; return where some are left."""
    corpus = writer.corpus
    left = corpus.store.rewrite()
    with corpus.store.filling():
        # The new collection has no mark of a filled one: if this is interrupted, any process fills it.
        shared(corpus.index).empty()
        deliveries.refill(writer, progress)
    deliveries.settle(writer, all_now=True)
    return left


def grow_graphs(writer: Writer) -> None:
    """Build a graph for each kind with a space that is too large for fast scans."""
    corpus = writer.corpus
    threshold = corpus.config.graph_threshold
    if corpus.store.shared:
        # A server builds graphs by itself.
        return
    for kind in KINDS:
        loose = own(corpus.index).ungraphed(kind)
        # A rebuild costs minutes per 100,000 points, so it waits until a tenth is outside the graph.
        if loose < max(threshold, corpus.index.count(kind) // 10):
            continue
        with corpus.store.read() as connection:
            large = shown.largest_space(connection, kind) >= threshold
        if large:
            with writer.builder.building:
                if not corpus.retired:
                    _grow_graph(writer, kind)


def _grow_graph(writer: Writer, kind: str) -> None:
    try:
        generations.new_generation(writer, kind, graph=True)
        writer.corpus.outages.works("graphs")
    except (IndexUnavailable, StoreFull) as exc:
        if not writer.builder.stopped:
            writer.corpus.outages.failed("graphs", exc)


class _Stopping(Exception):
    """The maintenance ends while it fills an index."""


class Maintenance:
    """The background thread: writes the log and flushes often, trims the log and grows graphs sometimes.

    Args:
        context: Returns the context that serves now.
        buffer: Retrievals to log.
        seconds: Time between flushes.
    """

    def __init__(
        self,
        context: Callable[[], Context],
        buffer: RetrievalBuffer,
        seconds: float,
    ) -> None:
        self._context = context
        self._buffer = buffer
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="hippocampe-maintenance", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        rounds, compared = 0, False
        due = time.monotonic() + self._seconds
        while not self._stop.wait(min(self._seconds, LOG_SECONDS)):
            context = self._context()
            outages, store = context.corpus.outages, context.corpus.store
            checking = partial(free_space.check, store.folder)
            if outages.attempt("storing", checking) is None:
                logging = partial(retrieval_log.flush, store, self._buffer)
                outages.attempt("logging of turns", logging)
                outages.attempt("rules", partial(self._rederive, context.writer))
            if store.shared:
                # It heals within seconds, whichever process notices.
                healing = partial(self._heal, context.writer, compare=not compared)
                compared = outages.attempt("indexing", healing) is None or compared
            if time.monotonic() >= due:
                due = time.monotonic() + self._seconds
                rounds += 1
                whole = rounds % 2 == 1
                outages.attempt("maintenance", partial(self._round, context, whole=whole))

    def _heal(self, writer: Writer, *, compare: bool) -> None:
        def go_on(*_: object) -> None:
            if self._stop.is_set():
                raise _Stopping

        # If the end of the process interrupts it, another process or the next open goes on.
        with suppress(Retired, _Stopping):
            filling.complete(writer, go_on, compare=compare)
        # A frozen process would stop the writers of this one, too.
        deliveries.settle(writer, wait=False)

    def _rederive(self, writer: Writer) -> None:
        until = time.monotonic() + REDERIVING_SECONDS
        with suppress(Retired):
            rederivation.rederive(writer, lambda: self._stop.is_set() or time.monotonic() > until)

    def _round(self, context: Context, *, whole: bool) -> None:
        try:
            if context.writer.deliveries.incomplete:
                catch_up(context.writer)
            flush(context, self._buffer, wait=False)
            erase.finish_erasure(context.writer)
            if whole:
                retrieval_log.expire(context.corpus)
                replies.expire(context.corpus.store)
                grow_graphs(context.writer)
        except Retired:
            # Another context has taken over; it runs the next round.
            return
        except (HippocampeError, OSError):
            if not self._stop.is_set():
                raise

    def stop(self) -> None:
        """Stop after the current work, but abandon the build of a graph."""
        self._stop.set()
        self._context().writer.builder.stop()
        self._thread.join()


def close_index(index: Index) -> None:
    """Close an index that no longer serves."""
    with suppress(IndexUnavailable):
        index.close()


def close(context: Context, buffer: RetrievalBuffer) -> None:
    """Log the buffered retrievals, flush and close the index, then the store."""
    corpus = context.corpus
    if context.language_model is not None:
        context.language_model.close()
    context.writer.pending.worker.shutdown()
    if not corpus.store.read_only:
        _flush_last(context, buffer)
    corpus.outages.end()
    close_index(corpus.index)
    corpus.store.close()
    if corpus.key_store is not None:
        corpus.key_store.close()


def _flush_last(context: Context, buffer: RetrievalBuffer) -> None:
    corpus = context.corpus
    try:
        if not corpus.config.background and free_space.has_room(corpus.store.folder):
            until = time.monotonic() + REDERIVING_SECONDS
            rederivation.rederive(context.writer, lambda: time.monotonic() > until)
        flush(context, buffer)
        # Short-lived programs never reach a maintenance round.
        retrieval_log.expire(corpus)
        replies.expire(corpus.store)
    except HippocampeError as exc:
        # Nothing is lost: the outbox is replayed at the next open.
        if not corpus.outages.is_logged(exc):
            log.warning("the index could not be flushed at closing: %s", exc)
