"""Questions: moves the vector of a question towards those of the texts that answer it.

The default embedder puts a question near texts that resemble it. A learnt linear map of low rank is added to its vector,
so that the vectors of stored texts stay as they are. The map is `data/questions.npz`, from
`benchmarks/learn_questions.py`.
"""

from functools import cache
from importlib import resources

import numpy as np

from hippocampe.protocols import Vector, Vectors


def towards_answers(question: Vector) -> Vector:
    """Return where texts that answer a question are: shape (dimensions,), L2-normalised.

    Args:
        question: Its vector by the default embedder, shape (dimensions,), L2-normalised.
    """
    down, up = _map()
    moved = question + up @ (down @ question)
    return (moved / np.linalg.norm(moved)).astype(np.float32)


@cache
def _map() -> tuple[Vectors, Vectors]:
    """The map as two matrices, of shapes (rank, dimensions) and (dimensions, rank)."""
    source = resources.files("hippocampe") / "data" / "questions.npz"
    with source.open("rb") as file, np.load(file) as stored:
        return stored["down"].astype(np.float32), stored["up"].astype(np.float32)
