"""Currency: of results that contradict each other, the newer one holds.

Memories are compared with each other when they are written, and the pairs that nothing decides are kept. What one question
finds is compared again: talk ("we moved to Nice", said in passing) with "I live in Lyon", and two memories that both answer.
A question how something was before has the replaced ones first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations, islice
from typing import Final

import numpy as np

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.errors import ModelUnavailable
from hippocampe.language.questions import stated_in
from hippocampe.language.statement import parse
from hippocampe.language.tense import is_past
from hippocampe.language.text import fold, without_stop
from hippocampe.language.values import values_stated
from hippocampe.protocols import TALK
from hippocampe.retrieval import reading
from hippocampe.retrieval.query import AnalysedQuery
from hippocampe.retrieval.ranking import NEAR, Scored
from hippocampe.retrieval.request import RecallRequest
from hippocampe.retrieval.results import of_memory
from hippocampe.retrieval.scoring import log_odds
from hippocampe.store import memories
from hippocampe.types import Memory, Recollection

Pair = tuple[str, str, float]
"""The ids of two results, and the probability that one replaces the other."""

MOST_READ: Final = 2
"""Maximum pairs that are read for a search."""
ANSWERS: Final = 0.2
"""Minimum score of a result that answers: less is not injected, and misleads nobody."""
SHORT: Final = 160
"""Maximum characters of each text of a pair: what corrects in passing is short, and long texts take several times as long."""
REPLACES: Final = 0.6
"""Minimum probability, by the reader alone, that the newer one of two replaces the older one. Of the pairs of
`benchmarks/data/diaries`, 69 of 80 updates reach it, and 4 of 129 others, which were written to mislead."""
REPLACES_SURELY: Final = 0.85
"""The same of a newer one that does not answer, as most replies in a chat do not."""
_SAME_MATTER: Final = 0.75
"""Share of the remaining doubt that goes if one question finds both of an undecided pair: 85 % of those in the natural
records of `benchmarks/learn_decide.py` are corrections, however little probable among all pairs."""
_CLEARLY_BETTER: Final = 1.0
"""By so much more log-odds a replaced statement answers than what replaced it, if it is asked for what only it tells: so for
16 of 18 questions of that kind on 15 pairs. For 12 of 17 that both answer, it is less. Chosen on these."""

_FORMER_FIRST: Final = 0.9
"""Least share of the score of a replaced statement that what replaced it keeps in the answer to a question how it was before."""


def corrections(
    corpus: Corpus,
    query: AnalysedQuery,
    scored: Scored,
    items: Sequence[Recollection],
    stopwatch: Stopwatch,
) -> list[Pair]:
    """Find the results that a newer one replaces, if the older one answers, and the newer one does or one of both is talk.

    Args:
        corpus: The corpus.
        query: The query.
        scored: The results of ranking.
        items: The results.
        stopwatch: Limits the time for reading. Without any, or without the reader, no pair is found.

    Returns:
        Pairs of an older and a newer result; none for a query about the past, when the older one held.
    """
    pairs = correctable(query, scored, items)
    texts = [_lines(*pair) for pair in pairs]
    if not texts:
        return []
    try:
        time = reading.time_to_read(corpus, stopwatch.seconds_left())
        logits = reading.read_pairs(corpus, "relation", texts, *time)
    except (reading.NotRead, ModelUnavailable):
        return []
    found = zip(pairs, map(_share_of_update, logits), strict=False)
    copies = _copies(items)
    return [
        (each.id, newer.id, share)
        for (older, newer), share in found
        if share >= (REPLACES if newer.score >= ANSWERS else REPLACES_SURELY)
        for each in copies[_words(older)]
        if _age(each) < _age(newer)
    ]


def correctable(
    query: AnalysedQuery, scored: Scored, items: Sequence[Recollection]
) -> list[tuple[Recollection, Recollection]]:
    """The pairs of results worth reading: the older one answers, and the newer one may correct it.

    Args:
        query: The query.
        scored: The results of ranking.
        items: The results.

    Returns:
        At most `MOST_READ`, the most relevant first, and the best of those with the same words; none for a query about the past,
        when the older one held.
    """
    if is_past(parse(query.spoken)) and query.former is None:
        return []
    copies = _copies(items).values()
    told = [max(each, key=lambda item: item.score) for each in copies]
    if len(told) < 2:
        return []
    ages = {one.id: max(map(_age, each)) for one, each in zip(told, copies, strict=True)}
    # Talk always may correct.
    talk = {
        one.id
        for one, each in zip(told, copies, strict=True)
        if any(item.kind in TALK for item in each)
    }
    told.sort(key=lambda each: ages[each.id])
    vectors = np.stack([scored.loaded.vectors[scored.rows[each.id]] for each in told])
    nearness = (vectors @ vectors.T).tolist()
    pairs = [
        (older.score * max(newer.score, nearness[i][j]), older, newer)
        for (i, older), (j, newer) in combinations(enumerate(told), 2)
        if older.score >= ANSWERS
        and (newer.score >= ANSWERS or nearness[i][j] >= NEAR)
        and ages[older.id] != ages[newer.id]
    ]
    pairs.sort(key=lambda pair: pair[0], reverse=True)
    # The texts of few pairs are parsed: a question may find hundreds.
    readable = (
        (older, newer)
        for _, older, newer in pairs
        if (not talk.isdisjoint((older.id, newer.id)) or _may_be_replaced(query, older, newer))
        and _is_readable(older, newer)
    )
    return list(islice(readable, MOST_READ))


def _copies(items: Sequence[Recollection]) -> dict[str, list[Recollection]]:
    """The results that tell something, by their words: a memory may repeat those of the talk that it was told in."""
    copies: dict[str, list[Recollection]] = {}
    for each in items:
        if each.at is not None and each.kind in ("memory", *TALK):
            copies.setdefault(_words(each), []).append(each)
    return copies


def _words(item: Recollection) -> str:
    said = item.content if item.memory else reading.without_reply(item) or item.content
    return without_stop(fold(said))


def _may_be_replaced(query: AnalysedQuery, older: Recollection, newer: Recollection) -> bool:
    """Return whether a question casts doubt on a memory that answers it, because of a newer one.

    Both were kept when the newer one was written: both must answer the question, and it must not ask for several, nor for a
    value that the older one alone states: an age corrects no date of birth.
    """
    if newer.score < ANSWERS or (query.several and query.former is None):
        return False
    asked = query.features.values & values_stated(older.content)
    return not asked & ~values_stated(newer.content)


def _is_readable(older: Recollection, newer: Recollection) -> bool:
    """Return whether both of a pair state something, short enough to be read fast, and about the same thing.

    That is so if both answer the same query. "Congrats, that's great news" is a reply to anything.
    """
    texts = _stated(older), _stated(newer)
    if not all(0 < len(text) <= SHORT for text in texts):
        return False
    one, other = map(parse, texts)
    return newer.score >= ANSWERS or not one.content_stems.isdisjoint(other.content_stems)


def _stated(item: Recollection) -> str:
    if item.memory is not None:
        return item.content
    return stated_in(reading.without_reply(item) or item.content)


def _lines(older: Recollection, newer: Recollection) -> tuple[str, str]:
    """The texts of a pair, with the names of their users if these are two: whose home "I moved to Nice" changes."""
    texts = _stated(older), _stated(newer)
    if older.author == newer.author:
        return texts
    names = reading.names_of([older.author, newer.author], texts)
    one, other = (
        reading.line(names.get(each.author), text)
        for each, text in zip((older, newer), texts, strict=True)
    )
    return one, other


def _age(item: Recollection) -> tuple[datetime, bool]:
    """A key that orders results, oldest first; of one moment, as in a list without dates, what was replaced comes first."""
    return _at(item), item.memory is None or item.memory.current


def _at(item: Recollection) -> datetime:
    """The time when a result was told; of a repeated statement, when it was repeated."""
    if item.memory is not None and not item.memory.current:
        return item.memory.created_at
    if item.memory is not None:
        return max(item.memory.created_at, item.memory.updated_at)
    assert item.at is not None
    return item.at


def _share_of_update(logits: reading.Floats) -> float:
    """The probability of `update`, the first of the relations."""
    powers = np.exp(logits - logits.max())
    return float(powers[0] / powers.sum())


def by_currency(
    found: list[Recollection], pairs: Sequence[Pair], least: float = 0.0
) -> list[Recollection]:
    """Results with the scores of pairs by what is likely current.

    If the newer one replaces the older one with probability p, it answers with p times the probability of the older
    one, which answers with 1 - p times its own. A newer one that answers by itself is about the same matter: it replaces
    the older one all the more likely. One that does not answer leaves the older one as it is: "what's my cat called?" needs
    "my cat is called Ink" beside "Ink died".

    Args:
        found: The results, best first.
        pairs: Undecided pairs, or `corrections`.
        least: Minimum score of a newer one that answers.
    """
    if not pairs:
        return found
    told, scores = {each.id: each for each in found}, {each.id: each.score for each in found}
    for one, other, probability in pairs:
        older, newer = sorted((one, other), key=lambda id: (_age(told[id]), id))
        answers = scores[newer]
        likely = probability + (1 - probability) * _SAME_MATTER * answers
        scores[newer] = max(answers, likely * scores[older])
        if answers >= least:
            scores[older] *= 1 - likely
    return _with_scores(found, scores)


def without_replaced(found: list[Recollection], newer: Mapping[str, Memory]) -> list[Recollection]:
    """Results that were read, where replaced statements that answer no better than what replaced them have lower scores.

    One is kept for what its successor does not tell. It answers with its own probability times that of the successor being
    no answer. So does the talk that has its words.

    Args:
        found: The results, best first.
        newer: Their `successors`.
    """
    scores = {each.id: each.score for each in found}
    told = {each.id: each for each in found}
    copies = _copies(found) if newer else {}
    for id in scores.keys() & newer.keys():
        successor = scores.get(newer[id].id, 0.0)
        for each in copies.get(_words(told[id]), ()):
            own, other = log_odds(np.array([scores[each.id], successor], np.float32))
            older = each.id == id or _at(each) < newer[id].created_at
            if older and each.id != newer[id].id and own - other < _CLEARLY_BETTER:
                scores[each.id] *= 1 - successor
    return _with_scores(found, scores)


def with_replaced(
    corpus: Corpus, request: RecallRequest, found: Sequence[Recollection], now: datetime
) -> tuple[list[Recollection], list[Pair]]:
    """Results with the statements that those which answer replaced, also those that recall leaves out; and the pairs of both.

    Args:
        corpus: The corpus.
        request: The request. Its filters would have to hold for what recall leaves out, so with any, none is added.
        found: The results.
        now: The time of the query.
    """
    told = {each.id: each for each in found}
    answering = [each.memory for each in found if each.memory and each.score >= ANSWERS]
    with corpus.store.read() as connection:
        replaced = memories.replaced_by(connection, answering)
    for old in replaced:
        item = of_memory(old)
        admitted = request.admits is None or request.admits(item)
        if admitted and not (request.is_filtered or old.has_expired(now)):
            told.setdefault(old.id, item)
    pairs = [(old.id, old.superseded_by, 1.0) for old in replaced if old.superseded_by]
    return list(told.values()), [pair for pair in pairs if pair[0] in told and pair[1] in told]


def former_first(found: Sequence[Recollection], pairs: Sequence[Pair]) -> list[Recollection]:
    """Results of a question how something was before: what was replaced, each in front of what replaced it.

    Args:
        found: The results.
        pairs: Of an older result that was likely replaced, and the newer one.
    """
    scores = {each.id: each.score for each in found}
    for older, newer, _ in pairs:
        best, least = max(scores[older], scores[newer]), min(scores[older], scores[newer])
        if best >= ANSWERS:
            scores[older], scores[newer] = best, max(least, best * _FORMER_FIRST)
    return _with_scores(found, scores)


def _with_scores(found: Sequence[Recollection], scores: Mapping[str, float]) -> list[Recollection]:
    weighed = [replace(each, score=scores[each.id]) for each in found]
    return sorted(weighed, key=lambda each: -each.score)
