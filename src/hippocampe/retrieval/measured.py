"""The input of the signals: the features of a query and of its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.word_space import Floats, Integers, WordVectors
from hippocampe.language.kin import Kin
from hippocampe.retrieval.late_interaction import Texts

Flags = NDArray[np.bool_]
Column = NDArray[Any] | float
"""A signal of all candidates; a number if it is the same for all."""

USUAL_CANDIDATES: Final = 90
"""Candidates to which the scores of shorter lists are made comparable."""
NEIGHBOUR_WEIGHTS: Final = (0.35, 0.6, 0.6, 0.35)
"""Weight of a match in the turn two before, just before, just after and two after."""


@dataclass(frozen=True, slots=True)
class QueryFeatures:
    """The features of a query that the signals use.

    Attributes:
        words: Its distinct content words in order.
        vectors: Shape (words, dimensions): their vectors, placed in the word space.
        rarity: Shape (words,): their inverse document frequency in the searched space.
        asks: The kinds of answer it asks for, from `questions.asks`.
        window: The time it names, in seconds since the epoch, if any.
        topics: The topics of each word, from `topics.topics_of`; empty if unknown.
        names: Its words that name somebody or something, except the asker.
        asker: The folded names of the asker, if it is about them alone.
        values: The kinds of value that it asks for, from `values.values_asked`.
        value_words: Its words that name those kinds, from `values.value_words`.
        kin: The relatives that it names, from `kin.kin_asked`.
        nothing: Whether it needs no memory, from `manners.asks_nothing`.
    """

    words: tuple[str, ...]
    vectors: Floats
    rarity: Floats
    asks: frozenset[str] = frozenset()
    window: tuple[float, float] | None = None
    topics: tuple[int, ...] = ()
    names: frozenset[str] = frozenset()
    asker: frozenset[str] = frozenset()
    values: int = 0
    value_words: frozenset[str] = frozenset()
    kin: tuple[Kin, ...] = ()
    nothing: bool = False


@dataclass(frozen=True, slots=True)
class CandidateFeatures:
    """The features that the signals use of n candidates, as columns, and of the turns around them.

    Attributes:
        dense: Shape (n,): cosine of the query with the candidate's own vector.
        window: Shape (n,): cosine with the normalised mean of its vector and those of the turns
            just before and after; NaN without such turns.
        bm25: Shape (n,): score in the sparse search, 0 when it was not among the hits.
        vectors: Of all known words, placed in the word space.
        texts: The words of the n candidates, then of the turns around them, each turn once.
        neighbours: Shape (n, 4): rows in `texts` of the turns two before, just before, just
            after and two after in the same session; -1 for none.
        question: Shape (texts,): whether the text is a question.
        number: Shape (n,): whether it states a number.
        date: Shape (n,): whether it states a time.
        authors: The author of each of the n, if known.
        session: Shape (n,): a number for each session, -1 for none.
        at: Shape (n,): seconds since the epoch, NaN if unknown.
        importance: Shape (n,): 0 to 1, NaN without one, such as for turns.
        uses: Shape (n,): number of recalls, NaN if not counted.
        place: Shape (n,): whether it states a place.
        topics: Shape (all words of `texts`,): the topics of each word, from `topics.topics_of`.
        of_other: Shape (n,): whether it is another user's statement about themselves; None unless the query
            is about the asker.
        values: Shape (n,): the kinds of value that each states, from `values.values_stated`.
        names: Shape (n,): number of proper names in each, from `traits.names_in`.
        kin: Shape (n, relatives): whether each names a relative that the query names.
        owners: The folded name of the speaker of each memory in the first person.
        doers: Shape (n,): whether the query asks who does something, and its speaker may: "who has my drill?", "I have it".
        asked: The folded names of the users whom the query is about: the asker, or those it names.
        names_other: Shape (n,): whether it is a memory that names another user; None unless the query is
            about a user.
    """

    dense: Floats
    window: Floats
    bm25: Floats
    vectors: WordVectors
    texts: Texts
    neighbours: Integers
    question: Flags
    number: Flags
    date: Flags
    authors: Sequence[str | None]
    session: Integers
    at: NDArray[np.float64]
    importance: Floats
    uses: Floats
    place: Flags
    topics: NDArray[np.uint64]
    values: Integers
    names: Integers
    of_other: Flags | None = None
    kin: Flags | None = None
    owners: Sequence[str | None] = ()
    doers: Flags | None = None
    asked: frozenset[str] = frozenset()
    names_other: Flags | None = None
