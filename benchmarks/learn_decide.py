"""Learn the weights of `hippocampe.updates.learnt`: what a new statement is to an old one, by evidence and reader.

    python benchmarks/learn_decide.py --data DATA --pairs PAIRS --cache CACHE --output src/hippocampe/data/decide.json

`DATA/reader` and `DATA/updates-dev` are in the forms of `reader_data.py`, `PAIRS` in that of `updates.py`. Each new
statement is also paired with near old ones of other groups, because that is what a store is full of.

Two linear models are fitted, of the evidence and of evidence and reader, on groups that the reader did not learn from:
those of `reader_data.held_out`, those of `data/apart`, and a quarter of `PAIRS`. The thresholds miss least within the
budgets of wrong merges below, by probabilities from weights that saw nothing of the group. `data/reader` and
`data/updates` are only measured.
Needs scikit-learn (`benchmarks/requirements.txt`); the product does not.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import common
import reader_data
import updates
from hippocampe.embed.local import MODEL, LocalEmbedder
from hippocampe.language.statement import parse
from hippocampe.language.text import keywords
from hippocampe.reader.network import load_reader
from hippocampe.updates.alignment import align
from hippocampe.updates.decide import Decision, Verdict, decide
from hippocampe.updates.evidence import evidence_of
from hippocampe.updates.learnt import (
    OUTCOMES,
    SAME,
    SEPARATE,
    UPDATE,
    Floats,
    Linear,
    Model,
    log_softmax,
)
from hippocampe.updates.weighing import merge_probability, needs_care, veto, worth_weighing

OWN: Final = Path(__file__).parent / "data"
FITTED: Final = ("held out", "data/apart", "sentences")
"""The parts that the models are fitted on."""
FOLDS: Final = 5
WEIGHTS: Final = {"minimal": 0.4, "sentences": 0.12, "beside": 0.5, "stranger": 0.5}
"""Weight of one pair by its source; of all others 1."""
STRANGERS: Final = 2
"""Near old statements of other groups that each new one is paired with."""
ALIKE: Final = 0.92
"""Statements of two groups that are nearer than this may be one statement."""
BUDGETS: Final = {"natural": 0.015, "minimal": 0.03, "sentences": 0.01, "stranger": 0.008}
"""The share of pairs to keep that may be merged, by source. Most natural ones were written to be mistaken."""
UNKNOWN: Final = "-"
LABELLED: Final = OWN / "strangers" / "labels.tsv"
"""Strangers that were read and labelled, as they may conflict with the new statement by chance."""
REVIEW: Final = 0.25
"""From this probability on that a pair is not separate, it is listed for review."""
READ: Final = 0.05
"""From this probability of a merge on, by the evidence alone, a pair is read."""
REGULARISATION: Final = 0.01


@dataclass(slots=True)
class Pair:
    """An old statement and a new one, with what is known of them.

    `part` is one of `FITTED`, or the name of a folder that is only measured.
    """

    old: str
    new: str
    label: int
    source: str
    group: str
    part: str
    language: str = ""
    evidence: dict[str, float] = field(init=False)
    rule: Decision = field(init=False)
    vetoed: bool = field(init=False)

    @property
    def merged_by_rule(self) -> bool:
        """Whether a sure rule merges it."""
        return self.rule.verdict in (Verdict.UPDATED, Verdict.REINFORCED)

    @property
    def weighed(self) -> bool:
        """Whether the probability decides whether it merges."""
        near = worth_weighing(self.old, set(keywords(self.new)), self.evidence["cosine"])
        return near and not self.vetoed and not self.rule.is_final


def embedded(texts: Iterable[str], cache: Path) -> dict[str, NDArray[np.float32]]:
    """The vectors of texts, kept in a folder between runs."""
    distinct = sorted(set(texts))
    digest = hashlib.sha256("\0".join((MODEL, *distinct)).encode()).hexdigest()[:16]
    path = cache / f"{digest}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(path, LocalEmbedder().embed(distinct))
    return dict(zip(distinct, np.load(path), strict=True))


def known_pairs(data: Path, sentences: Path) -> list[Pair]:
    """The pairs of all files that the reader has not learnt from, by part."""
    files = [
        *sorted((data / "reader").glob("pairs-*.txt")),
        *sorted((data / "updates-dev").glob("*.jsonl")),
    ]
    made = [
        _pair(each, "held out")
        for each in reader_data.pairs(files)
        if reader_data.held_out(each.group)
    ]
    for name in ("apart", "reader", "updates"):
        found = [*(OWN / name).glob("pairs-*.txt"), *(OWN / name).glob("*.jsonl")]
        made += [_pair(each, f"data/{name}") for each in reader_data.pairs(sorted(found))]
    for number, record in enumerate(updates.pairs(sentences)[::4]):
        label, group = OUTCOMES.index(record.label), f"sentences {number // 2}"
        made.append(Pair(record.before[0], record.after, label, "sentences", group, "sentences"))
    return made


def _pair(each: reader_data.Pair, part: str) -> Pair:
    source = each.source if each.source in ("minimal", "beside") else "natural"
    return Pair(each.old, each.new, each.label, source, each.group, part, each.language)


def digest(old: str, new: str) -> str:
    """The name of a pair in `LABELLED`, which has none of the texts."""
    return hashlib.sha256(f"{old}\t{new}".encode()).hexdigest()[:16]


def strangers(found: Sequence[Pair], vectors: Mapping[str, NDArray[np.float32]]) -> list[Pair]:
    """Each new statement with the nearest old ones of other groups of its part, but for those that nobody can label."""
    labelled = dict(line.split("\t") for line in LABELLED.read_text().splitlines())
    made: list[Pair] = []
    for part in dict.fromkeys(pair.part for pair in found if pair.source == "natural"):
        natural = [pair for pair in found if pair.part == part and pair.source == "natural"]
        olds = list({pair.old: pair.group for pair in natural}.items())
        dense = np.array([vectors[old] for old, _ in olds])
        for pair in {pair.new: pair for pair in natural}.values():
            cosines, words = dense @ vectors[pair.new], set(keywords(pair.new))
            near = [
                old
                for old, group, cosine in (
                    (*olds[at], float(cosines[at])) for at in np.argsort(-cosines)[: 6 * STRANGERS]
                )
                if group != pair.group and cosine < ALIKE and worth_weighing(old, words, cosine)
            ]
            for old in near[:STRANGERS]:
                tag = labelled.get(digest(old, pair.new), "X")
                if tag != UNKNOWN:
                    label = reader_data.LABELS[reader_data.TAGS[tag]]
                    made.append(replace(pair, old=old, label=label, source="stranger"))
    return made


def tell(found: Sequence[Pair], vectors: Mapping[str, NDArray[np.float32]]) -> None:
    """Add the evidence and the decision of the rules to each pair."""
    for pair in found:
        aligned = align(parse(pair.old), parse(pair.new))
        pair.evidence = evidence_of(aligned, float(vectors[pair.old] @ vectors[pair.new]))
        pair.rule = decide(pair.new, pair.old)
        pair.vetoed = veto(aligned, pair.evidence, pair.rule) is not None


def fit(found: Sequence[Pair], inputs: Floats) -> Linear:
    """Fit a linear model on inputs of shape (pairs, inputs)."""
    mean, deviation = inputs.mean(axis=0), inputs.std(axis=0) + 1e-3
    scaled = np.clip((inputs - mean) / deviation, -Linear.LIMIT, Linear.LIMIT)
    weight = [WEIGHTS.get(pair.source, 1.0) for pair in found]
    model = LogisticRegression(C=REGULARISATION, max_iter=1000)
    model.fit(scaled, [pair.label for pair in found], sample_weight=weight)
    fitted = (mean, deviation, model.coef_, model.intercept_)
    return Linear(*(each.astype(np.float32) for each in fitted))


def unseen(found: Sequence[Pair], inputs: Floats) -> Floats:
    """The probabilities of each pair by a model that saw nothing of its group, shape (pairs, outcomes)."""
    fold = np.array([hashlib.sha256(pair.group.encode()).digest()[0] % FOLDS for pair in found])
    made = np.zeros((len(found), len(OUTCOMES)), np.float32)
    for left in range(FOLDS):
        rows = np.flatnonzero(fold != left)
        model = fit([found[at] for at in rows], inputs[rows])
        made[fold == left] = model.probabilities(inputs[fold == left])
    return made


def thresholds_of(found: Sequence[Pair], merge: Floats) -> dict[str, float]:
    """The lowest thresholds within the budgets.

    Args:
        found: The pairs.
        merge: The probability of a merge, shape (pairs,).
    """
    weighed = np.array([pair.weighed for pair in found])
    careful = np.array([needs_care(pair.evidence) for pair in found])
    apart = np.array([pair.label == SEPARATE for pair in found])
    source = np.array([pair.source for pair in found])
    by_rule = np.array([pair.merged_by_rule for pair in found])

    def least(name: str, open_rows: NDArray[np.bool_], spent: NDArray[np.bool_]) -> float:
        """The threshold of some rows, if others of their source are merged already."""
        rows = apart & (source == name)
        ranked = np.sort(merge[rows & open_rows])[::-1]
        remaining = int(BUDGETS[name] * rows.sum() - (rows & spent).sum())
        return float(ranked[max(remaining, 0)]) + 1e-4 if remaining < len(ranked) else 0.05

    high = least("sentences", weighed & careful, by_rule)
    spent = by_rule | (weighed & careful & (merge >= high))
    low = max(least(name, weighed & ~careful, spent) for name in BUDGETS if name != "sentences")
    return {
        "merge": round(low, 4),
        "careful": round(max(low, high), 4),
        "review": REVIEW,
        "read": READ,
    }


def figures(
    found: Sequence[Pair], shares: Floats, thresholds: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """Shares by part and language: missed, neither merged nor listed, wrong, listed."""
    made: dict[str, dict[str, Any]] = {}
    merged = np.array(
        [
            p.merged_by_rule
            or (p.weighed and m >= thresholds["careful" if needs_care(p.evidence) else "merge"])
            for p, m in zip(found, merging(found, shares), strict=True)
        ]
    )
    listed = ~merged & (1 - shares[:, SEPARATE] >= thresholds["review"])
    for part in dict.fromkeys((p.part, of) for p in found for of in (p.language, "all")):
        rows = np.array([p.part == part[0] and part[1] in (p.language, "all") for p in found])
        of: dict[str, Any] = {}
        for label in (UPDATE, SAME):
            chosen = rows & np.array([p.label == label and p.source == "natural" for p in found])
            if chosen.any():
                of[OUTCOMES[label]] = {
                    "pairs": int(chosen.sum()),
                    "missed": round(float((~merged[chosen]).mean()), 3),
                    "neither": round(float((~merged & ~listed)[chosen].mean()), 3),
                }
        for source in BUDGETS:
            chosen = rows & np.array([p.label == SEPARATE and p.source == source for p in found])
            if chosen.any():
                of[f"apart, {source}"] = {
                    "pairs": int(chosen.sum()),
                    "wrong": round(float(merged[chosen].mean()), 4),
                    "listed": round(float(listed[chosen].mean()), 3),
                }
        made[", ".join(part)] = of
    return made


def merging(found: Sequence[Pair], shares: Floats) -> Floats:
    """The probability of a merge, shape (pairs,)."""
    each = (merge_probability(row, p.evidence) for p, row in zip(found, shares, strict=True))
    return np.array(list(each), np.float32)


def main() -> None:
    """Learn, measure, print and store."""
    parser = common.arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    options = parser.parse_args()
    found = known_pairs(options.data, options.pairs)
    vectors = embedded((text for pair in found for text in (pair.old, pair.new)), options.cache)
    found += strangers(found, vectors)
    tell(found, vectors)
    names = tuple(found[0].evidence)
    evidence = np.array([[pair.evidence[name] for name in names] for pair in found], np.float32)
    logits = load_reader().read_pairs("relation", [(pair.old, pair.new) for pair in found])
    inputs = np.concatenate([evidence, log_softmax(logits)], axis=1)
    fitted = np.array([pair.part in FITTED for pair in found])
    taught = [pair for pair in found if pair.part in FITTED]
    alone, both = fit(taught, evidence[fitted]), fit(taught, inputs[fitted])
    shares = both.probabilities(inputs)
    shares[fitted] = unseen(taught, inputs[fitted])
    unread = merging(found, alone.probabilities(evidence)) < READ
    shares[unread] = alone.probabilities(evidence[unread])
    thresholds = thresholds_of(taught, merging(taught, shares[fitted]))
    measured = figures(found, shares, thresholds)
    provenance = {
        "program": "benchmarks/learn_decide.py",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "pairs": dict(Counter(f"{pair.part}, {pair.source}" for pair in found)),
        "reader": load_reader().about["sha256"],
        "measured": measured,
    }
    model = Model(names, alone, both, MODEL, thresholds, provenance)
    stored = asdict(model)
    for each in ("alone", "both"):
        stored[each] = {name: np.round(array, 5).tolist() for name, array in stored[each].items()}
    options.output.write_text(json.dumps(stored, ensure_ascii=False) + "\n")
    common.save(options.out, "learn_decide", {"thresholds": thresholds, "measured": measured})
    print(json.dumps(thresholds))
    for part, each in measured.items():
        print(" ", part, json.dumps(each))


if __name__ == "__main__":
    main()
