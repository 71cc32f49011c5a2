"""txtai: vectors and BM25 together, content in SQLite; saved after each call."""

from txtai import Embeddings

PACKAGES = ("txtai", "txtai-minimal")


class Adapter:
    def __init__(self, folder, embed):
        self._path = str(folder / "index")
        self._items = Embeddings(
            method="external",
            transform=lambda texts: __import__("numpy").array(embed(texts)),
            content=True,
            hybrid=True,
            backend="numpy",
        )
        if self._items.exists(self._path):
            self._items.load(self._path)

    def add(self, items):
        self._items.upsert([(id, text, None) for id, text in items])
        self._items.save(self._path)

    def search(self, query, limit):
        return [(each["id"], each["score"]) for each in self._items.search(query, limit)]
