"""Which candidates answer the query, gathered and measured.

Two pure steps: `fuse` the rankings of several searches into one list of candidates, and measure the
`signals` of each. `hippocampe.retrieval.scoring` turns them into a probability.

A signal that a source lacks (a fact has no turn before it) is not a number and adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.word_space import Floats, Integers, WordVectors, is_literal
from hippocampe.language.text import words
from hippocampe.language.topics import GREETING, topic_numbers
from hippocampe.retrieval.late_interaction import SAME, Matches, Texts, late, match

Flags = NDArray[np.bool_]
Column = NDArray[Any] | float
"""A signal of all candidates; a number where it is the same for all."""

CANDIDATES: Final = 90
"""How many candidates a question has: with 120 nothing more is found, and it takes a third longer."""


REACH: Final = (0.35, 0.6, 0.6, 0.35)
"""What a match counts for in the turn two before, just before, just after and two after."""

USUAL: Final = 30
"""The fewest texts a space is taken to hold. With one text, a word that it holds weighs .29 and one
that it lacks 1.39, so the only fact fails every question that is not in its own words. Set by hand,
not tuned. With `LONE`, the share of held-out facts found when alone rises from .03 to .65."""

LONE: Final = 0.5
"""The strength of the missing runner-up of a lone candidate. Without it `ahead` is absent, which
costs a right answer 3 to 5 log-odds. It lies between what an unrelated question reaches (up to .3)
and what an answered one does (from 1.1). Set by hand, not tuned."""

FEW: Final = 10
"""Of fewer candidates, it says little that all of them are of the time asked about."""


SIGNALS: Final = (
    *("late", "near", "late_damped", "near_damped", "passage", "phrase", "density", "mass"),
    *("exact", "exact_near", "soft", "rarest", "dense", "window", "bm25", "meaning"),
    *("meaning_near", "before", "after", "before_2", "after_2", "around", "session"),
    *("session_top", "covered", "ahead", "length", "length_extreme"),
    *("length_if_first_person", "question", "answers", "answers_before", "named", "other_named"),
    *("date_asked", "date_missing", "number_asked", "number_missing", "place_asked"),
    *("place_missing", "says_no_more", "chatter", "best_late", "query_length", "typical_length"),
    *("in_window", "importance", "use", "of_other"),
)
"""What is measured of each candidate, in the order of the columns of `signals`."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question, read.

    Attributes:
        words: Its distinct content words in order (`text.content_words`).
        vectors: Shape (words, dimensions): their vectors, placed in the word space.
        rarity: Shape (words,): their inverse document frequency in the searched space.
        asks: What it asks for, from `asks`.
        topics: What each word speaks of, from `topics.topics_of`; empty if that is not known.
        window: The time it speaks of, in seconds since the epoch, if it speaks of one.
    """

    words: tuple[str, ...]
    vectors: Floats
    rarity: Floats
    asks: frozenset[str] = frozenset()
    window: tuple[float, float] | None = None
    topics: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is known of n candidates, as columns, and of the turns around them.

    Attributes:
        dense: Shape (n,): cosine of the query with the candidate's own vector.
        window: Shape (n,): cosine with the normalised mean of its vector and those of the turns
            just before and after; NaN without such turns.
        bm25: Shape (n,): score in the sparse search, 0 when it was not among the hits.
        vectors: Of all known words, placed in the word space.
        texts: The words of the n candidates, then of the turns around them, each turn once.
        neighbours: Shape (n, 4): rows in `texts` of the turns two before, just before, just
            after and two after in the same session; -1 for none.
        question: Shape (texts,): whether the text is a question.
        number: Shape (texts,): whether it states a number.
        date: Shape (texts,): whether it says when.
        authors: Who said each of the n, if known.
        session: Shape (n,): the same number for turns of one session, -1 for none.
        at: Shape (n,): seconds since the epoch, NaN if unknown.
        importance: Shape (n,): 0 to 1, NaN for what has none, such as turns; None if none has.
        uses: Shape (n,): how often it was recalled, NaN for what is not counted; None likewise.
        place: Shape (n,): whether it says where; None if that is not known.
        topics: Shape (all words of `texts`,): what each word speaks of, from `topics.topics_of`;
            None if that is not known.
        of_other: Shape (n,): whether someone else than the asker says it of themselves; None unless
            the question is about the asker.
    """

    dense: Floats
    window: Floats
    bm25: Floats
    vectors: WordVectors
    texts: Texts
    neighbours: Integers
    question: Flags
    number: Flags
    date: Flags
    authors: Sequence[str | None]
    session: Integers
    at: NDArray[np.float64]
    importance: Floats | None = None
    uses: Floats | None = None
    place: Flags | None = None
    topics: NDArray[np.uint64] | None = None
    of_other: Flags | None = None


def rarity(frequencies: Integers, documents: int) -> Floats:
    """Inverse document frequency of words, as in BM25: ln(1 + (N - f + 0.5) / (f + 0.5)).

    N is at least `USUAL`.

    Args:
        frequencies: Shape (words,): in how many texts of the space each word occurs.
        documents: How many texts the space holds.
    """
    counts = np.asarray(frequencies, dtype=np.float32)
    return np.log(np.maximum(max(documents, USUAL), counts) + 1.0) - np.log(counts + 0.5)


def signals(query: Query, candidates: Candidates) -> Floats:
    """Measure every signal of every candidate: shape (n, len(SIGNALS)), NaN where absent."""
    n = len(candidates.dense)
    if not n:
        return np.zeros((0, len(SIGNALS)), dtype=np.float32)
    literal = np.array([is_literal(word) for word in query.words], dtype=bool)
    found = match(query.vectors, query.rarity, literal, candidates.vectors, candidates.texts, n)
    met = _word_signals(query, candidates, found)
    beside = _place_signals(query, candidates, met["near_damped"], found)
    measured: dict[str, Column] = {
        **met,
        **beside,
        **_kind_signals(query, candidates, beside["before"]),
        **_topic_signals(query, candidates, found),
        "best_late": float(met["late"].max()),
    }
    table = np.empty((n, len(SIGNALS)), np.float32)
    for column, name in enumerate(SIGNALS):
        table[:, column] = measured[name]
    return table


def _word_signals(query: Query, candidates: Candidates, found: Matches) -> dict[str, Floats]:
    n = len(candidates.dense)
    weights = query.rarity
    total = max(float(weights.sum()), 1e-9)
    own, near = found.words[:n], found.words[:n].copy()
    exact = own >= SAME
    exact_near = exact.copy()
    for column, share in enumerate(REACH):
        rows = candidates.neighbours[:, column]
        there = np.where(rows[:, None] >= 0, found.words[rows], 0.0)
        near = np.maximum(near, there * share)
        if share > 0.5:
            exact_near |= there >= SAME
    lengths = np.diff(candidates.texts.starts[: n + 1]).astype(np.float32)
    damping = 1.0 + 0.25 * np.log1p(lengths)
    window = np.where(np.isnan(candidates.window), candidates.dense, candidates.window)
    measured = {
        "late": late(own, weights),
        "near": late(near, weights),
        "passage": found.passages,
        "phrase": found.phrases,
        "density": found.mass / np.maximum(lengths, 1.0),
        "mass": np.log1p(found.mass),
        "exact": exact @ weights / total,
        "exact_near": exact_near @ weights / total,
        "soft": (near > 0.55) @ weights / total,
        "rarest": own[:, int(weights.argmax())] ** 3 if len(weights) else np.zeros(n),
        "dense": candidates.dense,
        "window": window,
        "bm25": candidates.bm25 / total,
    }
    measured["late_damped"] = measured["late"] / damping
    measured["near_damped"] = measured["near"] / damping
    measured["meaning"] = measured["late"] * candidates.dense
    measured["meaning_near"] = measured["near"] * window
    return measured


def _place_signals(
    query: Query, candidates: Candidates, strength: Floats, found: Matches
) -> dict[str, Floats]:
    """How well the turns around and the rest of the session meet the query."""
    scores = late(found.words, query.rarity)
    rows = candidates.neighbours
    beside = np.where(rows >= 0, scores[rows], np.nan)
    second, top = _session(candidates.session, strength)
    return {
        "before_2": beside[:, 0],
        "before": beside[:, 1],
        "after": beside[:, 2],
        "after_2": beside[:, 3],
        "around": np.fmax(beside[:, 1], beside[:, 2]),
        "session": second,
        "session_top": top,
    }


def _session(session: Integers, strength: Floats) -> tuple[Floats, Floats]:
    """Per candidate, the best other candidate of its session, and the mean of the best four."""
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
    query: Query, candidates: Candidates, found: Matches
) -> dict[str, NDArray[np.floating]]:
    """How much of the query is met by a like word or by one of the same topic."""
    n = len(candidates.dense)
    own = found.words[:n]
    total = max(float(query.rarity.sum()), 1e-9)
    covered = np.maximum(own**3, _met(query, candidates)) @ query.rarity / total
    # "dev = Mickael" meets both names of a question about him, and adds nothing to it.
    lengths = np.diff(candidates.texts.starts[: n + 1])
    unmet = 1.0 - (own >= SAME) @ query.rarity / total
    return {
        "covered": covered,
        "ahead": _ahead(covered + candidates.dense),
        "says_no_more": (found.exact >= lengths) * unmet,
    }


def _ahead(strength: Floats) -> Floats:
    """By how much each candidate is better than the best of the others, or than `LONE` if alone."""
    if len(strength) < 2:
        return strength - LONE
    order = np.argsort(-strength)
    others = np.full(len(strength), strength[order[0]])
    others[order[0]] = strength[order[1]]
    return strength - others


def _met(query: Query, candidates: Candidates) -> Floats:
    """How well each candidate meets the best topic of each query word: shape (n, words), 0 to 1.

    The rarer a topic is among the candidates, the more it says.
    """
    n = len(candidates.dense)
    met = np.zeros((n, len(query.words)), dtype=np.float32)
    asked = topic_numbers(query.topics)
    if candidates.topics is None or not asked:
        return met
    starts = candidates.texts.starts[: n + 1]
    filled = starts[:-1] < starts[1:]
    spoken = np.zeros(n, dtype=np.uint64)
    if filled.any():
        own = candidates.topics[: starts[-1]]
        spoken[filled] = np.bitwise_or.reduceat(own, starts[:-1][filled])
    shared = (spoken[:, None] >> np.array(asked, np.uint64) & np.uint64(1)).astype(np.float32)
    many = max(n, USUAL)
    rare = rarity(shared.sum(axis=0).astype(np.int64), many) / np.log(2.0 * many + 2.0)
    shared *= np.sqrt(rare)
    for column, topics in enumerate(query.topics):
        mine = [place for place, bit in enumerate(asked) if topics >> bit & 1]
        if mine:
            met[:, column] = shared[:, mine].max(axis=1)
    return met


def _kind_signals(query: Query, candidates: Candidates, before: Floats) -> dict[str, Column]:
    """What kind of text it is, against what the query asks for."""
    n = len(candidates.dense)
    lengths = np.log1p(np.diff(candidates.texts.starts[: n + 1]))
    length = np.clip((lengths - lengths.mean()) / (lengths.std() + 0.01), -2.0, 2.0)
    previous = candidates.neighbours[:, 1]
    answers = np.where(previous >= 0, candidates.question[previous], False)
    asked = frozenset(query.words)
    known = {a: not asked.isdisjoint(words(a)) for a in set(candidates.authors) if a}
    named = np.array([known.get(a or "", False) for a in candidates.authors])
    when, number = "when" in query.asks, "number" in query.asks
    where = "where" in query.asks and candidates.place is not None
    place = np.zeros(n, dtype=bool) if candidates.place is None else candidates.place
    greetings = sum(bits & GREETING > 0 for bits in query.topics) / max(len(query.topics), 1)
    inside = np.nan
    if query.window is not None:
        start, end = query.window
        unknown = np.isnan(candidates.at)
        then = (candidates.at >= start) & (candidates.at < end)
        # Of what was all kept this week, "this week" singles out nothing.
        inside = np.where(unknown, np.nan, then * (1.0 - then.sum() / max(n, FEW)))
    # Centred between talk (-1.2) and long messages (0.8), and no wider than what was learnt on.
    typical = float(np.clip(lengths.mean() - 3.7, -1.5, 1.5))
    # Where one of two who talk writes at length, the one who asks about "me" says less. Memories
    # have no such two.
    spoken = candidates.importance is None or np.isnan(candidates.importance)
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
        "place_asked": place & where,
        "place_missing": ~place & where,
        "chatter": greetings,
        "query_length": float(np.log1p(len(query.words))),
        "typical_length": typical,
        "in_window": inside,
        "importance": np.nan if candidates.importance is None else candidates.importance,
        "use": np.nan if candidates.uses is None else np.log1p(candidates.uses),
        "of_other": np.nan if candidates.of_other is None else candidates.of_other,
    }
