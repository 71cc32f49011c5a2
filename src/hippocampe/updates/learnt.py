"""The learnt model of the decision: from the evidence and the reader's logits to the probability of each outcome.

Two linear models: of both, and of the evidence alone, which chooses what is worth reading and lists pairs while the
reader is down. Learnt by `benchmarks/learn_decide.py`.
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
UPDATE: Final = OUTCOMES.index("update")
SAME: Final = OUTCOMES.index("same")
SEPARATE: Final = OUTCOMES.index("separate")


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear model of numbers of known mean and deviation.

    Attributes:
        mean: Shape (inputs,): mean in the training data.
        deviation: Shape (inputs,): deviation in the training data.
        weights: Shape (outcomes, inputs), of the standardised inputs.
        bias: Shape (outcomes,).
    """

    mean: Floats
    deviation: Floats
    weights: Floats
    bias: Floats

    LIMIT = 4.0
    """Inputs are clipped at this many deviations."""

    def probabilities(self, inputs: Floats) -> Floats:
        """The probability of each of `OUTCOMES`, shape (pairs, outcomes), from inputs of shape (pairs, inputs)."""
        scaled = np.clip((inputs - self.mean) / self.deviation, -self.LIMIT, self.LIMIT)
        logits = np.asarray(scaled @ self.weights.T + self.bias, np.float32)
        return np.exp(log_softmax(logits))


@dataclass(frozen=True, slots=True)
class Model:
    """Learnt weights and thresholds.

    Attributes:
        names: The evidence it takes, in order.
        alone: The model of the evidence.
        both: The model of the evidence, then of the reader's log-probabilities.
        embedder: Id of the embedder whose cosines it has learnt. Those of another one count as average.
        thresholds: From this probability of a merge on, a pair is merged ("merge"; "careful" if it
            `weighing.needs_care`), and by the evidence alone, read ("read"); from this probability that it is not
            separate on, it is listed for review ("review").
        provenance: The conditions of its training.
    """

    names: Sequence[str]
    alone: Linear
    both: Linear
    embedder: str
    thresholds: Mapping[str, float]
    provenance: Mapping[str, Any]

    def matrix(self, evidence: Sequence[Mapping[str, float]]) -> Floats:
        """The evidence of pairs as numbers, shape (pairs, names)."""
        rows = [[each[name] for name in self.names] for each in evidence]
        return np.array(rows, np.float32).reshape(-1, len(self.names))

    def by_evidence(self, evidence: Sequence[Mapping[str, float]]) -> Floats:
        """The probability of each of `OUTCOMES`, shape (pairs, outcomes), for pairs that were not read."""
        return self.alone.probabilities(self.matrix(evidence))

    def by_both(self, evidence: Sequence[Mapping[str, float]], logits: Floats) -> Floats:
        """The probability of each of `OUTCOMES`, shape (pairs, outcomes).

        Args:
            evidence: The evidence of pairs.
            logits: The reader's, shape (pairs, outcomes).
        """
        inputs = np.concatenate([self.matrix(evidence), log_softmax(logits)], axis=1)
        return self.both.probabilities(inputs)

    def cosine(self, value: float, embedder: str) -> float:
        """A cosine of an embedder, as evidence."""
        known = embedder == self.embedder
        return value if known else float(self.alone.mean[self.names.index("cosine")])


def log_softmax(logits: Floats) -> Floats:
    """The log-probabilities of logits, by row."""
    most = logits - logits.max(axis=1, keepdims=True)
    return (most - np.log(np.exp(most).sum(axis=1, keepdims=True))).astype(np.float32)


@functools.cache
def load_model() -> Model:
    """The shipped model."""
    source = resources.files("hippocampe") / "data" / "decide.json"
    stored: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    for each in ("alone", "both"):
        numbers = {name: np.array(values, np.float32) for name, values in stored[each].items()}
        stored[each] = Linear(**numbers)
    return Model(**stored)
