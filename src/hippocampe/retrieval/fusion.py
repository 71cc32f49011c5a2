"""Fusion of rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

RRF_K: Final = 60
"""Cormack, Clarke and Büttcher (2009): damping of the rank."""


def fuse(rankings: Mapping[str, Sequence[str]], weights: Mapping[str, float]) -> list[str]:
    """Weighted Reciprocal Rank Fusion (k = 60): every item of any ranking, best first.

    Args:
        rankings: Per source, ids from best to worst.
        weights: Per first word of a source; a source without one weighs 1.
    """
    scores: dict[str, float] = {}
    for source, ranking in rankings.items():
        weight = weights.get(source.partition(" ")[0], 1.0)
        for damped, item in enumerate(ranking, RRF_K + 1):
            scores[item] = scores.get(item, 0.0) + weight / damped
    return sorted(scores, key=scores.__getitem__, reverse=True)
