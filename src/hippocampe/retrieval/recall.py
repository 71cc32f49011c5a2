"""Recall: request → query → candidates → fusion → features → signals → scoring → results.

No language model is called. The query is analysed by rules and embedded once; several searches each give a
ranking; the rankings are fused; the best candidates, at most 120, are scored by a logistic model.
`hippocampe.retrieval.log` stores the outcome of the results in a turn.
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
from hippocampe.retrieval import candidates, features, results, scoring, signals
from hippocampe.retrieval.query import AnalysedQuery, analyse
from hippocampe.retrieval.request import MAX_QUERY_CHARACTERS, RecallRequest, check_request
from hippocampe.store import listing
from hippocampe.types import (
    Metadata,
    Mode,
    Recollection,
    Scope,
    Signal,
)
from hippocampe.validation import (
    MAX_CHOICES,
    MAX_QUESTION_CHARACTERS,
    MAX_SUBJECTS,
    check_flag,
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
    """Find the items relevant to a query, best first, and count the access.

    Raises:
        InvalidInput: An argument cannot be used.
    """
    query = clean_text(query, what="query", limit=MAX_QUESTION_CHARACTERS)
    query = query[:MAX_QUERY_CHARACTERS]
    said = Scope(user=user, channel=channel)
    request = check_request(
        RecallRequest(
            scope=scope,
            limit=check_limit(limit),
            collections=check_list("collections", collections, most=MAX_CHOICES),
            types=None if types is None else check_list("types", types, most=MAX_CHOICES),
            subjects=None
            if subjects is None
            else fold_subjects(check_list("subjects", subjects, most=MAX_SUBJECTS)),
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
        request = replace(request, ids=ids)
    backlog.catch_up_with_talk(context)
    found = search(context, query, request, explain=check_flag("explain", explain))
    context.note_access([item.id for item in found if item.memory is not None])
    return found


def search(
    context: Context, query: str, request: RecallRequest, *, explain: bool = False
) -> list[Recollection]:
    """Recall with a checked request, without counting the access."""
    found = find(context, query, request, Stopwatch())
    if not explain:
        return found.items
    return [replace(item, why=found.explain(item.id)) for item in found.items]


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a recall, best first.

    Attributes:
        items: The results, without their `why`.
        vectors: The vectors of the items by id; empty for a single search.
        explain: Gives the signals of an item by its id.
        packed: Gives the same as bytes for the log, as `scoring.pack_signals` does.
    """

    items: list[Recollection]
    vectors: Mapping[str, Vector]
    explain: Callable[[str], tuple[Signal, ...]]
    packed: Callable[[str], bytes]


def _unscored(items: list[Recollection]) -> Found:
    return Found(items, {}, lambda _: (), lambda _: b"")


def find(context: Context, text: str, request: RecallRequest, stopwatch: Stopwatch) -> Found:
    """Run the pipeline; `stopwatch` times each stage."""
    now = context.now()
    query = analyse(context, text, request.scope, now, embed=request.mode != "text")
    stopwatch.end("analyse")
    with context.searching.passed():
        return _search(context, query, request, now, stopwatch)


def _search(
    context: Context,
    query: AnalysedQuery,
    request: RecallRequest,
    now: datetime,
    stopwatch: Stopwatch,
) -> Found:
    hits = candidates.search(context, query, request, now)
    stopwatch.end("search")
    with context.store.read() as connection:
        if request.mode != "hybrid":
            return _unscored(results.of_single_search(connection, hits, request, now))
        ids = candidates.fuse(connection, query, hits, request, now)
        stopwatch.end("fuse")
        loaded = features.load(context, connection, query, ids, hits)
        stopwatch.end("features")
        if not loaded.ids:
            context.check_serving()
            return _unscored([])
        measured = signals.measure(query.features, loaded.features)
        scores, rivals = scoring.score(measured)
        order: list[int] = np.lexsort((-loaded.features.at, -scores)).tolist()
        ranked = [(loaded.ids[i], loaded.kinds[i], float(scores[i])) for i in order]
        stopwatch.end("score")
        items = results.load(connection, ranked, request, now)
        stopwatch.end("read")
    # A change of embedder in between may have removed the vectors: then the step is run again.
    context.check_serving()
    rows = {id: row for row, id in enumerate(loaded.ids)}
    return Found(
        items,
        {item.id: loaded.vectors[rows[item.id]] for item in items},
        lambda id: scoring.explain(measured, rows[id]),
        lambda id: scoring.pack_signals(measured, rivals, rows[id]),
    )
