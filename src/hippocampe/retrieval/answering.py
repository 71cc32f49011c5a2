"""Answering: the probability that each result answers the query, by its rank, the reader, and who tells it.

The reader sees two texts, and neither says when it was told or who is meant by "you": it is told both. What only
resembles an answer has a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.word_space import Floats
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.errors import ModelUnavailable
from hippocampe.language import humanize
from hippocampe.language.attributes import attributes_asked, with_attributes
from hippocampe.language.detect import language_of
from hippocampe.language.lexicon import load
from hippocampe.language.manners import is_lookup, is_task
from hippocampe.language.person import is_about_speaker, is_to_somebody
from hippocampe.language.questions import asks_anything, is_telling
from hippocampe.language.statement import parse
from hippocampe.language.tense import is_past
from hippocampe.language.text import fold
from hippocampe.language.values import with_ages
from hippocampe.retrieval import currency, limits, reading, scoring
from hippocampe.retrieval.query import AnalysedQuery
from hippocampe.retrieval.ranking import Scored
from hippocampe.retrieval.request import RecallRequest
from hippocampe.types import Recollection

ENOUGH: Final = 0.7
"""Minimum score of one of the results that are read first; then no others are read."""
CONFIRMED: Final = 0.5
"""Minimum score, after reading, of the one result that ranking is certain of; then only what may correct it can be raised."""
TELLING: Final = 1.5
"""Added to the reader's log-odds of all but turns for a message that asks nothing ("I'm cooking for Lena tonight"), where what
bears on it is less certain than an answer. A result that would have .1 then has .2. Chosen on worlds that the reader did not
learn from: to turns it brings 3 answers, 47 others, and 2 more to small talk."""
COMPARED: Final = 3.0
"""At most added to the reader's log-odds for search terms. Chosen on 170 terms and 754 near misses in worlds that the reader did
not learn from: with no limit, .38 of the near misses got something, now .24."""
ADDRESSED: Final = 1.0
"""Subtracted from the reader's log-odds for what the companion says of itself, if the message is read as one to it: that
makes all of it likelier, also for "do you know a good restaurant?"."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The results of a search after reading.

    Attributes:
        items: The results, with the probability that each answers.
        log_odds: The reader's, of the first ones.
        missing: The part of the pipeline that was skipped, if any.
    """

    items: list[Recollection]
    log_odds: Floats
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Presented:
    """A query and the first results, as the reader is to see them.

    Attributes:
        queries: The query, and perhaps its topic, or the question that it was part of.
        items: The first results, with the names and days that the reader needs.
        addressed: Whether the query is presented as one to the companion.
    """

    queries: list[str]
    items: list[Recollection]
    addressed: bool


def answer(
    corpus: Corpus,
    query: AnalysedQuery,
    request: RecallRequest,
    scored: Scored,
    stopwatch: Stopwatch,
    topics: Sequence[str],
) -> Answered:
    """Read the first results with the query, unless nothing is asked or one result is certain.

    Args:
        corpus: The corpus.
        query: The query.
        request: Its request.
        scored: The results of ranking.
        stopwatch: Limits the time for reading.
        topics: The search terms that make up the query, if any.
    """
    items, unread = scored.items, Answered(scored.items, np.zeros(0, np.float32))
    idle = query.features.nothing and not _is_request(query)
    if idle or not items[: scored.read]:
        return unread
    rows = [scored.rows[item.id] for item in items]
    measured = scored.measured[rows]
    ranked = np.array([x.score for x in items], np.float32)
    best = int(ranked.argmax())
    to_companion = _asks_companion(query)
    certain = not to_companion and reading.is_certain([score for *_, score in scored.ranked])
    # What may correct it may answer too, and has to be read.
    pairs = currency.correctable(query, scored, items) if certain else []
    newer = {new.id for _, new in pairs}
    of_other = scoring.is_of_other(measured).tolist()
    highest = limits.highest(corpus, query, request, items, of_other)
    enough = len(scored.ranked) >= reading.FEWEST_TO_BE_CERTAIN
    if certain and enough and not newer and ranked[best] <= highest[best]:
        return unread
    presented = _presented(corpus, query, request, items[: scored.read], to_companion)
    odds = _odds(query, items, measured, scored.odds[rows], to_companion)
    tells = request.typed and not (topics or query.features.nothing) and is_telling(query.spoken)

    def weighed(logits: Floats) -> tuple[Floats, Floats]:
        read = _adjusted(logits, presented, compare=bool(topics), tells=tells)
        # The reader cannot raise talk to which a rule applies.
        read = np.where(scoring.is_ruled_out(measured[: len(read)]), np.minimum(read, 0), read)
        return read, np.minimum(scoring.with_reader(ranked, odds, read), highest)

    try:
        logits = reading.read(
            corpus,
            presented.queries,
            request.scope.user,
            presented.items,
            stopwatch.seconds_left(),
            several=query.several,
            first=scored.first,
            is_enough=lambda logits: float(weighed(logits)[1].max()) >= ENOUGH,
        )
    except reading.NotRead:
        return replace(unread, missing=("not read",))
    except ModelUnavailable:
        return replace(unread, missing=("reader down",))
    read, scores = weighed(logits)
    if certain and scores[best] >= CONFIRMED:
        raised = [at == best or item.id in newer for at, item in enumerate(items)]
        scores = np.where(raised, scores, np.minimum(scores, ranked))
    stopwatch.end("reader")
    both = zip(items, scores.tolist(), strict=True)
    return Answered([replace(item, score=score) for item, score in both], read)


def _odds(
    query: AnalysedQuery,
    items: Sequence[Recollection],
    measured: Floats,
    odds: NDArray[np.float64],
    to_companion: bool,
) -> NDArray[np.float64]:
    """The log-odds of results by ranking, as they are combined with the reader's.

    Args:
        query: The query.
        items: The results.
        measured: Their signals, shape (items, signals).
        odds: Their log-odds from ranking, shape (items,).
        to_companion: Whether the query asks the companion about itself.
    """
    if query.features.nothing:
        odds = scoring.odds_for_task(measured, odds)
    if to_companion:
        # Their words match all the same: only the reader sees whose favourite colour is asked for.
        of_user = [x.kind != "self" and parse(x.content).subject in limits.OF_TELLER for x in items]
        odds = np.where(of_user, np.minimum(odds, 0), odds)
    return odds


def _is_request(query: AnalysedQuery) -> bool:
    """Return whether a query gives a task or asks for general knowledge: what has to be known for it may be in memory."""
    return is_task(query.spoken) or is_lookup(query.spoken)


def _asks_companion(query: AnalysedQuery) -> bool:
    named = bool(query.features.names)
    return not named and asks_anything(query.spoken) and is_to_companion(query.spoken)


def is_to_companion(text: str) -> bool:
    """Return whether a text addresses somebody and is not about its speaker."""
    return is_to_somebody(text) and not is_about_speaker(text)


def _presented(
    corpus: Corpus,
    query: AnalysedQuery,
    request: RecallRequest,
    items: list[Recollection],
    to_companion: bool,
) -> _Presented:
    """The query and the first results with what the reader cannot know: aliases, days, and whom "you" and "I" mean."""
    settings, spoken = corpus.settings.of(request.scope.space), query.spoken
    if called := query.called:
        # The reader knows no aliases: it reads the names of the query.
        items = [replace(x, author=called.get(fold(x.author or ""), x.author)) for x in items]
    if "when" in query.features.asks and is_past(parse(spoken)):
        items = [_with_day(each, settings.timezone) for each in items]
    if asked := query.features.values:
        items = [replace(each, content=with_ages(each.content, asked)) for each in items]
    if told := attributes_asked(spoken):
        items = [replace(x, content=with_attributes(x.content, spoken, told)) for x in items]
    itself = any(each.kind == "self" for each in items)
    addressed = to_companion or (itself and is_to_companion(spoken))
    if addressed:
        # Where the asker lives does not answer "where do you live?".
        companion = settings.companion_names[0].title()
        spoken = f"{companion}, {spoken}"
        items = [replace(x, author=companion) if x.kind == "self" else x for x in items]
    queries = [spoken, *filter(None, (query.topic, query.former))]
    return _Presented(queries, items, addressed)


def _with_day(item: Recollection, timezone: str) -> Recollection:
    """A result with its day, since this answers when something happened: "I quit futsal on November 1, 2026"."""
    said, *others = item.content.split("\n")
    if item.at is None:
        return item
    language = language_of(said)
    at = humanize.day(item.at, timezone=timezone, language=language)
    on: str = load(language, "time")["said"]["on"]
    return replace(item, content="\n".join((f"{said} {on.format(day=at)}", *others)))


def _adjusted(read: Floats, presented: _Presented, *, compare: bool, tells: bool) -> Floats:
    """The reader's log-odds, where they are too low or too high for the kind of query.

    It learnt from questions, so its log-odds for search terms are too low but well ordered: to `compare`, the highest
    is raised to 0 at most, and all others with it. Those of all but turns for a query that `tells` something are too low as well.
    """
    if compare and len(read):
        read = read - np.clip(read.max(), -COMPARED, 0)
    if tells:
        known = [each.kind != "turn" for each in presented.items[: len(read)]]
        read = read + np.where(known, TELLING, 0.0).astype(np.float32)
    if presented.addressed:
        itself = [each.kind == "self" for each in presented.items[: len(read)]]
        read = read - np.where(itself, ADDRESSED, 0.0).astype(np.float32)
    return read
