"""Questions: moves the vector of a question towards those of the texts that answer it, and says if it asks for several.

The default embedder puts a question near texts that resemble it. A learnt linear map of low rank is added to its
vector, so that the vectors of stored texts stay as they are. "Who can't eat what here" asks for several texts: its
vector tells, though its words do not. Map and weights are `data/questions.npz`, from `benchmarks/learn_questions.py`.
"""

from functools import cache
from importlib import resources
from math import log

import numpy as np

from hippocampe.protocols import Vector, Vectors

SEVERAL = 0.2
"""Probability from which a message counts as one for several texts: .81 of those that are, .05 of the others."""


def towards_answers(question: Vector) -> Vector:
    """Return where texts that answer a question are: shape (dimensions,), L2-normalised.

    Args:
        question: Its vector by the default embedder, shape (dimensions,), L2-normalised.
    """
    down, up, _ = _learnt()
    moved = question + up @ (down @ question)
    return (moved / np.linalg.norm(moved)).astype(np.float32)


def asks_for_several(question: Vector) -> bool:
    """Return whether a question, as `towards_answers` moved it, asks for what several texts tell: "who can't eat what"."""
    *_, weights = _learnt()
    odds = float(question @ weights[:-1] + weights[-1])
    return odds >= log(SEVERAL / (1 - SEVERAL))


@cache
def _learnt() -> tuple[Vectors, Vectors, Vector]:
    """The map as two matrices, of shapes (rank, dimensions) and (dimensions, rank), and the weights of `asks_for_several`,
    shape (dimensions + 1,), the constant last."""
    source = resources.files("hippocampe") / "data" / "questions.npz"
    with source.open("rb") as file, np.load(file) as stored:
        down, up, several = (stored[name].astype(np.float32) for name in ("down", "up", "several"))
    return down, up, several
