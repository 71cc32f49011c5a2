"""Select the rows of an erasure and delete them physically. Each function takes a connection.

The caller supplies the grammar: a `Subject` recognises the texts that name it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Protocol

import numpy as np
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Table,
    delete,
    or_,
    true,
    update,
)
from sqlalchemy import select as select_rows

from hippocampe.store import embeddings, memories, message_rows, portable, turn_rows
from hippocampe.store.driver import parts
from hippocampe.store.schema import (
    alias,
    api_key,
    association,
    audit,
    job_run,
    memory,
    message,
    model_usage,
    note,
    outbox,
    reply,
    retrieval,
    retrieval_item,
    setting,
    turn,
    vector,
    word,
)
from hippocampe.types import ReceiptItem

_CHUNK = 500
_REASONS = (memory.c.forgotten_reason, turn.c.forgotten_reason, association.c.reason)
"""Columns of other rows that may name the subject."""
_SHOWN: dict[str, tuple[Column[Any], ...]] = {
    "memory": (memory.c.id, memory.c.created_at, memory.c.content),
    "turn": (turn.c.id, turn.c.at, turn.c.content),
    "message": (message.c.id, message.c.at, message.c.content),
    "note": (note.c.id, note.c.modified_at, note.c.path, note.c.heading, note.c.content),
}
"""The columns shown in a receipt: id, time, content."""

Matches = dict[str, set[str]]
"""By id, the matches: see `ReceiptItem.matched`."""
Preview = Callable[[str], str]
"""Makes the preview of a message that the retrieval log stores."""


class Subject(Protocol):
    """Recognises the subject of an erasure; see `hippocampe.curation.subject.NamedSubject`.

    `folded` is its name as stored in the tables `subject` and `alias`.
    """

    @property
    def folded(self) -> str: ...
    def is_in_label(self, label: str) -> bool: ...
    def is_in_text(self, text: str) -> bool: ...
    def is_in_title(self, title: str) -> bool: ...
    def is_quoted_in(self, text: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Selection:
    """The items to erase, by table; those of `note` are pieces of notes."""

    of: dict[str, Matches]

    @property
    def ids(self) -> set[str]:
        return {id for matches in self.of.values() for id in matches}

    def __or__(self, other: "Selection") -> "Selection":
        return Selection({table: found | other.of[table] for table, found in self.of.items()})


def _chunks(ids: Collection[Any]) -> Iterator[Sequence[Any]]:
    return parts(sorted(ids), _CHUNK)


@dataclass(frozen=True, slots=True)
class Request:
    """The wish to erase what exactly one of `id`, `user`, `subject` and `whole_space` names.

    With `moved`, another database has the rows: the keys of the space stay.
    """

    space: str
    id: str | None = None
    user: str | None = None
    subject: Subject | None = None
    whole_space: bool = False
    moved: bool = False


def select(connection: Connection, request: Request) -> Selection:
    """Select the rows of an erasure in a database.

    Related rows are included: other versions of a memory, the turn of a message, the messages of a
    turn, the summaries of a message; and, unless it is by subject, the memories that rest on a
    message, such as those of a digest of several people.
    """
    space = request.space
    if request.whole_space:
        return _with_value(connection, space, "space", space)
    if request.subject is not None:
        found = _about(connection, space, request.subject)
    else:
        what, value = ("user", request.user) if request.id is None else ("id", request.id)
        found = _with_value(connection, space, what, value or "")
        _add_resting(connection, found, memory.c.space == space)
    _add_related(connection, space, found)
    return found


def _ids(connection: Connection, table: Table, *conditions: Any) -> set[str]:
    return set(connection.execute(select_rows(table.c.id).where(*conditions)).scalars())


def _with_value(connection: Connection, space: str, what: str, value: str) -> Selection:
    """The rows of a space whose `space`, `id` or `user` has a value; notes have no user."""

    def found(table: Table, name: str) -> Matches:
        conditions = (table.c.space == space, table.c[name] == value)
        return {id: {what} for id in _ids(connection, table, *conditions)}

    author = "author" if what == "user" else what
    return Selection(
        {
            "memory": found(memory, what),
            "turn": found(turn, author),
            "message": found(message, author),
            "note": {} if what == "user" else found(note, what),
        }
    )


def _about(connection: Connection, space: str, subject: Subject) -> Selection:
    aliased = select_rows(alias.c.memory_id).where(
        alias.c.space == space,
        or_(alias.c.name == subject.folded, alias.c.other == subject.folded),
    )
    aliases = set(connection.execute(aliased).scalars())

    def in_text(row: Any) -> set[str]:
        return {"name"} if subject.is_in_text(row.content) else set[str]()

    def in_memory(row: Any) -> set[str]:
        pairs = row.metadata.items()
        return in_text(row) | _holding(
            alias=row.id in aliases,
            tag=any(map(subject.is_in_label, row.subjects)),
            key=bool(row.key) and subject.is_in_label(row.key),
            source=subject.is_in_title(row.source),
            metadata=any(subject.is_in_label(k) or subject.is_in_title(str(v)) for k, v in pairs),
        )

    def in_note(row: Any) -> set[str]:
        path = PurePosixPath(row.path)
        return in_text(row) | _holding(
            path=any(map(subject.is_in_title, (*path.parts, path.stem))),
            heading=subject.is_in_title(row.heading),
        )

    def matching(table: Table, matched: Callable[[Any], set[str]]) -> Matches:
        rows = connection.execute(
            select_rows(table).where(table.c.space == space),
            execution_options={"yield_per": 1_000},
        )
        return {row.id: found for row in rows if (found := matched(row))}

    return Selection(
        {
            "memory": matching(memory, in_memory),
            "turn": matching(turn, in_text),
            "message": matching(message, in_text),
            "note": matching(note, in_note),
        }
    )


def _holding(**signs: bool) -> set[str]:
    return {name for name, holds in signs.items() if holds}


def _add_related(connection: Connection, space: str, found: Selection) -> None:
    for id in list(found.of["memory"]):
        for version in _versions(connection, space, id):
            found.of["memory"].setdefault(version, {"version"})
    for chunk in _chunks(found.of["message"]):
        for id in message_rows.turns_of(connection, chunk):
            found.of["turn"].setdefault(id, {"message"})
    for chunk in _chunks(found.of["turn"]):
        for id in _ids(connection, message, message.c.turn_id.in_(chunk)):
            found.of["message"].setdefault(id, {"turn"})
    # A summary may quote each of its messages.
    _add_resting(connection, found, memory.c.space == space, memory.c.collection == "summary")


def _versions(connection: Connection, space: str, id: str) -> set[str]:
    """The versions of a memory, without an older one that took its place: a person restored or edited that."""
    known = {each.id: each for each in memories.versions(connection, space, id)}
    found, wave = set[str](), {id}
    while wave:
        found |= wave
        replaced = {each.id for each in known.values() if each.superseded_by in wave}
        later = {
            new.id
            for old in map(known.__getitem__, wave)
            if (new := known.get(old.superseded_by or "")) and new.created_at >= old.created_at
        }
        wave = (replaced | later) - found
    return found


def _add_resting(
    connection: Connection, found: Selection, *conditions: ColumnElement[bool]
) -> None:
    """Add the memories on conditions whose evidence is one of the messages."""
    named = portable.json_values(memory.c.evidence)
    query = select_rows(memory.c.id).join(named, true()).where(*conditions)
    for chunk in _chunks(found.of["message"]):
        for id in connection.execute(query.where(named.c.value.in_(chunk))).scalars():
            found.of["memory"].setdefault(id, {"message"})


def describe(connection: Connection, selection: Selection) -> list[ReceiptItem]:
    """The items of a selection, by table, then oldest first."""
    items: list[ReceiptItem] = []
    for kind, matches in selection.of.items():
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
        id, at, *texts = tuple[Any, ...](row)
        yield ReceiptItem(id, kind, ": ".join(filter(None, texts)), at, ())


def settings_naming(connection: Connection, request: Request) -> tuple[str, ...]:
    """The settings of the space whose value contains the words of the subject, if it is by subject."""
    subject = request.subject
    if subject is None:
        return ()
    query = select_rows(setting.c.name, setting.c.value).where(setting.c.space == request.space)
    rows = connection.execute(query)
    return tuple(sorted(name for name, value in rows if subject.is_quoted_in(str(value))))


def users_named(connection: Connection, request: Request) -> tuple[str, ...]:
    """The users of the space who have the name of the subject, if it is by subject."""
    subject = request.subject
    if subject is None:
        return ()
    columns = (memory.c.user, turn.c.author, message.c.author)
    users: set[str] = set()
    for column in columns:
        named = column.is_not(None), column.table.c.space == request.space
        users.update(connection.execute(select_rows(column).where(*named).distinct()).scalars())
    return tuple(sorted(user for user in users if subject.is_in_label(user)))


def kinds_of(connection: Connection, ids: Collection[str]) -> set[str]:
    """The index kinds with a present or former vector of these items."""
    found: set[str] = set()
    for chunk in _chunks(ids):
        query = select_rows(vector.c.kind).where(vector.c.id.in_(chunk)).distinct()
        found.update(connection.execute(query).scalars())
    return found


def remove(
    connection: Connection, request: Request, selection: Selection, preview: Preview
) -> None:
    """Delete the rows of a selection and everything derived from them."""
    space = request.space
    _remove_retrievals(connection, request, selection, preview)
    for chunk in _chunks(selection.of["turn"]):
        turn_rows.remove(connection, turn_rows.get(connection, space, chunk).values())
    for chunk in _chunks(selection.ids):
        for table in (vector, memory, turn, message, note):
            connection.execute(delete(table).where(table.c.id.in_(chunk)))
        connection.execute(delete(outbox).where(outbox.c.item_id.in_(chunk)))
    if request.subject is not None:
        _remove_reasons(connection, space, request.subject)
    # They quote stored data, without a record of its origin.
    connection.execute(delete(reply).where(reply.c.space == space))
    if request.whole_space:
        for table in (retrieval, setting, outbox, audit, model_usage, job_run):
            connection.execute(delete(table).where(table.c.space == space))
        if not request.moved:
            connection.execute(delete(api_key).where(api_key.c.space == space))
    _remove_orphan_words(connection)


def remove_keys(connection: Connection, space: str) -> None:
    """Delete the keys of a space, and the log of their changes."""
    for table in (api_key, audit):
        connection.execute(delete(table).where(table.c.space == space))


def _remove_retrievals(
    connection: Connection, request: Request, selection: Selection, preview: Preview
) -> None:
    """Delete the retrievals of the user, those that gave an erased item, whose previews quote the talk around it, and
    those whose preview quotes an erased text or the subject."""
    here, doomed, user = retrieval.c.space == request.space, selection.ids, request.user
    lines = select_rows(retrieval_item.c.retrieval_id, retrieval_item.c.item_id)
    given = connection.execute(lines.join(retrieval).where(here))
    found = {row.retrieval_id for row in given if row.item_id in doomed}
    if user is not None:
        found |= _ids(connection, retrieval, here, retrieval.c.user == user)
    if request.subject is not None:
        rows = connection.execute(
            select_rows(retrieval.c.id, retrieval.c.message_preview).where(here)
        )
        found |= {id for id, quoted in rows if request.subject.is_quoted_in(quoted)}
    for chunk in _chunks({*selection.of["memory"], *selection.of["message"]}):
        for table in (memory, message):
            texts = connection.execute(select_rows(table.c.content).where(table.c.id.in_(chunk)))
            previews = [preview(text) for text in texts.scalars()]
            found |= _ids(connection, retrieval, here, retrieval.c.message_preview.in_(previews))
    for chunk in _chunks(found):
        connection.execute(delete(retrieval).where(retrieval.c.id.in_(chunk)))


def _remove_reasons(connection: Connection, space: str, subject: Subject) -> None:
    """Clear the reasons that name the subject; their rows stay."""
    for reason in _REASONS:
        stored = select_rows(reason).where(reason.table.c.space == space, reason.is_not(None))
        doomed = set(filter(subject.is_quoted_in, connection.execute(stored).scalars()))
        for chunk in _chunks(doomed):
            connection.execute(
                update(reason.table)
                .where(reason.table.c.space == space, reason.in_(chunk))
                .values({reason.name: None})
            )


def _remove_orphan_words(connection: Connection) -> None:
    """Delete the words that no item has any more: a rare name is a trace.

    Also those of texts that were edited since, and of deleted notes.
    """
    orphans = set(connection.execute(select_rows(word.c.id)).scalars())
    query = select_rows(vector.c.words)
    with connection.execute(query, execution_options={"yield_per": 10_000}) as rows:
        for blobs in rows.scalars().partitions():
            if not orphans:
                return
            orphans.difference_update(np.frombuffer(b"".join(blobs), embeddings.WORD_IDS).tolist())
    for chunk in _chunks(orphans):
        connection.execute(delete(word).where(word.c.id.in_(chunk)))
