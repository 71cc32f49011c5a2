"""Which rows an erasure means, and their physical removal. Each function takes a connection."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from sqlalchemy import Column, Connection, Table, delete, insert, or_, update
from sqlalchemy import select as select_rows

from hippocampe.proper_name import ProperName
from hippocampe.store import derived, memories, retrievals, talk
from hippocampe.store.schema import (
    alias,
    association,
    audit,
    memory,
    message,
    note,
    outbox,
    retrieval,
    retrieval_item,
    setting,
    turn,
    vector,
    word,
)
from hippocampe.text import fold, words
from hippocampe.types import ReceiptItem

_CHUNK = 500
_REASONS = (memory.c.forgotten_reason, turn.c.forgotten_reason, association.c.reason)
"""Where other rows may name what is erased."""
_TABLES = {"memory": memory, "turn": turn, "message": message, "note": note}
_SHOWN: dict[str, tuple[Column[Any], ...]] = {
    "memory": (memory.c.id, memory.c.created_at, memory.c.content),
    "turn": (turn.c.id, turn.c.at, turn.c.content),
    "message": (message.c.id, message.c.at, message.c.content),
    "note": (note.c.id, note.c.modified_at, note.c.path, note.c.heading, note.c.content),
}
"""What a receipt shows of a row: its id, its time, what it says."""

Matches = dict[str, set[str]]
"""Ids, each with what matched: see `ReceiptItem.matched`."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What an erasure removes. `pieces` are pieces of notes."""

    memories: Matches
    turns: Matches
    messages: Matches
    pieces: Matches

    @property
    def ids(self) -> set[str]:
        return {*self.memories, *self.turns, *self.messages, *self.pieces}

    def of_tables(self) -> dict[str, Matches]:
        """The ids by name of their table."""
        matches = (self.memories, self.turns, self.messages, self.pieces)
        return dict(zip(_TABLES, matches, strict=True))

    def __or__(self, other: "Selection") -> "Selection":
        pairs = zip(self.of_tables().values(), other.of_tables().values(), strict=True)
        return Selection(*(mine | theirs for mine, theirs in pairs))


def _chunks(ids: Collection[Any]) -> Iterator[list[Any]]:
    listed = sorted(ids)
    for start in range(0, len(listed), _CHUNK):
        yield listed[start : start + _CHUNK]


def select(
    connection: Connection,
    space: str,
    *,
    id: str | None,
    user: str | None,
    subject: str | None,
    whole_space: bool,
) -> Selection:
    """What an erasure means, with all that hangs on it: other versions of a memory, the turn of a
    message, the messages of a turn."""
    if whole_space:
        return _with_value(connection, space, "space", space)
    if id is not None:
        found = _with_value(connection, space, "id", id)
    elif user is not None:
        found = _with_value(connection, space, "user", user)
    else:
        found = _about(connection, space, subject or "")
    _add_kin(connection, space, found)
    return found


def _ids(connection: Connection, table: Table, *conditions: Any) -> set[str]:
    return set(connection.execute(select_rows(table.c.id).where(*conditions)).scalars())


def _with_value(connection: Connection, space: str, what: str, value: str) -> Selection:
    """The rows of a space whose `space`, `id` or `user` is a value; notes are of no user."""

    def found(table: Table, name: str) -> Matches:
        conditions = (table.c.space == space, table.c[name] == value)
        return {id: {what} for id in _ids(connection, table, *conditions)}

    author = "author" if what == "user" else what
    return Selection(
        found(memory, what),
        found(turn, author),
        found(message, author),
        {} if what == "user" else found(note, what),
    )


def _about(connection: Connection, space: str, subject: str) -> Selection:
    name = ProperName.of(subject)
    # Tags and keys are written without capitals.
    label = replace(name, cased=False)
    folded = fold(subject).strip()
    aliased = select_rows(alias.c.memory_id).where(
        alias.c.space == space, or_(alias.c.name == folded, alias.c.other == folded)
    )
    aliases = set(connection.execute(aliased).scalars())

    def in_memory(row: Any) -> set[str]:
        matched = {"alias"} if row.id in aliases else set[str]()
        if any(label.is_in(tag) for tag in row.subjects):
            matched.add("tag")
        if row.key and label.is_in(row.key):
            matched.add("key")
        if _names(name, row.source):
            matched.add("source")
        if any(label.is_in(key) or _names(name, str(value)) for key, value in row.metadata.items()):
            matched.add("metadata")
        return matched | _in_text(name, row)

    def in_note(row: Any) -> set[str]:
        path = PurePosixPath(row.path)
        matched = _in_text(name, row)
        if any(_names(name, part) for part in (*path.parts, path.stem)):
            matched.add("path")
        if _names(name, row.heading):
            matched.add("heading")
        return matched

    memory_columns = (
        *(memory.c.content, memory.c.key, memory.c.subjects, memory.c.source),
        memory.c.metadata,
    )
    return Selection(
        _matching(connection, space, in_memory, *memory_columns),
        _matching(connection, space, lambda row: _in_text(name, row), turn.c.content),
        _matching(connection, space, lambda row: _in_text(name, row), message.c.content),
        _matching(connection, space, in_note, note.c.path, note.c.heading, note.c.content),
    )


def _names(name: ProperName, label: str) -> bool:
    return name.is_whole(label) or name.is_in(label)


def _in_text(name: ProperName, row: Any) -> set[str]:
    return {"name"} if name.is_in(row.content) else set[str]()


def _matching(
    connection: Connection, space: str, matched: Callable[[Any], set[str]], *columns: Column[Any]
) -> Matches:
    table = columns[0].table
    rows = connection.execute(
        select_rows(table.c.id, *columns).where(table.c.space == space),
        execution_options={"yield_per": 1_000},
    )
    return {row.id: found for row in rows if (found := matched(row))}


def _add_kin(connection: Connection, space: str, found: Selection) -> None:
    for id in list(found.memories):
        for version in memories.versions(connection, space, id):
            found.memories.setdefault(version.id, {"version"})
    for chunk in _chunks(found.messages):
        query = select_rows(message.c.turn_id).where(message.c.id.in_(chunk))
        for id in connection.execute(query).scalars():
            if id is not None:
                found.turns.setdefault(id, {"message"})
    for chunk in _chunks(found.turns):
        for id in _ids(connection, message, message.c.turn_id.in_(chunk)):
            found.messages.setdefault(id, {"turn"})


def describe(connection: Connection, selection: Selection) -> list[ReceiptItem]:
    """The items of a selection, by table and then oldest first."""
    items: list[ReceiptItem] = []
    for kind, matches in selection.of_tables().items():
        found = [item for chunk in _chunks(matches) for item in _items(connection, kind, chunk)]
        items += sorted(
            (replace(item, matched=tuple(sorted(matches[item.id]))) for item in found),
            key=lambda item: (item.at, item.id),
        )
    return items


def _items(connection: Connection, kind: str, ids: Sequence[str]) -> Iterator[ReceiptItem]:
    columns = _SHOWN[kind]
    query = select_rows(*columns).where(columns[0].in_(ids))
    for row in connection.execute(query):
        id, at, *said = tuple[Any, ...](row)
        yield ReceiptItem(id, kind, ": ".join(filter(None, said)), at, ())


def settings_naming(connection: Connection, space: str, subject: str) -> tuple[str, ...]:
    """The settings of a space that hold the words of a subject, in any case."""
    wanted = set(words(subject))
    query = select_rows(setting.c.name, setting.c.value).where(setting.c.space == space)
    rows = connection.execute(query)
    return tuple(sorted(name for name, value in rows if wanted <= set(words(str(value)))))


def kinds_of(connection: Connection, ids: Collection[str]) -> set[str]:
    """The kinds of index in which these items are, or once were."""
    found: set[str] = set()
    for chunk in _chunks(ids):
        query = select_rows(vector.c.kind).where(vector.c.id.in_(chunk)).distinct()
        found.update(connection.execute(query).scalars())
    return found


def remove(
    connection: Connection,
    space: str,
    *,
    selection: Selection,
    user: str | None,
    subject: str | None,
    whole_space: bool,
) -> None:
    """Delete rows and everything that was made from them."""
    _remove_previews(connection, space, {*selection.memories, *selection.messages}, subject)
    for chunk in _chunks(selection.turns):
        talk.remove_turns(connection, talk.turns(connection, space, chunk).values())
    doomed = selection.ids
    # What held the subject's words may have been rewritten since, or was a note that has gone.
    spoken = select_rows(word.c.id).where(word.c.text.in_(words(subject or "")))
    orphans = _words_of(connection, doomed) | set(connection.execute(spoken).scalars())
    for chunk in _chunks(doomed):
        for table in (vector, memory, turn, message, note):
            connection.execute(delete(table).where(table.c.id.in_(chunk)))
        connection.execute(delete(outbox).where(outbox.c.item_id.in_(chunk)))
    _remove_shown(connection, space, doomed)
    if subject is not None:
        _remove_reasons(connection, space, set(words(subject)))
    if user is not None:
        connection.execute(
            delete(retrieval).where(retrieval.c.space == space, retrieval.c.user == user)
        )
    if whole_space:
        for table in (retrieval, setting, outbox, audit):
            connection.execute(delete(table).where(table.c.space == space))
    _remove_orphan_words(connection, orphans)


def _remove_shown(connection: Connection, space: str, doomed: Collection[str]) -> None:
    """A retrieval that showed an erased item also quotes the talk around it."""
    lines = select_rows(retrieval_item.c.retrieval_id, retrieval_item.c.item_id)
    of_space = lines.join(retrieval, retrieval.c.id == retrieval_item.c.retrieval_id).where(
        retrieval.c.space == space
    )
    shown = {row.retrieval_id for row in connection.execute(of_space) if row.item_id in doomed}
    for chunk in _chunks(shown):
        connection.execute(delete(retrieval).where(retrieval.c.id.in_(chunk)))


def _remove_previews(
    connection: Connection, space: str, ids: Collection[str], subject: str | None
) -> None:
    """Delete the retrievals for a message that says what is erased: they show its beginning."""
    doomed: set[str] = set()
    if subject is not None:
        # A log only quotes what was said, so it goes whatever the case.
        wanted = set(words(subject))
        query = select_rows(retrieval.c.id, retrieval.c.message_preview)
        rows = connection.execute(query.where(retrieval.c.space == space))
        doomed |= {id for id, said in rows if wanted <= set(words(said))}
    for chunk in _chunks(ids):
        for table in (memory, message):
            query = select_rows(table.c.content).where(table.c.id.in_(chunk))
            said = [retrievals.preview(text) for text in connection.execute(query).scalars()]
            same = retrieval.c.message_preview.in_(said)
            doomed |= _ids(connection, retrieval, retrieval.c.space == space, same)
    for chunk in _chunks(doomed):
        connection.execute(delete(retrieval).where(retrieval.c.id.in_(chunk)))


def _remove_reasons(connection: Connection, space: str, wanted: set[str]) -> None:
    """Take the reasons away that name what is erased; what they were given for stays."""
    for reason in _REASONS:
        given = select_rows(reason).where(reason.table.c.space == space, reason.is_not(None))
        doomed = {
            each for each in connection.execute(given).scalars() if wanted <= set(words(each))
        }
        for chunk in _chunks(doomed):
            connection.execute(
                update(reason.table)
                .where(reason.table.c.space == space, reason.in_(chunk))
                .values({reason.name: None})
            )


def _words_of(connection: Connection, ids: Collection[str]) -> set[int]:
    found: set[int] = set()
    for chunk in _chunks(ids):
        query = select_rows(vector.c.words).where(vector.c.id.in_(chunk))
        for blob in connection.execute(query).scalars():
            found.update(np.frombuffer(blob, derived.WORD_IDS).tolist())
    return found


def _remove_orphan_words(connection: Connection, candidates: set[int]) -> None:
    """Delete those words that no item holds any more: a rare name is a trace."""
    query = select_rows(vector.c.words)
    for blob in connection.execute(query, execution_options={"yield_per": 10_000}).scalars():
        if not candidates:
            return
        candidates.difference_update(np.frombuffer(blob, derived.WORD_IDS).tolist())
    for chunk in _chunks(candidates):
        connection.execute(delete(word).where(word.c.id.in_(chunk)))


def leave_note(
    connection: Connection, id: str, space: str, at: datetime, detail: Mapping[str, int]
) -> None:
    """Leave a line in the audit: counts only, never content."""
    values = {"id": id, "space": space, "action": "erase", "detail": dict(detail), "created_at": at}
    connection.execute(insert(audit).values(**values))
