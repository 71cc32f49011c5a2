"""The learnt model of the decision: from evidence to the probability of each outcome.

The mean of a linear model and of boosted trees, both over the same named numbers; and a linear model of its
probabilities and those of the reader, for pairs that were read. Learnt by `benchmarks/learn_decide.py`. It holds for
the word vectors and cosines of one embedder only.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
OUTCOMES: Final = ("update", "same", "detail", "partial", "separate")
"""The outcomes of the decision; the first three replace the old statement."""
MERGING: Final = 3
"""Number of `OUTCOMES` that merge the two statements."""
SEPARATE: Final = OUTCOMES.index("separate")
LEAST: Final = 1e-4
"""Floor of probabilities, for their logarithm."""
LIMIT: Final = 6.0
"""Evidence is clipped at this many deviations in the linear model."""
LEAVES: Final = 8
"""Most leaves of a tree: one bit each."""
_ALL: Final = np.uint8(2**LEAVES - 1)
_LOWEST: Final = np.array([0, *((each & -each).bit_length() - 1 for each in range(1, 256))])
"""The place of the lowest bit of a byte."""


@dataclass(frozen=True, slots=True)
class Trees:
    """Boosted trees: the inner nodes of all of them in one table, those of a tree in a row.

    A step to the right rules out the leaves on the left of the node. The result is the first leaf that no node
    rules out (Lucchese et al., 2015: QuickScorer), so no tree is walked.

    Attributes:
        feature: Shape (nodes,): the evidence that a node tests.
        threshold: Shape (nodes,): the greatest value that goes to the left.
        right: Shape (nodes,): the leaves that remain after a step to the right, one bit each.
        first: Shape (trees,): the first node of a tree.
        leaves: Shape (trees, `LEAVES`): the value of each leaf, from the left. The trees add to the outcomes in
            turn.
        base: Shape (outcomes,): the initial sums.
    """

    feature: NDArray[np.integer[Any]]
    threshold: Floats
    right: NDArray[np.uint8]
    first: NDArray[np.integer[Any]]
    leaves: Floats
    base: Floats

    def logits(self, evidence: Floats) -> Floats:
        """The sums of the leaves that evidence of shape (pairs, evidence) reaches, shape (pairs, outcomes)."""
        to_right = np.take(evidence, self.feature, axis=1) > self.threshold
        remaining = np.where(to_right, self.right, _ALL)
        reached = _LOWEST[np.bitwise_and.reduceat(remaining, self.first, axis=1)]
        grown = np.take(self.leaves, reached + np.arange(len(self.leaves)) * LEAVES)
        turns = grown.reshape(len(evidence), -1, len(self.base))
        return (self.base + turns.sum(axis=1)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Joint:
    """The model of two opinions on a pair.

    Attributes:
        weights: Shape (outcomes, 2 · outcomes), of the log-probabilities by the evidence and by the reader.
        bias: Shape (outcomes,).
        thresholds: As in `Model`.
    """

    weights: Floats
    bias: Floats
    thresholds: Mapping[str, float]

    def probabilities(self, shares: Floats, read: Floats) -> Floats:
        """The probability of each of `OUTCOMES`, shape (pairs, outcomes).

        Args:
            shares: Those by the evidence, shape (pairs, outcomes).
            read: The reader's logits, shape (pairs, outcomes).
        """
        both = np.concatenate([_logs(shares), _logs(_softmax(read))], axis=1)
        return _softmax(both @ self.weights.T + self.bias)


@dataclass(frozen=True, slots=True)
class Model:
    """Learnt weights and thresholds.

    Attributes:
        names: The evidence it reads, in order.
        mean: Shape (evidence,): mean in the training data.
        deviation: Shape (evidence,): deviation in the training data.
        weights: Shape (outcomes, evidence), of the linear model.
        bias: Shape (outcomes,).
        trees: The boosted trees.
        embedder: Id of the embedder whose vectors it was learnt with.
        thresholds: From this probability of a merge on, a pair is merged ("merge"; "careful" if it
            `weighing.needs_care`), and read if a reader is there ("read"); from this
            probability that it is not separate on, it is listed for review ("review").
        joint: The model for pairs that were read.
    """

    names: tuple[str, ...]
    mean: Floats
    deviation: Floats
    weights: Floats
    bias: Floats
    trees: Trees
    embedder: str
    thresholds: Mapping[str, float]
    joint: Joint

    def probabilities(self, evidence: Sequence[Mapping[str, float]]) -> Floats:
        """The probability of each of `OUTCOMES`, shape (pairs, outcomes), from the evidence of pairs."""
        values = matrix(evidence, self.names)
        scaled = np.clip((values - self.mean) / self.deviation, -LIMIT, LIMIT)
        linear = (scaled @ self.weights.T + self.bias).astype(np.float32)
        shares = (_softmax(linear) + _softmax(self.trees.logits(values))) / 2
        return shares.astype(np.float32)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)


def _logs(shares: Floats) -> Floats:
    return np.log(np.maximum(shares, LEAST)).astype(np.float32)


@functools.cache
def load_model() -> Model:
    """The shipped model."""
    source = resources.files("hippocampe") / "data" / "decide.npz"
    with source.open("rb") as file, np.load(file) as held:
        arrays = {name: held[name] for name in held.files}
    return from_arrays(arrays)


def model_for(embedder: str) -> Model | None:
    """The shipped model, if it was learnt with the embedder of this id."""
    model = load_model()
    return model if model.embedder == embedder else None


def from_arrays(held: Mapping[str, NDArray[Any]]) -> Model:
    """Rebuild a model from the arrays of `to_arrays`."""
    about = json.loads(bytes(held["about"]).decode())
    return Model(
        names=tuple(about["names"]),
        mean=held["mean"],
        deviation=held["deviation"],
        weights=held["weights"],
        bias=held["bias"],
        trees=Trees(
            feature=held["feature"],
            threshold=held["threshold"],
            right=held["right"],
            first=held["first"],
            leaves=held["leaves"],
            base=held["base"],
        ),
        embedder=about["embedder"],
        thresholds=about["thresholds"],
        joint=Joint(held["joint_weights"], held["joint_bias"], about["joint_thresholds"]),
    )


def to_arrays(model: Model, provenance: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """A model as arrays to store, with the conditions of its training."""
    about = {
        "provenance": provenance,
        "embedder": model.embedder,
        "thresholds": dict(model.thresholds),
        "joint_thresholds": dict(model.joint.thresholds),
        "names": model.names,
    }
    text = json.dumps(about, ensure_ascii=False).encode()
    trees = model.trees
    return {
        "about": np.frombuffer(text, np.uint8),
        "mean": model.mean,
        "deviation": model.deviation,
        "weights": model.weights,
        "bias": model.bias,
        "feature": trees.feature,
        "threshold": trees.threshold,
        "right": trees.right,
        "first": trees.first,
        "leaves": trees.leaves,
        "base": trees.base,
        "joint_weights": model.joint.weights,
        "joint_bias": model.joint.bias,
    }


def matrix(evidence: Sequence[Mapping[str, float]], names: Sequence[str]) -> Floats:
    """Evidence as rows, shape (pairs, names)."""
    return np.array([[each[name] for name in names] for each in evidence], np.float32)
