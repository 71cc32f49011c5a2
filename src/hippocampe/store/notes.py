"""Rows of pieces of notes. Each function takes a connection."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, insert, select

from hippocampe.store.driver import parts
from hippocampe.store.schema import fields_of, note


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a note: its headings, its text, and the digest of the whole note."""

    id: str
    space: str
    source: str
    path: str
    position: int
    heading: str
    content: str
    digest: str
    modified_at: datetime


class Listed(NamedTuple):
    """Identifies a stored piece and the version of its note."""

    id: str
    space: str
    source: str
    path: str
    digest: str


def of_row(row: Row[Any]) -> Piece:
    """Convert a row that has at least the columns of a piece."""
    return Piece(**fields_of(note, row))


def listed(connection: Connection, paths: Collection[str] | None = None) -> list[Listed]:
    """The pieces of all spaces: all, or those of the notes with some paths."""
    query = select(note.c.id, note.c.space, note.c.source, note.c.path, note.c.digest)
    some = (
        [query]
        if paths is None
        else [query.where(note.c.path.in_(part)) for part in parts([*paths], 500)]
    )
    return [Listed(*row) for each in some for row in connection.execute(each)]


def get(connection: Connection, space: str, ids: Collection[str]) -> list[Piece]:
    """The pieces of a space with these ids, in no order."""
    found = map(of_row, connection.execute(select(note).where(note.c.id.in_(ids))))
    return [piece for piece in found if piece.space == space]


def add(connection: Connection, pieces: Sequence[Piece]) -> None:
    """Insert pieces."""
    if pieces:
        connection.execute(insert(note), [asdict(piece) for piece in pieces])


def remove(connection: Connection, ids: Collection[str]) -> None:
    """Delete pieces."""
    connection.execute(delete(note).where(note.c.id.in_(ids)))
