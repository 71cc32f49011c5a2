"""Join the evidence for a pair of statements with what the local reader says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from hippocampe.updates.learnt import MERGING, OUTCOMES, Floats

HELD_BACK: Final = 0.1
"""How much surer the decision must be to merge at once where the reader reads what it lists: what both
merge wrongly then stays within the budgets of the decision alone."""
_LEAST: Final = 1e-4
"""Probabilities below this are alike."""


def with_opinion(told: Mapping[str, float], opinion: Floats) -> dict[str, float]:
    """Evidence with the reader's: the logarithm of each probability, and the log-odds of a merge.

    Args:
        told: The evidence of the aligned statements.
        opinion: The probability of each of `OUTCOMES`.
    """
    logs = np.log(np.maximum(opinion, _LEAST))
    merge, apart = float(opinion[:MERGING].sum()), float(opinion[MERGING:].sum())
    odds = float(np.log(merge + _LEAST) - np.log(apart + _LEAST))
    named = {f"read_{name}": float(log) for name, log in zip(OUTCOMES, logs, strict=True)}
    return {**told, **named, "read_merge": odds}


def held_back(thresholds: Mapping[str, float]) -> dict[str, float]:
    """The thresholds of the decision where the reader reads what it lists."""
    return {
        name: value + HELD_BACK if name in OUTCOMES else value for name, value in thresholds.items()
    }
