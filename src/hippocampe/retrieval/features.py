"""Features of candidates: the stored words and vectors of the candidates and of the turns around them.

Three queries, for any number of candidates: the candidates, the turns next to them, and the
turns next to those.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    Connection,
    and_,
    bindparam,
    func,
    literal,
    select,
    type_coerce,
)

from hippocampe.embed.word_space import Integers
from hippocampe.engine.caches import CachedRows
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.language import traits as trait
from hippocampe.language.kin import Kin, names_relation
from hippocampe.language.lexicon import words_of
from hippocampe.language.person import is_about_speaker, is_to_somebody
from hippocampe.language.text import fold
from hippocampe.language.text import words as spoken_words
from hippocampe.language.wordings import relations_of_things
from hippocampe.protocols import Vector, Vectors
from hippocampe.retrieval.candidates import Hits
from hippocampe.retrieval.late_interaction import Texts
from hippocampe.retrieval.measured import CandidateFeatures
from hippocampe.retrieval.query import AnalysedQuery
from hippocampe.store.driver import read_by_ids
from hippocampe.store.embeddings import unpack_all, unpack_words
from hippocampe.store.schema import claim, memory, message, note, turn, vector

_NO_WORD = -1
"""In place of the id of a word: none before the first or after the last word of a text."""


class _Row(NamedTuple):
    """One text with its vector, words and traits; `at` in microseconds since the epoch."""

    id: str
    author: str | None
    at: int
    channel: str | None
    session: str | None
    previous_id: str | None
    next_id: str | None
    importance: float | None
    uses: int | None
    teller: str | None
    dense: bytes
    words: bytes
    traits: int


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
    cached: CachedRows[_Row] | None = None,
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
    own, near, far = _rows_around(connection, model, ids, kinds, cached)
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
    asked = query.features.asker | _named(users, query.features.names | said)
    # Only a question about a user rules out the statements of others.
    doers = _doers(connection, rows, kinds, query) if asked else frozenset[str]()
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
        of_other=_of_other(connection, rows, kinds, tellers, query, doers)
        if query.features.asker
        else None,
        values=of_rows >> trait.VALUES,
        names=of_rows >> trait.FIRST_NAME & trait.NAMES,
        kin=_kin(vocabulary, words, query.features.kin, len(rows)),
        owners=_owners(rows, of_rows, kinds, tellers),
        doers=np.array([row.id in doers for row in rows], bool),
        asked=asked,
        names_other=_names_other(vocabulary, rows, words, users - asked) if asked else None,
    )
    own_kinds = [kinds[id] for id in listed]
    return LoadedCandidates(listed, own_kinds, vectors[: len(rows)], features)


def _rows_around(
    connection: Connection,
    model: str,
    ids: Sequence[str],
    kinds: Mapping[str, str],
    cached: CachedRows[_Row] | None,
) -> tuple[dict[str, _Row], dict[str, _Row], dict[str, _Row]]:
    """The rows of candidates, of the turns next to them, and of the turns next to those, by id."""
    own: dict[str, _Row] = {}
    for kind in dict.fromkeys(kinds[id] for id in ids):
        own |= _rows(connection, kind, model, [id for id in ids if kinds[id] == kind], cached)
    near = _rows(connection, "turn", model, _beside(own.values(), own), cached)
    two_away = _beside(near.values(), own | near)
    return own, near, _rows(connection, "turn two away", model, two_away, cached)


def _rows(
    connection: Connection,
    kind: str,
    model: str,
    ids: Sequence[str],
    cached: CachedRows[_Row] | None,
) -> dict[str, _Row]:
    """The rows of texts by id: those in memory, and the others from the store."""
    if cached is None:
        return _fetch(connection, kind, model, ids)
    found = cached.find(kind, ids)
    if len(found) < len(ids):
        fetched = _fetch(connection, kind, model, [id for id in ids if id not in found])
        cached.put(kind, fetched)
        found |= fetched
    return found


def _fetch(connection: Connection, kind: str, model: str, ids: Collection[str]) -> dict[str, _Row]:
    if not ids:
        return {}
    rows = read_by_ids(connection, _STATEMENTS[kind], list(ids), model=model)
    return {row[0]: _Row._make(row) for row in rows}


def _statement(table: Any, columns: tuple[Any, ...], dense: Any = vector.c.dense) -> Any:
    same = and_(vector.c.id == table.c.id, vector.c.model == bindparam("model"))
    return (
        select(*columns, dense, vector.c.words, vector.c.traits)
        .select_from(table.join(vector, same))
        .where(table.c.id.in_(bindparam("ids", expanding=True)))
    )


def _spoken(id: Any, author: Any, content: Any) -> Any:
    return select(id, author, content).where(id.in_(bindparam("ids", expanding=True)))


_NONE = literal(None)
_OF_TURN = (
    *(turn.c.id, turn.c.author, type_coerce(turn.c.at, BigInteger), turn.c.channel),
    *(turn.c.session, turn.c.previous_id, turn.c.next_id, _NONE, _NONE, turn.c.author),
)
# A forgotten turn must not support its neighbours either.
_NOT_FORGOTTEN = turn.c.forgotten_at.is_(None)
_STATEMENTS: dict[str, Any] = {
    "memory": _statement(
        memory,
        (
            memory.c.id,
            # The user of a memory is not its author: they do not speak in it.
            _NONE,
            type_coerce(func.coalesce(memory.c.occurred_at, memory.c.created_at), BigInteger),
            *(memory.c.channel, _NONE, _NONE, _NONE, memory.c.importance, memory.c.access_count),
            memory.c.user,
        ),
    ),
    "turn": _statement(turn, _OF_TURN).where(_NOT_FORGOTTEN),
    # Turns two away are measured by their words only, so their vectors are not loaded.
    "turn two away": _statement(turn, _OF_TURN, dense=_NONE).where(_NOT_FORGOTTEN),
    "live": _statement(
        message,
        (
            *(message.c.id, message.c.author, type_coerce(message.c.at, BigInteger)),
            *(message.c.channel, _NONE, _NONE, _NONE, _NONE, _NONE, message.c.author),
        ),
    ),
    "note": _statement(
        note,
        (
            *(note.c.id, _NONE, type_coerce(note.c.modified_at, BigInteger)),
            *(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE),
        ),
    ),
}


_SAID: dict[str, Any] = {
    "memory": _spoken(memory.c.id, memory.c.user, memory.c.content),
    "live": _spoken(message.c.id, message.c.author, message.c.content),
    # The reply in a turn is about the companion.
    "turn": _spoken(message.c.turn_id, message.c.author, message.c.content).where(
        message.c.role.is_distinct_from("assistant")
    ),
}


_CLAIMED = (
    select(claim.c.memory_id, claim.c.relation, claim.c.subject, memory.c.content)
    .select_from(claim.join(memory, memory.c.id == claim.c.memory_id))
    .where(claim.c.memory_id.in_(bindparam("ids", expanding=True)))
)
_OF_SPEAKER = frozenset({"", "user"})
"""Subjects of a claim about its speaker."""


def _of_other(
    connection: Connection,
    rows: Sequence[_Row],
    kinds: Mapping[str, str],
    users: Mapping[str, str],
    query: AnalysedQuery,
    doers: Collection[str],
) -> NDArray[np.bool_]:
    """Shape (candidates,): whether it is another user's statement about themselves alone, or about a third person.

    "My dog" of another user is another dog. A text that names the asker or addresses somebody may
    still answer: "I lent my bike to Alex", "j'ai rangé ton vélo"; and so may the `doers`.
    """
    asker = query.features.asker
    of_others = [row for row in rows if row.teller and users[row.teller] not in asker]
    found = _of_third_persons(connection, rows, kinds, query)
    for kind, statement in _SAID.items():
        tellers = {row.id: row.teller for row in of_others if kinds[row.id] == kind}
        spoken = read_by_ids(connection, statement, list(tellers)) if tellers else ()
        found.update(
            id
            for id, author, content in spoken
            if author == tellers[id]
            and is_about_speaker(content)
            and not is_to_somebody(content)
            and not _named(asker, spoken_words(content))
        )
    found.difference_update(doers)
    return np.array([row.id in found for row in rows], bool)


def _doers(
    connection: Connection, rows: Sequence[_Row], kinds: Mapping[str, str], query: AnalysedQuery
) -> frozenset[str]:
    """The memories whose teller may be the answer to "who has my drill?": "I have it", but not "I lent my drill to Tom"."""
    if "who" not in query.features.asks:
        return frozenset()
    stated = [row.id for row in rows if row.teller and kinds[row.id] == "memory"]
    asked = frozenset(query.features.words)
    return frozenset(
        id
        for id, _, content in read_by_ids(connection, _SAID["memory"], stated)
        if is_about_speaker(content) and not _has_own(spoken_words(content), asked)
    )


def _has_own(spoken: Sequence[str], things: Collection[str]) -> bool:
    """Return whether the speaker of folded words has one of some things: "my drill"."""
    own = words_of("grammar.own")
    return any(one in own and other in things for one, other in pairwise(spoken))


def _of_third_persons(
    connection: Connection, rows: Sequence[_Row], kinds: Mapping[str, str], query: AnalysedQuery
) -> set[str]:
    """The memories that say where somebody else lives, works and so on: no answer to "where do I live?"."""
    if names_relation(query.spoken):
        return set()
    own = {*query.features.asker, *_OF_SPEAKER}
    # "My dog" has a name that the question does not say.
    of_things = relations_of_things()
    spoken = frozenset(query.features.words)
    stated = [row.id for row in rows if kinds[row.id] == "memory"]
    return {
        id
        for id, relation, subject, content in read_by_ids(connection, _CLAIMED, stated)
        if subject not in own
        and relation not in of_things
        and spoken.isdisjoint(spoken_words(subject))
        # Without an article, a name.
        and content[:1].isupper()
        and fold(content).startswith(subject)
    }


def _owners(
    rows: Sequence[_Row],
    traits: NDArray[np.int64],
    kinds: Mapping[str, str],
    users: Mapping[str, str],
) -> list[str | None]:
    """The folded name of the speaker of each memory in the first person; None for the others.

    The words of a turn contain the names of its authors already.
    """
    return [
        users[row.teller] if row.teller and first and kinds[row.id] == "memory" else None
        for row, first in zip(rows, (traits & trait.FIRST_PERSON > 0).tolist(), strict=True)
    ]


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
    vocabulary: Vocabulary, rows: Sequence[_Row], texts: Texts, others: Collection[str]
) -> NDArray[np.bool_]:
    """Shape (candidates,): whether it is a memory that names another user than those asked about.

    Args:
        others: The folded names of the other users of the candidates.
    """
    in_text = _holds(texts, vocabulary.ids(sorted(others)), len(rows))
    # Only memories have an importance: in talk, people call each other by name.
    return in_text & np.array([row.importance is not None for row in rows], bool)


def _named(names: Collection[str], spoken: Collection[str]) -> frozenset[str]:
    """The names whose words all are spoken."""
    said = frozenset(spoken)
    return frozenset(name for name in names if said.issuperset(spoken_words(name)))


def _beside(rows: Collection[_Row], known: Collection[str]) -> list[str]:
    ends = (end for row in rows for end in (row.previous_id, row.next_id))
    return list(dict.fromkeys(end for end in ends if end is not None and end not in known))


def _neighbours(
    rows: Sequence[_Row], places: dict[str, int], known: dict[str, _Row]
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


def _texts(vocabulary: Vocabulary, rows: Sequence[_Row], same: Mapping[int, int]) -> Texts:
    stored, lengths = unpack_words([row.words for row in rows])
    ids = vocabulary.known_ids(stored).astype(np.int64)
    for id, read_as in same.items():
        ids[ids == id] = read_as
    return Texts(ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


def _sessions(rows: Sequence[_Row]) -> NDArray[np.int64]:
    """A number for each session; -1 for no session."""
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(row.session, len(numbers)) if row.session else -1 for row in rows],
        np.int64,
    )
