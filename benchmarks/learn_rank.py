"""Learn the weights of `hippocampe.retrieval.signals` from collections of questions with known answers.

A collection is a folder with `corpus.jsonl` ({id, text, scope?, session?, date?, speaker|role?,
subjects?, importance?}), `queries.jsonl` ({id, text, scope?, type?, user?, names?, date?, split?}),
which may be gzipped, and `qrels.tsv` (query id, text id); or one in the form of `ask.py`. The lines of a
scope are in chronological order. Texts without a speaker or role are memories. Questions of the type "none"
have no answer. Questions with the split "held out" are measured but not used for learning. A folder after
`--sentences` becomes one more collection, of its sentences as memories.

    python benchmarks/learn_rank.py FOLDER… --output src/hippocampe/data/rank.json --cache CACHE

All collections have the same weight. Each question is asked in several pools, with and without its answer
(`rank_cases.py`). The loss is the binary cross-entropy of each candidate, for calibration, plus the
cross-entropy of the softmax over the candidates of a query, for ranking. Weights of matches are at least 0,
which transfers better to other collections. With `--frozen FILE`, the weights of talk and of long texts that
the file has are kept, and their order with them; those of statements, and of signals that it lacks, are
learnt, and decay to those of the file instead of 0. Otherwise the penalty for rivals is fitted too, on the log-odds of
questions that the weights have not seen. The shipped weights of the reader stay: see `learn_reader.py calibrate`.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import common
from hippocampe.embed.local import MODEL
from hippocampe.retrieval import scoring, signals
from hippocampe.retrieval.measured import USUAL_CANDIDATES
from hippocampe.retrieval.scoring import (
    FORMS,
    WEIGHT_KINDS,
    Model,
    blend,
    contributions,
    intercept,
    own_log_odds,
    rival_adjustment,
    rival_log_odds,
    sigmoid,
    standardise,
)
from rank_cases import WEIGHTS, Case, Vectors, cases, ndcg, read, sentences

FEWEST: Final = 3
"""Candidates of a small store."""
ORDER_SHARE, DECAY = 1.0, 2e-3
NO_RIVALS: Final = np.zeros((2, len(WEIGHT_KINDS)), np.float32)
UNITS: Final = np.eye(NO_RIVALS.size, dtype=np.float32).reshape(-1, *NO_RIVALS.shape)
"""`Model.rivals` with one weight of 1; the result is linear in the weights."""

MATCHES: Final = signals.SIGNALS[: signals.SIGNALS.index("length")]
"""Signals with weights of at least 0: more is never worse."""
BETTER: Final = (*("beside_best", "met_both", "met_anywhere", "best_covered", "best_dense"),)
"""More signals of which more is never worse."""
WORSE: Final = ("name_missing",)
"""Signals of which more is never better."""
OF_ALL: Final = ("met_anywhere", "best_covered", "best_dense", "pool", "personal", "nobody")
"""Signals that are the same for all candidates: only their value tells anything."""
FLAGS: Final = (*WORSE, "personal", "nobody")
UNANSWERED: Final = "no_answer"
"""The kind of question of people that nothing known answers."""
LEAST_DEVIATION: Final = 0.4
"""Of flags, which are rare: otherwise one counts for several times what it was learnt on."""
BY_HAND: Final = {
    "in_window": {"mean": 0.0, "deviation": 1.0, "value": [3.5, 1.0, 1.0]},
    "importance": {"mean": 0.6, "deviation": 1.0, "value": [0.5, 0.5, 0.5]},
    "use": {"mean": 0.0, "deviation": 2.0, "value": [0.1, 0.1, 0.1]},
    "of_other": {"mean": 0.0, "deviation": 1.0, "value": [-10.0, -10.0, -10.0]},
    "about_other": {"mean": 0.0, "deviation": 1.0, "value": [-6.0, -6.0, -6.0]},
    "value_of_other": {"mean": 0.0, "deviation": 1.0, "value": [-6.0, -6.0, -6.0]},
    "value_missing": {"mean": 0.0, "deviation": 1.0, "value": [-4.0, -4.0, -4.0]},
    "asks_nothing": {"mean": 0.0, "deviation": 1.0, "value": [-10.0, -10.0, -10.0]},
}
"""Weights set by hand, because no collection measures them: a match of the named time counts like a good
match, importance and use only break ties, and statements of others about themselves never answer a
question about the asker, nor the birthday of somebody else one about a birthday. A message that asks nothing
of memory has no answer in it."""
LEARNT: Final = {("in_window", "statement")}
"""Those of them that the collection of memories measures. Learnt for talk too, the window weighs 1.4, and LoCoMo
loses .002."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """What is not learnt.

    Attributes:
        model: Mean and deviation of each signal, and the weights that stay.
        free: Shape (forms, signals, kinds): which weights are learnt.
        former: Shape (forms, signals, kinds): what the weights decay to.
    """

    model: Model
    free: NDArray[np.bool_]
    former: NDArray[np.float32]


def freeze(measured: Sequence[NDArray[np.float32]], path: Path | None) -> Frozen:
    """What is set by hand; with a file, also its weights of talk and of long texts."""
    usual = _usual(measured)
    weights = np.zeros((len(FORMS), len(signals.SIGNALS), len(WEIGHT_KINDS)), np.float32)
    free = np.zeros(weights.shape, bool)
    for form, name, kind in np.ndindex(*free.shape):
        low, high = _range(WEIGHT_KINDS[kind], FORMS[form], signals.SIGNALS[name])
        free[form, name, kind] = (low, high) != (0.0, 0.0)
    former = np.zeros(weights.shape, np.float32)
    bias, rivals = np.full(len(WEIGHT_KINDS), -4.0, np.float32), NO_RIVALS
    if path is not None:
        entries = json.loads(path.read_text(encoding="utf-8"))
        bias = np.broadcast_to(np.array(entries["bias"], np.float32), len(WEIGHT_KINDS))
        rivals = np.array([entries["rivals"][name] for name in ("taken", "given")], np.float32)
        for name, entry in entries["signals"].items():
            if not entry.get("value") and not entry.get("relative") and not entry.get("gap"):
                continue
            column = signals.SIGNALS.index(name)
            usual[:, column] = entry["mean"], entry["deviation"]
            for number, form in enumerate(FORMS):
                former[number, column] = entry.get(form, (0.0,) * 3)
                weights[number, column, :2] = former[number, column, :2]
        free[:, :, :2] = False
    for name, entry in BY_HAND.items():
        column = signals.SIGNALS.index(name)
        for number, kind in enumerate(WEIGHT_KINDS):
            if (name, kind) not in LEARNT:
                weights[0, column, number] = entry["value"][number]
    shipped = scoring.load_model()
    model = Model(usual, weights, bias, rivals, shipped.reader, shipped.rules)
    return Frozen(model, free, former)


def learn(collections: Sequence[Sequence[Case]], frozen: Frozen) -> Model:
    """Fit a model on questions. All collections have the same weight, independent of size."""
    model, free = frozen.model, frozen.free
    kinds = np.flatnonzero(free.any(axis=(0, 1)))
    unbiased = replace(model, bias=np.where(free.any(axis=(0, 1)), 0.0, model.bias))
    flat = np.moveaxis(free, 2, 0).reshape(-1)
    blocks: list[NDArray[np.float32]] = []
    right: list[NDArray[np.bool_]] = []
    starts: list[NDArray[np.float32]] = []
    weights: list[tuple[float, float]] = []
    for questions in collections:
        asked = sum(case.variant in ("full", "foreign") for case in questions)
        for case in questions:
            weight = WEIGHTS[case.variant] / (asked * len(collections))
            shares = blend(case.measured)[:, kinds]
            columns = _columns(case.measured, model.usual)[:, flat]
            blocks.append(np.concatenate([columns, shares], axis=1))
            right.append(case.right)
            fixed = contributions(model, case.measured).sum(axis=1)
            starts.append(fixed + intercept(unbiased, case.measured))
            weights.append((weight, weight * bool(case.right.any())))
    solved = _minimise(
        np.concatenate(blocks),
        np.concatenate(right),
        np.array([len(block) for block in blocks]),
        np.array(weights),
        np.concatenate(starts),
        [bound for bound, kept in zip(_bounds(), flat, strict=True) if kept],
        np.append(np.moveaxis(frozen.former, 2, 0).reshape(-1)[flat], model.bias[kinds]),
        len(kinds),
    )
    filled = np.zeros(len(flat), np.float32)
    filled[flat] = solved[: -len(kinds)]
    bias = model.bias.copy()
    bias[kinds] = solved[-len(kinds) :]
    shape = (len(WEIGHT_KINDS), len(FORMS), len(signals.SIGNALS))
    learnt = np.moveaxis(filled.reshape(shape), 0, 2)
    return replace(model, weights=np.where(free, learnt, model.weights), bias=bias)


@dataclass(frozen=True, slots=True)
class Unseen:
    """A question, and the log-odds of its candidates by weights that saw nothing of its fold."""

    fold: int
    case: Case
    odds: NDArray[np.float32]


def unseen(
    collections: dict[str, list[Case]], folds: int, frozen: Frozen, share: float = 1.0
) -> dict[str, list[Unseen]]:
    """The questions of each collection, scored by weights learnt on this share of the other folds."""
    groups = sorted({case.group for questions in collections.values() for case in questions})
    order = np.random.default_rng(7).permutation(len(groups))
    fold = {group: int(place) % folds for group, place in zip(groups, order, strict=True)}
    found: dict[str, list[Unseen]] = {name: [] for name in collections}
    for left in range(folds):
        taught = [
            [c for c in q if fold[c.group] != left and Random(c.text).random() < share]
            for q in collections.values()
        ]
        model = learn(taught, frozen)
        for name, questions in collections.items():
            mine = [case for case in questions if fold[case.group] == left]
            found[name] += [Unseen(left, case, own_log_odds(model, case.measured)) for case in mine]
    return found


def learn_rivals(collections: Sequence[Sequence[Unseen]]) -> NDArray[np.float32]:
    """The penalty for rivals and its compensation, as in `Model.rivals`.

    Nothing of statements: answers to held-out memories were found less often with it than without.
    """
    columns: list[NDArray[np.float32]] = []
    odds: list[NDArray[np.float32]] = []
    right: list[NDArray[np.bool_]] = []
    weights: list[NDArray[np.float64]] = []
    for questions in collections:
        for each in questions:
            others = rival_log_odds(each.odds)
            changes = [rival_adjustment(unit, each.case.measured, others) for unit in UNITS]
            columns.append(np.stack(changes, axis=1))
            odds.append(each.odds)
            right.append(each.case.right)
            share = WEIGHTS[each.case.variant] / len(questions)
            weights.append(np.full(len(each.odds), share))
    values, before = np.concatenate(columns), np.concatenate(odds)
    truth, each = np.concatenate(right).astype(np.float64), np.concatenate(weights)

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        after = before + values @ point
        slope = each * (1 / (1 + np.exp(-after)) - truth)
        return float((each * (np.logaddexp(0, after) - truth * after)).sum()), values.T @ slope

    bounds = 2 * [(0.0, 0.0) if kind == "statement" else (None, None) for kind in WEIGHT_KINDS]
    first = np.zeros(len(bounds))
    solved = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds)
    return solved.x.reshape(2, len(WEIGHT_KINDS)).astype(np.float32)


def _usual(measured: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Mean and standard deviation of each signal where it is present; 0 if it never is."""
    values = np.concatenate(measured)
    present = ~np.isnan(values)
    counts = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, values, 0).sum(axis=0, dtype=np.float64) / counts
    squares = np.where(present, values - mean, 0) ** 2
    usual = np.stack([mean, np.sqrt(squares.sum(axis=0) / counts)]).astype(np.float32)
    for name in FLAGS:
        column = signals.SIGNALS.index(name)
        usual[1, column] = max(usual[1, column], LEAST_DEVIATION)
    for name, entry in BY_HAND.items():
        usual[:, signals.SIGNALS.index(name)] = entry["mean"], entry["deviation"]
    return usual


def _columns(measured: NDArray[np.float32], usual: NDArray[np.float32]) -> NDArray[np.float32]:
    """Shape (n, kinds * forms * signals): the features as seen by the weights of each kind."""
    flat = np.moveaxis(standardise(measured, usual), 1, 0).reshape(len(measured), -1)
    return np.concatenate([flat * share[:, None] for share in blend(measured).T], axis=1)


def _bounds() -> list[tuple[float | None, float | None]]:
    """The range of each weight, in the order of `_columns`."""
    return [_range(k, f, n) for k in WEIGHT_KINDS for f in FORMS for n in signals.SIGNALS]


def _range(kind: str, form: str, name: str) -> tuple[float | None, float | None]:
    if form == "value" and (name, kind) in LEARNT:
        return 0.0, None
    if name in BY_HAND or (name in OF_ALL and form != "value"):
        return 0.0, 0.0
    if name in MATCHES or name in BETTER:
        return 0.0, None
    if name in WORSE:
        return None, 0.0
    return (None, None) if form == "value" else (0.0, 0.0)


def _minimise(
    values: NDArray[np.float32],
    right: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    weights: NDArray[np.float64],
    priors: NDArray[np.floating],
    bounds: Sequence[tuple[float | None, float | None]],
    former: NDArray[np.floating],
    biases: int,
) -> NDArray[np.float64]:
    starts = np.cumsum(sizes) - sizes
    truth = right.astype(np.float64)
    share = truth / np.repeat(np.maximum(np.add.reduceat(truth, starts), 1), sizes)
    each, whole = np.repeat(weights, sizes, axis=0).T

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = (values @ point.astype(np.float32)).astype(np.float64) + priors
        binary = np.logaddexp(0, odds) - truth * odds
        exponents = np.exp(odds - np.repeat(np.maximum.reduceat(odds, starts), sizes))
        chosen = exponents / np.repeat(np.add.reduceat(exponents, starts), sizes)
        order = -share * np.log(chosen + 1e-12)
        moved = point - former
        moved[-biases:] = 0.0
        decay = DECAY * moved @ moved
        total = (each * binary + ORDER_SHARE * whole * order).sum() + decay
        slope = each * (1 / (1 + np.exp(-odds)) - truth) + ORDER_SHARE * whole * (chosen - share)
        return float(total), values.T @ slope.astype(np.float32) + 2 * DECAY * moved

    first = former.astype(np.float64)
    options = {"maxiter": 150}
    solved = minimize(
        loss,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=[*bounds, *biases * [(None, None)]],
        options=options,
    )
    return solved.x


def figures(questions: Sequence[Case], scores: Sequence[NDArray[np.float64]]) -> dict[str, float]:
    """nDCG@10, recall@10, hit@1 and `found` (an answer scores .5) of the questions with an answer,
    `quiet` (nothing scores .5) of those without, and the calibration error over the twenty best and
    of the best alone."""
    gains: list[float] = []
    recalls: list[float] = []
    hits: list[float] = []
    found: list[float] = []
    quiet: list[float] = []
    said: list[float] = []
    true: list[bool] = []
    first: list[float] = []
    for case, score in zip(questions, scores, strict=True):
        order = np.argsort(-score, kind="stable")
        said += score[order[:20]].tolist()
        true += case.right[order[:20]].tolist()
        if not case.answers:
            quiet.append(score.max() < 0.5)
            continue
        gains.append(ndcg(case.right[order[:10]].tolist(), case.answers))
        recalls.append(case.right[order[:10]].sum() / case.answers)
        hits.append(case.right[order[0]])
        first.append(float(score[order[0]]))
        found.append(score[case.right].max(initial=0.0) >= 0.5)
    measured = {
        "ndcg@10": gains,
        "recall@10": recalls,
        "hit@1": hits,
        "found": found,
        "quiet": quiet,
        "calibration_error": calibration_error(said, true),
        "calibration_error_of_first": calibration_error(first, hits),
    }
    return {name: round(float(np.mean(v)), 4) for name, v in measured.items() if np.size(v)}


def calibration_error(said: Sequence[float], true: Sequence[float]) -> float:
    """Expected calibration error over ten bins."""
    bins = np.minimum((np.array(said) * 10).astype(int), 9)
    errors = np.bincount(bins, np.array(said) - np.array(true), 10)
    return float(np.abs(errors).sum() / len(said))


def raised(model: Model, more: float) -> Model:
    """A model that gives statements of a full list of candidates this much more, and those of a list of
    `FEWEST` nothing more: most questions have an answer in a large store, but not in a small one."""
    column, kind = signals.SIGNALS.index("pool"), WEIGHT_KINDS.index("statement")
    mean, deviation = model.usual[:, column]
    slope = more / np.log(USUAL_CANDIDATES / FEWEST)
    weights, bias = model.weights.copy(), model.bias.copy()
    weights[0, column, kind] += slope * (deviation + 1e-3)
    bias[kind] += slope * (mean - np.log(FEWEST))
    return replace(model, weights=weights, bias=bias)


def _share_of_full(case: Case) -> NDArray[np.floating]:
    """The share of what `raised` adds that each candidate gets: shape (n,)."""
    statements = blend(case.measured)[:, WEIGHT_KINDS.index("statement")]
    size = np.log(min(len(statements), USUAL_CANDIDATES) / FEWEST)
    return statements * float(size / np.log(USUAL_CANDIDATES / FEWEST))


def all_figures(
    questions: Sequence[Case], scores: Sequence[NDArray[np.floating]]
) -> dict[str, Any]:
    """`figures` of the questions in their whole pools, and of each other variant `found` and `quiet`."""
    found: dict[str, Any] = {}
    for variant in WEIGHTS:
        some = [pair for pair in zip(questions, scores, strict=True) if pair[0].variant == variant]
        if not some:
            continue
        measured = figures([case for case, _ in some], [score for _, score in some])
        if variant == "full":
            found = {"questions": len(some), **measured, "variants": {}}
            if any(case.kind == UNANSWERED for case, _ in some):
                found["kinds"] = _by_kind(some)
        else:
            found["variants"][variant] = {
                n: measured[n] for n in ("found", "quiet") if n in measured
            }
    return found


def _by_kind(some: Sequence[tuple[Case, NDArray[np.floating]]]) -> dict[str, dict[str, float]]:
    """By kind of question: how many, how often an answer is first, or scores .5, or anything does."""
    kinds: dict[str, list[tuple[float, ...]]] = {}
    for case, score in some:
        first, best = case.right[int(score.argmax())], score[case.right].max(initial=0.0)
        kinds.setdefault(case.kind, []).append((first, best >= 0.5, score.max() >= 0.5))
    names = ("first", "found", "something")
    return {
        kind: {"questions": len(rows)}
        | dict(zip(names, np.mean(rows, axis=0).round(4).tolist(), strict=True))
        for kind, rows in sorted(kinds.items())
    }


def as_quiet(seen: dict[str, list[Unseen]], frozen: Frozen, something: float) -> float:
    """What `raised` may add so that, of the questions of `UNANSWERED` in their whole pools, this share brings something.

    The learnt bias is that of a mix in which half of the questions have no answer. In use most have one.
    """
    needed = [
        float(
            (-_final(each, frozen.model.rivals) / np.maximum(_share_of_full(each.case), 1e-3)).min()
        )
        for questions in seen.values()
        for each in questions
        if each.case.variant == "full" and each.case.kind == UNANSWERED
    ]
    return max(float(np.quantile(needed, something)), 0.0) if needed else 0.0


def _final(each: Unseen, rivals: NDArray[np.float32]) -> NDArray[np.floating]:
    return each.odds + rival_adjustment(rivals, each.case.measured, rival_log_odds(each.odds))


def cross_validated(seen: dict[str, list[Unseen]], model: Model | None) -> dict[str, Any]:
    """Figures of each collection, cross-validated by fold; with the rivals of a model if given."""
    scores: dict[int, NDArray[np.float32]] = {}
    for left in {each.fold for questions in seen.values() for each in questions}:
        if model is None:
            taught = learn_rivals([[e for e in q if e.fold != left] for q in seen.values()])
        else:
            taught = model.rivals
        for each in (each for q in seen.values() for each in q if each.fold == left):
            scores[id(each)] = sigmoid(_final(each, taught))
    return {
        n: all_figures([e.case for e in q], [scores[id(e)] for e in q]) for n, q in seen.items()
    }


def _entries(model: Model) -> dict[str, dict[str, Any]]:
    """A model as data: mean and deviation per signal, and its non-zero weights per form."""
    entries: dict[str, dict[str, Any]] = {}
    for column, name in enumerate(signals.SIGNALS):
        mean, deviation = (float(f"{number:.5g}") for number in model.usual[:, column])
        entries[name] = {"mean": mean, "deviation": deviation}
        for number, form in enumerate(FORMS):
            pair = [float(f"{weight:.4g}") for weight in model.weights[number, column]]
            if any(pair):
                entries[name][form] = pair
    return entries


def collected(wanted: argparse.Namespace) -> dict[str, list[Case]]:
    """The questions of all collections in their pools; each is also asked some of the others."""
    everything = [read(folder, wanted.queries) for folder in wanted.folders]
    everything += [sentences(read(folder, 10**9), wanted.queries) for folder in wanted.sentences]
    vectors = Vectors(wanted.cache)
    found: dict[str, list[Case]] = {}
    for each in everything:
        foreign = sorted(
            {
                row["text"]
                for other in everything
                for row in other.questions
                if row.get("split") != "held out"
                and {each.name, other.name} not in ({"sentences", "piaf-fr"}, {each.name})
                and other.answers.get(row["id"])
            }
        )
        found[each.name] = list(cases(each, foreign, vectors))
        print(each.name, len(found[each.name]), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sentences", nargs="*", type=Path, default=[])
    parser.add_argument("--frozen", type=Path, help="keep the weights of talk and long texts of it")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="where vectors are kept")
    parser.add_argument("--queries", type=int, default=1_500, help="most questions a collection")
    parser.add_argument(
        "--something",
        type=float,
        default=0.42,
        help="with --frozen: share of the unanswerable questions of people that may bring something",
    )
    parser.add_argument(
        "--share",
        type=float,
        default=1.0,
        help="learn from this share of the questions, only to print the figures",
    )
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument(
        "--licence", action="append", default=[], help="NAME=LICENCE of a collection"
    )
    wanted = parser.parse_args()
    everything = collected(wanted)
    learnable = {n: [c for c in q if not c.held_out] for n, q in everything.items()}
    collections = {n: q for n, q in learnable.items() if any(c.variant == "full" for c in q)}
    frozen = freeze([c.measured for q in collections.values() for c in q], wanted.frozen)
    seen = unseen(collections, wanted.folds, frozen, wanted.share)
    more = 0.0
    if wanted.frozen:
        more = as_quiet(seen, frozen, wanted.something)
        seen = {
            n: [replace(e, odds=e.odds + more * _share_of_full(e.case)) for e in q]
            for n, q in seen.items()
        }
    kept_rivals = frozen.model if wanted.frozen else None
    measured = cross_validated(seen, kept_rivals)
    print(json.dumps(measured, indent=1), flush=True)
    if wanted.share < 1:
        return
    model = learn(list(collections.values()), frozen)
    if wanted.frozen:
        model = raised(model, more)
    if kept_rivals is None:
        model = replace(model, rivals=learn_rivals(list(seen.values())))
    held_out = {
        name: all_figures(kept, [scoring.score(case.measured, model)[0] for case in kept])
        for name, q in everything.items()
        if (kept := [case for case in q if case.held_out])
    }
    print(json.dumps({"held out": held_out}, indent=1), flush=True)
    provenance = {
        "program": "benchmarks/learn_rank.py",
        "collections": measured,
        "held_out": held_out,
        "licences": dict(item.split("=", 1) for item in wanted.licence),
        "cross_validation": f"{wanted.folds} folds by conversation, article or subject",
        "embedder": MODEL,
        "by_hand": list(BY_HAND),
        "variants": WEIGHTS,
        "statements_raised": round(more, 4),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
    if wanted.frozen:
        former = json.loads(wanted.frozen.read_text(encoding="utf-8"))["provenance"]
        provenance["talk_and_long"] = former.get("talk_and_long", former)
    taken, given = ([float(f"{weight:.4g}") for weight in row] for row in model.rivals)
    entries = {
        "provenance": provenance,
        "reader": json.loads(common.RANK.read_text(encoding="utf-8"))["reader"],
        "bias": [float(f"{bias:.5g}") for bias in model.bias],
        "rivals": {"taken": taken, "given": given},
        "signals": _entries(model),
    }
    wanted.output.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
