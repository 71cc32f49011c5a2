"""Checks and thresholds for the vectors of third-party models."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hippocampe.embed.clean import clean
from hippocampe.errors import EmbedderMismatch, EmbedderUnavailable
from hippocampe.protocols import Vectors

UNKNOWN_MODEL_THRESHOLD = 0.80

_THRESHOLDS = (
    # Unrelated words have a cosine near 0.43 with these, near 0.85 with ada-002:
    # https://www.s-anand.net/blog/embeddings-similarity-threshold/
    ("text-embedding-3-", 0.60),
    ("text-embedding-ada-002", 0.88),
    # Cosines are between 0.7 and 1.0 (model card); unrelated words reach 0.87 to 0.90:
    # https://huggingface.co/intfloat/multilingual-e5-base/discussions/17
    ("e5-", 0.90),
)


def dedup_threshold(model: str) -> float:
    """The cosine above which two statements are compared by rule, by model.

    Derived from published cosines, not measured here. Too low a threshold costs a few comparisons;
    too high a threshold misses corrections that share no subject.
    """
    name = model.lower()
    return next((value for part, value in _THRESHOLDS if part in name), UNKNOWN_MODEL_THRESHOLD)


class ThirdParty(ABC):
    """An embedder with a model of a third party, whose first answer tells the dimensions.

    Args:
        provider: Who serves or runs it: the first part of the model's id.
        dimensions: Length of the vectors, if it is known.
    """

    def __init__(self, provider: str, name: str, dimensions: int | None = None) -> None:
        self._provider = provider
        self._name = name
        self._dimensions = dimensions

    @property
    def model(self) -> str:
        return f"{self._provider}:{self._name}"

    @property
    def dimensions(self) -> int:
        """Length of the vectors. The first use embeds one text to measure it."""
        if self._dimensions is None:
            return self.embed(["."]).shape[1]
        return self._dimensions

    @property
    def dedup_threshold(self) -> float:
        return dedup_threshold(self._name)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, each from its first 8,000 characters. See `Embedder.embed`."""
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._embed_documents([clean(text) for text in texts])

    @abstractmethod
    def _embed_documents(self, texts: list[str]) -> Vectors: ...

    def _unit(self, rows: Sequence[ArrayLike], texts: int) -> Vectors:
        """Check the model's answer, and normalise it.

        Args:
            rows: One vector per text, in the order of the texts.
            texts: Expected number of vectors.

        Returns:
            Shape (texts, dimensions), L2-normalised.

        Raises:
            EmbedderUnavailable: The answer is not one finite, non-zero vector per text.
            EmbedderMismatch: The vectors have other dimensions than before.
        """
        if len(rows) != texts:
            raise EmbedderUnavailable(
                f"{self.model} gave {len(rows)} vectors for {texts} texts: check that the server supports "
                "several texts per request."
            )
        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise EmbedderUnavailable(
                f"{self.model} gave values that are not numbers: {error}."
            ) from error
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise EmbedderUnavailable(
                f"{self.model} gave an array of shape {vectors.shape} instead of one vector per text: "
                "check that it is an embedding model."
            )
        if self._dimensions not in (None, vectors.shape[1]):
            raise EmbedderMismatch(
                f"{self.model} gave {vectors.shape[1]} dimensions where it gave {self._dimensions} before: the "
                "model behind this name has changed; choose a model by its exact name and reindex."
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and (norms > 0).all()):
            raise EmbedderUnavailable(f"{self.model} gave a vector that is zero or not a number.")
        self._dimensions = vectors.shape[1]
        return vectors / norms
