"""mcp-memory-service: what its tools `store_memory` and `retrieve_memory` call, over sqlite-vec, with the shared embedder."""

import asyncio
import os

PACKAGES = ("mcp-memory-service", "sqlite-vec")


class Adapter:
    def __init__(self, folder, embed):
        os.environ["MCP_MEMORY_BASE_DIR"] = str(folder)
        os.environ["MCP_EXTERNAL_EMBEDDING_URL"] = f"{embed.endpoint}/embeddings"
        os.environ["MCP_EXTERNAL_EMBEDDING_MODEL"] = "shared"
        from mcp_memory_service.services.memory_service import MemoryService
        from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage

        storage = SqliteVecMemoryStorage(str(folder / "memory.db"))
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(storage.initialize())
        self._service = MemoryService(storage)

    def add(self, items):
        for id, text in items:
            # Texts of one conversation are not compared for near repeats, which would be refused.
            self._loop.run_until_complete(
                self._service.store_memory(text, metadata={"item": id}, conversation_id="talk")
            )

    def search(self, query, limit):
        found = self._loop.run_until_complete(self._service.retrieve_memories(query, limit))
        return [(each["metadata"]["item"], each["similarity_score"]) for each in found["memories"]]
