"""txtai: vectors and BM25 together, content in SQLite; saved after each call."""

import numpy as np
from txtai import Embeddings

PACKAGES = ("txtai", "txtai-minimal")


class Adapter:
    def __init__(self, folder, embed):
        self._path = str(folder / "index")
        transform = {"transform": lambda texts: np.array(embed(texts))}
        self._items = Embeddings(
            method="external", content=True, hybrid=True, backend="numpy", **transform
        )
        if self._items.exists(self._path):
            # The function cannot be saved.
            self._items.load(self._path, config=transform)

    def add(self, items):
        self._items.upsert([(id, text, None) for id, text in items])
        self._items.save(self._path)

    def search(self, query, limit):
        return [(each["id"], each["score"]) for each in self._items.search(query, limit)]
