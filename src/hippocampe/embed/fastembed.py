"""ONNX models run in this process by FastEmbed (an extra): `fastembed:MODEL`.

Model files are downloaded at the first use and cached by FastEmbed.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from threading import Lock
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from hippocampe.embed.clean import clean
from hippocampe.embed.vectors import dedup_threshold, unit
from hippocampe.errors import EmbedderUnavailable
from hippocampe.protocols import Vector, Vectors
from hippocampe.system.command_line import install_line

EXTRA = "fastembed"


class _Encoder(Protocol):
    def passage_embed(self, texts: list[str]) -> Iterable[NDArray[np.float32]]: ...
    def query_embed(self, query: list[str]) -> Iterable[NDArray[np.float32]]: ...


class FastEmbedder:
    """A model from FastEmbed's catalogue.

    Args:
        name: The model as FastEmbed names it, such as `intfloat/multilingual-e5-large`.

    Raises:
        EmbedderUnavailable: From every use, if the extra is not installed, the model is unknown,
            or its files are neither cached nor downloadable.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._encoder: _Encoder | None = None
        self._dimensions: int | None = None
        self._loading = Lock()

    @property
    def model(self) -> str:
        return f"fastembed:{self._name}"

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
        cleaned = [clean(text) for text in texts]
        return self._unit(self._load().passage_embed(cleaned), len(texts))

    def embed_query(self, text: str, words: Sequence[str] = ()) -> tuple[Vector, Vectors]:
        """Embed a query, and words as documents. See `Embedder.embed_query`."""
        query = self._unit(self._load().query_embed([clean(text)]), 1)
        return query[0], self.embed(words)

    def _unit(self, rows: Iterable[NDArray[np.float32]], texts: int) -> Vectors:
        vectors = unit(list(rows), model=self.model, texts=texts, dimensions=self._dimensions)
        self._dimensions = vectors.shape[1]
        return vectors

    def _load(self) -> _Encoder:
        with self._loading:
            if self._encoder is None:
                self._encoder = _open_package(self._name)
            return self._encoder


def _open_package(name: str) -> _Encoder:
    # By name, so that the type checker passes where the extra is not installed.
    try:
        package = import_module("fastembed")
    except ImportError as error:
        raise EmbedderUnavailable(
            f"the embedder fastembed:{name} needs a package that cannot be imported ({error}): "
            f"install it with: {install_line(EXTRA)}"
        ) from error
    try:
        return cast(_Encoder, package.TextEmbedding(model_name=name))
    except (ValueError, OSError, RuntimeError) as error:
        raise EmbedderUnavailable(
            f"the embedder fastembed:{name} cannot be loaded ({error}): check the model's name, "
            "and that its files are in FastEmbed's cache or can be downloaded."
        ) from error
