"""Ranking: search, and score the candidates by their signals; what is read is chosen among the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.word_space import Floats
from hippocampe.engine.caches import CachedRows
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.protocols import TALK
from hippocampe.retrieval import candidates, features, results, scoring, signals
from hippocampe.retrieval.query import AnalysedQuery
from hippocampe.retrieval.request import RecallRequest
from hippocampe.types import Memory, Recollection

FEWEST_FIRST: Final = 4
"""Minimum number of results to read first."""
CORRECTING: Final = 1
"""Maximum talk that is read because it may correct the best result: "sold the Polo" for "what car do I drive?"."""
NEAR: Final = 0.15
"""Minimum cosine of talk and what it may correct: with its reply, "sold the Polo" has .29 to "my car is a Polo"."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Scored candidates.

    Attributes:
        items: The first of them, loaded: those to read first, those to read if none of these is likely, and the others,
            each best first.
        ranked: All of them in the same order.
        odds: Their log-odds if they are read, as from `scoring.odds_to_read`.
        loaded: All of them with their features.
        measured: Their signals, shape (n, signals).
        rivals: As from `scoring.score`.
        rows: The row of each of them in `measured`, by id.
        first: The number of those to read first.
        read: The number of all to read.
        undecided: As from `results.undecided`.
        newer: As from `results.successors`.
    """

    items: list[Recollection]
    ranked: list[results.Ranked]
    loaded: features.LoadedCandidates
    measured: Floats
    odds: NDArray[np.float64]
    rivals: Floats
    rows: Mapping[str, int]
    first: int
    read: int
    undecided: Sequence[tuple[str, str, float]]
    newer: Mapping[str, Memory]


def rank(
    corpus: Corpus,
    query: AnalysedQuery,
    request: RecallRequest,
    now: datetime,
    stopwatch: Stopwatch,
) -> Scored | list[Recollection]:
    """Search, and score the candidates; the results themselves, if the search is by words or by meaning only."""
    hits = candidates.search(corpus.index, query, request, now)
    stopwatch.end("search")
    cached = None if corpus.rows is None else CachedRows(corpus.rows)
    with corpus.store.read() as connection:
        if request.mode != "hybrid":
            return results.of_single_search(connection, hits, request, now)
        ids = candidates.fuse(connection, hits, request, now)
        stopwatch.end("fuse")
        loaded = features.load(corpus.vocabulary, connection, query, ids, hits, cached)
        stopwatch.end("features")
        if not loaded.ids:
            return []
        measured = signals.measure(query.features, loaded.features)
        scores, rivals = scoring.score(measured)
        odds = scoring.odds_to_read(measured, scores)
        latest = -loaded.features.at
        best: list[int] = np.lexsort((latest, -odds)).tolist()
        likely = best[: _worth_reading(odds, loaded.kinds, request)]
        likely += _correcting(loaded, likely)
        first, to_read = len(likely), list(dict.fromkeys([*likely, *best[: request.read]]))
        others: list[int] = np.lexsort((latest, -scores)).tolist()
        order = dict.fromkeys([*to_read, *others])
        probabilities: list[float] = scores.tolist()
        ranked = [(loaded.ids[i], loaded.kinds[i], probabilities[i]) for i in order]
        ranked = results.live_among(ranked, first)
        stopwatch.end("score")
        request = replace(request, read=len(to_read))
        items = results.load(connection, ranked, request, now)
        undecided = results.undecided(connection, items, request.scope.space)
        newer = results.successors(connection, items)
        stopwatch.end("read")
    rows = {id: row for row, id in enumerate(loaded.ids)}
    return Scored(
        items=items,
        ranked=ranked,
        odds=odds,
        loaded=loaded,
        measured=measured,
        rivals=rivals,
        rows=rows,
        first=first,
        read=len(to_read),
        undecided=undecided,
        newer=newer,
    )


def _correcting(loaded: features.LoadedCandidates, to_read: Sequence[int]) -> list[int]:
    """The rows of the talk nearest to the best of the results to read, and newer: it may correct it in other words."""
    if not to_read:
        return []
    best, at = to_read[0], loaded.features.at
    nearness = loaded.vectors @ loaded.vectors[best]
    newer = np.isin(loaded.kinds, TALK) & (at > at[best]) & (nearness >= NEAR)
    nearest = np.flatnonzero(newer)[np.argsort(-nearness[newer])]
    return [row for row in nearest.tolist() if row not in to_read][:CORRECTING]


def _worth_reading(odds: NDArray[np.float64], kinds: Sequence[str], request: RecallRequest) -> int:
    """The number of results to read first: the likely ones, and the best of live talk, about which the odds say little."""
    likely = int((odds >= odds.max() - request.read_within).sum())
    live = min(kinds.count("live"), results.LIVE_READ)
    return min(request.read, max(likely, FEWEST_FIRST) + live)
