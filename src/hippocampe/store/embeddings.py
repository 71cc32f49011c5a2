"""Rows of vectors and words, which can be derived again. Each function takes a connection."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from statistics import mode
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)

from hippocampe.protocols import Vectors
from hippocampe.store.driver import IDS, read_by_ids, read_in_batches, run_by_ids, write
from hippocampe.store.locks import WAITING_TO_ADD_WORDS
from hippocampe.store.schema import vector, word

HALF = np.dtype("<f2")
WORD_IDS = np.dtype("<i4")
BATCH = 5_000
"""Rows read at a time."""
_WITHOUT_SIGN = 0x7FFF
_ONE = 0x3C00
"""The bits of 1.0 in half precision. Those of smaller numbers are smaller, of infinity and NaN larger."""

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
_ADD_VECTORS = insert(vector)
_REMOVE_VECTORS = delete(vector).where(vector.c.model == bindparam("model"), vector.c.id.in_(IDS))
_SUMMED = (vector.c.dense, vector.c.words, vector.c.traits)
_TRAITS = select(vector.c.id, vector.c.checksum, *_SUMMED).where(
    vector.c.model == bindparam("model"), vector.c.id.in_(IDS)
)
_REPLACE_TRAITS = (
    update(vector)
    .where(vector.c.id == bindparam("of"), vector.c.model == bindparam("by"))
    .values(traits=bindparam("now"), checksum=bindparam("sum"))
)
_ROWID: ColumnElement[int] = literal_column("rowid")


def _stored(table: Table, *columns: Any, some: bool) -> Any:
    query = select(*columns).where(table.c.model == bindparam("model"))
    return query.where(_ROWID.in_(IDS)) if some else query


_VECTORS = {
    some: _stored(vector, vector.c.kind, vector.c.id, vector.c.checksum, *_SUMMED, some=some)
    for some in (False, True)
}
_WORDS = {
    some: _stored(word, word.c.id, word.c.text, word.c.checksum, word.c.vector, some=some)
    for some in (False, True)
}


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


def checksum(*values: bytes | int) -> int:
    """The CRC-32 of stored values, to recognise damage of the file."""
    total = 0
    for value in values:
        total = crc32(value if isinstance(value, bytes) else str(value).encode(), total)
    return total


def vector_row(id: str, model: str, kind: str, space: str, item: Embedded) -> dict[str, Any]:
    """Convert an embedding to a row."""
    dense, words = item.dense.astype(HALF).tobytes(), item.words.astype(WORD_IDS).tobytes()
    return {
        "id": id,
        "model": model,
        "kind": kind,
        "space": space,
        "dense": dense,
        "words": words,
        "traits": item.traits,
        "checksum": checksum(dense, words, item.traits),
    }


def put_vectors(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert or replace rows made by `vector_row`."""
    for model in {row["model"] for row in rows}:
        ids = [row["id"] for row in rows if row["model"] == model]
        run_by_ids(connection, _REMOVE_VECTORS, ids, model=model)
    write(connection, _ADD_VECTORS, rows)


def vectors(connection: Connection, model: str, ids: Collection[str]) -> dict[str, Embedded]:
    """The embeddings of items by id; items without one by this model are left out."""
    if not ids:
        return {}
    query = select(vector.c.id, *_SUMMED).where(vector.c.model == model, vector.c.id.in_(ids))
    return {
        row.id: Embedded(unpack(row.dense), unpack_words([row.words])[0], row.traits)
        for row in connection.execute(query)
    }


def replace_traits(connection: Connection, model: str, traits: Mapping[str, int]) -> None:
    """Replace the traits of items by id. A damaged row keeps a checksum that does not match."""
    rows: list[dict[str, Any]] = []
    for id, stored, dense, words, old in read_by_ids(connection, _TRAITS, [*traits], model=model):
        new = traits[id]
        sound = checksum(dense, words, old) == stored
        total = checksum(dense, words, new) if sound else stored
        rows.append({"of": id, "by": model, "now": new, "sum": total})
    if rows:
        connection.execute(_REPLACE_TRAITS, rows)


def sample_rows(connection: Connection, table: Table, size: int, chance: Random) -> list[int]:
    """Row numbers of `vector` or `word`, drawn at random; a few may have no row."""
    last = connection.execute(select(func.max(_ROWID)).select_from(table)).scalar() or 0
    return chance.sample(range(1, last + 1), min(size, last))


class Checked(NamedTuple):
    """The ids of stored vectors by kind: all checked ones, and the damaged ones."""

    all: dict[str, list[str]]
    damaged: dict[str, list[str]]


def check_vectors(connection: Connection, model: str, rows: Sequence[int] | None = None) -> Checked:
    """Compare vectors, word lists and traits with their checksums: of all rows, or of those with some numbers."""
    checked = Checked({}, {})
    for kind, id, stored, *values in _rows(connection, _VECTORS, model, rows):
        checked.all.setdefault(kind, []).append(id)
        if checksum(*values) != stored:
            checked.damaged.setdefault(kind, []).append(id)
    return checked


def damaged_words(
    connection: Connection, model: str, rows: Sequence[int] | None = None
) -> list[tuple[int, str]]:
    """The ids and texts of words whose vector does not match its checksum, of all rows or of those with some numbers."""
    return [
        (id, text)
        for id, text, stored, packed in _rows(connection, _WORDS, model, rows)
        if checksum(packed) != stored
    ]


def _rows(
    connection: Connection, queries: Mapping[bool, Any], model: str, rows: Sequence[int] | None
) -> Iterator[Any]:
    if rows is not None:
        yield from read_by_ids(connection, queries[True], rows, model=model)
        return
    for batch in read_in_batches(connection, queries[False], BATCH, model=model):
        yield from batch


def unpack(dense: bytes) -> NDArray[np.float32]:
    """Decode a stored vector; a damaged one is 0, as in `unpack_all`."""
    return unpack_all([dense], len(dense) // HALF.itemsize)[0]


def unpack_all(packed: Sequence[bytes], dimensions: int) -> Vectors:
    """Decode stored vectors, shape (vectors, dimensions).

    A value that cannot be a unit vector is damaged and becomes 0, which is similar to nothing: a NaN would
    spread to other scores, and a huge number would rank its item first.
    """
    return _unit_halves(packed, dimensions).astype(np.float32)


def _unit_halves(packed: Sequence[bytes], dimensions: int) -> NDArray[np.float16]:
    width = dimensions * HALF.itemsize
    whole = b"".join([each if len(each) == width else bytes(width) for each in packed])
    halves = np.frombuffer(whole, HALF).reshape(-1, dimensions)
    sizes = halves.view(np.uint16) & _WITHOUT_SIGN
    if sizes.max(initial=0) > _ONE:
        halves = np.where((sizes > _ONE).any(axis=1, keepdims=True), HALF.type(0), halves)
    return halves


def unpack_words(packed: Sequence[bytes]) -> tuple[NDArray[np.int32], list[int]]:
    """Decode word lists: the ids of all, and the length of each. A list of a wrong size is empty."""
    size = WORD_IDS.itemsize
    whole = [each if len(each) % size == 0 else b"" for each in packed]
    return np.frombuffer(b"".join(whole), WORD_IDS), [len(each) // size for each in whole]


def word_lists(connection: Connection, model: str, space: str) -> Iterator[list[bytes]]:
    """Iterate over the word ids of all items of a space, as `WORD_IDS` bytes, in batches."""
    for rows in read_in_batches(connection, _WORD_LISTS, BATCH, model=model, space=space):
        yield [row[0] for row in rows]


def has_any(connection: Connection) -> bool:
    """Return whether anything is embedded."""
    return connection.execute(select(vector.c.id).limit(1)).first() is not None


def remove_vectors(
    connection: Connection, model: str, ids: Collection[str]
) -> list[tuple[str, NDArray[np.int32]]]:
    """Delete the vectors of items, of all models; return the space and the words of each by one model."""
    removed = delete(vector).where(vector.c.id.in_(ids))
    rows = connection.execute(removed.returning(vector.c.model, vector.c.space, vector.c.words))
    return [(row.space, unpack_words([row.words])[0]) for row in rows if row.model == model]


def add_words(connection: Connection, model: str, texts: Sequence[str], vectors: Vectors) -> None:
    """Insert new words with their placed vectors."""
    halves = [half.tobytes() for half in vectors.astype(HALF)]
    rows = [
        {"model": model, "text": text, "vector": half, "checksum": checksum(half)}
        for text, half in zip(texts, halves, strict=True)
    ]
    if connection.dialect.name == "postgresql":
        # Another process may have added some meanwhile.
        connection.exec_driver_sql(WAITING_TO_ADD_WORDS)
        held = select(word.c.text).where(word.c.model == model, word.c.text.in_(texts))
        known = set(connection.execute(held).scalars())
        rows = [row for row in rows if row["text"] not in known]
    write(connection, _ADD_WORDS, rows)


def replace_words(connection: Connection, ids: Sequence[int], vectors: Vectors) -> None:
    """Replace the placed vectors of words."""
    query = update(word).where(word.c.id == bindparam("word_id"))
    halves = [half.tobytes() for half in vectors.astype(HALF)]
    rows = [
        {"word_id": id, "half": half, "sum": checksum(half)}
        for id, half in zip(ids, halves, strict=True)
    ]
    if rows:
        values: dict[str, Any] = {"vector": bindparam("half"), "checksum": bindparam("sum")}
        connection.execute(query.values(values), rows)


def words_after(connection: Connection, model: str, after: int) -> Iterator[Words]:
    """Iterate over the words of a model with an id above `after`, in batches."""
    for rows in read_in_batches(connection, _WORDS_AFTER, BATCH, after=after):
        own = [row for row in rows if row[1] == model]
        if own:
            width = mode(len(row[3]) for row in own)
            placed = _unit_halves([row[3] for row in own], width // HALF.itemsize)
            yield Words([row[0] for row in own], [row[2] for row in own], placed)


def last_word(connection: Connection) -> int:
    """The highest word id; 0 without words."""
    return connection.execute(select(func.max(word.c.id))).scalar() or 0


def word_texts(connection: Connection, model: str, after: int) -> list[tuple[int, str]]:
    """The ids and texts of the words of a model with an id above `after`, by id."""
    query = select(word.c.id, word.c.text).where(word.c.id > after, word.c.model == model)
    return [(id, text) for id, text in connection.execute(query.order_by(word.c.id))]


def is_word(connection: Connection, id: int, text: str) -> bool:
    """Return whether an id still belongs to a word: SQLite reuses the ids of deleted rows."""
    query = select(word.c.text).where(word.c.id == id)
    return connection.execute(query).scalar() == text


def remove_other_models(connection: Connection, model: str) -> None:
    """Delete the vectors and words of all models but one."""
    connection.execute(delete(vector).where(vector.c.model != model))
    connection.execute(delete(word).where(word.c.model != model))
