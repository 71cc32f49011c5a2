"""Embedding services: `openai:MODEL`, `voyageai:MODEL`, or any server that speaks as they do."""

from collections.abc import Iterator, Sequence
from threading import Lock
from urllib.parse import urlsplit

import numpy as np

from hippocampe.embed.clean import clean
from hippocampe.embed.connection import Connection, Kind, Pending
from hippocampe.embed.vectors import dedup_threshold, unit
from hippocampe.errors import InvalidInput
from hippocampe.protocols import Vector, Vectors

TEXTS_PER_REQUEST = 128
"""The smallest limit met among compatible servers; OpenAI takes 2,048 and Voyage 1,000."""

CHARACTERS_PER_REQUEST = 200_000
"""Some 70,000 tokens: below Voyage's limit of 120,000 and OpenAI's of 300,000 per request."""


class RemoteEmbedder:
    """An embedding service. Opening it contacts nothing.

    Args:
        provider: `openai` or `voyageai`: the protocol, and where the key is read from.
        name: The model, as the provider names it.
        url: Base URL of another server that speaks the protocol; it may need no key.
        timeout: Seconds before one request is given up, its retries included.

    Raises:
        InvalidInput: The URL is not one of http or https.
        EmbedderUnavailable: From every use, when there is no key or no usable answer in time.
        EmbedderMismatch: From every use, when the dimension is not the one of the first answer.
    """

    def __init__(self, provider: str, name: str, *, url: str | None, timeout: float) -> None:
        if url is not None and not _is_web_address(url):
            raise InvalidInput(
                "the URL of an embedding server must start with http:// or https:// and name a "
                "host, such as http://localhost:11434/v1."
            )
        self._provider = provider
        self._name = name
        self._url = url
        self._timeout = timeout
        self._connection: Connection | None = None
        self._dimensions: int | None = None
        self._opening = Lock()

    @property
    def model(self) -> str:
        return f"{self._provider}:{self._name}"

    @property
    def dimensions(self) -> int:
        """How many dimensions the model has. The first use embeds one text to learn it."""
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
        batches = list(_batches([clean(text) for text in texts]))
        return np.vstack([self._finish(self._start(batch, "document")) for batch in batches])

    def embed_query(self, text: str, words: Sequence[str] = ()) -> tuple[Vector, Vectors]:
        """Embed a query, and words as documents. See `Embedder.embed_query`.

        One request where the provider treats queries and documents alike, else two at a time.
        """
        if self._provider == "openai":
            vectors = self.embed([text, *words])
            return vectors[0], vectors[1:]
        query = self._start([clean(text)], "query")
        if not words:
            vector = self._finish(query)[0]
            return vector, np.empty((0, vector.shape[0]), dtype=np.float32)
        vectors = self.embed(words)
        return self._finish(query)[0], vectors

    def close(self) -> None:
        """End the connections. The next use opens new ones."""
        with self._opening:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _start(self, texts: list[str], kind: Kind) -> Pending:
        with self._opening:
            if self._connection is None:
                self._connection = Connection(self._provider, self._name, self._url, self._timeout)
            return self._connection.start(texts, kind)

    def _finish(self, pending: Pending) -> Vectors:
        vectors = unit(
            pending.rows(), model=self.model, texts=pending.texts, dimensions=self._dimensions
        )
        self._dimensions = vectors.shape[1]
        return vectors


def _is_web_address(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _batches(texts: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        full = len(batch) == TEXTS_PER_REQUEST
        if batch and (full or characters + len(text) > CHARACTERS_PER_REQUEST):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    yield batch
