"""How memories and talk are found: understand the query, gather candidates, rank, explain.

No model is asked. The query is embedded once; aliases and time expressions are read by rules; each
search gives a ranking; the rankings are fused; the best ninety or so are ranked by `hippocampe.rank`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import get_args

import numpy as np
from sqlalchemy import Connection

from hippocampe import evidence, rank, rebuild, relevance
from hippocampe.checks import (
    check_choice,
    check_limit,
    check_list,
    check_metadata,
    check_number,
    check_text,
    clean,
)
from hippocampe.decide import subjects_of
from hippocampe.errors import InvalidInput
from hippocampe.laps import Laps
from hippocampe.parts import Parts
from hippocampe.points import fold_subjects, piece_text
from hippocampe.protocols import Filter, Hit, Vector
from hippocampe.store import associations, listing, memories, notes, schema, talk
from hippocampe.store.talk import Turn
from hippocampe.times import as_utc
from hippocampe.types import (
    DEFAULT_IMPORTANCE,
    MEMORY_COLLECTIONS,
    RECALL_COLLECTIONS,
    Memory,
    Message,
    Metadata,
    Mode,
    Recollection,
    Scope,
    Signal,
)
from hippocampe.understand import Question, understand

MAX_QUERY_CHARACTERS = 4_000
DEPTH = 80
"""How many hits each search gives."""
DEPTH_OF_SEVERAL = 48
"""How many each gives when several kinds are searched."""
LINKED = 30
"""How many memories the associations of the best hits may bring."""
BESIDE = 20
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
class Wanted:
    """What a recall may find. `at_least` of the best are given though they be below `min_score`;
    `ids` are the memories that a filter by metadata leaves."""

    scope: Scope
    limit: int = 10
    collections: tuple[str, ...] = ("memory",)
    types: tuple[str, ...] | None = None
    subjects: tuple[str, ...] | None = None
    category: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_score: float | None = None
    mode: Mode = "hybrid"
    user: str | None = None
    channel: str | None = None
    at_least: int = 0
    ids: frozenset[str] | None = None

    def kinds(self) -> dict[str, tuple[str, ...]]:
        """The kinds of points to search, each with the collections wanted in it."""
        of_memory = tuple(name for name in self.collections if name in MEMORY_COLLECTIONS)
        kinds = {"memory": of_memory} if of_memory else {}
        of_memories = (self.types, self.category, self.subjects, self.ids)
        if all(each is None for each in of_memories):
            kinds |= {n: (n,) for n in self.collections if n not in MEMORY_COLLECTIONS}
        return kinds

    def filter(self, collections: tuple[str, ...], now: datetime) -> Filter:
        """The filter of one kind."""
        return Filter(
            space=self.scope.space,
            collections=collections,
            now=now.timestamp(),
            types=self.types,
            subjects=self.subjects,
            category=self.category,
            user=self.user,
            channel=self.channel,
            since=self.since.timestamp() if self.since else None,
            until=self.until.timestamp() if self.until else None,
            ids=self.ids,
        )


def recall(
    parts: Parts,
    query: str,
    *,
    scope: Scope,
    limit: int = 10,
    collections: Sequence[str] = ("memory",),
    types: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
    category: str | None = None,
    metadata: Metadata | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    user: str | None = None,
    channel: str | None = None,
    min_score: float | None = None,
    mode: Mode = "hybrid",
    explain: bool = False,
) -> list[Recollection]:
    """Find what is relevant to a query, best first.

    Raises:
        InvalidInput: An argument cannot be used.
    """
    query = clean(query, what="query", limit=100 * MAX_QUERY_CHARACTERS)[:MAX_QUERY_CHARACTERS]
    said = Scope(user=user, channel=channel)
    wanted = _checked(
        Wanted(
            scope=scope,
            limit=check_limit(limit),
            collections=check_list("collections", collections),
            types=None if types is None else check_list("types", types),
            subjects=None if subjects is None else fold_subjects(check_list("subjects", subjects)),
            category=check_text("category", category),
            since=as_utc(since, name="since"),
            until=as_utc(until, name="until"),
            user=said.user,
            channel=said.channel,
            min_score=min_score,
            mode=mode,
        )
    )
    if metadata:
        with parts.store.read() as connection:
            ids = listing.ids_with_metadata(connection, scope.space, check_metadata(metadata))
        wanted = replace(wanted, ids=ids)
    rebuild.catch_up_with_talk(parts)
    found = search(parts, query, wanted, explain=explain)
    parts.note_access([item.id for item in found if item.memory is not None])
    return found


def _checked(wanted: Wanted) -> Wanted:
    for name in wanted.collections:
        check_choice("collection", name, RECALL_COLLECTIONS)
    for name in wanted.types or ():
        check_choice("type", name, DEFAULT_IMPORTANCE)
    check_choice("mode", wanted.mode, get_args(Mode))
    if wanted.min_score is not None:
        check_number("min_score", wanted.min_score, 0, 1)
    if wanted.since and wanted.until and wanted.since >= wanted.until:
        raise InvalidInput("since must be before until.")
    return wanted


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first.

    Attributes:
        items: Without their `why`.
        vectors: The vectors of what was ranked, by id; empty for one search alone.
        why: The signals of an item, by id.
        packed: Their values alone, as `relevance.packed` gives them.
    """

    items: list[Recollection]
    vectors: Mapping[str, Vector]
    why: Callable[[str], tuple[Signal, ...]]
    packed: Callable[[str], bytes]


def search(
    parts: Parts, query: str, wanted: Wanted, *, explain: bool = False
) -> list[Recollection]:
    """The recall itself, on checked arguments, without counting the access."""
    found = find(parts, query, wanted, Laps())
    if not explain:
        return found.items
    return [replace(item, why=found.why(item.id)) for item in found.items]


def find(parts: Parts, query: str, wanted: Wanted, laps: Laps) -> Found:
    """Search, and keep what tells why; `laps` is told when each stage ends."""
    now = parts.now()
    aliases = parts.aliases(wanted.scope.space)
    embed = wanted.mode != "text"
    question = understand(parts, query, wanted.scope, aliases, now, embed=embed)
    laps.end("understand")
    hits = gather(parts, question, wanted, now)
    laps.end("search")
    with parts.store.read() as connection:
        if wanted.mode != "hybrid":
            return Found(_plain(connection, hits, wanted, now), {}, lambda _: (), lambda _: b"")
        fused = _fuse(connection, question, hits, wanted, now)
        laps.end("fuse")
        candidates = evidence.load(
            parts,
            connection,
            question.dense,
            fused,
            hits.kinds,
            hits.scores["words"],
            question.same,
            question.asker,
        )
        laps.end("evidence")
        if not candidates.ids:
            parts.check_serving()
            return Found([], {}, lambda _: (), lambda _: b"")
        scored = rank.signals(question.ranked, candidates.measures)
        scores, rivals = relevance.judged(scored)
        order: list[int] = np.lexsort((-candidates.measures.at, -scores)).tolist()
        picked = [(candidates.ids[i], candidates.kinds[i], float(scores[i])) for i in order]
        laps.end("rank")
        items = _read(connection, picked, wanted, now)
        laps.end("read")
    parts.check_serving()
    rows = {id: row for row, id in enumerate(candidates.ids)}
    return Found(
        items,
        {item.id: candidates.vectors[rows[item.id]] for item in items},
        lambda id: relevance.explain(scored, rows[id]),
        lambda id: relevance.packed(scored, rivals, rows[id]),
    )


@dataclass(frozen=True, slots=True)
class Hits:
    """What the searches found: rankings by source, kinds by id, BM25 scores by id."""

    rankings: dict[str, list[str]]
    kinds: dict[str, str]
    scores: dict[str, dict[str, float]]


def gather(parts: Parts, question: Question, wanted: Wanted, now: datetime) -> Hits:
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
            searches["meaning"] = parts.index.nearest(
                kind, question.dense, limit=depth, where=where
            )
        if wanted.mode != "semantic":
            searches["words"] = parts.index.matching(kind, question.text, limit=depth, where=where)
        if question.window and wanted.mode == "hybrid" and not (wanted.since or wanted.until):
            start, end = question.window.start, question.window.end
            then = replace(where, since=start.timestamp(), until=end.timestamp())
            searches["time"] = parts.index.nearest(kind, question.dense, limit=20, where=then)
        for source, hits in searches.items():
            rankings[f"{source} {kind}"] = [hit.id for hit in hits]
            kinds |= {hit.id: kind for hit in hits}
            scores.get(source, {}).update((hit.id, hit.score) for hit in hits)
    return Hits(rankings, kinds, scores)


def _fuse(
    connection: Connection, question: Question, hits: Hits, wanted: Wanted, now: datetime
) -> list[str]:
    """The candidates: the rankings fused, with those of the graph and of the memories' metadata."""
    if "memory" in wanted.kinds():
        for source, found in _of_memories(connection, hits, wanted, now).items():
            hits.rankings[source] = found
            hits.kinds.update((id, "memory") for id in found)
    weights = {name: WEIGHTS[name.split()[0]] for name in hits.rankings}
    best = [id for id in rank.fuse(hits.rankings, weights)[:BESIDE] if hits.kinds[id] == "turn"]
    if best:
        beside = talk.beside(
            connection,
            best,
            author=wanted.user,
            channel=wanted.channel,
            since=wanted.since,
            until=wanted.until,
        )
        hits.rankings["beside"] = beside
        hits.kinds.update((id, "turn") for id in beside)
    return rank.fuse(hits.rankings, weights)[: max(rank.CANDIDATES, wanted.limit)]


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
    if len(hits.kinds) >= rank.CANDIDATES or wanted.filter(collections, now).narrowed:
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


def _plain(connection: Connection, hits: Hits, wanted: Wanted, now: datetime) -> list[Recollection]:
    """One search alone: cosine as it is, BM25 squashed to 0-1 by s / (s + 5)."""
    scores = hits.scores["meaning"] or {id: s / (s + 5) for id, s in hits.scores["words"].items()}
    order = sorted(scores, key=lambda id: (-scores[id], id))
    return _read(
        connection,
        [(id, hits.kinds[id], max(0.0, min(1.0, scores[id]))) for id in order],
        wanted,
        now,
    )


def _read(
    connection: Connection,
    picked: Sequence[tuple[str, str, float]],
    wanted: Wanted,
    now: datetime,
) -> list[Recollection]:
    """The rows of the best, from the store: what the index showed but the store hides is left out."""
    found: list[Recollection] = []
    least = wanted.min_score or 0.0
    good = [each for rank, each in enumerate(picked) if each[2] >= least or rank < wanted.at_least]
    for start in range(0, len(good), wanted.limit):
        batch = good[start : start + wanted.limit]
        rows = _rows(connection, batch, wanted.scope.space, now)
        found += [replace(rows[id], score=score) for id, _, score in batch if id in rows]
        if len(found) >= wanted.limit:
            break
    return found[: wanted.limit]


def _rows(
    connection: Connection, batch: Sequence[tuple[str, str, float]], space: str, now: datetime
) -> dict[str, Recollection]:
    of_kind: dict[str, list[str]] = {}
    for id, kind, _ in batch:
        of_kind.setdefault(kind, []).append(id)
    rows: dict[str, Recollection] = {}
    if "memory" in of_kind:
        for memory in memories.get(connection, space, of_kind["memory"]).values():
            if memory.current and (memory.expires_at is None or memory.expires_at > now):
                rows[memory.id] = of_memory(memory)
    if "turn" in of_kind:
        external = talk.external_ids(connection, of_kind["turn"])
        for turn in talk.turns(connection, space, of_kind["turn"]).values():
            if turn.forgotten_at is None:
                rows[turn.id] = of_turn(turn, external.get(turn.id, ()))
    if "live" in of_kind:
        for message in talk.live(connection, space, of_kind["live"]):
            rows[message.id] = of_live(message)
    if "note" in of_kind:
        for piece in notes.get(connection, space, of_kind["note"]):
            rows[piece.id] = Recollection(
                piece.id, "note", piece_text(piece), 0.0, at=piece.modified_at
            )
    return rows


def of_memory(memory: Memory, score: float = 0.0) -> Recollection:
    """A memory as something found."""
    return Recollection(
        memory.id,
        memory.collection,
        memory.content,
        score,
        memory,
        channel=memory.channel,
        author=memory.user,
        at=memory.occurred_at or memory.created_at,
    )


def of_live(message: Message) -> Recollection:
    """A live message as something found."""
    return Recollection(
        message.id,
        "live",
        message.content,
        0.0,
        channel=message.channel,
        author=message.author,
        at=message.at,
        external_ids=(message.external_id,) if message.external_id else (),
    )


def of_turn(turn: Turn, external_ids: tuple[str, ...] = ()) -> Recollection:
    """A turn as something found."""
    return Recollection(
        turn.id,
        "turn",
        turn.content,
        0.0,
        channel=turn.channel or None,
        author=turn.author,
        at=turn.at,
        external_ids=external_ids,
    )
