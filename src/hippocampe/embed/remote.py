"""Embedding services: `openai:MODEL`, `voyageai:MODEL`, or any server with the same protocol."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from urllib.parse import urlsplit

import numpy as np

from hippocampe.embed.clean import clean
from hippocampe.embed.connection import Connection, Kind
from hippocampe.embed.vectors import ThirdParty
from hippocampe.errors import InvalidInput
from hippocampe.protocols import Vector, Vectors

TEXTS_PER_REQUEST = 128
"""The lowest limit found among compatible servers; OpenAI accepts 2,048 and Voyage 1,000."""

CHARACTERS_PER_REQUEST = 200_000
"""About 70,000 tokens; Voyage accepts 120,000 and OpenAI 300,000 per request."""


class RemoteEmbedder(ThirdParty):
    """An embedding service. Nothing is sent before the first use.

    Args:
        provider: `openai` or `voyageai`: the protocol, and the environment variable of the key.
        name: The model, as the provider names it.
        url: Base URL of another server with the same protocol; it may need no key.
        timeout: Seconds for one request, retries included.
        dimensions: Length of the vectors, if it is known.

    Raises:
        InvalidInput: The URL is not an http or https URL.
        EmbedderUnavailable: From every use, without a key or a usable answer in time.
        EmbedderMismatch: From every use, if the dimensions differ from those of the first answer.
    """

    def __init__(
        self,
        provider: str,
        name: str,
        *,
        url: str | None,
        timeout: float,
        dimensions: int | None = None,
    ) -> None:
        if url is not None and not _is_web_address(url):
            raise InvalidInput(
                "the URL of an embedding server must start with http:// or https:// and name a "
                "host, such as http://localhost:11434/v1."
            )
        super().__init__(provider, name, dimensions)
        self._url = url
        self._timeout = timeout
        self._connection: Connection | None = None
        self._opening = Lock()

    def embed_query(self, text: str, words: Sequence[str] = ()) -> tuple[Vector, Vectors]:
        """Embed a query, and words as documents. See `Embedder.embed_query`.

        One request if the provider does not distinguish queries from documents, else two at once.
        """
        if self._provider == "openai":
            vectors = self.embed([text, *words])
            return vectors[0], vectors[1:]
        if not words:
            vector = self._embed([clean(text)], "query")[0]
            return vector, np.empty((0, vector.shape[0]), dtype=np.float32)
        with ThreadPoolExecutor(1) as thread:
            query = thread.submit(self._embed, [clean(text)], "query")
            vectors = self.embed(words)
            return query.result()[0], vectors

    def close(self) -> None:
        """Close the connections; the next use opens new ones."""
        with self._opening:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _embed_documents(self, texts: list[str]) -> Vectors:
        return np.vstack([self._embed(batch, "document") for batch in _batches(texts)])

    def _embed(self, texts: list[str], kind: Kind) -> Vectors:
        with self._opening:
            if self._connection is None:
                self._connection = Connection(self._provider, self._name, self._url, self._timeout)
            connection = self._connection
        return self._unit(connection.embed(texts, kind), len(texts))


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
