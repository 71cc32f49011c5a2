"""Candidates: the hits of searches by words, meaning, time, graph and metadata, fused."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from hippocampe.language.subjects import fold_subjects, subjects_of
from hippocampe.protocols import Index, Search
from hippocampe.retrieval import fusion
from hippocampe.retrieval.query import AnalysedQuery
from hippocampe.retrieval.request import RecallRequest
from hippocampe.retrieval.signals import window_slack
from hippocampe.store import associations, memories, turn_rows
from hippocampe.types import Memory

DEPTH = 80
"""Hits of each search."""
DEPTH_PER_KIND = 64
"""Hits of each search when several kinds are searched."""
MOST_OF_ASKER = 64
"""Hits of the search among the asker's own statements, for a question about the asker."""
MOST_SCORED = 120
"""Candidates that are scored: with 120, .89 of the answers of `ask-dev` are among them, with 90 .87. 150 rank
no better."""
MOST_MEMORIES_SCORED = 90
"""The same when only memories are searched: 120 find no more."""
MAX_LINKED = 30
"""Memories that the associations of the best hits may add."""
NEIGHBOURS_OF_BEST = 20
"""Best turns whose neighbours become candidates too."""
REACH = 2
"""Neighbouring turns before and after. With 2, .918 of LoCoMo's answers are candidates; with 1, .910."""
WEIGHTS = {
    "words": 1.0,
    "meaning": 1.0,
    "beside": 1.0,
    "own": 1.0,
    "time": 0.7,
    "graph": 0.5,
    "important": 0.2,
    "recent": 0.2,
}
"""Weight of each ranking in the fusion."""
MOST_BY_METADATA = 10
"""Memories of each collection that each kind of metadata may add."""
_BY_METADATA = {"recent": "created_at", "important": "importance"}


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits of the searches.

    Attributes:
        rankings: Ids from best to worst, by source and kind.
        kinds: The kind of each id.
        scores: Of the searches by `meaning` (cosine) and by `words` (BM25), by id.
    """

    rankings: dict[str, list[str]]
    kinds: dict[str, str]
    scores: dict[str, dict[str, float]]


def search(index: Index, query: AnalysedQuery, request: RecallRequest, now: datetime) -> Hits:
    """Search every kind by meaning, by words, and by meaning within the time that the query names."""
    rankings: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    scores: dict[str, dict[str, float]] = {"meaning": {}, "words": {}}
    searches = _searches(query, request, now)
    found = index.search([each for _, each in searches])
    for (source, each), hits in zip(searches, found, strict=True):
        ids = [hit.id for hit in hits if hit.id not in request.without]
        rankings[f"{source} {each.kind}"] = ids
        kinds |= dict.fromkeys(ids, each.kind)
        scores.get(source, {}).update(hits)
    return Hits(rankings, kinds, scores)


def _searches(
    query: AnalysedQuery, request: RecallRequest, now: datetime
) -> list[tuple[str, Search]]:
    """The searches of a query, each with its source."""
    request_kinds = request.kinds()
    depth = max(DEPTH if len(request_kinds) == 1 else DEPTH_PER_KIND, request.limit)
    searches: list[tuple[str, Search]] = []
    for kind, collections in request_kinds.items():
        where = request.filter(collections, now)
        meaning, words = (
            partial(Search, kind, vector=query.dense),
            partial(Search, kind, text=query.text),
        )
        if request.mode != "text":
            searches.append(("meaning", meaning(where=where, limit=depth)))
        if request.mode != "semantic":
            searches.append(("words", words(where=where, limit=depth)))
        if query.window and request.mode == "hybrid" and not (request.since or request.until):
            start, end = query.window.start.timestamp(), query.window.end.timestamp()
            then = replace(where, since=start, until=end + window_slack(start, end))
            searches.append(("time", meaning(where=then, limit=20)))
            searches.append(("time words", words(where=then, limit=20)))
        if (
            kind == "memory"
            and query.features.asker
            and request.user is None
            and request.mode == "hybrid"
        ):
            own = replace(where, user=request.scope.user)
            searches.append(("own", meaning(where=own, limit=MOST_OF_ASKER)))
    return searches


def fuse(connection: Connection, hits: Hits, request: RecallRequest, now: datetime) -> list[str]:
    """Add the rankings from the store, fuse all, and return the ids of the candidates."""
    if "memory" in request.kinds():
        for source, found in _of_memories(connection, hits, request, now).items():
            hits.rankings[source] = found
            hits.kinds.update((id, "memory") for id in found)
    fused = fusion.fuse(hits.rankings, WEIGHTS)
    best = [id for id in fused[:NEIGHBOURS_OF_BEST] if hits.kinds[id] == "turn"]
    if best:
        beside = turn_rows.beside(
            connection,
            best,
            reach=REACH,
            author=request.user,
            channel=request.channel,
            since=request.since,
            until=request.until,
        )
        beside = [id for id in beside if id not in request.without]
        hits.rankings["beside"] = beside
        hits.kinds.update((id, "turn") for id in beside)
        fused = fusion.fuse(hits.rankings, WEIGHTS)
    most = MOST_MEMORIES_SCORED if list(request.kinds()) == ["memory"] else MOST_SCORED
    return fused[: max(most, request.limit)]


def _of_memories(
    connection: Connection, hits: Hits, request: RecallRequest, now: datetime
) -> dict[str, list[str]]:
    """Rankings of memories from the store: by association and, while there is room, by metadata."""
    starts = [
        id for name in ("words memory", "meaning memory") for id in hits.rankings.get(name, [])[:5]
    ]
    linked = associations.near(connection, request.scope.space, starts, 2, most=MAX_LINKED)
    # The hits of the searches pass the filters already.
    new = [id for id in linked if id not in hits.kinds]
    rows = memories.get(connection, request.scope.space, new)
    fitting = {id for id, row in rows.items() if _fits(row, request, now)}
    found = {"graph": [id for id in linked if id in fitting or id in hits.kinds]}
    collections = request.kinds()["memory"]
    if len(hits.kinds) >= MOST_SCORED or request.filter(collections, now).narrowed:
        # The weight of metadata is too small to matter when the searches fill the list; and for a
        # narrow filter the store would scan the whole space, while a search does not.
        return found
    for name, column in _BY_METADATA.items():
        found[name] = []
        for collection in collections:
            found[name] += memories.highest(
                connection, column, request.scope.space, collection, now, MOST_BY_METADATA
            )
    return found


def _fits(memory: Memory, request: RecallRequest, now: datetime) -> bool:
    """Return whether a memory reached by an association passes the filters of the request."""
    at = memory.occurred_at or memory.created_at
    return (
        memory.current
        and memory.collection in request.collections
        and not memory.has_expired(now)
        and (request.types is None or memory.type in request.types)
        and (request.category is None or memory.category == request.category)
        and (request.user is None or memory.user == request.user)
        and (request.channel is None or memory.channel == request.channel)
        and (request.ids is None or memory.id in request.ids)
        and (request.since is None or at >= request.since)
        and (request.until is None or at < request.until)
        and (request.subjects is None or not set(request.subjects).isdisjoint(_subjects(memory)))
    )


def _subjects(memory: Memory) -> tuple[str, ...]:
    return fold_subjects((*memory.subjects, *subjects_of(memory.content)))
