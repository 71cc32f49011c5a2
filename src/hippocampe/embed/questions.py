"""Questions: moves the vector of a question towards those of the texts that answer it, and says what it asks for.

The default embedder puts a question near texts that resemble it. A learnt linear map of low rank is added to its
vector, so that the vectors of stored texts stay as they are. "Who can't eat what here" asks for several texts: its
vector tells, though its words do not. It also tells small talk: "rivet is such a handsome boy". Map and weights are `data/questions.npz`, from `benchmarks/learn_questions.py`.
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
    learnt = _learnt()
    moved = question + learnt["up"] @ (learnt["down"] @ question)
    return (moved / np.linalg.norm(moved)).astype(np.float32)


def asks_for_several(question: Vector) -> bool:
    """Return whether a question, as `towards_answers` moved it, asks for what several texts tell: "who can't eat what"."""
    return _odds("several", question) >= log(SEVERAL / (1 - SEVERAL))


def idle_odds(question: Vector) -> float:
    """Return the log-odds that a message, as `towards_answers` moved it, needs no memory: "rivet is such a handsome boy"."""
    return _odds("nothing", question)


def _odds(name: str, question: Vector) -> float:
    weights = _learnt()[name]
    return float(question @ weights[:-1] + weights[-1])


@cache
def _learnt() -> dict[str, Vector | Vectors]:
    """The map as two matrices, `down` and `up`, of shapes (rank, dimensions) and (dimensions, rank), and the weights of
    `asks_for_several` and `idle_odds`, shape (dimensions + 1,), the constant last."""
    source = resources.files("hippocampe") / "data" / "questions.npz"
    with source.open("rb") as file, np.load(file) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}
