"""mem0 without a language model (`infer=False`), on its local Qdrant, with the shared embedder."""

import os

os.environ["MEM0_TELEMETRY"] = "False"

from mem0 import Memory

PACKAGES = ("mem0ai", "qdrant-client")


class Adapter:
    def __init__(self, folder, embed):
        store = {
            "path": str(folder / "qdrant"),
            "embedding_model_dims": embed.dimensions,
            "on_disk": True,
        }
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "llm": unused,
                "embedder": unused,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model.embed = lambda text, *_, **__: embed([text])[0]
        self._memory.embedding_model.embed_batch = lambda texts, *_, **__: embed(texts)

    def add(self, items):
        for id, text in items:
            self._memory.add(text, user_id="user", infer=False, metadata={"item": id})

    def search(self, query, limit):
        found = self._memory.search(query, filters={"user_id": "user"}, top_k=limit, threshold=0.0)
        return [(each["metadata"]["item"], each["score"]) for each in found["results"]]
