"""Learn the weights of `hippocampe.updates.learnt`: what a new statement is to an old one, by evidence and reader.

    python benchmarks/learn_decide.py --data DATA --pairs PAIRS --cache CACHE --output src/hippocampe/data/decide.npz

`DATA/reader` and `DATA/updates-dev` are in the forms of `reader_data.py`, `PAIRS` in that of `updates.py`. Each new
statement is also paired with near old ones of other groups, because that is what a store is full of.

A linear model and boosted trees are learnt on the evidence of all groups but those that the reader did not learn from
(`reader_data.held_out`), and half of `PAIRS`. On the others a linear model of both opinions is learnt, and the thresholds are
chosen that miss least within the budgets of wrong merges below, by probabilities from weights that saw nothing of the
group. `data/reader` and `data/updates` are only measured.
Needs scikit-learn (`benchmarks/requirements.txt`); the product does not.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import common
import reader_data
import updates
from hippocampe.embed.local import MODEL, LocalEmbedder
from hippocampe.embed.word_space import WordVectors, is_literal, shipped, signature
from hippocampe.engine.vocabulary import text_words
from hippocampe.language.reading.statement import Reading, read
from hippocampe.language.text import keywords
from hippocampe.reader.network import load_reader
from hippocampe.updates.alignment import align
from hippocampe.updates.decide import Decision, Verdict, decide
from hippocampe.updates.evidence import evidence_of
from hippocampe.updates.learnt import (
    LEAST,
    LEAVES,
    LIMIT,
    MERGING,
    OUTCOMES,
    SEPARATE,
    Floats,
    Joint,
    Model,
    Trees,
    matrix,
    to_arrays,
)  # fmt: skip
from hippocampe.updates.weighing import needs_care, veto, worth_weighing

OWN: Final = Path(__file__).parent / "data"
FOLDS: Final = 5
WEIGHTS: Final = {"minimal": 0.4, "sentences": 0.12, "beside": 0.5}
"""Weight of one pair by its source; of all others 1."""
STRANGERS: Final = 2
"""Near old statements of other groups that each new one is paired with."""
ALIKE: Final = 0.92
"""Statements of two groups that are nearer than this may be one statement."""
BUDGETS: Final = {"natural": 0.0175, "minimal": 0.03, "sentences": 0.01, "stranger": 0.0075}
"""The share of pairs to keep that may be merged, by source. Most natural ones were written to be mistaken, and half of the
strangers that are merged do conflict."""
REVIEW: Final = 0.25
"""From this probability on that a pair is not separate, it is listed for review."""
READ: Final = 0.03
"""From this probability of a merge on, by the evidence, a pair is read."""
REGULARISATION: Final = 0.003
JOINT_REGULARISATION: Final = 1.0
TREES: Final = {
    "max_iter": 120, "learning_rate": 0.07, "max_leaf_nodes": LEAVES, "min_samples_leaf": 15,
    "l2_regularization": 5, "max_features": 0.3, "max_bins": 96, "early_stopping": False,
}  # fmt: skip
UPDATE, SAME = (OUTCOMES.index(name) for name in ("update", "same"))


@dataclass(slots=True)
class Pair:
    """An old statement and a new one, with what is known of them.

    `part` is `learnt`, `apart` (not learnt by the reader), or the name of a folder that is only measured.
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


class Vectors:
    """Vectors of texts and of words, kept in a folder between runs."""

    def __init__(self, texts: Sequence[str], cache: Path) -> None:
        self.dense = dict(zip(texts, _embedded(texts, cache), strict=True))
        spoken = sorted({w for text in texts for w in text_words(text) if not is_literal(w)})
        space = shipped(MODEL)
        assert space is not None
        quantised = WordVectors.of(space.place(_embedded(spoken, cache)))
        placed = quantised[np.arange(len(spoken))]
        self.words = dict(zip(spoken, placed, strict=True))
        self.width = placed.shape[1]

    def of(self, text: str, reading: Reading) -> NDArray[np.float32]:
        """Vectors of the content words of a statement, as the product finds them."""
        known, nothing = set(text_words(text)), np.zeros(self.width, np.float32)
        rows = [
            nothing
            if word not in known
            else signature(word, self.width)
            if is_literal(word)
            else self.words[word]
            for word in reading.words
        ]
        return np.array(rows, np.float32)


def _embedded(texts: Sequence[str], cache: Path) -> NDArray[np.float32]:
    digest = hashlib.sha256("\0".join((MODEL, *texts)).encode()).hexdigest()[:16]
    path = cache / f"{digest}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(path, LocalEmbedder().embed(list(texts)))
    return np.load(path)


def known_pairs(data: Path, sentences: Path) -> list[Pair]:
    """The pairs of all files, by part."""
    files = [
        *sorted((data / "reader").glob("pairs-*.txt")),
        *sorted((data / "updates-dev").glob("*.jsonl")),
    ]
    made: list[Pair] = []
    for each in reader_data.pairs(files):
        made.append(_pair(each, "apart" if reader_data.held_out(each.group) else "learnt"))
    for each in reader_data.pairs(sorted((OWN / "statements").glob("*.txt"))):
        made.append(_pair(each, "learnt"))
    for name, pattern in (("reader", "pairs-*.txt"), ("updates", "*.jsonl")):
        made += [
            _pair(p, f"data/{name}") for p in reader_data.pairs(sorted((OWN / name).glob(pattern)))
        ]
    for number, record in enumerate(updates.pairs(sentences)[::2]):
        group = f"sentences {number // 4}"
        part = "learnt" if number % 2 else "apart"
        label = OUTCOMES.index(record.label)
        made.append(Pair(record.before[0], record.after, label, "sentences", group, part))
    return made


def _pair(each: reader_data.Pair, part: str) -> Pair:
    source = each.source if each.source in ("minimal", "beside") else "natural"
    return Pair(each.old, each.new, each.label, source, each.group, part, each.language)


def strangers(found: Sequence[Pair], vectors: Vectors) -> list[Pair]:
    """Each new statement with the nearest old ones of other groups of its part."""
    made: list[Pair] = []
    for part in dict.fromkeys(pair.part for pair in found):
        natural = [pair for pair in found if pair.part == part and pair.source == "natural"]
        olds = list({pair.old: pair.group for pair in natural}.items())
        dense = np.array([vectors.dense[old] for old, _ in olds])
        for pair in {pair.new: pair for pair in natural}.values():
            cosines, words = dense @ vectors.dense[pair.new], set(keywords(pair.new))
            near = [
                old
                for old, group, cosine in (
                    (*olds[at], float(cosines[at])) for at in np.argsort(-cosines)[: 6 * STRANGERS]
                )
                if group != pair.group and cosine < ALIKE and worth_weighing(old, words, cosine)
            ]
            made += [
                replace(pair, old=old, label=SEPARATE, source="stranger")
                for old in near[:STRANGERS]
            ]
    return made


def tell(found: Sequence[Pair], vectors: Vectors) -> None:
    """Add the evidence and the decision of the rules to each pair."""
    for pair in found:
        old, new = read(pair.old), read(pair.new)
        ours, theirs = vectors.of(pair.old, old), vectors.of(pair.new, new)
        aligned = align(old, new, ours, theirs)
        cosine = float(vectors.dense[pair.old] @ vectors.dense[pair.new])
        pair.evidence = evidence_of(aligned, cosine, ours, theirs)
        pair.rule = decide(pair.new, pair.old)
        pair.vetoed = veto(aligned, pair.evidence, pair.rule) is not None


def learn(found: Sequence[Pair], values: Floats, names: Sequence[str]) -> Model:
    """Fit the models of the evidence, which is `values`, shape (pairs, names)."""
    truth = np.array([pair.label for pair in found])
    weight = np.array([WEIGHTS.get(pair.source, 1.0) for pair in found])
    mean, deviation = values.mean(axis=0), values.std(axis=0) + 1e-3
    scaled = np.clip((values - mean) / deviation, -LIMIT, LIMIT)
    linear = LogisticRegression(C=REGULARISATION, max_iter=300)
    linear.fit(scaled, truth, sample_weight=weight)
    boosted = HistGradientBoostingClassifier(**TREES, random_state=0)
    boosted.fit(values, truth, sample_weight=weight)
    nothing = np.zeros((len(OUTCOMES), 2 * len(OUTCOMES)), np.float32)
    return Model(
        names=tuple(names),
        mean=mean.astype(np.float32),
        deviation=deviation.astype(np.float32),
        weights=linear.coef_.astype(np.float32),
        bias=linear.intercept_.astype(np.float32),
        trees=_trees([boosted]),
        embedder=MODEL,
        thresholds={},
        joint=Joint(nothing, nothing[:, 0], {}),
    )


def learn_joint(found: Sequence[Pair], shares: Floats, logits: Floats) -> Joint:
    """Fit the model of both opinions.

    Args:
        found: Pairs that neither opinion has learnt from.
        shares: By the evidence, shape (pairs, outcomes).
        logits: By the reader, shape (pairs, outcomes).
    """
    both = np.concatenate([np.log(np.maximum(shares, LEAST)), _log_softmax(logits)], axis=1)
    weight = [WEIGHTS.get(pair.source, 1.0) for pair in found]
    model = LogisticRegression(C=JOINT_REGULARISATION, max_iter=500)
    model.fit(both, [pair.label for pair in found], sample_weight=weight)
    return Joint(model.coef_.astype(np.float32), model.intercept_.astype(np.float32), {})


def _log_softmax(logits: Floats) -> Floats:
    most = logits.max(axis=1, keepdims=True)
    return logits - most - np.log(np.exp(logits - most).sum(axis=1, keepdims=True))


def _trees(boosted: Sequence[HistGradientBoostingClassifier]) -> Trees:
    """The inner nodes and the leaves of all trees; their mean over the runs."""
    nodes: list[tuple[int, float, int]] = []
    first: list[int] = []
    leaves: list[list[float]] = []
    for tree in (tree for run in boosted for step in run._predictors for tree in step):
        first.append(len(nodes))
        leaves.append([])
        _walk(tree.nodes, 0, nodes, leaves[-1])
        if len(nodes) == first[-1]:
            # One leaf: a node that always sends to it.
            nodes.append((0, float("inf"), 1))
    feature, threshold, right = zip(*nodes, strict=True)
    return Trees(
        feature=np.array(feature, np.int64),
        threshold=np.array(threshold, np.float32),
        right=np.array(right, np.uint8),
        first=np.array(first, np.int64),
        leaves=np.array([each + [0.0] * (LEAVES - len(each)) for each in leaves], np.float32)
        / len(boosted),
        base=np.ravel(boosted[0]._baseline_prediction).astype(np.float32),
    )


def _walk(
    tree: NDArray[Any], at: int, nodes: list[tuple[int, float, int]], leaves: list[float]
) -> int:
    """Add what is below a node; return its leaves, one bit each."""
    node = tree[at]
    if node["is_leaf"]:
        leaves.append(float(node["value"]))
        return 1 << len(leaves) - 1
    place = len(nodes)
    nodes.append((0, 0.0, 0))
    left = _walk(tree, int(node["left"]), nodes, leaves)
    right = _walk(tree, int(node["right"]), nodes, leaves)
    remaining = (1 << LEAVES) - 1 & ~left
    nodes[place] = int(node["feature_idx"]), float(node["num_threshold"]), remaining
    return left | right


def merging(shares: Floats) -> Floats:
    """The probability of a merge."""
    return shares[:, :MERGING].sum(axis=1)


def unseen(found: Sequence[Pair], shares: Floats, logits: Floats) -> Floats:
    """The probabilities of each pair by a joint model that saw nothing of its group, shape (pairs, outcomes)."""
    fold = np.array([hashlib.sha256(pair.group.encode()).digest()[0] % FOLDS for pair in found])
    made = np.zeros_like(shares)
    for left in range(FOLDS):
        rows = np.flatnonzero(fold != left)
        joint = learn_joint([found[at] for at in rows], shares[rows], logits[rows])
        made[fold == left] = joint.probabilities(shares[fold == left], logits[fold == left])
    return made


def thresholds_of(found: Sequence[Pair], merge: Floats) -> dict[str, float]:
    """The lowest thresholds within the budgets.

    Args:
        found: The pairs.
        merge: The probability of a merge, shape (pairs,).
    """
    weighed = np.array([pair.weighed for pair in found])
    careful = np.array([needs_care(pair.evidence) for pair in found])
    lowest = 0.05
    highest = 0.0
    for source, share in BUDGETS.items():
        apart = [pair.source == source and pair.label == SEPARATE for pair in found]
        rows = np.array(apart)
        most = share * rows.sum() - sum(
            pair.merged_by_rule for pair, kept in zip(found, apart, strict=True) if kept
        )
        ranked = np.sort(merge[rows & weighed & (careful if source == "sentences" else True)])[::-1]
        if 0 <= most < len(ranked):
            least = float(ranked[int(most)]) + 1e-4
            if source == "sentences":
                highest = least
            else:
                lowest = max(lowest, least)
    return {
        "merge": round(lowest, 4),
        "careful": round(max(lowest, highest), 4),
        "review": REVIEW,
        "read": READ,
    }


def figures(
    found: Sequence[Pair], shares: Floats, thresholds: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """Shares by part and language: missed, neither merged nor listed, wrong, listed."""
    made: dict[str, dict[str, Any]] = {}
    merge = merging(shares)
    merged = np.array(
        [
            p.merged_by_rule
            or (p.weighed and m >= thresholds["careful" if needs_care(p.evidence) else "merge"])
            for p, m in zip(found, merge, strict=True)
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


def main() -> None:
    """Learn, measure, print and store."""
    parser = common.arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    options = parser.parse_args()
    found = known_pairs(options.data, options.pairs)
    vectors = Vectors(
        sorted({text for pair in found for text in (pair.old, pair.new)}), options.cache
    )
    found += strangers(found, vectors)
    tell(found, vectors)
    names = list(found[0].evidence)
    taught = [pair for pair in found if pair.part == "learnt"]
    model = learn(taught, matrix([pair.evidence for pair in taught], names), names)
    left = [pair for pair in found if pair.part != "learnt"]
    shares = model.probabilities([pair.evidence for pair in left])
    logits = load_reader().read_pairs("relation", [(pair.old, pair.new) for pair in left])
    fitted = np.array([pair.part == "apart" for pair in left])
    apart = [pair for pair in left if pair.part == "apart"]
    joint = learn_joint(apart, shares[fitted], logits[fitted])
    both = joint.probabilities(shares, logits)
    both[fitted] = unseen(apart, shares[fitted], logits[fitted])
    both[merging(shares) < READ] = shares[merging(shares) < READ]
    measured: dict[str, Any] = {}
    chosen: dict[str, dict[str, float]] = {}
    for name, of in (("evidence", shares), ("evidence and reader", both)):
        chosen[name] = thresholds_of(apart, merging(of[fitted]))
        measured[name] = figures(left, of, chosen[name])
    model = replace(
        model,
        thresholds=chosen["evidence"],
        joint=replace(joint, thresholds=chosen["evidence and reader"]),
    )
    provenance = {
        "program": "benchmarks/learn_decide.py",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
        "pairs": dict(Counter(f"{pair.part}, {pair.source}" for pair in found)),
        "reader": load_reader().about["sha256"],
        "measured": measured,
    }
    np.savez_compressed(options.output, **to_arrays(model, provenance))
    common.save(options.out, "learn_decide", {"thresholds": chosen, "measured": measured})
    for name, of in measured.items():
        print(name, json.dumps(chosen[name]))
        for part, each in of.items():
            print(" ", part, json.dumps(each))


if __name__ == "__main__":
    main()
