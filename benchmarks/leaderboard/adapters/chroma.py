"""Chroma: vectors by cosine, persistent client."""

import chromadb
from chromadb.config import Settings

PACKAGES = ("chromadb",)


class Adapter:
    def __init__(self, folder, embed):
        self._embed = embed
        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self._items = client.get_or_create_collection(
            "items", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def add(self, items):
        ids, texts = map(list, zip(*items, strict=True))
        self._items.add(ids=ids, documents=texts, embeddings=self._embed(texts))

    def search(self, query, limit):
        most = min(limit, self._items.count())
        found = self._items.query(query_embeddings=self._embed([query]), n_results=most)
        return [
            (id, 1 - far) for id, far in zip(found["ids"][0], found["distances"][0], strict=True)
        ]
