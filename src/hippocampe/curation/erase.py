"""Erase physically: from rows, history, vectors, index and backups.

The transaction that deletes the rows also marks which kinds of the index to rebuild. If the process
dies before the files are clean, the mark makes the next open finish the work.
"""

import shutil
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection

from hippocampe.curation.subject import NamedSubject
from hippocampe.curation.turns import Turns
from hippocampe.engine import audit, deliveries, generations
from hippocampe.engine.outages import log
from hippocampe.engine.vocabulary import note_erasure
from hippocampe.engine.writer import Writer
from hippocampe.errors import (
    IndexUnavailable,
    InvalidInput,
    NotFound,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
)
from hippocampe.index import own
from hippocampe.language.text import content_words
from hippocampe.protocols import KINDS
from hippocampe.retrieval import log as retrieval_log
from hippocampe.store import erasure, meta, schema
from hippocampe.store.erasure import Request, Selection
from hippocampe.store.store import Store, delete
from hippocampe.types import MAX_LABEL_CHARACTERS, Progress, Receipt, Scope, normal_label
from hippocampe.validation import check_flag, check_text, clean_text

ERASING = "erasing"
"""`meta` name: kinds of the index whose files may still contain erased data."""
ERASED_NOTHING = "-"
"""Value of the mark when only the database file is affected."""
INDEX = "index"
"""The place in `Receipt.remains` of points that a server keeps until it is back."""


def mark_erasure(connection: Connection, kinds: Collection[str]) -> None:
    """Mark, in the transaction that erases, which kinds `finish_erasure` must rebuild."""
    before = marked_kinds(meta.get(connection, ERASING) or "")
    marked = sorted({*before, *kinds})
    meta.put(connection, ERASING, " ".join(marked) or ERASED_NOTHING)


def finish_erasure(writer: Writer, progress: Progress | None = None) -> None:
    """Remove erased data from the files: rebuild the marked kinds, scrub the database.

    Does nothing without a mark. Idempotent.

    Raises:
        StoreFull: The disk has no room for a second copy of the database or of a kind of the index.
    """
    corpus = writer.corpus
    if not _marked(corpus.store):
        return
    with writer.builder.building:
        # Another thread may have finished it meanwhile.
        marked = _marked(corpus.store)
        for kind in marked_kinds(marked):
            # A server deletes single points; see `Store.remains`.
            if not corpus.store.shared and not own(corpus.index).is_unused(kind):
                # Without its graph, because the caller waits. Maintenance builds the graph later.
                generations.new_generation(writer, kind, graph=False, progress=progress)
        # The outbox contains the ids of erased rows.
        deliveries.settle(writer)
        corpus.store.scrub()
        with corpus.store.write(from_reserve=True) as connection:
            meta.put(connection, ERASING, "")


def _marked(store: Store) -> str:
    with store.read() as connection:
        return meta.get(connection, ERASING) or ""


def marked_kinds(marked: str) -> tuple[str, ...]:
    """Parse the value of the mark."""
    # Earlier versions wrote "1" for all kinds.
    return KINDS if marked == "1" else tuple(kind for kind in KINDS if kind in marked.split())


def erase(
    writer: Writer,
    turns: Turns,
    *,
    scope: Scope,
    id: str | None = None,
    user: str | None = None,
    subject: str | None = None,
    whole_space: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Receipt:
    """Remove data for ever: rows, history, full text, vectors, index, backups.

    Give exactly one of `id`, `user`, `subject` and `whole_space`. All versions of an erased memory
    and the whole turn of an erased message are erased too; an older version that a person has restored in its
    place stays. Only the indexed pieces of notes are
    erased: the files belong to the user and are indexed again while they exist. Settings stay; the
    receipt lists those that name the subject. If deleting the rows fails, only backups were
    changed. If the process dies after that, the next open cleans the files. If a shared index is
    away, the receipt says so, and maintenance removes the points once it is back.

    Args:
        scope: The space.
        id: A memory, turn, message or piece of a note.
        user: The author of memories, turns and messages.
        subject: A tag, alias, key or source, or a capitalised name in texts.
        whole_space: Everything in the space.
        dry_run: Only report what would be erased.
        progress: Called while the index is built again without what was erased.

    Raises:
        InvalidInput: None or several of them are given.
        NotFound: The space has nothing of this id.
        StoreFull: The disk has too little free space, at once or to overwrite the files.
    """
    corpus = writer.corpus
    for name, value in (("id", id), ("user", user), ("subject", subject)):
        check_text(name, value)
    check_flag("whole_space", whole_space)
    check_flag("dry_run", dry_run)
    criteria = [name for name in (id, user, subject) if name is not None]
    if len(criteria) + whole_space != 1:
        raise InvalidInput(
            "say exactly one of what to erase: an id, a user, a subject or the whole space."
        )
    if subject is not None and not content_words(
        clean_text(subject, what="subject", limit=MAX_LABEL_CHARACTERS)
    ):
        raise InvalidInput(f"subject {subject!r} contains no word to search for.")
    named_subject = None if subject is None else NamedSubject(subject)
    author = None if user is None else normal_label(user)
    request = Request(scope.space, id, author, named_subject, whole_space)
    mark, unfinished = "", tuple[str, ...]()
    with writer.builder.building:
        with corpus.store.exclusive():
            corpus.check_serving()
            with corpus.store.read() as connection:
                doomed = erasure.select(connection, request)
                items = erasure.describe(connection, doomed)
                named = erasure.settings_naming(connection, request)
            absent = id is not None and not doomed.ids
            if not (dry_run or absent):
                with corpus.store.copying:
                    mark = _erase(writer, turns, request, doomed)
        if absent:
            if not dry_run:
                # A process that died may have erased it, but not from the files.
                finish_erasure(writer, progress)
            raise NotFound(
                f"space {scope.space!r} has nothing with id {id!r}: it never had, or it is erased already."
            )
        if not dry_run:
            corpus.store.erased(scope.space, mark)
            # Outside the writers' lock: rebuilding an index may take minutes.
            try:
                finish_erasure(writer, progress)
            except (IndexUnavailable, StoreBusy) as exc:
                if not corpus.store.shared:
                    if isinstance(exc, StoreBusy):
                        raise
                    raise _unfinished(doomed, exc) from exc
                # The mark stays: maintenance, or the next open, finishes it.
                corpus.outages.failed("indexing", exc)
                unfinished = (INDEX,)
            except StoreFull as exc:
                raise StoreFull(
                    f"erased, and not found any more ({len(doomed.ids)} in all), but the text may remain in the "
                    "files: overwriting it takes a second copy of the database and of the index meanwhile, and "
                    f"is done by itself once there is space. {exc}"
                ) from exc
            except OSError as exc:
                raise _unfinished(doomed, exc) from exc
    counts = {kind: len(ids) for kind, ids in doomed.of.items() if ids or kind != "note"}
    remains = () if dry_run else (*unfinished, *corpus.store.remains())
    with corpus.store.read() as connection:
        users = erasure.users_named(connection, request)
    ids = tuple(sorted(doomed.ids))
    return Receipt(counts, ids, dry_run, tuple(items), named, remains, users)


def _unfinished(doomed: Selection, reason: Exception) -> StoreError:
    return StoreError(
        f"erased, and not found any more ({len(doomed.ids)} in all), but the text may remain in the files until "
        f"they are overwritten, which is tried again by itself. {reason}"
    )


def remove_moved(writer: Writer, turns: Turns, spaces: Sequence[str]) -> None:
    """Remove the copies of spaces that have moved to another folder, as `erase` does with a whole space; their keys
    stay. Scrub the files once for all spaces. Idempotent."""
    corpus = writer.corpus
    with writer.builder.building:
        for space in spaces:
            request = Request(space, whole_space=True, moved=True)
            with corpus.store.exclusive():
                corpus.check_serving()
                with corpus.store.read() as connection:
                    doomed = erasure.select(connection, request)
                with corpus.store.copying:
                    _erase(writer, turns, request, doomed)
        finish_erasure(writer)


def _erase(writer: Writer, turns: Turns, request: Request, doomed: Selection) -> str:
    """Erase the rows of a selection; return the mark of this erasure in a shared database."""
    corpus, mark = writer.corpus, ""
    retrieval_log.flush(corpus.store, turns.retrievals, from_reserve=True)
    # Backups first: the selection for them cannot be computed once the rows are deleted.
    if not corpus.store.shared:
        _scrub_backups(corpus.store, request, doomed)
    with writer.change(from_reserve=True) as change:
        for table, ids in doomed.of.items():
            for each in ids:
                change.unindex("live" if table == "message" else table, each, request.space)
        kinds = erasure.kinds_of(change.connection, doomed.ids)
        if request.subject is not None:
            # Their documents may have contained the name before an edit.
            kinds |= {"memory", "note"}
        elif request.whole_space:
            kinds.update(KINDS)
        mark_erasure(change.connection, kinds)
        if corpus.store.shared:
            mark = note_erasure(change.connection)
        erasure.remove(change.connection, request, doomed, retrieval_log.preview)
        if not request.moved:
            audit.record(
                change.connection,
                corpus.store.now(),
                request.space,
                "erase",
                count=len(doomed.ids),
            )
    if request.whole_space and not request.moved and corpus.key_store is not None:
        with corpus.key_store.write(from_reserve=True) as connection:
            erasure.remove_keys(connection, request.space)
    corpus.settings.refresh(request.space)
    corpus.forget_erased()
    if corpus.store.shared:
        turns.retrievals.erasure = mark
    turns.erased(request.space)
    return mark


def _scrub_backups(store: Store, request: Request, doomed: Selection) -> None:
    """Erase from the backups in the data folder; a server has its own."""
    store.remove_partial_backups()
    for path in store.backups():
        _scrub_backup(path, request, doomed)
    if request.moved:
        # Those of all cells keep a space that moves.
        return
    for backup, databases in store.whole_backups(request.space).items():
        for path in databases:
            _scrub_backup(path, request, doomed)
        if not all(path.exists() for path in databases):
            # It has another schema.
            shutil.rmtree(backup, ignore_errors=True)


def _scrub_backup(path: Path, request: Request, doomed: Selection) -> None:
    """Erase from a backup. One that is damaged or has another schema cannot be searched, so it is deleted."""
    try:
        with closing(Store(path, path.parent)) as copy:
            searched = copy.revision() == schema.REVISION
            if searched:
                with copy.write(from_reserve=True) as connection:
                    # The backup may contain other versions of rows that were edited or erased since.
                    found = erasure.select(connection, request) | doomed
                    erasure.remove(connection, request, found, retrieval_log.preview)
                copy.scrub()
    except StoreCorrupt:
        log.warning("%s is damaged, so that nothing can be erased from it: it is deleted", path)
        searched = False
    except StoreBusy as exc:
        raise StoreBusy(
            f"nothing was erased: another program reads the backup {path}. Close it there and try again."
        ) from exc
    if not searched:
        delete(path)
