"""From the measured signals of a query's candidates to the probability that each is relevant.

A logistic model, linear over the signals. Each signal is taken as it is, relative to the other
candidates, and as its distance to the best of them; each of these has three weights: for talk, for
long texts and for statements, blended by how long the candidates are. A memory is a statement, said
outright and alone; a turn leans on those around it, so the same match is worth less in it. A better
match never counts against a candidate: the weights of matches are not negative.

Then each candidate's rivals are heard, the more the more there are: the likelier it is that another
one is the answer, the less likely this one is. That changes no order among candidates of a kind, and
lets the best of a list with one clear answer score higher than the best of a list of equals.

So `explain` can say exactly what every signal added, and weights learnt on some texts carry over to
others. They are data, `data/rank.json`, learnt by `benchmarks/learn_rank.py`.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from struct import pack
from typing import Final

import numpy as np

from hippocampe.embed.word_space import Floats
from hippocampe.retrieval.signals import CANDIDATES, SIGNALS
from hippocampe.types import Signal

FORMS: Final = ("value", "relative", "gap")
LIMIT: Final = 5.0
"""Deviations beyond which a value counts no further: unseen extremes stay harmless."""
SHORTEST, LONGEST = -1.5, 1.5
"""The range of the signal `typical_length` over which the weights of long texts gain on the others."""
KINDS: Final = ("talk", "long", "statement")
"""What has weights of its own."""
RIVALS: Final = "rivals"
"""The signal that tells how likely it is that another candidate is the answer, as log-odds."""
NO_RIVAL_LOG_ODDS: Final = -3.0
"""Log-odds of a rival who is always there: that nothing else was found says little for an answer."""
NAMES: Final = (*SIGNALS, RIVALS)
"""All that `packed` holds of a candidate."""


@dataclass(frozen=True, slots=True)
class Model:
    """Learnt weights.

    Attributes:
        usual: Shape (2, signals): mean and deviation of each signal where the model was learnt.
        weights: Shape (forms, signals, kinds).
        bias: Log-odds of a candidate of which nothing is measured.
        rivals: Shape (2, kinds): what the log-odds that a rival is the answer take from those of a
            candidate, and what every candidate is given to make up for it, both where there are
            `CANDIDATES` candidates.
    """

    usual: Floats
    weights: Floats
    bias: float
    rivals: Floats


def probability(measured: Floats) -> Floats:
    """Probability, 0 to 1, that each candidate answers the query: shape (n,).

    Args:
        measured: Shape (n, len(SIGNALS)), from `rank.signals`, for all candidates of one query.
    """
    return judged(measured)[0]


def judged(measured: Floats, model: Model | None = None) -> tuple[Floats, Floats]:
    """What `probability` and `rivals` say of each candidate.

    Args:
        measured: Shape (n, len(SIGNALS)), from `rank.signals`, for all candidates of one query.
        model: Default: the one the package ships.
    """
    model = model or learnt()
    odds = alone(model, measured)
    others = rivals(odds)
    return sigmoid(odds + against_rivals(model.rivals, measured, others)), others


def explain(measured: Floats, row: int) -> tuple[Signal, ...]:
    """The signals that one candidate has, those that moved its log-odds most first.

    Args:
        measured: Shape (n, len(SIGNALS)), from `rank.signals`, for all candidates of one query.
        row: Which candidate.
    """
    model = learnt()
    every = contributions(model, measured)
    others = rivals(every.sum(axis=1) + start(model, len(measured)))
    taken = against_rivals(model.rivals, measured, others)
    added, values = every[row], measured[row]
    with np.errstate(invalid="ignore"):
        ranks = (measured > values).sum(axis=0) + 1
    reasons = [
        Signal(name, float(values[column]), int(ranks[column]), float(added[column]))
        for column, name in enumerate(SIGNALS)
        if not np.isnan(values[column])
    ]
    place = int((others < others[row]).sum()) + 1
    reasons.append(Signal(RIVALS, float(others[row]), place, float(taken[row])))
    return tuple(sorted(reasons, key=lambda reason: -abs(reason.contribution)))


def packed(measured: Floats, others: Floats, row: int) -> bytes:
    """The signals of one candidate as they were measured: little-endian float32, in the order of
    `NAMES`, NaN for what was not. That costs a hundredth of `explain`.

    Args:
        measured: Shape (n, len(SIGNALS)), from `rank.signals`.
        others: Shape (n,), from `judged`.
        row: Which candidate.
    """
    return measured[row].astype("<f4").tobytes() + pack("<f", others[row])


def sigmoid(odds: Floats) -> Floats:
    """Probabilities from log-odds."""
    return (1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))).astype(np.float32)


def alone(model: Model, measured: Floats) -> Floats:
    """The log-odds of each candidate by its own signals: shape (n,)."""
    return contributions(model, measured).sum(axis=1) + start(model, len(measured))


def rivals(odds: Floats) -> Floats:
    """For each candidate, the log-odds that another one is the answer: shape (n,).

    The logarithm of the sum of the odds of all others.
    """
    if not len(odds):
        return odds
    highest = max(float(odds.max()), NO_RIVAL_LOG_ODDS)
    shares = np.exp(odds - highest)
    others = np.maximum(shares.sum() - shares, 0.0) + np.exp(NO_RIVAL_LOG_ODDS - highest)
    return np.log(others) + highest


def against_rivals(weights: Floats, measured: Floats, others: Floats) -> Floats:
    """What its rivals add to the log-odds of each candidate: shape (n,).

    Args:
        weights: `Model.rivals`.
        measured: Shape (n, len(SIGNALS)).
        others: From `rivals`.
    """
    if not len(measured):
        return others
    taken, given = weights @ blend(measured).T * min(len(measured) / CANDIDATES, 1.0)
    return given - taken * others


def start(model: Model, candidates: int) -> float:
    """The log-odds of a candidate before anything is measured of it.

    Among fewer candidates than a model is learnt with, each is likelier to be the answer; but the
    fewer there are, the likelier it also is that none of them is, hence half of the logarithm.
    """
    return model.bias + 0.5 * float(np.log(CANDIDATES / np.clip(candidates, 5, CANDIDATES)))


def contributions(model: Model, measured: Floats) -> Floats:
    """What each signal adds to the log-odds of each candidate: shape (n, len(SIGNALS))."""
    if not len(measured):
        return np.zeros((0, len(SIGNALS)), dtype=np.float32)
    shares = blend(measured)
    seen = features(measured, model.usual)
    added = np.zeros(measured.shape, dtype=np.float32)
    statement = shares[:, KINDS.index("statement")] > 0
    for rows in (statement, ~statement):
        if rows.any():
            weights = model.weights @ shares[rows][0]
            added[rows] = np.einsum("fns,fs->ns", seen[:, rows], weights)
    return added


def blend(measured: Floats) -> Floats:
    """How much the weights of each kind count for each candidate: shape (n, kinds), together 1.

    Only memories have an importance.
    """
    length = float(measured[0, SIGNALS.index("typical_length")])
    long = (np.clip(length, SHORTEST, LONGEST) - SHORTEST) / (LONGEST - SHORTEST)
    statement = ~np.isnan(measured[:, SIGNALS.index("importance")])
    shares = [(1 - long) * ~statement, np.full(len(measured), long), (1 - long) * statement]
    return np.stack(shares, axis=1).astype(np.float32)


def features(measured: Floats, usual: Floats) -> Floats:
    """The signals in each form: shape (forms, n, signals), 0 where absent.

    `value` is standardised by what is usual. `relative` is standardised over the candidates, so
    that collections of short and of long texts agree. `gap` is the distance to the best. Where there
    are fewer candidates than a model is learnt with, usual ones stand in for the rest: the best of
    three is not far from the mean of three, however well it answers.

    Args:
        measured: Shape (n, signals).
        usual: Shape (2, signals): mean and deviation.
    """
    usual_mean, usual_deviation = usual
    scale = usual_deviation + 1e-3
    present = ~np.isnan(measured)
    absent = max(CANDIDATES - len(measured), 0)
    total = np.maximum(present.sum(axis=0) + absent, 1)
    filled = np.where(present, measured, 0.0)
    mean = (filled.sum(axis=0) + absent * usual_mean) / total
    centred = np.where(present, measured - mean, 0.0)
    squares = (centred**2).sum(axis=0) + absent * (usual_deviation**2 + (usual_mean - mean) ** 2)
    # The floor keeps candidates that are all alike from being pulled apart.
    relative = np.clip(centred / (np.sqrt(squares / total) + 0.01), -3.0, 5.0)
    value = np.clip((filled - usual_mean) / scale, -LIMIT, LIMIT) * present
    best = np.where(present, measured, -np.inf).max(axis=0)
    gap = np.where(present, filled - np.where(np.isfinite(best), best, 0.0), 0.0) / scale
    return np.stack([value, relative * present, gap]).astype(np.float32)


@functools.cache
def learnt() -> Model:
    """The weights the package ships."""
    source = resources.files("hippocampe") / "data" / "rank.json"
    entries = json.loads(source.read_text(encoding="utf-8"))
    usual = np.zeros((2, len(SIGNALS)), dtype=np.float32)
    weights = np.zeros((len(FORMS), len(SIGNALS), len(KINDS)), dtype=np.float32)
    for name, entry in entries["signals"].items():
        column = SIGNALS.index(name)
        usual[:, column] = entry["mean"], entry["deviation"]
        for number, form in enumerate(FORMS):
            weights[number, column] = entry.get(form, (0.0,) * len(KINDS))
    rivals = np.array([entries["rivals"][name] for name in ("taken", "given")], np.float32)
    return Model(usual, weights, float(entries["bias"]), rivals)
