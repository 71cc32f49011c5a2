"""MemPalace: its tools `add_drawer` and `search` (vectors, then BM25), with the shared embedder."""

import os

PACKAGES = ("mempalace", "chromadb")


class Adapter:
    def __init__(self, folder, embed):
        os.environ |= {
            "HOME": str(folder),
            "MEMPALACE_PALACE_PATH": str(folder / "palace"),
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
            "MEMPALACE_EMBEDDING_API_URL": embed.endpoint,
            "MEMPALACE_EMBEDDING_API_MODEL": "shared",
            "ANONYMIZED_TELEMETRY": "False",
        }
        from mempalace import mcp_server

        self._server = mcp_server
        # The server keeps the palace of an earlier adapter otherwise.
        mcp_server.tool_reconnect()

    def add(self, items):
        for id, text in items:
            done = self._server.tool_add_drawer(
                "texts", "all", text, source_file=id.replace("/", "|")
            )
            assert done["success"], done

    def search(self, query, limit):
        found = self._server.tool_search(query, limit=limit, candidate_strategy="union")
        return [
            (each["source_file"].replace("|", "/"), each["similarity"]) for each in found["results"]
        ]
