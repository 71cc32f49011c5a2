"""Signals: measures of the match of each candidate with the query, from the features of both. Pure.

`hippocampe.retrieval.scoring` turns the signals into a probability. A signal that does not apply (a
fact has no previous turn) is NaN and contributes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.word_space import Floats, Integers, is_literal
from hippocampe.language.text import words
from hippocampe.language.topics import GREETING, topic_numbers
from hippocampe.retrieval.late_interaction import SAME, Matches, late, match
from hippocampe.retrieval.measured import (
    NEIGHBOUR_WEIGHTS,
    CandidateFeatures,
    Column,
    QueryFeatures,
)
from hippocampe.retrieval.request_fit import fit_signals, with_meanings

MIN_DOCUMENTS: Final = 30
"""Lower bound of the number of texts of a space. With one text, a word in it weighs .29 and a word not in it
1.39, so a single fact would fail every question in other words. Set by hand, not tuned. With `LONE_RUNNER_UP`,
the share of held-out facts found when alone rises from .03 to .65."""

LONE_RUNNER_UP: Final = 0.5
"""Assumed strength of a runner-up when there is one candidate. Otherwise `ahead` would be absent,
which costs a right answer 3 to 5 log-odds. Chosen between the strength of unrelated candidates (up
to .3) and of right ones (from 1.1). Set by hand, not tuned."""

WINDOW_SLACK: Final = (2 * 86_400.0, 10 * 86_400.0)
"""Fewest and most seconds after a window in which a text still counts."""
MIN_FOR_WINDOW: Final = 10
"""Below this number of candidates, a match of the time window is weak evidence."""
SIGNALS: Final = (
    *("late", "passage", "phrase", "density", "mass", "exact", "soft", "rarest", "dense"),
    *("window", "bm25", "before", "after", "before_2", "session", "session_top", "covered"),
    *("ahead", "length", "length_extreme"),
    *("length_if_first_person", "question", "answers", "answers_before", "named", "other_named"),
    *("date_asked", "date_missing", "number_asked", "number_missing", "place_asked"),
    *("place_missing", "says_no_more", "chatter", "best_late", "query_length", "typical_length"),
    *("beside_best", "met_both", "value_missing", "value_of_other", "name_missing"),
    *("about_other", "met_anywhere", "best_covered", "best_dense", "pool", "personal"),
    *("nobody", "asks_nothing", "in_window", "importance", "use", "of_other"),
)
"""The columns of `measure`, in order."""


def rarity(frequencies: Integers, documents: int) -> Floats:
    """Inverse document frequency of words, as in BM25: ln(1 + (N - f + 0.5) / (f + 0.5)).

    N is at least `MIN_DOCUMENTS`.

    Args:
        frequencies: Shape (words,): in how many texts of the space each word occurs.
        documents: Number of texts in the space.
    """
    counts = np.asarray(frequencies, dtype=np.float32)
    return np.log(np.maximum(max(documents, MIN_DOCUMENTS), counts) + 1.0) - np.log(counts + 0.5)


def measure(query: QueryFeatures, candidates: CandidateFeatures) -> Floats:
    """Measure every signal of every candidate, at least one: shape (n, len(SIGNALS)), NaN if absent."""
    n = len(candidates.dense)
    literal = np.array([is_literal(word) for word in query.words], dtype=bool)
    found = match(query.vectors, query.rarity, literal, candidates.vectors, candidates.texts, n)
    found = _with_owners(query, candidates, found)
    near = _with_neighbours(candidates, found)
    met = _word_signals(query, candidates, found, near)
    beside = _place_signals(query, candidates, found, near)
    met_words = np.maximum(found.words[:n] ** 3, _met(query, candidates))
    met_words = with_meanings(query, candidates, met_words)
    measured: dict[str, Column] = {
        **met,
        **beside,
        **_kind_signals(query, candidates, beside["before"]),
        **_topic_signals(query, candidates, found, met_words),
        **fit_signals(query, candidates, found, met_words),
        "best_late": float(met["late"].max()),
    }
    table = np.empty((n, len(SIGNALS)), np.float32)
    for column, name in enumerate(SIGNALS):
        table[:, column] = measured[name]
    return table


def _with_owners(query: QueryFeatures, candidates: CandidateFeatures, found: Matches) -> Matches:
    """The matches, where a memory in the first person also has the name of its user."""
    if not any(candidates.owners):
        return found
    matched = found.words.copy()
    for owner in {owner for owner in candidates.owners if owner}:
        name = words(owner)
        asked = [place for place, word in enumerate(query.words) if word in name]
        if asked:
            rows = [row for row, each in enumerate(candidates.owners) if each == owner]
            matched[np.ix_(rows, asked)] = 1.0
    return replace(found, words=matched)


def _with_neighbours(candidates: CandidateFeatures, found: Matches) -> Floats:
    """The matches of each candidate, or those of the turns beside, which weigh less: shape (n, words)."""
    near = found.words[: len(candidates.dense)]
    for column, share in enumerate(NEIGHBOUR_WEIGHTS):
        rows = candidates.neighbours[:, column]
        near = np.maximum(near, np.where(rows[:, None] >= 0, found.words[rows], 0.0) * share)
    return near


def _lengths(candidates: CandidateFeatures) -> Integers:
    """Shape (n,): the number of words of each candidate."""
    return np.diff(candidates.texts.starts[: len(candidates.dense) + 1])


def _weight_of(met: NDArray[np.bool_], weights: Floats) -> Floats:
    """The weight of the words that each candidate has, shape (n,).

    A product of booleans and floats warns of invalid values now and then, whatever they are.
    """
    return np.where(met, weights, np.float32(0)).sum(axis=1)


def _word_signals(
    query: QueryFeatures, candidates: CandidateFeatures, found: Matches, near: Floats
) -> dict[str, Floats]:
    weights, own = query.rarity, found.words[: len(near)]
    total = max(float(weights.sum()), 1e-9)
    return {
        "late": late(own, weights),
        "passage": found.passages,
        "phrase": found.phrases,
        "density": found.mass / np.maximum(_lengths(candidates).astype(np.float32), 1.0),
        "mass": np.log1p(found.mass),
        "exact": _weight_of(own >= SAME, weights) / total,
        "soft": _weight_of(near > 0.55, weights) / total,
        "rarest": own[:, int(weights.argmax())] ** 3,
        "dense": candidates.dense,
        "window": np.where(np.isnan(candidates.window), candidates.dense, candidates.window),
        "bm25": candidates.bm25 / total,
    }


def _place_signals(
    query: QueryFeatures, candidates: CandidateFeatures, found: Matches, near: Floats
) -> dict[str, Floats]:
    """Measure the match of the neighbouring turns and of the rest of the session with the query."""
    scores = late(found.words, query.rarity)
    rows = candidates.neighbours
    beside = np.where(rows >= 0, scores[rows], np.nan)
    # A long text matches more by chance.
    damping = (1.0 + 0.25 * np.log1p(_lengths(candidates))).astype(np.float32)
    second, top = _session(candidates.session, late(near, query.rarity) / damping)
    return {
        "before_2": beside[:, 0],
        "before": beside[:, 1],
        "after": beside[:, 2],
        "session": second,
        "session_top": top,
    }


def _session(session: Integers, strength: Floats) -> tuple[Floats, Floats]:
    """For each candidate, the best other one of its session, and the mean of the session's best four."""
    second = np.full(len(session), np.nan, dtype=np.float32)
    top = second.copy()
    order = np.lexsort((-strength, session))
    order = order[session[order] >= 0]
    if not len(order):
        return second, top
    _, starts, sizes = np.unique(session[order], return_index=True, return_counts=True)
    ranked = strength[order]
    total = np.append(0.0, np.cumsum(ranked, dtype=np.float64))
    alone = sizes < 2
    best_four = (total[np.minimum(starts + 4, starts + sizes)] - total[starts]) / np.minimum(
        sizes, 4
    )
    best = np.repeat(ranked[starts], sizes)
    best[starts] = ranked[np.minimum(starts + 1, len(ranked) - 1)]
    second[order] = np.where(np.repeat(alone, sizes), 0.0, best)
    top[order] = np.where(np.repeat(alone, sizes), 0.0, np.repeat(best_four, sizes))
    return second, top


def _topic_signals(
    query: QueryFeatures, candidates: CandidateFeatures, found: Matches, met: Floats
) -> dict[str, NDArray[np.floating]]:
    """Measure the part of the query matched by a similar word or a word of the same topic."""
    own = found.words[: len(candidates.dense)]
    total = max(float(query.rarity.sum()), 1e-9)
    covered = met @ query.rarity / total
    # "dev = Mickael" matches both names in a question about him, but answers nothing.
    lengths = _lengths(candidates)
    unmet = 1.0 - _weight_of(own >= SAME, query.rarity) / total
    return {
        "covered": covered,
        "ahead": _ahead(covered + candidates.dense),
        "says_no_more": (found.exact >= lengths) * unmet,
    }


def _ahead(strength: Floats) -> Floats:
    """Lead of each candidate over the best of the others; over `LONE_RUNNER_UP` if alone."""
    if len(strength) < 2:
        return strength - LONE_RUNNER_UP
    order = np.argsort(-strength)
    others = np.full(len(strength), strength[order[0]])
    others[order[0]] = strength[order[1]]
    return strength - others


def window_slack(start: float, end: float) -> float:
    """Seconds after a window in which a text still counts, with decreasing weight: people report things
    afterwards.

    A third of the window, but two days at least and ten at most.
    """
    return float(np.clip((end - start) / 3, *WINDOW_SLACK))


def _met(query: QueryFeatures, candidates: CandidateFeatures) -> Floats:
    """Match each candidate with the best topic of each query word: shape (n, words), 0 to 1.

    Topics are weighted by their rarity among the candidates.
    """
    n = len(candidates.dense)
    met = np.zeros((n, len(query.words)), dtype=np.float32)
    asked = topic_numbers(query.topics)
    if not asked:
        return met
    starts = candidates.texts.starts[: n + 1]
    filled = starts[:-1] < starts[1:]
    spoken = np.zeros(n, dtype=np.uint64)
    if filled.any():
        own = candidates.topics[: starts[-1]]
        spoken[filled] = np.bitwise_or.reduceat(own, starts[:-1][filled])
    shared = (spoken[:, None] >> np.array(asked, np.uint64) & np.uint64(1)).astype(np.float32)
    many = max(n, MIN_DOCUMENTS)
    rare = rarity(shared.sum(axis=0).astype(np.int64), many) / np.log(2.0 * many + 2.0)
    shared *= np.sqrt(rare)
    for column, topics in enumerate(query.topics):
        mine = [place for place, bit in enumerate(asked) if topics >> bit & 1]
        if mine:
            met[:, column] = shared[:, mine].max(axis=1)
    return met


def _kind_signals(
    query: QueryFeatures, candidates: CandidateFeatures, before: Floats
) -> dict[str, Column]:
    """Compare the kind of each text with the kind of answer that the query asks for."""
    n = len(candidates.dense)
    lengths = np.log1p(_lengths(candidates))
    length = np.clip((lengths - lengths.mean()) / (lengths.std() + 0.01), -2.0, 2.0)
    previous = candidates.neighbours[:, 1]
    answers = np.where(previous >= 0, candidates.question[previous], False)
    asked = frozenset(query.words)
    known = {a: not asked.isdisjoint(words(a)) for a in set(candidates.authors) if a}
    named = np.array([known.get(a or "", False) for a in candidates.authors])
    when, number = "when" in query.asks, "number" in query.asks
    where = "where" in query.asks
    greetings = sum(bits & GREETING > 0 for bits in query.topics) / max(len(query.topics), 1)
    inside = np.nan
    if query.window is not None:
        start, end = query.window
        unknown = np.isnan(candidates.at)
        late = np.clip(1.0 - (candidates.at - end) / window_slack(start, end), 0.0, 1.0)
        then = np.where(unknown, 0.0, (candidates.at >= start) * late)
        # If every candidate is from this week, the window carries no information.
        inside = np.where(unknown, np.nan, then * (1.0 - then.sum() / max(n, MIN_FOR_WINDOW)))
    # Centred between talk (-1.2) and long messages (0.8), clipped to the range of the training data.
    typical = float(np.clip(lengths.mean() - 3.7, -1.5, 1.5))
    # With a companion that writes at length, the user's own turns are the short ones, and a question
    # about "me" is answered there. Memories do not have two speakers.
    spoken = np.isnan(candidates.importance)
    shorter = length * ("first_person" in query.asks) * np.clip(typical / 0.3, 0.0, 1.0)
    return {
        "length": length,
        "length_extreme": length**2,
        "length_if_first_person": np.where(spoken, shorter, np.nan),
        "question": candidates.question[:n],
        "answers": answers,
        "answers_before": answers * np.nan_to_num(before),
        "named": named,
        "other_named": ~named & any(known.values()),
        "date_asked": candidates.date[:n] & when,
        "date_missing": ~candidates.date[:n] & when,
        "number_asked": candidates.number[:n] & number,
        "number_missing": ~candidates.number[:n] & number,
        "place_asked": candidates.place & where,
        "place_missing": ~candidates.place & where,
        "chatter": greetings,
        "query_length": float(np.log1p(len(query.words))),
        "typical_length": typical,
        "in_window": inside,
        "importance": candidates.importance,
        "use": np.log1p(candidates.uses),
        "of_other": np.nan if candidates.of_other is None else candidates.of_other,
    }
