"""Which rows an erasure means, and their physical removal. Each function takes a connection."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Column, Connection, Table, delete, insert, or_, update
from sqlalchemy import select as select_rows

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
from hippocampe.store.schema import subject as subject_table
from hippocampe.text import fold, words

_CHUNK = 500
_SAID: dict[Table, tuple[Column[Any], ...]] = {
    memory: (
        *(memory.c.content, memory.c.key, memory.c.subjects, memory.c.source),
        memory.c.metadata,
    ),
    turn: (turn.c.content,),
    message: (message.c.content,),
    note: (note.c.path, note.c.heading, note.c.content),
    retrieval: (retrieval.c.message_preview,),
}
"""Where a row says what it is about."""
_REASONS = (memory.c.forgotten_reason, turn.c.forgotten_reason, association.c.reason)
"""Where other rows may name it."""


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
) -> tuple[set[str], set[str], set[str], set[str]]:
    """The ids of the memories, turns, messages and pieces of notes that an erasure means, with all
    that hangs on them: other versions of a memory, the turn of a message, the messages of a turn."""
    if whole_space:
        return tuple(
            _ids(connection, table, table.c.space == space)
            for table in (memory, turn, message, note)
        )  # pyright: ignore
    if id is not None:
        found = [
            _ids(connection, table, table.c.space == space, table.c.id == id)
            for table in (memory, turn, message, note)
        ]
    elif user is not None:
        found = [
            _ids(connection, memory, memory.c.space == space, memory.c.user == user),
            _ids(connection, turn, turn.c.space == space, turn.c.author == user),
            _ids(connection, message, message.c.space == space, message.c.author == user),
            set[str](),
        ]
    else:
        found = list(_about(connection, space, subject or ""))
    *said, pieces = found
    return *_with_kin(connection, space, *said), pieces


def _ids(connection: Connection, table: Table, *conditions: Any) -> set[str]:
    return set(connection.execute(select_rows(table.c.id).where(*conditions)).scalars())


def _about(
    connection: Connection, space: str, name: str
) -> tuple[set[str], set[str], set[str], set[str]]:
    wanted = set(words(name))
    tagged = select_rows(subject_table.c.memory_id).where(
        subject_table.c.space == space, subject_table.c.name == fold(name).strip()
    )
    aliased = select_rows(alias.c.memory_id).where(
        alias.c.space == space, or_(alias.c.name == fold(name), alias.c.other == fold(name))
    )
    found = set(connection.execute(tagged).scalars()) | set(connection.execute(aliased).scalars())
    return (
        found | _holding(connection, memory, space, wanted),
        _holding(connection, turn, space, wanted),
        _holding(connection, message, space, wanted),
        _holding(connection, note, space, wanted),
    )


def _holding(connection: Connection, table: Table, space: str, wanted: set[str]) -> set[str]:
    rows = connection.execute(
        select_rows(table.c.id, *_SAID[table]).where(table.c.space == space),
        execution_options={"yield_per": 1_000},
    )
    return {id for id, *said in rows if wanted <= _words_in(said)}


def _words_in(said: Iterable[str | list[str] | dict[str, Any] | None]) -> set[str]:
    found: set[str] = set()
    for each in said:
        if isinstance(each, dict):
            each = [str(part) for pair in each.items() for part in pair]
        text = each if isinstance(each, str) else " ".join(each or ())
        # The words of a key are joined by underscores.
        found.update(words(text), words(text.replace("_", " ")) if "_" in text else ())
    return found


def _with_kin(
    connection: Connection,
    space: str,
    memory_ids: set[str],
    turn_ids: set[str],
    message_ids: set[str],
) -> tuple[set[str], set[str], set[str]]:
    for id in list(memory_ids):
        memory_ids |= {version.id for version in memories.versions(connection, space, id)}
    for chunk in _chunks(message_ids):
        query = select_rows(message.c.turn_id).where(message.c.id.in_(chunk))
        turn_ids |= {id for id in connection.execute(query).scalars() if id is not None}
    for chunk in _chunks(turn_ids):
        message_ids |= _ids(connection, message, message.c.turn_id.in_(chunk))
    return memory_ids, turn_ids, message_ids


def remove(
    connection: Connection,
    space: str,
    *,
    memory_ids: Collection[str],
    turn_ids: Collection[str],
    message_ids: Collection[str],
    piece_ids: Collection[str],
    user: str | None,
    subject: str | None,
    whole_space: bool,
) -> None:
    """Delete rows and everything that was made from them."""
    _remove_previews(connection, space, {*memory_ids, *message_ids}, subject)
    for chunk in _chunks(turn_ids):
        talk.remove_turns(connection, talk.turns(connection, space, chunk).values())
    doomed = {*memory_ids, *turn_ids, *message_ids, *piece_ids}
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
        doomed |= _holding(connection, retrieval, space, set(words(subject)))
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
            each for each in connection.execute(given).scalars() if wanted <= _words_in([each])
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
