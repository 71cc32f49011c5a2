"""Recall: request → query → candidates → fusion → features → signals → scoring → results → reading.

No language model is called. The query is analysed by rules and embedded once; several searches each give a
ranking; the rankings are fused; the best candidates, at most 120, are scored by a logistic model; the first results are
read with the query.
`hippocampe.retrieval.log` stores the outcome of the results in a turn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from math import inf

from hippocampe.engine import backlog
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.past import known_at
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.errors import EmbedderUnavailable
from hippocampe.language.datetimes import as_utc
from hippocampe.language.follow_ups import continues, is_plan
from hippocampe.language.questions import said_once
from hippocampe.language.search_terms import search_terms
from hippocampe.language.statement import parse
from hippocampe.language.tense import is_past
from hippocampe.language.text import content_words, words
from hippocampe.protocols import Vector
from hippocampe.retrieval import currency, results, scoring
from hippocampe.retrieval.answering import answer, is_to_companion
from hippocampe.retrieval.parts import parts_of, session_start
from hippocampe.retrieval.query import AnalysedQuery, analyse
from hippocampe.retrieval.raised import raised_by
from hippocampe.retrieval.ranking import rank
from hippocampe.retrieval.request import (
    MAX_QUERY_CHARACTERS,
    RecallRequest,
    check_category,
    check_request,
    check_subjects,
    check_types,
)
from hippocampe.retrieval.signals import SIGNALS
from hippocampe.retrieval.spelling import spelled
from hippocampe.store import listing, memories
from hippocampe.store.store import Store
from hippocampe.system.turnstile import Turnstile
from hippocampe.types import (
    Memory,
    Metadata,
    Mode,
    Recollection,
    Scope,
    Settings,
    Signal,
)
from hippocampe.validation import (
    MAX_CHOICES,
    MAX_QUESTION_CHARACTERS,
    check_flag,
    check_limit,
    check_list,
    check_metadata,
    check_text,
    clean_text,
)

READ, READ_WITHIN = 28, 4.5
"""The results that are read with the query: first those that are not far less likely than the best, and if none of them
is a likely answer, so many in all. Among some 265 statements, .92 of 296 questions held out have their answer among the
first 28, .84 among the first 12."""
AGAIN_SECONDS = 0.03
"""Time that must be left to search for a further part of a message; none is left while other turns wait."""
LIKELY = Settings().auto_retrieve_min_score
"""A part of a message with a result of this score is not searched for in other words."""
RAISED = 0.5
"""Factor of the score of what answers a question that a message raises. It is never more than likely: what bears on the
message itself comes first."""
RECALLED = 0.5
"""Minimum score of talk with all words of the topic that a query asks to recall."""
ALL_WORDS = 0.95
"""Share of the words of a query, by rarity, that counts as all."""
_TURNSTILE = Turnstile()
"""Searches compute one after the other: the threads of a process share one interpreter."""


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
    as_of: datetime | str | None = None,
    peek: bool = False,
) -> list[Recollection]:
    """Find what answers a question, best first, without a language model.

    Args:
        query: The question, or any words.
        scope: The space, and the user who asks.
        limit: At most this many, 1 to 1,000.
        collections: Among `memory`, `self`, `goal`, `summary`, `turn`, `live`, `note`.
        types: Only memories of these types.
        subjects: Only memories with any of these subjects.
        category: Only memories of this category.
        metadata: Only memories with all these pairs, equal in value and type.
        since: Earliest time, inclusive.
        until: Latest time, exclusive.
        user: Only memories, turns and messages of this user.
        channel: Only those of this channel.
        min_score: Minimum relevance, 0 to 1.
        mode: `hybrid`, `semantic` (by meaning only) or `text` (by words only).
        explain: Fill `Recollection.why`.
        as_of: Only what was known at this time: what was learnt by then, and not yet superseded,
            forgotten or expired. Memories edited in place since then have their present text. It takes
            longer, and does not count as a use of what is found.
        peek: Only look: this does not count as a use of what is found, which would keep it important.

    Raises:
        InvalidInput: An argument is invalid.
    """
    corpus = context.corpus
    query = clean_text(query, what="query", limit=MAX_QUESTION_CHARACTERS)
    query = query[:MAX_QUERY_CHARACTERS]
    speaker = Scope(user=user, channel=channel)
    request = check_request(
        RecallRequest(
            scope=scope,
            limit=check_limit(limit),
            collections=check_list("collections", collections, most=MAX_CHOICES),
            types=check_types(types),
            subjects=check_subjects(subjects),
            category=check_category(check_text("category", category)),
            since=as_utc(since, name="since"),
            until=as_utc(until, name="until"),
            user=speaker.user,
            channel=speaker.channel,
            min_score=min_score,
            mode=mode,
            read=READ,
            read_within=READ_WITHIN,
            typed=True,
        )
    )
    pairs = check_metadata(metadata) if metadata else {}
    moment = as_utc(as_of, name="as_of")
    check_flag("explain", explain)
    check_flag("peek", peek)
    backlog.catch_up_with_talk(context.writer)
    if moment is not None:
        with known_at(corpus, moment) as then:
            return search(then, query, _with_metadata(then.store, request, pairs), explain=explain)
    found = search(corpus, query, _with_metadata(corpus.store, request, pairs), explain=explain)
    if not peek:
        context.accesses.add([item.id for item in found if item.memory is not None])
    return found


def _with_metadata(store: Store, request: RecallRequest, pairs: Metadata) -> RecallRequest:
    if not pairs:
        return request
    with store.read() as connection:
        ids = listing.ids_with_metadata(connection, request.scope.space, pairs)
    return replace(request, ids=ids)


def search(
    corpus: Corpus, query: str, request: RecallRequest, *, explain: bool = False
) -> list[Recollection]:
    """Recall with a checked request, without counting the access.

    While the embedder is down, a hybrid search goes by words only.
    """
    try:
        found = find(corpus, query, request, Stopwatch())
    except EmbedderUnavailable as exc:
        if request.mode != "hybrid":
            raise
        corpus.outages.failed("embedder", exc)
        found = find(corpus, query, replace(request, mode="text"), Stopwatch())
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
        missing: The parts of the pipeline that were skipped.
        several: Whether the query asks for what several texts tell.
    """

    items: list[Recollection]
    vectors: Mapping[str, Vector]
    explain: Callable[[str], tuple[Signal, ...]]
    packed: Callable[[str], bytes]
    missing: tuple[str, ...] = ()
    several: bool = False


def find(corpus: Corpus, text: str, request: RecallRequest, stopwatch: Stopwatch) -> Found:
    """Run the pipeline; `stopwatch` times each stage.

    Search for each question of a typed text, and for each topic of a list.
    """
    text = spelled(corpus, said_once(text), request.scope.space) if request.typed else text
    topics, now = search_terms(text), corpus.store.now()

    @cache
    def analysed(text: str) -> AnalysedQuery:
        query = analyse(corpus, text, request.scope, now, embed=request.mode != "text")
        stopwatch.end("analyse")
        return query

    if request.mode != "hybrid":
        return _find(corpus, analysed(text), request, now, stopwatch, topics)
    asked = parts_of(corpus, text, request, now) if request.typed else [(text,)]
    parts = [(part, topics) for part in asked]
    parts += [((each,), (each,)) for each in topics if len(topics) > 1]
    found: dict[str, Found] = {}
    missing: tuple[str, ...] = ()
    said_since = session_start(corpus, request, now) if request.follows else None
    for part, of in parts:
        goes_on = continues(part[-1])
        for each in part:
            if each in found:
                continue
            if found and stopwatch.seconds_left() < AGAIN_SECONDS:
                missing = ("not all searched",)
                break
            found[each] = _find(corpus, analysed(each), request, now, stopwatch, of)
            if each != part[0] and part[0] in text:
                # It has words of what was said before, which resembles it and which the model has.
                items = found[each].items
                unsaid = [item for item in items if not _is_said(item, request, said_since)]
                found[each] = replace(found[each], items=unsaid)
            likely = [
                item
                for item in found[each].items
                if item.score >= LIKELY and not _only_names(item, each, part[-1])
            ]
            if any(goes_on or not _is_said(item, request, said_since) for item in likely):
                break
    every = list(found.values())
    apart = {"self"} < {*request.collections} and is_to_companion(text)
    if apart and stopwatch.seconds_left() >= AGAIN_SECONDS and _has_self(corpus, request, now):
        # "I keep the books" has no word of "what is your job?": much else comes before it.
        itself = replace(request, collections=("self",))
        every.append(_find(corpus, analysed(text), itself, now, stopwatch, topics))
    if request.follows and is_plan(text) and stopwatch.seconds_left() >= AGAIN_SECONDS:
        every += _of_raised(corpus, analysed, text, request, now, stopwatch)
    return every[0] if len(every) == 1 and not missing else _merged(every, request.limit, missing)


def _only_names(item: Recollection, named: str, asked: str) -> bool:
    """Return whether a result tells whom a question means: "our plumber is Luc Petit", "what did Luc Petit say?".

    What else is told of the plumber may not name him.
    """
    said = set(words(item.content))
    of_name, of_thing = set(content_words(named)), set(content_words(asked))
    return not (said.isdisjoint(of_name - of_thing) or said.isdisjoint(of_thing - of_name))


def _of_raised(
    corpus: Corpus,
    analysed: Callable[[str], AnalysedQuery],
    plan: str,
    request: RecallRequest,
    now: datetime,
    stopwatch: Stopwatch,
) -> list[Found]:
    """Results for the question that a plan raises, if it raises one."""
    question = raised_by(corpus.vocabulary, analysed(plan))
    if question is None:
        return []
    found = _find(corpus, replace(analysed(question), several=False), request, now, stopwatch, ())
    most = corpus.settings.of(request.scope.space).auto_retrieve_min_score
    items = [replace(each, score=min(RAISED * each.score, most)) for each in found.items]
    return [replace(found, items=items)]


def _has_self(corpus: Corpus, request: RecallRequest, now: datetime) -> bool:
    """Return whether the companion has said anything of itself: many have not, and each search takes some milliseconds."""
    with corpus.store.read() as connection:
        found = memories.highest(connection, "created_at", request.scope.space, "self", now, 1)
    return bool(found)


def _is_said(item: Recollection, request: RecallRequest, since: datetime | None) -> bool:
    """Return whether a result is talk of this session: a follow-up is searched for with its words, which it resembles."""
    here = item.kind == "turn" and item.channel == request.scope.channel
    return here and since is not None and item.at is not None and item.at >= since


def _merged(found: Sequence[Found], limit: int, missing: Sequence[str]) -> Found:
    """The results of several searches, each with its best score."""
    best: dict[str, tuple[Recollection, Found]] = {}
    for each in found:
        for item in each.items:
            if item.id not in best or item.score > best[item.id][0].score:
                best[item.id] = item, each
    items = sorted((item for item, _ in best.values()), key=lambda item: -item.score)[:limit]
    return Found(
        items,
        {id: vector for each in found for id, vector in each.vectors.items()},
        lambda id: best[id][1].explain(id),
        lambda id: best[id][1].packed(id),
        tuple(dict.fromkeys((*missing, *(part for each in found for part in each.missing)))),
        any(each.several for each in found),
    )


def _find(
    corpus: Corpus,
    query: AnalysedQuery,
    request: RecallRequest,
    now: datetime,
    stopwatch: Stopwatch,
    topics: Sequence[str],
) -> Found:
    if query.several and request.read:
        request = replace(request, read_within=inf)
    with _TURNSTILE.passed():
        scored = rank(corpus, query, request, now, stopwatch)
    # A change of embedder in between may have removed the vectors: then the step is run again.
    corpus.check_serving()
    if isinstance(scored, list):
        return Found(scored, {}, lambda _: (), lambda _: b"")
    read = answer(corpus, query, request, scored, stopwatch, topics)
    items, rows = read.items, scored.rows
    if query.topic is not None:
        covered = scored.measured[:, SIGNALS.index("covered")]
        items = [_recalled(item, float(covered[rows[item.id]])) for item in items]
    items = sorted(items, key=lambda item: -item.score)
    said = dict(zip((each.id for each in scored.items), read.log_odds.tolist(), strict=False))
    newer: Mapping[str, Memory] = scored.newer
    pairs = currency.corrections(corpus, query, scored, items, stopwatch) if said else []
    if query.former:
        items, replaced = currency.with_replaced(corpus, request, items, now)
        items = currency.former_first(items, [*pairs, *replaced])
        newer = {}
    else:
        items = currency.by_currency(items, scored.undecided)
        items = currency.by_currency(items, pairs, currency.ANSWERS)
        if said and not is_past(parse(query.spoken)):
            items = currency.without_replaced(items, scored.newer)
    stopwatch.end("currency")
    items = results.select(items, scored.ranked, request, newer)
    return Found(
        items,
        {item.id: scored.loaded.vectors[rows[item.id]] for item in items if item.id in rows},
        lambda id: scoring.explain(scored.measured, rows[id], said.get(id)) if id in rows else (),
        lambda id: (
            scoring.pack_signals(scored.measured, scored.rivals, rows[id], said.get(id))
            if id in rows
            else b""
        ),
        read.missing,
        query.several,
    )


def _recalled(item: Recollection, covered: float) -> Recollection:
    """A result of a query that asks to recall what was said: talk that has all its words is what it means."""
    if item.memory is not None or covered < ALL_WORDS or item.score >= RECALLED:
        return item
    return replace(item, score=RECALLED)
