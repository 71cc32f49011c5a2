"""What keeps store and index together: flush, verify, reindex, graphs, change of embedder."""

import hashlib
import shutil
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from hippocampe import journal, rebuild, rederivation
from hippocampe.absence import found_in_files, spellings
from hippocampe.checks import check_list, check_text
from hippocampe.embed import open_embedder
from hippocampe.errors import (
    HippocampeError,
    IndexUnavailable,
    InvalidInput,
    StoreReadOnly,
)
from hippocampe.health import log
from hippocampe.index.edge import EdgeIndex
from hippocampe.index.shards import can_hold
from hippocampe.lexicon import Lexicon
from hippocampe.parts import WAITING, Parts, Retired
from hippocampe.protocols import KINDS, Embedder
from hippocampe.rebuild import Progress
from hippocampe.store import counting, derived, memories
from hippocampe.store import settings as settings_rows
from hippocampe.store.shown import embedded_ids
from hippocampe.store.store import Store, translated
from hippocampe.text import STOP_WORDS
from hippocampe.types import Reindexed, Scope, Stats, Verification
from hippocampe.words import WordSpace, fit, shipped

ERASING = "erasing"
"""The `meta` that names the kinds of the index whose files may still hold what was erased."""
ERASED_NOTHING = "-"
"""Its value when no kind is affected, but the database is."""
MOST_SECONDS = 5.0
"""Between two writings of the log of retrievals, which waits in memory."""

REDERIVING_SECONDS = 1.0
"""Time spent at once on rows of older rules: every few seconds in the background, otherwise at closing."""


def index_folder(folder: Path, model: str) -> Path:
    """Where the index of one embedding model lies."""
    return folder / "index" / hashlib.blake2b(model.encode(), digest_size=6).hexdigest()


def word_space(embedder: Embedder) -> WordSpace:
    """The word space measured beforehand for an embedder, or one fitted on common words.

    Stop words of both languages stand for all words: what is wanted is the direction that every
    short text has in common.
    """
    measured = shipped(embedder.model)
    return measured or fit(embedder.embed(sorted(STOP_WORDS)))


def open_lexicon(store: Store, embedder: Embedder) -> Lexicon:
    """The words of the data, with the word space of the embedder.

    Raises:
        StoreReadOnly: The store was opened read-only, and its words must be written again.
    """
    lexicon = Lexicon(store, embedder, word_space(embedder))
    if store.read_only and lexicon.is_outdated():
        raise StoreReadOnly(
            f"cannot read the data in {store.folder}: its word vectors were made by another version. Open "
            "it once without read_only, which makes them again."
        )
    lexicon.refresh()
    return lexicon


def flush(parts: Parts) -> None:
    """Make the index durable, then drop the outbox rows that this covers; count recalls, log turns."""
    _count_accesses(parts)
    journal.write(parts)
    if parts.waiting:
        rebuild.embed_or_wait(parts)
    if parts.behind:
        rebuild.replay(parts)
    upto = parts.applied
    if upto <= parts.flushed or parts.keep_outbox:
        return
    parts.index.flush()
    with parts.store.exclusive():
        if parts.retired or parts.keep_outbox:
            return
        with parts.store.write() as connection:
            derived.acknowledge(connection, upto)
            derived.set_meta(connection, "acknowledged", str(upto))
        with translated():
            _mark(parts).write_text(str(upto))
    parts.flushed = upto


def _count_accesses(parts: Parts) -> None:
    with parts.accesses_lock:
        counts = dict(parts.accesses)
        parts.accesses.clear()
    if not counts:
        return
    try:
        # They waited in memory until now: a power cut may as well take them a moment later.
        with parts.store.write(durable=False) as connection:
            memories.touch(connection, counts, parts.now())
    except BaseException:
        parts.note_access(id for id, more in counts.items() for _ in range(more))
        raise


def _mark(parts: Parts) -> Path:
    return index_folder(parts.config.folder, parts.embedder.model) / "acknowledged"


def catch_up(parts: Parts, progress: Progress | None = None) -> None:
    """Bring the index to the store at open: replay what a crash left, or build it anew.

    The index is built anew when it is not the one that the store last acknowledged: it was deleted,
    or the database was restored from a backup.
    """
    with parts.store.read() as connection:
        acknowledged = int(derived.get_meta(connection, "acknowledged") or 0)
        unembedded = any(
            derived.get_meta(connection, name) for name in (rebuild.UNEMBEDDED, WAITING)
        )
    try:
        marked = int(_mark(parts).read_text())
    except (OSError, ValueError):
        marked = 0
    parts.applied = parts.flushed = acknowledged
    if marked > acknowledged or (acknowledged and not marked):
        log.warning("the index does not belong to this state of the store: building it anew")
        reindex(parts, progress, graphs=False)
        return
    rebuild.replay(parts)
    if unembedded:
        rebuild.embed_imported(parts, progress)
    if not _agree_in_number(parts):
        log.warning("the index has lost or kept points it should not have: building it anew")
        reindex(parts, progress, graphs=False)


def _agree_in_number(parts: Parts) -> bool:
    """Whether store and index hold as many of each kind: some damage to an index is silent."""
    with parts.store.read(whole=True) as connection:
        return all(
            parts.index.count(kind) == rebuild.count_shown(connection, kind)
            # Slower, and only for data that holds ids which no index takes.
            or parts.index.count(kind) == sum(map(can_hold, rebuild.shown_ids(connection, kind)))
            for kind in KINDS
        )


def reindex(parts: Parts, progress: Progress | None = None, *, graphs: bool = True) -> Reindexed:
    """Build the whole index again from the store; reading goes on meanwhile.

    Args:
        graphs: With the graphs of large kinds, which takes minutes; else maintenance builds them.
    """
    with parts.rebuilding:
        parts.check_serving()
        without = rebuild.refill(parts, progress, graphs=graphs)
        with parts.store.exclusive():
            with parts.store.read() as connection:
                position = derived.position(connection)
                acknowledged = int(derived.get_meta(connection, "acknowledged") or 0)
            parts.behind = False
            parts.outages.works("indexing")
            parts.applied = max(parts.applied, position, acknowledged)
            parts.flushed = 0
            flush(parts)
    return Reindexed(parts.embedder.model, without)


def finish_erasure(parts: Parts) -> None:
    """Make what was erased unreadable in the files too, if an erasure, or a process that died in
    one, left it there."""
    with parts.store.read() as connection:
        marked = derived.get_meta(connection, ERASING)
    if not marked:
        return
    with parts.rebuilding:
        for kind in _marked_kinds(marked):
            if not (isinstance(parts.index, EdgeIndex) and parts.index.is_unused(kind)):
                # Without its graph, which maintenance builds: an erasure is waited for.
                rebuild.new_generation(parts, kind, graph=False)
        # The outbox names what is gone.
        flush(parts)
        parts.store.scrub()
        with parts.store.write() as connection:
            derived.set_meta(connection, ERASING, "")


def mark_erasure(connection: Connection, kinds: Collection[str]) -> None:
    """Note, in the transaction that erases, which kinds `finish_erasure` must build again."""
    before = _marked_kinds(derived.get_meta(connection, ERASING) or "")
    marked = sorted({*before, *kinds})
    derived.set_meta(connection, ERASING, " ".join(marked) or ERASED_NOTHING)


def _marked_kinds(marked: str) -> tuple[str, ...]:
    # Earlier versions wrote "1" for all kinds.
    return KINDS if marked == "1" else tuple(kind for kind in KINDS if kind in marked.split())


def verify(parts: Parts, *, absent: Sequence[str] = ()) -> Verification:
    """Compare the store with the index, check the database, and look for what must be nowhere.

    Raises:
        InvalidInput: `absent` is one text, or holds an empty one.
    """
    if not all(check_list("absent", absent)):
        raise InvalidInput("absent must be a list of texts that are not empty.")
    if parts.waiting:
        rebuild.embed_or_wait(parts)
    with parts.store.exclusive():
        checked: dict[str, int] = {}
        missing: dict[str, tuple[str, ...]] = {}
        unknown: dict[str, tuple[str, ...]] = {}
        for kind in KINDS:
            with parts.store.read() as connection:
                shown = set(rebuild.shown_ids(connection, kind))
                indexed = _indexed(parts, connection, kind)
                # What waits to be embedded is pending, and no error.
                shown -= _unembedded(parts, connection, kind, shown - indexed)
            checked[kind] = len(shown)
            if shown - indexed:
                missing[kind] = tuple(sorted(shown - indexed))
            if indexed - shown:
                unknown[kind] = tuple(sorted(indexed - shown))
        with parts.store.read() as connection:
            pending = derived.pending_count(connection)
        database = parts.store.integrity()
        present = _places(parts, absent)
    ok = not missing and not unknown and not present and database == "ok"
    return Verification(ok, checked, missing, unknown, pending, database, present)


def _indexed(parts: Parts, connection: Connection, kind: str) -> set[str]:
    if parts.store.read_only:
        # In the same view of the store: another process writes meanwhile.
        return set(embedded_ids(connection, kind, parts.embedder.model))
    return set(parts.index.ids(kind))


def _unembedded(parts: Parts, connection: Connection, kind: str, missing: set[str]) -> set[str]:
    """Those of the rows that are missing in the index that only wait for their vectors."""
    if not parts.store.read_only:
        return {id for of, id in parts.waiting if of == kind}
    # The process that owns the folder knows which; this one, only that some do.
    waits = any(derived.get_meta(connection, name) for name in (rebuild.UNEMBEDDED, WAITING))
    return missing if waits else set()


def _places(parts: Parts, texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Where texts are found: settings, which erasing a subject leaves alone, then files."""
    in_files = found_in_files(parts.config.folder, texts)
    with parts.store.read() as connection:
        stored = settings_rows.everything(connection)
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        forms = spellings(text)
        named = tuple(
            f"setting {name} of space {space}"
            for space, name, value in stored
            if any(form in str(value) for form in forms)
        )
        if places := (*named, *in_files.get(text, ())):
            found[text] = places
    return found


def stats(parts: Parts, *, scope: Scope) -> Stats:
    """Counts of a space, and the state of the index."""
    with parts.store.read() as connection:
        counted = counting.count(connection, scope.space, parts.now())
        pending = derived.pending_count(connection)
    indexed = {kind: parts.index.count(kind) for kind in KINDS}
    return Stats(
        **counted,
        indexed=indexed,
        pending=pending,
        embedder=parts.embedder.model,
        outages=parts.outages.counts,
        retrievals_dropped=parts.dropped,
    )


def backup(parts: Parts, target: Path | None, *, overwrite: bool) -> Path:
    """Copy the database while it is in use; by default to a dated file among the backups."""
    stamp = parts.now().strftime("%Y%m%dT%H%M%S%f")
    target = target or parts.config.folder / "backups" / f"{stamp}.db"
    return parts.store.backup(target, overwrite=overwrite)


def grow_graphs(parts: Parts) -> None:
    """Build a graph for each kind that has grown past what a scan searches fast."""
    if not isinstance(parts.index, EdgeIndex):
        return
    for kind in KINDS:
        loose = parts.index.unindexed(kind)
        # A rebuild costs minutes per 100,000 points, so it waits until a tenth is loose.
        if loose >= max(parts.config.graph_threshold, parts.index.count(kind) // 10):
            with parts.rebuilding:
                if not parts.retired:
                    _grow_graph(parts, kind)


def _grow_graph(parts: Parts, kind: str) -> None:
    try:
        rebuild.new_generation(parts, kind, graph=True)
        parts.outages.works("graphs")
    except IndexUnavailable as exc:
        if not parts.closing:
            parts.outages.failed("graphs", exc)


def change_embedder(
    parts: Parts, name: str, progress: Progress | None, take_over: Callable[[Parts], None]
) -> Reindexed:
    """Re-embed everything with another embedder while the old one serves.

    Args:
        take_over: Called with the new parts once they hold everything. The old ones are then
            retired: a step that still uses them is done again.

    Raises:
        EmbedderUnavailable: The new embedder cannot be used; nothing was changed.
        InvalidInput: Its name is not known.
        Retired: Another change of embedder came first.
    """
    check_text("embedder", name)
    embedder = open_embedder(
        name, url=parts.config.embedder_url, timeout=parts.config.embedder_timeout
    )
    if embedder.model == parts.embedder.model:
        return reindex(parts, progress)
    with parts.rebuilding:
        parts.check_serving()
        folder = index_folder(parts.config.folder, embedder.model)
        shutil.rmtree(folder, ignore_errors=True)
        new = replace(
            parts,
            config=replace(parts.config, embedder=name),
            embedder=embedder,
            lexicon=open_lexicon(parts.store, embedder),
            index=EdgeIndex.open(folder, dimensions=embedder.dimensions, model=embedder.model),
            flushed=0,
        )
        parts.keep_outbox = True
        try:
            without = _fill_and_switch(parts, new, progress)
        except BaseException:
            parts.retired = False
            close_index(new)
            raise
        finally:
            parts.keep_outbox = False
        take_over(new)
        close_index(parts)
        shutil.rmtree(index_folder(parts.config.folder, parts.embedder.model), ignore_errors=True)
    flush(new)
    return Reindexed(new.embedder.model, without)


def _fill_and_switch(old: Parts, new: Parts, progress: Progress | None) -> tuple[str, ...]:
    with old.store.exclusive():
        start = old.applied
    without = rebuild.refill(new, progress, graphs=True)
    with old.store.exclusive():
        # What was written meanwhile is little, and nothing can come between any more.
        rebuild.embed_missing(new, progress)
        rebuild.replay(new, after=start)
        # Before the old vectors go, so that no reader of them takes their absence for an answer.
        old.retired = True
        with new.store.write() as connection:
            derived.set_meta(connection, "embedder", new.config.embedder or "local")
            derived.set_meta(connection, "model", new.embedder.model)
            derived.remove_other_models(connection, new.embedder.model)
    return without


class Maintenance:
    """The background thread: log and flush often, expire and grow graphs now and then.

    Args:
        parts: Where to find the parts that serve now.
        expire: Hides what has expired.
        seconds: Time between flushes.
    """

    def __init__(
        self, parts: Callable[[], Parts], expire: Callable[[Parts], object], seconds: float
    ) -> None:
        self._parts = parts
        self._expire = expire
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="hippocampe-maintenance", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        rounds = 0
        due = time.monotonic() + self._seconds
        while not self._stop.wait(min(self._seconds, MOST_SECONDS)):
            parts = self._parts()
            parts.outages.attempt("logging of turns", partial(journal.write, parts))
            parts.outages.attempt("rules", partial(self._rederive, parts))
            if time.monotonic() >= due:
                due = time.monotonic() + self._seconds
                rounds += 1
                whole = rounds % 2 == 1
                parts.outages.attempt("maintenance", partial(self._round, parts, whole=whole))

    def _rederive(self, parts: Parts) -> None:
        until = time.monotonic() + REDERIVING_SECONDS
        with suppress(Retired):
            rederivation.rederive(parts, lambda: self._stop.is_set() or time.monotonic() > until)

    def _round(self, parts: Parts, *, whole: bool) -> None:
        try:
            flush(parts)
            if whole:
                self._expire(parts)
                journal.expire(parts)
                grow_graphs(parts)
        except Retired:
            # Others have taken over; the next round is theirs.
            return
        except (HippocampeError, OSError):
            if not self._stop.is_set():
                raise

    def stop(self) -> None:
        """Stop after the work in hand, but for a graph, which is given up."""
        self._stop.set()
        rebuild.end_builder(self._parts())
        self._thread.join()


def close_index(parts: Parts) -> None:
    """Close an index that serves no more."""
    with suppress(IndexUnavailable):
        parts.index.close()


def close(parts: Parts) -> None:
    """Flush and close the index, then the store."""
    for pool in (parts.searching, parts.reading, parts.loading):
        pool.shutdown(wait=False, cancel_futures=True)
    parts.embedder_thread.shutdown()
    if not parts.store.read_only:
        _flush_last(parts)
    close_index(parts)
    parts.store.close()


def _flush_last(parts: Parts) -> None:
    try:
        if not parts.config.background:
            until = time.monotonic() + REDERIVING_SECONDS
            rederivation.rederive(parts, lambda: time.monotonic() > until)
        flush(parts)
        # Programs that run for seconds have no other time for it.
        journal.expire(parts)
    except HippocampeError as exc:
        # Nothing is lost: the outbox is replayed at the next open.
        log.warning("the index could not be flushed at closing: %s", exc)
