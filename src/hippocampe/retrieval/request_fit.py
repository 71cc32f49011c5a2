"""Signals of a complete answer in one candidate: the right person and the right attribute. Pure.

The other signals add up what matches, so a memory about Kate's baby and one about somebody's birthday
both match "when is Kate's birthday?". These compare one candidate with all parts of the question: its names,
its other words, the kind of value, and the speaker behind "I" and "my". Some are the same for all candidates: whether any candidate answers.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.word_space import Floats
from hippocampe.language.lexicon import words_of
from hippocampe.language.text import words
from hippocampe.retrieval.late_interaction import SAME, Matches
from hippocampe.retrieval.measured import (
    NEIGHBOUR_WEIGHTS,
    USUAL_CANDIDATES,
    CandidateFeatures,
    Column,
    Flags,
    QueryFeatures,
)

VALUE_MET: Final = 0.9
"""Match of a stated value with the word that asks for it: hardly less than the word itself."""
_FRAME: Final = words_of("frame", file="questions")


def fit_signals(
    query: QueryFeatures, candidates: CandidateFeatures, found: Matches, met: Floats
) -> dict[str, Column]:
    """Measure the match of each candidate with the whole query.

    Args:
        query: The query.
        candidates: n candidates.
        found: Their matches.
        met: Shape (n, words): match of each candidate with each word itself, 0 to 1.
    """
    near, same = _with_neighbours(candidates, found, met)
    names = _marks(query, query.names)
    asker = _marks(query, _words_of(query.asker))
    rest = ~names & ~asker & ~_marks(query, _FRAME)
    # A name matches only itself: "Kate" is not "Kathy".
    near[:, names] = same[:, names]
    needed = names | rest if (names | rest).any() else np.ones(len(query.words), bool)
    met_all = _share(near, query.rarity, needed)
    anywhere = _share(near.max(axis=0)[None], query.rarity, needed)[0]
    named = same[:, names].mean(axis=1) if names.any() else np.ones(len(near), np.float32)
    both = named * _share(near, query.rarity, rest)
    about = bool(query.asker)
    return {
        "beside_best": met_all - anywhere,
        "met_both": both,
        "met_anywhere": float(anywhere),
        "best_covered": float(met_all.max()),
        "best_dense": float(candidates.dense.max()),
        "pool": float(np.log(min(len(near), USUAL_CANDIDATES))),
        "personal": float(about),
        "nobody": float(not about and not names.any()),
        "asks_nothing": float(query.nothing),
        "about_other": _about_other(query, candidates, same),
        **_value_signals(query, candidates, found, named),
    }


def _with_neighbours(
    candidates: CandidateFeatures, found: Matches, met: Floats
) -> tuple[Floats, Floats]:
    """Extend `met` by the turns beside: shape (n, words) each, and 1 for the same word."""
    n = len(candidates.dense)
    near, same = met.copy(), (found.words[:n] >= SAME).astype(np.float32)
    for column, share in enumerate(NEIGHBOUR_WEIGHTS):
        rows = candidates.neighbours[:, column]
        there = np.where(rows[:, None] >= 0, found.words[rows], 0.0)
        near = np.maximum(near, share * there**3)
        if share > 0.5:
            same = np.maximum(same, there >= SAME)
    return near, same


def _marks(query: QueryFeatures, marked: frozenset[str]) -> Flags:
    return np.array([word in marked for word in query.words], bool)


def _words_of(names: frozenset[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in words(name))


def _share(met: Floats, rarity: Floats, needed: NDArray[np.bool_]) -> Floats:
    """Share of the rarity of the needed words that is matched: shape (n,); 1 if none is needed."""
    total = float(rarity[needed].sum())
    if total <= 0.0:
        return np.ones(len(met), np.float32)
    return met[:, needed] @ rarity[needed] / total


def with_meanings(query: QueryFeatures, candidates: CandidateFeatures, met: Floats) -> Floats:
    """Match each candidate with each word, shape (n, words), where a value also matches the name of its kind
    ("born on 14 March" matches "birthday"), and a relative its other names ("mum" matches "mère")."""
    if query.values:
        stated = candidates.values & query.values == query.values
        named = _marks(query, query.value_words)
        met = np.maximum(met, VALUE_MET * stated[:, None] * named)
    if candidates.kin is not None:
        for column, kin in enumerate(query.kin):
            met = np.maximum(met, candidates.kin[:, column, None] * _marks(query, kin.said))
    return met


def _value_signals(
    query: QueryFeatures, candidates: CandidateFeatures, found: Matches, named: Floats
) -> dict[str, Column]:
    """Check each candidate for the value asked for, stated of the right person.

    Args:
        named: Shape (n,): share of the names of the question that each candidate has.
    """
    another = _names_another(query, candidates, named)
    signals: dict[str, Column] = {
        "value_missing": 0.0, "value_of_other": another, "name_missing": 0.0,
    }  # fmt: skip
    if query.values:
        stated = candidates.values & query.values
        of_other = named == 0.0
        if candidates.kin is not None:
            of_other |= ~candidates.kin.any(axis=1)
        signals["value_missing"] = stated != query.values
        signals["value_of_other"] = another | ((stated > 0) & of_other)
    if "name" in query.asks:
        # A name in the question is not the name that it asks for.
        asked = _marks(query, query.names | _words_of(query.asker))
        known = (found.words[: len(candidates.names)] >= SAME)[:, asked].sum(axis=1)
        signals["name_missing"] = candidates.names <= known - _owners_asked(
            query, candidates, asked
        )
    return signals


def _names_another(query: QueryFeatures, candidates: CandidateFeatures, named: Floats) -> Flags:
    """Check whether each memory names somebody else, while another candidate names the person of the question.

    A memory nearer to the question than all of those does not count: the answer may omit the name.
    """
    if query.kin or not query.names or not named.any():
        return np.zeros(len(named), bool)
    other = (named == 0.0) & (candidates.names > 0)
    # Statements and messages of a person name them elsewhere.
    for tellers in (candidates.owners, candidates.authors):
        if tellers:
            other &= np.array([not teller for teller in tellers])
    return other & (candidates.dense < candidates.dense[named > 0.0].max())


def _owners_asked(
    query: QueryFeatures, candidates: CandidateFeatures, asked: Flags
) -> NDArray[np.int64]:
    """Shape (n,): number of words of the owner's name in the question. They are not words of the text."""
    of_owner = {
        owner: int((asked & _marks(query, frozenset(words(owner)))).sum())
        for owner in set(candidates.owners)
        if owner
    }
    if not of_owner:
        return np.zeros(len(candidates.dense), np.int64)
    return np.array([of_owner.get(owner or "", 0) for owner in candidates.owners], np.int64)


def _about_other(query: QueryFeatures, candidates: CandidateFeatures, same: Floats) -> Column:
    """For a question about a user, check whether each candidate is about another user; else NaN."""
    asked, other = candidates.asked, candidates.names_other
    if not asked or other is None:
        return np.nan
    named: Flags = np.asarray(same[:, _marks(query, _words_of(asked))].any(axis=1), bool)
    owners = candidates.owners or (None,) * len(same)
    own = np.array([owner in asked for owner in owners], bool)
    of_another = np.array([owner is not None and owner not in asked for owner in owners], bool)
    if candidates.doers is not None:
        of_another &= ~candidates.doers
    return (other | of_another) & ~named & ~own
