"""Search by words, meaning, time, graph and metadata; fuse into candidates."""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from hippocampe.consolidation.decide import subjects_of
from hippocampe.engine.context import Context
from hippocampe.index.documents import fold_subjects
from hippocampe.protocols import Hit
from hippocampe.retrieval import fusion, signals
from hippocampe.retrieval.query import Question
from hippocampe.retrieval.request import Wanted
from hippocampe.store import associations, conversations, memories, schema
from hippocampe.types import Memory

DEPTH = 80
"""How many hits each search gives."""


DEPTH_OF_SEVERAL = 48
"""How many each gives when several kinds are searched."""


LINKED = 30
"""How many memories the associations of the best hits may bring."""


NEIGHBOURS_OF_BEST = 20
"""Of how many of the best, the turns just before and after are candidates too."""


WEIGHTS = {
    "words": 1.0,
    "meaning": 1.0,
    "beside": 1.0,
    "time": 0.7,
    "graph": 0.5,
    "important": 0.2,
    "recent": 0.2,
}
"""Weights of the rankings that are fused into the candidates."""


_BY_METADATA = {"recent": schema.memory.c.created_at, "important": schema.memory.c.importance}


@dataclass(frozen=True, slots=True)
class Hits:
    """What the searches found: rankings by source, kinds by id, BM25 scores by id."""

    rankings: dict[str, list[str]]
    kinds: dict[str, str]
    scores: dict[str, dict[str, float]]


def gather(context: Context, question: Question, wanted: Wanted, now: datetime) -> Hits:
    """Search every kind by meaning and by words, and once more in the time the query speaks of."""
    rankings: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    scores: dict[str, dict[str, float]] = {"meaning": {}, "words": {}}
    kinds_wanted = wanted.kinds()
    depth = max(DEPTH if len(kinds_wanted) == 1 else DEPTH_OF_SEVERAL, wanted.limit)
    for kind, collections in kinds_wanted.items():
        where = wanted.filter(collections, now)
        searches: dict[str, list[Hit]] = {}
        if wanted.mode != "text":
            searches["meaning"] = context.index.nearest(
                kind, question.dense, limit=depth, where=where
            )
        if wanted.mode != "semantic":
            searches["words"] = context.index.matching(
                kind, question.text, limit=depth, where=where
            )
        if question.window and wanted.mode == "hybrid" and not (wanted.since or wanted.until):
            start, end = question.window.start, question.window.end
            then = replace(where, since=start.timestamp(), until=end.timestamp())
            searches["time"] = context.index.nearest(kind, question.dense, limit=20, where=then)
        for source, hits in searches.items():
            rankings[f"{source} {kind}"] = [hit.id for hit in hits]
            kinds |= {hit.id: kind for hit in hits}
            scores.get(source, {}).update((hit.id, hit.score) for hit in hits)
    return Hits(rankings, kinds, scores)


def candidates_of(
    connection: Connection, question: Question, hits: Hits, wanted: Wanted, now: datetime
) -> list[str]:
    """The candidates: the rankings fused, with those of the graph and of the memories' metadata."""
    if "memory" in wanted.kinds():
        for source, found in _of_memories(connection, hits, wanted, now).items():
            hits.rankings[source] = found
            hits.kinds.update((id, "memory") for id in found)
    weights = {name: WEIGHTS[name.split()[0]] for name in hits.rankings}
    best = [
        id
        for id in fusion.fuse(hits.rankings, weights)[:NEIGHBOURS_OF_BEST]
        if hits.kinds[id] == "turn"
    ]
    if best:
        beside = conversations.beside(
            connection,
            best,
            author=wanted.user,
            channel=wanted.channel,
            since=wanted.since,
            until=wanted.until,
        )
        hits.rankings["beside"] = beside
        hits.kinds.update((id, "turn") for id in beside)
    return fusion.fuse(hits.rankings, weights)[: max(signals.CANDIDATES, wanted.limit)]


def _of_memories(
    connection: Connection, hits: Hits, wanted: Wanted, now: datetime
) -> dict[str, list[str]]:
    """The rankings that the store gives: by association and, while there is room, by metadata."""
    starts = [
        id for name in ("words memory", "meaning memory") for id in hits.rankings.get(name, [])[:5]
    ]
    linked = associations.near(connection, wanted.scope.space, starts, 2, most=LINKED)
    rows = memories.get(connection, wanted.scope.space, linked)
    found = {"graph": [id for id in linked if id in rows and _fits(rows[id], wanted, now)]}
    collections = wanted.kinds()["memory"]
    if len(hits.kinds) >= signals.CANDIDATES or wanted.filter(collections, now).narrowed:
        # Their weight is too small to bring in what no search found; and few among many are found
        # by a search, where the store would look through all of a space.
        return found
    living = memories.living(wanted.scope.space, now)
    for name, order in _BY_METADATA.items():
        found[name] = []
        for collection in collections:
            within = schema.memory.c.collection == collection
            found[name] += memories.ids_by(connection, order, 10, living, within)
    return found


def _fits(memory: Memory, wanted: Wanted, now: datetime) -> bool:
    """What the index and the store's queries check, for a memory that was reached by an edge."""
    at = memory.occurred_at or memory.created_at
    return (
        memory.current
        and memory.collection in wanted.collections
        and (memory.expires_at is None or memory.expires_at > now)
        and (wanted.types is None or memory.type in wanted.types)
        and (wanted.category is None or memory.category == wanted.category)
        and (wanted.user is None or memory.user == wanted.user)
        and (wanted.channel is None or memory.channel == wanted.channel)
        and (wanted.ids is None or memory.id in wanted.ids)
        and (wanted.since is None or at >= wanted.since)
        and (wanted.until is None or at < wanted.until)
        and (wanted.subjects is None or not set(wanted.subjects).isdisjoint(_subjects(memory)))
    )


def _subjects(memory: Memory) -> tuple[str, ...]:
    return fold_subjects((*memory.subjects, *subjects_of(memory.content)))
