"""Join the evidence for a pair of statements with the opinion of the local reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from hippocampe.updates.learnt import MERGING, OUTCOMES, Floats

HELD_BACK: Final = 0.1
"""Added to the merge thresholds when the reader is installed, since it reads the pairs that are not merged at
once: the joint errors then stay within the error budgets of the decision alone."""
_LEAST: Final = 1e-4
"""Floor of probabilities, for their logarithm."""


def with_opinion(evidence: Mapping[str, float], opinion: Floats) -> dict[str, float]:
    """Add the reader's opinion to the evidence: the logarithm of each probability, and the log-odds of a merge.

    Args:
        evidence: The evidence of the aligned statements.
        opinion: The probability of each of `OUTCOMES`.
    """
    logs = np.log(np.maximum(opinion, _LEAST))
    merge, apart = float(opinion[:MERGING].sum()), float(opinion[MERGING:].sum())
    odds = float(np.log(merge + _LEAST) - np.log(apart + _LEAST))
    named = {f"read_{name}": float(log) for name, log in zip(OUTCOMES, logs, strict=True)}
    return {**evidence, **named, "read_merge": odds}


def held_back(thresholds: Mapping[str, float]) -> dict[str, float]:
    """The thresholds of the decision when the reader is installed."""
    return {
        name: value + HELD_BACK if name in OUTCOMES else value for name, value in thresholds.items()
    }
