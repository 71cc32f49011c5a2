"""Erase for ever, from rows, history, vectors, index and backups."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection
from uuid6 import uuid7

from hippocampe.consolidation import relations
from hippocampe.curation.subject import NamedSubject
from hippocampe.engine import generations, settings
from hippocampe.engine.context import Context
from hippocampe.engine.durability import flush_index
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.index import bm25
from hippocampe.language import sentence, text
from hippocampe.language.text import content_words
from hippocampe.protocols import KINDS
from hippocampe.retrieval import log as retrieval_log
from hippocampe.store import erasure, meta, schema
from hippocampe.store.erasure import Selection
from hippocampe.store.store import Store
from hippocampe.types import Receipt, Scope
from hippocampe.validation import check_flag, check_text, clean

ERASING = "erasing"
"""The `meta` that names the kinds of the index whose files may still hold what was erased."""
ERASED_NOTHING = "-"
"""Its value when no kind is affected, but the database is."""


def mark_erasure(connection: Connection, kinds: Collection[str]) -> None:
    """Note, in the transaction that erases, which kinds `finish_erasure` must build again."""
    before = marked_kinds(meta.get(connection, ERASING) or "")
    marked = sorted({*before, *kinds})
    meta.put(connection, ERASING, " ".join(marked) or ERASED_NOTHING)


def finish_erasure(context: Context) -> None:
    """Make what was erased unreadable in the files too, if an erasure, or a process that died in
    one, left it there."""
    with context.store.read() as connection:
        marked = meta.get(connection, ERASING)
    if not marked:
        return
    with context.rebuilding:
        for kind in marked_kinds(marked):
            if not context.index.is_unused(kind):
                # Without its graph, which maintenance builds: an erasure is waited for.
                generations.new_generation(context, kind, graph=False)
        # The outbox names what is gone.
        flush_index(context)
        context.store.scrub()
        with context.store.write() as connection:
            meta.put(connection, ERASING, "")


def marked_kinds(marked: str) -> tuple[str, ...]:
    # Earlier versions wrote "1" for all kinds.
    return KINDS if marked == "1" else tuple(kind for kind in KINDS if kind in marked.split())


@dataclass(frozen=True, slots=True)
class _Order:
    """What to erase: exactly one of `id`, `user`, `subject` and `whole_space`."""

    space: str
    id: str | None
    user: str | None
    subject: NamedSubject | None
    whole_space: bool

    def select(self, connection: Connection) -> Selection:
        """Everything of one database that it means."""
        return erasure.select(
            connection,
            self.space,
            id=self.id,
            user=self.user,
            subject=self.subject,
            whole_space=self.whole_space,
        )

    def settings_naming(self, connection: Connection) -> tuple[str, ...]:
        """The settings of the space that name the subject."""
        if self.subject is None:
            return ()
        return erasure.settings_naming(connection, self.space, self.subject)

    def remove(self, connection: Connection, selection: Selection) -> None:
        """Remove it from one database."""
        erasure.remove(
            connection,
            self.space,
            selection=selection,
            user=self.user,
            subject=self.subject,
            whole_space=self.whole_space,
            preview=retrieval_log.preview,
        )


def erase(
    context: Context,
    *,
    scope: Scope,
    id: str | None,
    user: str | None,
    subject: str | None,
    whole_space: bool,
    dry_run: bool,
) -> Receipt:
    """Remove physically, everywhere: rows, history, full text, vectors, words, index, backups.

    Exactly one of `id`, `user`, `subject` and `whole_space` says what. A subject is matched as a tag,
    an alias, a key or a source, and in texts as a name: with its capital (see `ProperName`).
    Versions that superseded an erased memory, or that it superseded, go with it; so does the whole
    turn of an erased message. Of notes the indexed pieces go; the files are the user's, and are read
    again while they are there. Settings stay; the receipt says which ones name the subject.
    If the rows cannot be removed, nothing is changed but the backups; after that, what a failure or a
    kill leaves in the files is removed at the next opening.

    Raises:
        InvalidInput: None or several of them are given.
        NotFound: The space has nothing of this id.
    """
    for name, value in (("id", id), ("user", user), ("subject", subject)):
        check_text(name, value)
    check_flag("whole_space", whole_space)
    check_flag("dry_run", dry_run)
    given = [name for name in (id, user, subject) if name is not None]
    if len(given) + whole_space != 1:
        raise InvalidInput("say exactly one of id, user, subject or whole_space.")
    if subject is not None and not content_words(clean(subject, what="subject")):
        raise InvalidInput(f"subject {subject!r} holds no word to look for.")
    named_subject = None if subject is None else NamedSubject(subject)
    order = _Order(scope.space, id, user, named_subject, whole_space)
    with context.rebuilding:
        with context.store.exclusive():
            context.check_serving()
            with context.store.read() as connection:
                doomed = order.select(connection)
                items = erasure.describe(connection, doomed)
                named = order.settings_naming(connection)
            if id is not None and not doomed.ids:
                raise NotFound(
                    f"space {scope.space!r} has nothing of id {id!r}: nothing was erased."
                )
            if not dry_run:
                with context.store.copying:
                    _erase(context, order, doomed)
        if not dry_run:
            # Other writers go on meanwhile.
            finish_erasure(context)
    counts = {kind: len(ids) for kind, ids in doomed.of_tables().items() if ids or kind != "note"}
    return Receipt(counts, tuple(sorted(doomed.ids)), dry_run, tuple(items), named)


def _erase(context: Context, order: _Order, doomed: Selection) -> None:
    retrieval_log.write(context)
    # Backups first: once the rows are gone, nobody could tell what was to go from them.
    context.store.remove_partial_backups()
    for path in context.store.backups():
        _scrub_backup(path, order, doomed)
    with context.change() as change:
        for table, ids in doomed.of_tables().items():
            for each in ids:
                change.unindex("live" if table == "message" else table, each, order.space)
        kinds = erasure.kinds_of(change.connection, doomed.ids)
        if order.subject is not None:
            # Their points may have named it before they were edited.
            kinds |= {"memory", "note"}
        elif order.whole_space:
            kinds.update(KINDS)
        mark_erasure(change.connection, kinds)
        order.remove(change.connection, doomed)
        note = {"erased": len(doomed.ids)}
        erasure.add_audit(change.connection, str(uuid7()), order.space, context.now(), note)
    settings.refresh(context, order.space)
    context.lexicon.forget()
    context.given.forget(order.space)
    for module in (text, sentence, relations, bm25):
        module.clear_caches()
    context.changes += 1


def _scrub_backup(path: Path, order: _Order, doomed: Selection) -> None:
    """Erase from a backup too; one of another schema cannot be searched, so it is deleted whole."""
    copy = Store(path, path.parent)
    try:
        if copy.revision() != schema.REVISION:
            path.unlink()
            return
        with copy.write() as connection:
            # It may hold what was edited or erased since under other words.
            order.remove(connection, order.select(connection) | doomed)
        copy.scrub()
    finally:
        copy.close()
