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

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.word_space import Floats
from hippocampe.engine import backlog
from hippocampe.engine.caches import CachedRows
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.past import known_at
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.errors import EmbedderUnavailable, ModelUnavailable
from hippocampe.language import humanize
from hippocampe.language.datetimes import as_utc
from hippocampe.language.detect import language_of
from hippocampe.language.follow_ups import continues
from hippocampe.language.lexicon import load
from hippocampe.language.person import is_about_speaker, is_to_somebody
from hippocampe.language.questions import asks_anything, is_telling
from hippocampe.language.search_terms import search_terms
from hippocampe.language.statement import parse
from hippocampe.language.tense import is_past
from hippocampe.language.text import fold
from hippocampe.protocols import Vector
from hippocampe.retrieval import candidates, features, limits, reading, results, scoring, signals
from hippocampe.retrieval.parts import parts_of, session_start
from hippocampe.retrieval.query import AnalysedQuery, analyse
from hippocampe.retrieval.request import (
    MAX_QUERY_CHARACTERS,
    RecallRequest,
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

READ, READ_WITHIN = 16, 8.0
"""The first results, which are read with the query: at most so many, and none that is far less likely than the best. Of 670
questions of four collections, as many get their answer as with all 16, and 7 % fewer pairs are read."""
SEVERAL_READ, SEVERAL_FACTOR = 24, 2
"""The first results of a query that asks for what several texts tell, for every caller, and the factor of the time to read.
Of 719 such questions held out, all answers are among the first 8 in .66, the first 16 in .79, the first 24 in .88."""

AGAIN_SECONDS = 0.03
"""Time that must be left to search for a further part of a message; none is left while other turns wait."""
LIKELY = Settings().auto_retrieve_min_score
"""A part of a message with a result of this score is not searched for in other words."""
TELLING = 1.5
"""Added to the reader's log-odds for a message that asks nothing ("I'm cooking for Lena tonight"), where what bears on it is
less certain than an answer. A result that would have .1 then has .2. Chosen on worlds that the reader did not learn from."""
ADDRESSED = 1.0
"""Subtracted from the reader's log-odds for what the companion says of itself, if the message is read as one to it: that
makes all of it likelier, also for "do you know a good restaurant?"."""
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
            category=check_text("category", category),
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


def _unscored(items: list[Recollection]) -> Found:
    return Found(items, {}, lambda _: (), lambda _: b"")


@dataclass(frozen=True, slots=True)
class Scored:
    """Scored candidates.

    Attributes:
        items: The first of them, loaded: those to read, best first, then the others, best first.
        ranked: All of them in the same order.
        odds: Their log-odds if they are read, as from `scoring.odds_to_read`.
        loaded: All of them with their features.
        measured: Their signals, shape (n, signals).
        rivals: As from `scoring.score`.
        rows: The row of each of them in `measured`, by id.
        read: The number of the first to read.
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
    read: int
    undecided: Sequence[tuple[str, str, float]]
    newer: Mapping[str, Memory]


def find(corpus: Corpus, text: str, request: RecallRequest, stopwatch: Stopwatch) -> Found:
    """Run the pipeline; `stopwatch` times each stage.

    Search for each question of a typed text, and for each topic of a list.
    """
    text = spelled(corpus, text, request.scope.space) if request.typed else text
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
            likely = [item for item in found[each].items if item.score >= LIKELY]
            if any(goes_on or not _is_said(item, request, said_since) for item in likely):
                break
    every = list(found.values())
    apart = {"self"} < {*request.collections} and _is_to_companion(text)
    if apart and stopwatch.seconds_left() >= AGAIN_SECONDS and _has_self(corpus, request, now):
        # "I keep the books" has no word of "what is your job?": much else comes before it.
        itself = replace(request, collections=("self",))
        every.append(_find(corpus, analysed(text), itself, now, stopwatch, topics))
    return every[0] if len(every) == 1 and not missing else _merged(every, request.limit, missing)


def _has_self(corpus: Corpus, request: RecallRequest, now: datetime) -> bool:
    """Return whether the companion has said anything of itself: many have not, and each search takes some milliseconds."""
    with corpus.store.read() as connection:
        found = memories.highest(connection, "created_at", request.scope.space, "self", now, 1)
    return bool(found)


def _is_to_companion(text: str) -> bool:
    return is_to_somebody(text) and not is_about_speaker(text)


def _asks_companion(query: AnalysedQuery) -> bool:
    named = bool(query.features.names)
    return not named and asks_anything(query.spoken) and _is_to_companion(query.spoken)


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
        request = replace(request, read=SEVERAL_READ, read_within=inf)
    with _TURNSTILE.passed():
        scored = rank(corpus, query, request, now, stopwatch)
    # A change of embedder in between may have removed the vectors: then the step is run again.
    corpus.check_serving()
    if isinstance(scored, Found):
        return scored
    items, read = scored.items, np.zeros(0, np.float32)
    rows = scored.rows
    tells = request.typed and not topics and is_telling(query.spoken)
    missing: tuple[str, ...] = ()
    certain = reading.is_certain([score for *_, score in scored.ranked])
    to_companion = _asks_companion(query)
    if not query.features.nothing and (to_companion or not certain):
        items, read, missing = _read(
            corpus,
            query,
            request,
            scored,
            stopwatch,
            compare=bool(topics),
            tells=tells,
            to_companion=to_companion,
        )
    if query.topic is not None:
        covered = scored.measured[:, SIGNALS.index("covered")]
        items = [_recalled(item, float(covered[rows[item.id]])) for item in items]
    items = sorted(items, key=lambda item: -item.score)
    said = dict(zip((each.id for each in scored.items), read.tolist(), strict=False))
    items = results.by_currency(items, scored.undecided)
    if said and not is_past(parse(query.spoken)):
        items = results.without_replaced(items, scored.newer)
    items = results.select(items, scored.ranked, request, scored.newer)
    return Found(
        items,
        {item.id: scored.loaded.vectors[rows[item.id]] for item in items},
        lambda id: scoring.explain(scored.measured, rows[id], said.get(id)),
        lambda id: scoring.pack_signals(scored.measured, scored.rivals, rows[id], said.get(id)),
        missing,
        query.several,
    )


def rank(
    corpus: Corpus,
    query: AnalysedQuery,
    request: RecallRequest,
    now: datetime,
    stopwatch: Stopwatch,
) -> Found | Scored:
    """Search, and score the candidates; the results, if the search is by words or by meaning only, or has none."""
    hits = candidates.search(corpus.index, query, request, now)
    stopwatch.end("search")
    cached = None if corpus.rows is None else CachedRows(corpus.rows)
    with corpus.store.read() as connection:
        if request.mode != "hybrid":
            return _unscored(results.of_single_search(connection, hits, request, now))
        ids = candidates.fuse(connection, hits, request, now)
        stopwatch.end("fuse")
        loaded = features.load(corpus.vocabulary, connection, query, ids, hits, cached)
        stopwatch.end("features")
        if not loaded.ids:
            return _unscored([])
        measured = signals.measure(query.features, loaded.features)
        scores, rivals = scoring.score(measured)
        odds = scoring.odds_to_read(measured, scores)
        latest = -loaded.features.at
        request = replace(request, read=_worth_reading(odds, loaded.kinds, request))
        to_read: list[int] = np.lexsort((latest, -odds)).tolist()[: request.read]
        others: list[int] = np.lexsort((latest, -scores)).tolist()
        order = dict.fromkeys([*to_read, *others])
        probabilities: list[float] = scores.tolist()
        ranked = [(loaded.ids[i], loaded.kinds[i], probabilities[i]) for i in order]
        ranked = results.live_among(ranked, request.read)
        stopwatch.end("score")
        items = results.load(connection, ranked, request, now)
        undecided = results.undecided(connection, items, request.scope.space)
        newer = results.successors(connection, items)
        stopwatch.end("read")
    rows = {id: row for row, id in enumerate(loaded.ids)}
    return Scored(
        items, ranked, loaded, measured, odds, rivals, rows, request.read, undecided, newer
    )


def _worth_reading(odds: NDArray[np.float64], kinds: Sequence[str], request: RecallRequest) -> int:
    """The number of results to read: the likely ones, and the best of live talk, about which the odds say little."""
    likely = int((odds >= odds.max() - request.read_within).sum())
    live = min(kinds.count("live"), results.LIVE_READ)
    return min(request.read, max(likely, reading.FEWEST) + live)


def _recalled(item: Recollection, covered: float) -> Recollection:
    """A result of a query that asks to recall what was said: talk that has all its words is what it means."""
    if item.memory is not None or covered < ALL_WORDS or item.score >= RECALLED:
        return item
    return replace(item, score=RECALLED)


def _with_day(item: Recollection, timezone: str) -> Recollection:
    """A result with its day, since this answers when something happened: "I quit futsal on November 1, 2026"."""
    said, *others = item.content.split("\n")
    if item.at is None:
        return item
    language = language_of(said)
    at = humanize.day(item.at, timezone=timezone, language=language)
    on: str = load(language, "time")["said"]["on"]
    return replace(item, content="\n".join((f"{said} {on.format(day=at)}", *others)))


def _read(
    corpus: Corpus,
    query: AnalysedQuery,
    request: RecallRequest,
    scored: Scored,
    stopwatch: Stopwatch,
    *,
    compare: bool,
    tells: bool,
    to_companion: bool,
) -> tuple[list[Recollection], Floats, tuple[str, ...]]:
    """The results with their scores after reading, the reader's log-odds, and the missing parts.

    A text answers if it answers the query as it was put, or what it asks to recall. The reader is trained on questions, so
    its log-odds for search terms are too low but well ordered: to `compare`, the highest counts as 0. Those for a query
    that `tells` something are too low as well. It cannot raise talk to which a rule applies.
    What users say of themselves answers no question `to_companion`.
    """
    items, nothing = scored.items, np.zeros(0, np.float32)
    first = items[: scored.read]
    if called := query.called:
        # The reader knows no aliases: it reads the names of the query.
        first = [
            replace(each, author=called.get(fold(each.author or ""), each.author)) for each in first
        ]
    if not first:
        return items, nothing, ()
    if "when" in query.features.asks and is_past(parse(query.spoken)):
        timezone = corpus.settings.of(request.scope.space).timezone
        first = [_with_day(each, timezone) for each in first]
    spoken, own = query.spoken, [each.kind == "self" for each in first]
    addressed = to_companion or (any(own) and _is_to_companion(spoken))
    if addressed:
        # The reader knows whom "you" and "I" mean if it is told: where the asker lives does not answer "where do you live?".
        companion = corpus.settings.of(request.scope.space).companion_names[0].title()
        spoken = f"{companion}, {spoken}"
        first = [replace(x, author=companion) if x.kind == "self" else x for x in first]
    try:
        queries = [spoken] if query.topic is None else [spoken, query.topic]
        factor = SEVERAL_FACTOR if query.several else 1
        seconds = factor * reading.SHARE_OF_TIME * stopwatch.seconds_left()
        read = reading.read(corpus, queries, request.scope.user, first, seconds)
    except reading.NotRead:
        return items, nothing, ("not read",)
    except ModelUnavailable:
        return items, nothing, ("reader down",)
    if compare and len(read):
        read = read - read.max()
    if tells:
        read = read + TELLING
    if addressed:
        read = read - np.where(own[: len(read)], ADDRESSED, 0.0).astype(np.float32)
    rows = [scored.rows[item.id] for item in items]
    ruled_out = scoring.is_ruled_out(scored.measured[rows[: len(read)]])
    read = np.where(ruled_out, np.minimum(read, 0), read)
    unread, odds = np.array([item.score for item in items], np.float32), scored.odds[rows]
    if to_companion:
        # Their words match all the same: only the reader sees whose favourite colour is asked for.
        of_user = [x.kind != "self" and parse(x.content).subject in limits.OF_TELLER for x in items]
        odds = np.where(of_user, np.minimum(odds, 0), odds)
    scores = scoring.with_reader(unread, odds, read)
    of_other = scoring.is_of_other(scored.measured[rows]).tolist()
    scores = np.minimum(scores, limits.highest(corpus, query, request, items, of_other))
    stopwatch.end("reader")
    said = [replace(item, score=float(score)) for item, score in zip(items, scores, strict=True)]
    return said, read, ()
