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
from hippocampe.embed.vectors import ThirdParty
from hippocampe.errors import EmbedderUnavailable
from hippocampe.protocols import Vector, Vectors
from hippocampe.system.command_line import install_line

EXTRA = "fastembed"


class _Encoder(Protocol):
    def passage_embed(self, texts: list[str]) -> Iterable[NDArray[np.float32]]: ...
    def query_embed(self, query: list[str]) -> Iterable[NDArray[np.float32]]: ...


class FastEmbedder(ThirdParty):
    """A model from FastEmbed's catalogue.

    Args:
        name: The model as FastEmbed names it, such as `intfloat/multilingual-e5-large`.

    Raises:
        EmbedderUnavailable: From every use, if the extra is not installed, the model is unknown,
            or its files are neither cached nor downloadable.
    """

    def __init__(self, name: str) -> None:
        super().__init__("fastembed", name)
        self._encoder: _Encoder | None = None
        self._loading = Lock()

    def embed_query(self, text: str, words: Sequence[str] = ()) -> tuple[Vector, Vectors]:
        """Embed a query, and words as documents. See `Embedder.embed_query`."""
        query = self._unit(list(self._load().query_embed([clean(text)])), 1)
        return query[0], self.embed(words)

    def _embed_documents(self, texts: list[str]) -> Vectors:
        return self._unit(list(self._load().passage_embed(texts)), len(texts))

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
