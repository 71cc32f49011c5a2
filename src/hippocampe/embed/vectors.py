"""What every embedder does to the vectors of a model it did not make."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hippocampe.errors import EmbedderMismatch, EmbedderUnavailable
from hippocampe.protocols import Vectors

UNKNOWN_MODEL_THRESHOLD = 0.80

_THRESHOLDS = (
    # Unrelated words lie near 0.43 for these, near 0.85 for the one they replaced:
    # https://www.s-anand.net/blog/embeddings-similarity-threshold/
    ("text-embedding-3-", 0.60),
    ("text-embedding-ada-002", 0.88),
    # The model card says that cosines lie between 0.7 and 1.0; unrelated words reach 0.87 to 0.90:
    # https://huggingface.co/intfloat/multilingual-e5-base/discussions/17
    ("e5-", 0.90),
)


def dedup_threshold(model: str) -> float:
    """The cosine above which two statements are worth comparing by rule, for a known model.

    Derived from what is published on each model's cosines, not measured here. A threshold that is
    too low costs a few comparisons, one that is too high hides corrections that share no subject.
    """
    name = model.lower()
    return next((value for part, value in _THRESHOLDS if part in name), UNKNOWN_MODEL_THRESHOLD)


def unit(rows: Sequence[ArrayLike], *, model: str, texts: int, dimensions: int | None) -> Vectors:
    """Turn a model's answer into unit vectors.

    Args:
        rows: One vector per text, in the order of the texts.
        model: The model's id, for messages.
        texts: How many vectors there must be.
        dimensions: How many dimensions they must have, None when the first answer decides.

    Returns:
        Shape (texts, dimensions), L2-normalised.

    Raises:
        EmbedderUnavailable: The answer is not one usable vector per text.
        EmbedderMismatch: The vectors have another dimension than before.
    """
    if len(rows) != texts:
        raise EmbedderUnavailable(
            f"{model} gave {len(rows)} vectors for {texts} texts: check that the server supports "
            "several texts per request."
        )
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbedderUnavailable(f"{model} gave something else than numbers: {error}.") from error
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise EmbedderUnavailable(
            f"{model} gave an array of shape {vectors.shape} where one vector per text is due: "
            "check that it is an embedding model."
        )
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise EmbedderMismatch(
            f"{model} gave {vectors.shape[1]} dimensions where it gave {dimensions} before: the "
            "model behind this name has changed; choose a model by its exact name and reindex."
        )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and (norms > 0).all()):
        raise EmbedderUnavailable(f"{model} gave a vector that is zero or not a number.")
    return vectors / norms
