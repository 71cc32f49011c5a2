"""Compare store and index, count, copy."""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection

from hippocampe.engine import backlog, projection
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.writer import Writer
from hippocampe.errors import IndexUnavailable, InvalidInput
from hippocampe.folder import soundness
from hippocampe.folder.residue import found_in_files, spellings
from hippocampe.protocols import KINDS
from hippocampe.store import outbox, statistics
from hippocampe.store import settings as settings_rows
from hippocampe.store.driver import parts
from hippocampe.store.shown import embedded_ids
from hippocampe.store.store import Store
from hippocampe.system import free_space
from hippocampe.system.free_space import RESERVE, written
from hippocampe.types import Scope, Stats, Verification, Vitals
from hippocampe.validation import (
    MAX_ABSENT,
    MAX_REASON_CHARACTERS,
    check_flag,
    check_list,
    check_path,
)


def verify(writer: Writer, *, absent: Sequence[str] = ()) -> Verification:
    """Compare store and index, check database and vectors, and check that given texts are absent.

    What the index answers for each item is compared with the store, which takes seconds per
    100,000 items. `reindex` repairs what differs or is damaged.

    Args:
        absent: Texts that no file of the data folder may contain.

    Raises:
        InvalidInput: `absent` is a single text, or contains an empty one.
        StoreError: The data folder is gone.
    """
    corpus = writer.corpus
    if not all(check_list("absent", absent, most=MAX_ABSENT, limit=MAX_REASON_CHARACTERS)):
        raise InvalidInput("absent must be a list of texts that are not empty.")
    corpus.store.check_in_place()
    if writer.pending.rows:
        backlog.embed_or_wait(writer)
    with corpus.store.exclusive():
        checked: dict[str, int] = {}
        missing: dict[str, tuple[str, ...]] = {}
        unknown: dict[str, tuple[str, ...]] = {}
        queued: dict[str, set[str]] = {}
        with corpus.store.read() as connection:
            changes = outbox.pending(connection, 0)
            for kind in KINDS:
                waiting = [row for row in changes if row.kind == kind]
                shown = set(projection.shown_ids(connection, kind))
                indexed = _indexed(corpus, connection, kind)
                # Pending rows are not an error.
                queued[kind] = _undelivered(writer, waiting)
                shown -= queued[kind] - indexed
                indexed -= queued[kind] - shown
                shown -= _unembedded(writer, connection, kind, shown - indexed, waiting)
                checked[kind] = len(shown)
                if shown - indexed:
                    missing[kind] = tuple(sorted(shown - indexed))
                if indexed - shown:
                    unknown[kind] = tuple(sorted(indexed - shown))
        database = corpus.store.integrity()
        present = _places(corpus, absent)
    # Not under the lock, which would block writers.
    damaged = soundness.stored_damage(corpus).ids
    differing: dict[str, tuple[str, ...]] = {}
    for kind, ids in soundness.all_differing(corpus).items():
        known = {*missing.get(kind, ()), *damaged.get(kind, ()), *queued[kind]}
        if left := sorted({*ids} - known):
            differing[kind] = tuple(left)
    files = tuple(corpus.index.damaged_files(stop=lambda: False))
    wrong = (missing, unknown, present, differing, damaged, files)
    return Verification(
        ok=not any(wrong) and database == "ok",
        checked=checked,
        missing_in_index=missing,
        unknown_to_store=unknown,
        pending=len(changes),
        database=database,
        present=present,
        differing_in_index=differing,
        damaged=damaged,
        damaged_files=files,
    )


def _indexed(corpus: Corpus, connection: Connection, kind: str) -> set[str]:
    if corpus.store.read_only:
        # In the same snapshot: another process writes meanwhile.
        return set(embedded_ids(connection, kind, corpus.model))
    return set(corpus.index.ids(kind))


def _undelivered(writer: Writer, waiting: Sequence[outbox.Pending]) -> set[str]:
    """The rows of a shared database whose changes no index has yet, of those in the outbox.

    Nobody gave it those of a process whose connection was cut at the commit; some process does within seconds.
    """
    if not writer.corpus.store.shared:
        return set()
    delivered = writer.deliveries.delivered
    return {row.item_id for row in waiting if row.seq not in delivered}


def _unembedded(
    writer: Writer,
    connection: Connection,
    kind: str,
    missing: set[str],
    waiting: Sequence[outbox.Pending],
) -> set[str]:
    """The missing rows that are only pending, in any process."""
    store = writer.corpus.store
    own = {id for of, id in writer.pending.rows if of == kind}
    if not (store.read_only or store.shared):
        return own
    if not backlog.has_unembedded(connection):
        missing &= {row.item_id for row in waiting}
    if store.read_only:
        return missing
    # Of those that are embedded, the index lacks what it was not given yet.
    return own.union(
        row.id
        for some in parts(sorted(missing - own), projection.BATCH)
        for row in backlog.unembedded(connection, kind, writer.corpus.model, len(some), some)
    )


def _places(corpus: Corpus, texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Find texts in settings, which `erase` never changes, and in files."""
    in_files = found_in_files(corpus.config.folder, texts, corpus.store.names())
    with corpus.store.read() as connection:
        stored = settings_rows.everything(connection)
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        forms = spellings(text)
        named = tuple(
            f"setting {name} of space {space}"
            for space, name, value in stored
            if any(form in str(value) for form in forms)
        )
        held = corpus.store.holds({*forms, *(json.dumps(form)[1:-1] for form in forms)})
        if places := (*named, *held, *in_files.get(text, ())):
            found[text] = places
    return found


def stats(corpus: Corpus, retrievals_dropped: int, *, scope: Scope) -> Stats:
    """Counts of the space, and the state of the index.

    Raises:
        StoreError: The database cannot be read, or is gone from the folder.
    """
    corpus.store.check_in_place()
    with corpus.store.read() as connection:
        counted = statistics.count(connection, scope.space, corpus.store.now())
        pending = outbox.pending_count(connection, scope.space)
    return Stats(
        **counted,
        indexed=_count_points(corpus),
        pending=pending,
        embedder=corpus.model,
        outages=corpus.outages.counts,
        retrievals_dropped=retrievals_dropped,
        disk_full=not free_space.has_room(corpus.config.folder),
    )


def vitals(corpus: Corpus) -> Vitals:
    """Numbers of the whole data folder: of the index, of jobs, of its files. Takes no scope."""
    with corpus.store.read() as connection:
        jobs = statistics.job_states(connection)
        pending = outbox.pending_count(connection)
    folder = corpus.config.folder
    return Vitals(
        pending=pending,
        indexed=_count_points(corpus),
        jobs=jobs,
        bytes={}
        if corpus.store.shared
        else {
            "database": _size(folder.glob("hippocampe.db*")),
            "index": _size((folder / "index").rglob("*")),
            "backups": _size((folder / "backups").rglob("*")),
        },
        outages=corpus.outages.counts,
        disk_free=free_space.free(folder),
        disk_reserve=RESERVE,
    )


def _count_points(corpus: Corpus) -> dict[str, int]:
    """The points of the index by kind; none while it is down."""
    try:
        return {kind: corpus.index.count(kind) for kind in KINDS}
    except IndexUnavailable:
        # A change of embedder closes the old index: then the step is run again.
        corpus.check_serving()
        return {}


def _size(files: Iterable[Path]) -> int:
    """Bytes of files on the disk; a file may be deleted meanwhile."""
    total = 0
    for file in files:
        with suppress(OSError):
            total += written(file.stat()) if file.is_file() else 0
    return total


def backup(
    store: Store, target: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> Path:
    """Copy the database while it is in use; return the copy's path.

    Args:
        target: Where to; default: a dated file in the data folder's `backups`.
        overwrite: Replace a file that exists; a failure leaves it as it was.

    Raises:
        InvalidInput: The file exists, or is one of the data folder's own; or `target` is no path.
        StoreError: The copy cannot be written.
    """
    stamp = store.now().strftime("%Y%m%dT%H%M%S%f")
    copy = store.folder / "backups" / f"{stamp}.db"
    if target is not None:
        copy = check_path("target", target)
    return store.backup(copy, overwrite=check_flag("overwrite", overwrite))
