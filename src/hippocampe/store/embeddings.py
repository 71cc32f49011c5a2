"""Rows that can be made again: vectors, words, and the outbox of the index."""

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
"""Rows read at a time where there may be hundreds of thousands."""


_ADD_WORDS = insert(word)
# By id alone: beside the model, SQLite would rather read every word.
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
    """Some words: their ids, ascending, and their placed vectors, shape (words, width)."""

    ids: list[int]
    texts: list[str]
    placed: NDArray[np.float16]


class Embedded(NamedTuple):
    """A stored embedding.

    `dense` is float32 of shape (dimensions,), `words` int32 ids of its words in order, `traits` the
    bits of `text.traits`.
    """

    dense: NDArray[np.float32]
    words: NDArray[np.int32]
    traits: int


def vector_row(id: str, model: str, kind: str, space: str, item: Embedded) -> dict[str, Any]:
    """The columns of one embedding."""
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
    """Write vectors: made by `vector_row`; one already there is replaced."""
    write(connection, _REPLACE_VECTOR, rows)


def vectors(connection: Connection, model: str, ids: Collection[str]) -> dict[str, Embedded]:
    """The embeddings of some items; items that have none by this model are absent."""
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
    """A vector from its blob."""
    return np.frombuffer(dense, HALF).astype(np.float32)


def word_lists(connection: Connection, model: str, space: str) -> Iterator[list[bytes]]:
    """The word ids of every item of a space, as `WORD_IDS`, some thousands at a time."""
    for rows in read_in_batches(connection, _WORD_LISTS, BATCH, model=model, space=space):
        yield [row[0] for row in rows]


def remove_vectors(connection: Connection, ids: Collection[str]) -> None:
    """Delete the vectors of some items, of every model."""
    connection.execute(
        delete(vector).where(vector.c.id.in_(bindparam("ids", expanding=True))), {"ids": list(ids)}
    )


def add_words(connection: Connection, model: str, texts: Sequence[str], vectors: Vectors) -> None:
    """Insert words that are new, with their placed vectors."""
    rows = [
        {"model": model, "text": text, "vector": half.tobytes()}
        for text, half in zip(texts, vectors.astype(HALF), strict=True)
    ]
    write(connection, _ADD_WORDS, rows)


def replace_words(connection: Connection, ids: Sequence[int], vectors: Vectors) -> None:
    """Write other placed vectors of words that exist."""
    query = update(word).where(word.c.id == bindparam("word_id"))
    halves = vectors.astype(HALF)
    rows = [{"word_id": id, "half": half.tobytes()} for id, half in zip(ids, halves, strict=True)]
    if rows:
        connection.execute(query.values(vector=bindparam("half")), rows)


def words_after(connection: Connection, model: str, after: int) -> Iterator[Words]:
    """Words with an id above `after`, some thousands at a time."""
    for rows in read_in_batches(connection, _WORDS_AFTER, BATCH, after=after):
        own = [row for row in rows if row[1] == model]
        if own:
            vectors = np.frombuffer(b"".join([row[3] for row in own]), HALF)
            placed = vectors.reshape(len(own), -1)
            yield Words([row[0] for row in own], [row[2] for row in own], placed)


def last_word(connection: Connection) -> int:
    """The highest id of a word; 0 without any."""
    return connection.execute(select(func.max(word.c.id))).scalar() or 0


def word_texts(connection: Connection, model: str, after: int) -> list[tuple[int, str]]:
    """The ids and texts of the words of a model with an id above `after`, by id."""
    query = select(word.c.id, word.c.text).where(word.c.id > after, word.c.model == model)
    return [(id, text) for id, text in connection.execute(query.order_by(word.c.id))]


def is_word(connection: Connection, id: int, text: str) -> bool:
    """Whether a word still has the id that it had."""
    query = select(word.c.text).where(word.c.id == id)
    return connection.execute(query).scalar() == text


def last_queued(connection: Connection) -> int:
    """The last outbox position ever given out, also when its row was removed; of SQLite only."""
    query = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"
    return connection.exec_driver_sql(query).scalar() or 0


def remove_other_models(connection: Connection, model: str) -> None:
    """Delete the vectors and words of every embedder but one."""
    connection.execute(delete(vector).where(vector.c.model != model))
    connection.execute(delete(word).where(word.c.model != model))
