"""Rows as index points, and the texts that are embedded. Pure."""

from collections.abc import Iterable
from datetime import datetime

from hippocampe.language.calendar import MONTH_NAMES
from hippocampe.language.detect import guess_language
from hippocampe.language.discourse import without_stamp
from hippocampe.language.statement import stated
from hippocampe.language.subjects import fold_subjects
from hippocampe.language.text import fold, with_stop, words
from hippocampe.protocols import Point, Vector
from hippocampe.store.notes import Piece
from hippocampe.store.turn_rows import Turn
from hippocampe.types import Memory, Message


def memory_text(memory: Memory) -> str:
    """The searched text of a memory: key, statement, subjects."""
    key = f"{memory.key.replace('_', ' ')}: " if memory.key else ""
    stated = set(words(memory.content))
    missing = [name for name in memory.subjects if not stated.issuperset(words(name))]
    return f"{key}{memory.content}" + (f" ({', '.join(missing)})" if missing else "")


def memory_embedding_text(memory: Memory) -> str:
    """The embedded text of a memory: key and statement, without its date, and without the small talk and the questions beside it.

    It ends with a full stop, written or not: the embedder puts "we moved to Pau." nearer to the question where we live.
    """
    told = with_stop(stated(without_stamp(memory.content)[0], questions=True))
    return f"{memory.key.replace('_', ' ')}: {told}" if memory.key else told


def memory_point(memory: Memory, dense: Vector, names: Iterable[str] = ()) -> Point:
    """The point of a memory; `names` are the subjects in its statement."""
    return Point(
        id=memory.id,
        dense=dense,
        text=memory_text(memory),
        space=memory.space,
        collection=memory.collection,
        at=(memory.occurred_at or memory.created_at).timestamp(),
        type=memory.type,
        category=memory.category,
        subjects=fold_subjects((*memory.subjects, *names)),
        user=memory.user,
        channel=memory.channel,
        expires_at=memory.expires_at.timestamp() if memory.expires_at else None,
    )


def turn_embedding_text(turn: Turn | Message) -> str:
    """The embedded text of a turn or a live message: author, date, content."""
    return embedding_text(turn.content, turn.author, turn.at)


def turn_text(turn: Turn | Message) -> str:
    """The searched text of a turn or a live message: author and content."""
    return embedding_text(turn.content, turn.author)


def turn_point(turn: Turn | Message, dense: Vector) -> Point:
    """The point of a turn or a live message."""
    return Point(
        id=turn.id,
        dense=dense,
        text=turn_text(turn),
        space=turn.space,
        collection="turn" if isinstance(turn, Turn) else "live",
        at=turn.at.timestamp(),
        user=turn.author,
        channel=turn.channel or None,
    )


def piece_text(piece: Piece) -> str:
    """The searched, embedded and shown text of a piece of a note: headings and content."""
    return f"{piece.heading}: {piece.content}"


def piece_point(piece: Piece, dense: Vector) -> Point:
    """The point of a piece of a note."""
    return Point(
        id=piece.id,
        dense=dense,
        text=piece_text(piece),
        space=piece.space,
        collection="note",
        at=piece.modified_at.timestamp(),
    )


def embedding_text(content: str, author: str | None = None, at: datetime | None = None) -> str:
    """The text to embed for `content`: "author (8 May 2023): content".

    Author and date help a sentence embedder to distinguish turns. An author at the beginning of `content`
    ("Ana: hello") is not repeated.
    """
    if author and fold(content).startswith(fold(author) + ":"):
        content = content[len(author) + 1 :].lstrip()
    label = author or ""
    if at is not None:
        month = MONTH_NAMES[guess_language(content, default="en")][at.month - 1]
        label = f"{label} ({at.day} {month} {at.year})".lstrip()
    return f"{label}: {content}" if label else content
