"""Rows of vectors and words, which can be derived again. Each function takes a connection."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from hippocampe.protocols import Vectors
from hippocampe.store.driver import read_in_batches, write
from hippocampe.store.schema import vector, word

HALF = np.dtype("<f2")
WORD_IDS = np.dtype("<i4")
BATCH = 5_000
"""Rows read at a time."""

_ADD_WORDS = insert(word)
# By id alone: given a model too, SQLite would read all words.
_WORDS_AFTER = (
    select(word.c.id, word.c.model, word.c.text, word.c.vector)
    .where(word.c.id > bindparam("after"))
    .order_by(word.c.id)
)
_WORD_LISTS = select(vector.c.words).where(
    vector.c.model == bindparam("model"), vector.c.space == bindparam("space")
)
_REPLACE_VECTOR = insert(vector).prefix_with("OR REPLACE")


class Words(NamedTuple):
    """Words with ascending ids; `placed` has shape (words, width), in the word space."""

    ids: list[int]
    texts: list[str]
    placed: NDArray[np.float16]


class Embedded(NamedTuple):
    """A stored embedding.

    Attributes:
        dense: Shape (dimensions,), L2-normalised.
        words: Ids of the words of the text, in order.
        traits: Bits derived from the text by the caller.
    """

    dense: NDArray[np.float32]
    words: NDArray[np.int32]
    traits: int


def vector_row(id: str, model: str, kind: str, space: str, item: Embedded) -> dict[str, Any]:
    """Convert an embedding to a row."""
    return {
        "id": id,
        "model": model,
        "kind": kind,
        "space": space,
        "dense": item.dense.astype(HALF).tobytes(),
        "words": item.words.astype(WORD_IDS).tobytes(),
        "traits": item.traits,
    }


def put_vectors(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert or replace rows made by `vector_row`."""
    write(connection, _REPLACE_VECTOR, rows)


def vectors(connection: Connection, model: str, ids: Collection[str]) -> dict[str, Embedded]:
    """The embeddings of items by id; items without one by this model are left out."""
    if not ids:
        return {}
    query = select(vector.c.id, vector.c.dense, vector.c.words, vector.c.traits).where(
        vector.c.model == model, vector.c.id.in_(bindparam("ids", expanding=True))
    )
    rows = connection.execute(query, {"ids": list(ids)})
    return {
        row.id: Embedded(unpack(row.dense), np.frombuffer(row.words, WORD_IDS), row.traits)
        for row in rows
    }


def unpack(dense: bytes) -> NDArray[np.float32]:
    """Decode a stored vector."""
    return np.frombuffer(dense, HALF).astype(np.float32)


def word_lists(connection: Connection, model: str, space: str) -> Iterator[list[bytes]]:
    """Iterate over the word ids of all items of a space, as `WORD_IDS` bytes, in batches."""
    for rows in read_in_batches(connection, _WORD_LISTS, BATCH, model=model, space=space):
        yield [row[0] for row in rows]


def remove_vectors(connection: Connection, ids: Collection[str]) -> None:
    """Delete the vectors of items, of all models."""
    connection.execute(
        delete(vector).where(vector.c.id.in_(bindparam("ids", expanding=True))), {"ids": list(ids)}
    )


def add_words(connection: Connection, model: str, texts: Sequence[str], vectors: Vectors) -> None:
    """Insert new words with their placed vectors."""
    rows = [
        {"model": model, "text": text, "vector": half.tobytes()}
        for text, half in zip(texts, vectors.astype(HALF), strict=True)
    ]
    write(connection, _ADD_WORDS, rows)


def replace_words(connection: Connection, ids: Sequence[int], vectors: Vectors) -> None:
    """Replace the placed vectors of words."""
    query = update(word).where(word.c.id == bindparam("word_id"))
    halves = vectors.astype(HALF)
    rows = [{"word_id": id, "half": half.tobytes()} for id, half in zip(ids, halves, strict=True)]
    if rows:
        connection.execute(query.values(vector=bindparam("half")), rows)


def words_after(connection: Connection, model: str, after: int) -> Iterator[Words]:
    """Iterate over the words of a model with an id above `after`, in batches."""
    for rows in read_in_batches(connection, _WORDS_AFTER, BATCH, after=after):
        own = [row for row in rows if row[1] == model]
        if own:
            vectors = np.frombuffer(b"".join([row[3] for row in own]), HALF)
            placed = vectors.reshape(len(own), -1)
            yield Words([row[0] for row in own], [row[2] for row in own], placed)


def last_word(connection: Connection) -> int:
    """The highest word id; 0 without words."""
    return connection.execute(select(func.max(word.c.id))).scalar() or 0


def word_texts(connection: Connection, model: str, after: int) -> list[tuple[int, str]]:
    """The ids and texts of the words of a model with an id above `after`, by id."""
    query = select(word.c.id, word.c.text).where(word.c.id > after, word.c.model == model)
    return [(id, text) for id, text in connection.execute(query.order_by(word.c.id))]


def is_word(connection: Connection, id: int, text: str) -> bool:
    """Whether an id still belongs to a word: SQLite reuses the ids of deleted rows."""
    query = select(word.c.text).where(word.c.id == id)
    return connection.execute(query).scalar() == text


def remove_other_models(connection: Connection, model: str) -> None:
    """Delete the vectors and words of all models but one."""
    connection.execute(delete(vector).where(vector.c.model != model))
    connection.execute(delete(word).where(word.c.model != model))
