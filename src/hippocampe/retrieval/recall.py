"""How memories and talk are found: understand the query, gather candidates, rank, explain.

No model is asked. The query is embedded once; aliases and time expressions are read by rules; each
search gives a ranking; the rankings are fused; the best ninety or so are ranked by `hippocampe.retrieval.signals`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hippocampe.engine import backlog
from hippocampe.engine.context import Context
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.index.documents import fold_subjects
from hippocampe.language.datetimes import as_utc
from hippocampe.protocols import Vector
from hippocampe.retrieval import features, scoring, signals
from hippocampe.retrieval.candidates import candidates_of, gather
from hippocampe.retrieval.query import understand
from hippocampe.retrieval.request import MAX_QUERY_CHARACTERS, Wanted, check
from hippocampe.retrieval.results import of_one_search, read
from hippocampe.store import listing
from hippocampe.types import (
    Metadata,
    Mode,
    Recollection,
    Scope,
    Signal,
)
from hippocampe.validation import (
    check_limit,
    check_list,
    check_metadata,
    check_text,
    clean_text,
)


def recall(
    context: Context,
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
    query = clean_text(query, what="query", limit=100 * MAX_QUERY_CHARACTERS)[:MAX_QUERY_CHARACTERS]
    said = Scope(user=user, channel=channel)
    wanted = check(
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
        with context.store.read() as connection:
            ids = listing.ids_with_metadata(connection, scope.space, check_metadata(metadata))
        wanted = replace(wanted, ids=ids)
    backlog.catch_up_with_talk(context)
    found = search(context, query, wanted, explain=explain)
    context.note_access([item.id for item in found if item.memory is not None])
    return found


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
    context: Context, query: str, wanted: Wanted, *, explain: bool = False
) -> list[Recollection]:
    """The recall itself, on checked arguments, without counting the access."""
    found = find(context, query, wanted, Stopwatch())
    if not explain:
        return found.items
    return [replace(item, why=found.why(item.id)) for item in found.items]


def find(context: Context, query: str, wanted: Wanted, stopwatch: Stopwatch) -> Found:
    """Search, and keep what tells why; `laps` is told when each stage ends."""
    now = context.now()
    aliases = context.aliases(wanted.scope.space)
    embed = wanted.mode != "text"
    question = understand(context, query, wanted.scope, aliases, now, embed=embed)
    stopwatch.end("understand")
    hits = gather(context, question, wanted, now)
    stopwatch.end("search")
    with context.store.read() as connection:
        if wanted.mode != "hybrid":
            return Found(
                of_one_search(connection, hits, wanted, now), {}, lambda _: (), lambda _: b""
            )
        fused = candidates_of(connection, question, hits, wanted, now)
        stopwatch.end("fuse")
        candidates = features.load(
            context,
            connection,
            question.dense,
            fused,
            hits.kinds,
            hits.scores["words"],
            question.same,
            question.asker,
        )
        stopwatch.end("evidence")
        if not candidates.ids:
            context.check_serving()
            return Found([], {}, lambda _: (), lambda _: b"")
        scored = signals.signals(question.ranked, candidates.measures)
        scores, rivals = scoring.judged(scored)
        order: list[int] = np.lexsort((-candidates.measures.at, -scores)).tolist()
        picked = [(candidates.ids[i], candidates.kinds[i], float(scores[i])) for i in order]
        stopwatch.end("rank")
        items = read(connection, picked, wanted, now)
        stopwatch.end("read")
    context.check_serving()
    rows = {id: row for row, id in enumerate(candidates.ids)}
    return Found(
        items,
        {item.id: candidates.vectors[rows[item.id]] for item in items},
        lambda id: scoring.explain(scored, rows[id]),
        lambda id: scoring.packed(scored, rivals, rows[id]),
    )
