"""Features of candidates: what the signals use of their rows, and of those of the turns around them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from hippocampe.embed.word_space import Integers
from hippocampe.engine.caches import CachedRows
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.language import traits as trait
from hippocampe.language.kin import Kin
from hippocampe.language.names import named_in
from hippocampe.language.text import fold
from hippocampe.language.text import words as spoken_words
from hippocampe.protocols import Vector, Vectors
from hippocampe.retrieval.candidates import Hits
from hippocampe.retrieval.late_interaction import Texts
from hippocampe.retrieval.measured import CandidateFeatures
from hippocampe.retrieval.query import AnalysedQuery
from hippocampe.retrieval.rows import Row, rows_around
from hippocampe.retrieval.tellers import (
    owners_of,
    possible_doers,
    statements_of_others,
)
from hippocampe.store.embeddings import unpack_all, unpack_words

_NO_WORD = -1
"""In place of the id of a word: none before the first or after the last word of a text."""


@dataclass(frozen=True, slots=True)
class LoadedCandidates:
    """The candidates that the store still has, and their features.

    Attributes:
        ids: In the order of the candidates.
        kinds: The kind of each.
        vectors: Shape (candidates, dimensions).
        features: The input of the signals.
    """

    ids: list[str]
    kinds: list[str]
    vectors: Vectors
    features: CandidateFeatures


def load(
    vocabulary: Vocabulary,
    connection: Connection,
    query: AnalysedQuery,
    ids: Sequence[str],
    hits: Hits,
    cached: CachedRows[Row] | None = None,
) -> LoadedCandidates:
    """Load the features of candidates and of the turns around them.

    Args:
        query: The query.
        ids: The candidates.
        hits: The hits of the searches: the kind of each candidate, and its BM25 score if any.
        cached: The rows in memory, as of the beginning of the transaction.
    """
    kinds, bm25, dense = hits.kinds, hits.scores["words"], query.dense
    model = vocabulary.embedder.model
    own, near, far = rows_around(connection, model, ids, kinds, cached)
    listed = [id for id in ids if id in own]
    rows = [own[id] for id in listed]
    texts = [*rows, *near.values(), *far.values()]
    places = {row.id: place for place, row in enumerate(texts)}
    neighbours = _neighbours(rows, places, own | near | far)
    seen = [*rows, *near.values()]
    vectors = unpack_all([row.dense for row in seen], len(dense))
    words = _texts(vocabulary, texts, query.same)
    traits = np.array([row.traits for row in texts], np.int64)
    of_rows = traits[: len(rows)]
    folded = {name: fold(name) for name in {row.teller for row in rows if row.teller}}
    tellers = {name: query.called.get(own, own) for name, own in folded.items()}
    users = frozenset(tellers.values())
    # Names of users are known without a capital: "combien ben paie de loyer ?".
    said = frozenset(spoken_words(query.spoken)).intersection(query.features.words)
    asked = query.features.asker.union(named_in(users, query.features.names | said))
    # Only a question about a user rules out the statements of others.
    doers = possible_doers(connection, rows, kinds, query) if asked else frozenset[str]()
    features = CandidateFeatures(
        dense=vectors[: len(rows)] @ dense,
        window=_window_cosines(vectors, neighbours, dense),
        bm25=np.array([bm25.get(row.id, 0.0) for row in rows], np.float32),
        vectors=vocabulary.vectors_of(words.ids),
        texts=words,
        neighbours=neighbours,
        question=traits & trait.QUESTION > 0,
        number=of_rows & trait.NUMBER > 0,
        date=of_rows & trait.DATE > 0,
        place=of_rows & trait.PLACE > 0,
        topics=vocabulary.topics_of(words.ids),
        authors=[row.author for row in rows],
        session=_sessions(rows),
        at=np.array([row.at / 1e6 for row in rows]),
        importance=_numbers([row.importance for row in rows]),
        uses=_numbers([row.uses for row in rows]),
        of_other=statements_of_others(connection, rows, kinds, tellers, query, doers)
        if query.features.asker
        else None,
        values=of_rows >> trait.VALUES,
        names=of_rows >> trait.FIRST_NAME & trait.NAMES,
        kin=_kin(vocabulary, words, query.features.kin, len(rows)),
        owners=owners_of(rows, of_rows, kinds, tellers),
        doers=np.array([row.id in doers for row in rows], bool),
        asked=asked,
        names_other=_names_other(vocabulary, rows, words, users - asked) if asked else None,
    )
    own_kinds = [kinds[id] for id in listed]
    return LoadedCandidates(listed, own_kinds, vectors[: len(rows)], features)


def _kin(
    vocabulary: Vocabulary, texts: Texts, kin: Sequence[Kin], rows: int
) -> NDArray[np.bool_] | None:
    """Shape (candidates, relatives): whether each names a relative; None if the query names none."""
    if not kin:
        return None
    before, after = np.roll(texts.ids, 1), np.roll(texts.ids, -1)
    before[texts.starts[texts.starts < len(before)]] = _NO_WORD
    after[texts.starts[texts.starts > 0] - 1] = _NO_WORD

    def among(ids: Integers, names: Collection[str]) -> NDArray[np.bool_]:
        return np.isin(ids, vocabulary.ids(sorted(names)))

    def named(each: Kin) -> NDArray[np.bool_]:
        here = among(texts.ids, each.words)
        here &= ~(among(before, each.others) | among(after, each.others))
        for first, second in each.pairs:
            here |= among(before, first) & among(texts.ids, second)
        return _with_one(texts, here, rows)

    return np.stack([named(each) for each in kin], axis=1)


def _holds(texts: Texts, ids: NDArray[np.int32], rows: int) -> NDArray[np.bool_]:
    """Shape (rows,): whether each text has one of these words."""
    return _with_one(texts, np.isin(texts.ids, ids), rows)


def _with_one(texts: Texts, marked: NDArray[np.bool_], rows: int) -> NDArray[np.bool_]:
    """Shape (rows,): whether each text has a marked word."""
    total = np.append(0, np.cumsum(marked))
    return total[texts.starts[1 : rows + 1]] > total[texts.starts[:rows]]


def _names_other(
    vocabulary: Vocabulary, rows: Sequence[Row], texts: Texts, others: Collection[str]
) -> NDArray[np.bool_]:
    """Shape (candidates,): whether it is a memory that names another user than those asked about.

    Args:
        others: The folded names of the other users of the candidates.
    """
    in_text = _holds(texts, vocabulary.ids(sorted(others)), len(rows))
    # Only memories have an importance: in talk, people call each other by name.
    return in_text & np.array([row.importance is not None for row in rows], bool)


def _neighbours(
    rows: Sequence[Row], places: dict[str, int], known: dict[str, Row]
) -> NDArray[np.int64]:
    """Shape (rows, 4): places of the turns two before, just before, just after and two after, in the
    same session; -1 for none."""
    found: list[list[int]] = []
    for row in rows:
        beside = [-1, -1, -1, -1]
        found.append(beside)
        if row.session is None:
            # Only turns have neighbours.
            continue
        if (before := known.get(row.previous_id or "")) and before.session == row.session:
            beside[1] = places[before.id]
            if (second := known.get(before.previous_id or "")) and second.session == row.session:
                beside[0] = places[second.id]
        if (after := known.get(row.next_id or "")) and after.session == row.session:
            beside[2] = places[after.id]
            if (second := known.get(after.next_id or "")) and second.session == row.session:
                beside[3] = places[second.id]
    return np.array(found, np.int64).reshape(len(rows), 4)


def _window_cosines(
    vectors: Vectors, neighbours: NDArray[np.int64], dense: Vector
) -> NDArray[np.float32]:
    """Shape (candidates,): cosine of the query with the sum of a candidate's vector and those of its
    previous and next turn; NaN if there are none."""
    cosines = np.full(len(neighbours), np.nan, np.float32)
    rows = np.flatnonzero((neighbours[:, 1:3] >= 0).any(axis=1))
    total = vectors[rows]
    for column in (1, 2):
        beside = neighbours[rows, column]
        there = beside >= 0
        total[there] += vectors[beside[there]]
    cosines[rows] = total @ dense / np.maximum(np.linalg.norm(total, axis=1), 1e-9)
    return cosines


def _numbers(values: Sequence[float | None]) -> NDArray[np.float32]:
    return np.array([np.nan if value is None else value for value in values], np.float32)


def _texts(vocabulary: Vocabulary, rows: Sequence[Row], same: Mapping[int, int]) -> Texts:
    stored, lengths = unpack_words([row.words for row in rows])
    ids = vocabulary.known_ids(stored).astype(np.int64)
    for id, read_as in same.items():
        ids[ids == id] = read_as
    return Texts(ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


def _sessions(rows: Sequence[Row]) -> NDArray[np.int64]:
    """A number for each session; -1 for no session."""
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(row.session, len(numbers)) if row.session else -1 for row in rows],
        np.int64,
    )
