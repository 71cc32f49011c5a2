"""LangGraph's store over SQLite, with its vector index."""

from langgraph.store.sqlite import SqliteStore

PACKAGES = ("langgraph-checkpoint-sqlite", "langgraph-checkpoint")


class Adapter:
    def __init__(self, folder, embed):
        index = {"dims": embed.dimensions, "embed": embed, "fields": ["text"]}
        self._open = SqliteStore.from_conn_string(str(folder / "store.db"), index=index)
        self._store = self._open.__enter__()
        self._store.setup()

    def add(self, items):
        for id, text in items:
            self._store.put(("items",), id, {"text": text})

    def search(self, query, limit):
        found = self._store.search(("items",), query=query, limit=limit)
        return [(each.key, each.score or 0.0) for each in found]
