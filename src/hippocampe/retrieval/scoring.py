"""Scoring: from the signals of a query's candidates to the probability that each is relevant. Pure.

A logistic model. Each signal enters in three forms: its value, its value relative to the other
candidates, and its distance to the best of them. Each form has three weights, for talk, for long
texts and for statements, blended by the length of the candidates: a memory is a statement that
stands alone, while a turn depends on its neighbours, so the same match is worth less in a turn.
Weights of matches are not negative: a better match never lowers a score.

Each score is then lowered by the strength of the competing candidates (a softmax-like term), scaled
by how many there are. The order among candidates of one kind does not change, but the best of a list
with one clear answer scores higher than the best of a list of equals.

The model is linear, so `explain` gives the exact contribution of every signal, and weights learnt on
some texts carry over to others. They are in `data/rank.json`, learnt by `benchmarks/learn_rank.py`.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from struct import pack
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.word_space import Floats
from hippocampe.retrieval.measured import USUAL_CANDIDATES
from hippocampe.retrieval.signals import SIGNALS
from hippocampe.types import Signal

FORMS: Final = ("value", "relative", "gap")
MOST_LOG_ODDS: Final = 9.2
"""Log-odds are clipped at these, before those of the reader are added: a probability of .9999."""
LIMIT: Final = 5.0
"""Values are clipped at this many deviations, so that unseen extremes do no harm."""
SHORTEST, LONGEST = -1.5, 1.5
"""The range of the signal `typical_length` over which the weights of long texts fade in."""
WEIGHT_KINDS: Final = ("talk", "long", "statement")
"""Kinds of text that have weights of their own."""
READER: Final = "reader"
"""The signal with the log-odds, by the reader, that a text answers the query."""
UNREAD: Final = -2.0
"""Maximum log-odds, by the reader, of a result that was not read beside others that were: most texts have less."""
RIVALS: Final = "rivals"
"""The signal with the log-odds that another candidate is the answer."""
NO_RIVAL_LOG_ODDS: Final = -3.0
"""Log-odds of a constant null candidate, so that a single hit is not evidence of relevance."""
RULES: Final = ("of_other", "about_other", "value_of_other", "value_missing")
"""Signals of rules by which a text is no answer, whatever it says: of somebody else, or without the value asked for. The
reader sees who speaks and what is asked, so for a statement that is read they weigh less. Of talk it sees it less well."""
_RULE_COLUMNS: Final = [SIGNALS.index(name) for name in RULES]
LOGGED_SIGNALS: Final = (*SIGNALS, RIVALS, READER)
"""The values of `pack_signals`, in order."""


@dataclass(frozen=True, slots=True)
class Model:
    """Learnt weights.

    Attributes:
        usual: Shape (2, signals): mean and deviation of each signal in the training data.
        weights: Shape (forms, signals, kinds).
        bias: Shape (kinds,): log-odds when every signal is absent.
        rivals: Shape (2, kinds): the factor by which the log-odds of the rivals lower those of a
            candidate, and the constant that compensates for it, both for `USUAL_CANDIDATES`
            candidates.
        reader: Shape (3,): how the log-odds of a result that was read follow from those of the signals and
            those of the reader, and a constant.
        rules: Shape (rules,): the weights of `RULES` among the signals of a statement that is read.
    """

    usual: Floats
    weights: Floats
    bias: Floats
    rivals: Floats
    reader: Floats
    rules: Floats


def score(measured: Floats, model: Model | None = None) -> tuple[Floats, Floats]:
    """The probability, 0 to 1, that each candidate answers the query, and its `rival_log_odds`: each of shape (n,).

    Args:
        measured: Shape (n, len(SIGNALS)), from `signals.measure`, for all candidates of one query.
        model: Default: the shipped one.
    """
    model = model or load_model()
    odds = own_log_odds(model, measured)
    others = rival_log_odds(odds)
    return sigmoid(odds + rival_adjustment(model.rivals, measured, others)), others


def odds_to_read(measured: Floats, scores: Floats) -> NDArray[np.float64]:
    """The log-odds of each candidate if it is read, by its signals alone: shape (n,).

    Args:
        measured: Shape (n, len(SIGNALS)), from `signals.measure`.
        scores: Shape (n,): probabilities from `score`.
    """
    model = load_model()
    odds, applied = log_odds(scores), rules_of_statements(measured)
    if not applied.any():
        return odds
    # The values of rules are 0 or 1, and their other forms have no weight.
    unread = blend(measured) @ model.weights[0, _RULE_COLUMNS].T
    return odds + (applied * (model.rules - unread)).sum(axis=1)


def rules_of_statements(measured: Floats) -> Floats:
    """The `RULES` that apply to each candidate that is a statement: shape (n, rules), 0 for talk.

    Args:
        measured: Shape (n, len(SIGNALS)), from `signals.measure`.
    """
    return _applied(measured) * _statements(measured)[:, None]


def odds_for_task(measured: Floats, odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-odds of each candidate for a message that needs no memory as a rule, but is read: shape (n,).

    The reader tells the statements that bear on a task ("no emojis in commit messages") from all others: of these, the
    rule does not count.

    Args:
        measured: Shape (n, len(SIGNALS)), from `signals.measure`.
        odds: Shape (n,): from `odds_to_read`.
    """
    needless = load_model().weights[0, SIGNALS.index("asks_nothing")]
    of_statement = float(needless[WEIGHT_KINDS.index("statement")])
    return odds - of_statement * _statements(measured)


def is_ruled_out(measured: Floats) -> NDArray[np.bool_]:
    """Return whether one of the `RULES` applies to each candidate that is talk: shape (n,).

    Args:
        measured: Shape (n, len(SIGNALS)), from `signals.measure`.
    """
    return _applied(measured).any(axis=1) & ~_statements(measured)


def is_of_other(measured: Floats) -> NDArray[np.bool_]:
    """Return whether each candidate is a statement about another user than the query: shape (n,).

    Args:
        measured: Shape (n, len(SIGNALS)), from `signals.measure`.
    """
    applied = _applied(measured)[:, [RULES.index("of_other"), RULES.index("about_other")]]
    return applied.any(axis=1) & _statements(measured)


def _applied(measured: Floats) -> Floats:
    return np.nan_to_num(measured[:, _RULE_COLUMNS])


def _statements(measured: Floats) -> NDArray[np.bool_]:
    """Mark the statements: only memories have an importance."""
    return ~np.isnan(measured[:, SIGNALS.index("importance")])


def with_reader(scores: Floats, odds: NDArray[np.float64], read: Floats) -> Floats:
    """The probability of each result, given what the reader says of the first ones: shape (n,).

    The others count as read with the lowest log-odds among the first, at most `UNREAD`.

    Args:
        scores: Shape (n,): probabilities from `score`, best first.
        odds: Shape (n,): from `odds_to_read`.
        read: Shape (at most n,): the reader's log-odds of the first ones.
    """
    if not len(read):
        return scores
    of_signals, of_reader, constant = load_model().reader
    said = np.full(len(scores), min(float(read.min()), UNREAD), np.float32)
    said[: len(read)] = read
    own = np.concatenate([odds[: len(read)], log_odds(scores[len(read) :])])
    own = np.clip(own, -MOST_LOG_ODDS, MOST_LOG_ODDS)
    return sigmoid(of_signals * own + of_reader * said + constant)


def log_odds(scores: Floats) -> NDArray[np.float64]:
    """The log-odds of probabilities, as `sigmoid` limits them."""
    safe = np.clip(scores.astype(np.float64), 1e-13, 1 - 1e-7)
    return np.log(safe / (1 - safe))


def explain(measured: Floats, row: int, read: float | None = None) -> tuple[Signal, ...]:
    """The signals of one candidate, largest contribution first.

    Args:
        measured: Shape (n, len(SIGNALS)), from `signals.measure`, for all candidates of one query.
        row: The row of the candidate.
        read: The reader's log-odds, if it was read.
    """
    model = load_model()
    share = 1.0 if read is None else float(model.reader[0])
    every = contributions(model, measured)
    others = rival_log_odds(every.sum(axis=1) + intercept(model, measured))
    taken = rival_adjustment(model.rivals, measured, others)
    added, values = every[row], measured[row]
    applied = rules_of_statements(measured)[row]
    if read is not None and applied.any():
        added[_RULE_COLUMNS] = applied * model.rules
    with np.errstate(invalid="ignore"):
        ranks = (measured > values).sum(axis=0) + 1
    reasons = [
        Signal(name, float(values[column]), int(ranks[column]), share * float(added[column]))
        for column, name in enumerate(SIGNALS)
        if not np.isnan(values[column])
    ]
    place = int((others < others[row]).sum()) + 1
    reasons.append(Signal(RIVALS, float(others[row]), place, share * float(taken[row])))
    if read is not None:
        reasons.append(Signal(READER, read, 1, float(model.reader[1]) * read))
    return tuple(sorted(reasons, key=lambda reason: -abs(reason.contribution)))


def pack_signals(measured: Floats, others: Floats, row: int, read: float | None = None) -> bytes:
    """The signals of one candidate as little-endian float32, in the order of `LOGGED_SIGNALS`.

    NaN marks absent signals. It costs a hundredth of `explain`.

    Args:
        measured: Shape (n, len(SIGNALS)), from `signals.measure`.
        others: Shape (n,), from `score`.
        row: The row of the candidate.
        read: The reader's log-odds, if it was read.
    """
    after = pack("<2f", others[row], np.nan if read is None else read)
    return measured[row].astype("<f4").tobytes() + after


def sigmoid(odds: Floats) -> Floats:
    """Probabilities from log-odds."""
    return (1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))).astype(np.float32)


def own_log_odds(model: Model, measured: Floats) -> Floats:
    """Log-odds of each candidate from its own signals, without rivals: shape (n,)."""
    return contributions(model, measured).sum(axis=1) + intercept(model, measured)


def rival_log_odds(odds: Floats) -> Floats:
    """For each candidate, the log of the sum of the odds of all others: shape (n,)."""
    highest = max(float(odds.max()), NO_RIVAL_LOG_ODDS)
    shares = np.exp(odds - highest)
    others = np.maximum(shares.sum() - shares, 0.0) + np.exp(NO_RIVAL_LOG_ODDS - highest)
    return np.log(others) + highest


def rival_adjustment(weights: Floats, measured: Floats, others: Floats) -> Floats:
    """The contribution of the rivals to the log-odds of each candidate: shape (n,).

    Args:
        weights: `Model.rivals`.
        measured: Shape (n, len(SIGNALS)).
        others: From `rival_log_odds`.
    """
    taken, contributed = weights @ blend(measured).T * min(len(measured) / USUAL_CANDIDATES, 1.0)
    return contributed - taken * others


def intercept(model: Model, measured: Floats) -> Floats:
    """Log-odds of each candidate without any signal: shape (n,).

    With fewer candidates than in training, each is likelier to be the answer, but it is also likelier
    that none is: hence half of the logarithm.
    """
    fewer = float(np.log(USUAL_CANDIDATES / np.clip(len(measured), 5, USUAL_CANDIDATES)))
    return blend(measured) @ model.bias + np.float32(0.5 * fewer)


def contributions(model: Model, measured: Floats) -> Floats:
    """The contribution of each signal to the log-odds of each candidate: shape (n, len(SIGNALS))."""
    shares = blend(measured)
    seen = standardise(measured, model.usual)
    added = np.zeros(measured.shape, dtype=np.float32)
    statement = shares[:, WEIGHT_KINDS.index("statement")] > 0
    for rows in (statement, ~statement):
        if rows.any():
            weights = model.weights @ shares[rows][0]
            added[rows] = np.einsum("fns,fs->ns", seen[:, rows], weights)
    return added


def blend(measured: Floats) -> Floats:
    """Share of the weights of each kind for each candidate: shape (n, kinds), rows sum to 1."""
    length = float(measured[0, SIGNALS.index("typical_length")])
    long = (np.clip(length, SHORTEST, LONGEST) - SHORTEST) / (LONGEST - SHORTEST)
    statement = _statements(measured)
    shares = [(1 - long) * ~statement, np.full(len(measured), long), (1 - long) * statement]
    return np.stack(shares, axis=1).astype(np.float32)


def standardise(measured: Floats, usual: Floats) -> Floats:
    """The signals in each form: shape (forms, n, signals), 0 if absent.

    `value` is standardised by the training data. `relative` is standardised over the candidates, so
    that collections of short and of long texts agree. `gap` is the distance to the best. With fewer candidates
    than in training, average ones fill the list: the best of three is always near
    the mean of three.

    Args:
        measured: Shape (n, signals).
        usual: Shape (2, signals): mean and deviation.
    """
    usual_mean, usual_deviation = usual
    scale = usual_deviation + 1e-3
    present = ~np.isnan(measured)
    absent = max(USUAL_CANDIDATES - len(measured), 0)
    total = np.maximum(present.sum(axis=0) + absent, 1)
    filled = np.where(present, measured, 0.0)
    mean = (filled.sum(axis=0) + absent * usual_mean) / total
    centred = np.where(present, measured - mean, 0.0)
    squares = (centred**2).sum(axis=0) + absent * (usual_deviation**2 + (usual_mean - mean) ** 2)
    # The floor keeps tiny differences between equal candidates from being amplified.
    relative = np.clip(centred / (np.sqrt(squares / total) + 0.01), -3.0, 5.0)
    value = np.clip((filled - usual_mean) / scale, -LIMIT, LIMIT) * present
    best = np.where(present, measured, -np.inf).max(axis=0)
    gap = np.where(present, filled - np.where(np.isfinite(best), best, 0.0), 0.0) / scale
    return np.stack([value, relative * present, gap]).astype(np.float32)


@functools.cache
def load_model() -> Model:
    """The shipped weights."""
    source = resources.files("hippocampe") / "data" / "rank.json"
    entries = json.loads(source.read_text(encoding="utf-8"))
    usual = np.zeros((2, len(SIGNALS)), dtype=np.float32)
    weights = np.zeros((len(FORMS), len(SIGNALS), len(WEIGHT_KINDS)), dtype=np.float32)
    for name, entry in entries["signals"].items():
        column = SIGNALS.index(name)
        usual[:, column] = entry["mean"], entry["deviation"]
        for number, form in enumerate(FORMS):
            weights[number, column] = entry.get(form, (0.0,) * len(WEIGHT_KINDS))
    rivals = np.array([entries["rivals"][name] for name in ("taken", "given")], np.float32)
    bias = np.broadcast_to(np.array(entries["bias"], np.float32), len(WEIGHT_KINDS))
    of_reader = entries["reader"]
    reader = np.array([of_reader[name] for name in ("signals", "reader", "constant")], np.float32)
    rules = np.array([of_reader["rules"][name] for name in RULES], np.float32)
    return Model(usual, weights, bias, rivals, reader, rules)
