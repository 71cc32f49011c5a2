"""Embedders for tests that ask nothing of meaning: `hashed:N` adds up one vector per word.

Also run by child processes: `hashed.install(setattr)`.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from hippocampe.embed import open_embedder
from hippocampe.folder import opening, reembed
from hippocampe.protocols import Embedder, Vector, Vectors


@cache
def _vector(word: str, dimensions: int) -> Vector:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)


class HashedEmbedder:
    """The `Embedder` Protocol without a model."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.model = f"hashed-{dimensions}"
        self.dedup_threshold = 0.8

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split() or [""]:
                vectors[row] += _vector(word, self.dimensions)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str, words: Sequence[str] = ()) -> tuple[Vector, Vectors]:
        vectors = self.embed([text, *words])
        return vectors[0], vectors[1:]


def _open(name: str, **options: Any) -> Embedder:
    provider, _, dimensions = name.partition(":")
    if provider == "hashed":
        return HashedEmbedder(int(dimensions))
    return open_embedder(name, **options)


def install(put: Callable[[Any, str, Any], None]) -> None:
    """Make the names known wherever the engine opens embedders."""
    for module in (opening, reembed):
        put(module, "open_embedder", _open)
