"""basic-memory: its tools `write_note` and `search_notes` (text and vectors together), with the shared embedder."""

import asyncio
import os
import sys

PACKAGES = ("basic-memory", "sqlite-vec")

# Some builds of Python cannot load extensions of SQLite, which its vectors need.
try:
    import pysqlite3

    sys.modules["sqlite3"] = pysqlite3
except ImportError:
    pass


class Adapter:
    """A project of one server for each folder: the server reads its configuration once in a process."""

    _server = None

    def __init__(self, folder, embed):
        if Adapter._server is None:
            Adapter._server = started(folder, embed)
        self._loop, self._client, self._indexed = Adapter._server
        self._project = folder.name
        self._call(
            "create_memory_project", project_name=folder.name, project_path=str(folder / "notes")
        )

    def add(self, items):
        for id, text in items:
            title = id.replace("/", "|")
            note = {"title": title, "content": text, "directory": "texts"}
            self._call("write_note", project=self._project, **note)
        # Vectors are made in the background.
        self._loop.run_until_complete(self._indexed())

    def search(self, query, limit):
        asked = {"query": query, "page_size": limit, "project": self._project}
        found = self._call("search_notes", **asked)["results"]
        return [(each["title"].replace("|", "/"), each["score"]) for each in found]

    def _call(self, tool, **given):
        done = self._client.call_tool(tool, given | {"output_format": "json"})
        return self._loop.run_until_complete(done).structured_content["result"]


def started(folder, embed):
    """The loop of a server, its client, and a function that waits until everything is indexed."""
    os.environ |= {
        "HOME": str(folder),
        "BASIC_MEMORY_HOME": str(folder / "main"),
        "BASIC_MEMORY_CONFIG_DIR": str(folder / "config"),
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_PROVIDER": "openai",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": "shared",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_API_BASE": embed.endpoint,
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_API_KEY": "unused",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS": str(embed.dimensions),
        # The default is for the scale of another embedder.
        "BASIC_MEMORY_SEMANTIC_MIN_SIMILARITY": "0",
    }
    from basic_memory.index.local_schedulers import drain_background_tasks
    from basic_memory.mcp import tools  # noqa: F401 - they register themselves
    from basic_memory.mcp.server import mcp
    from fastmcp import Client
    from loguru import logger

    logger.disable("basic_memory")
    loop = asyncio.new_event_loop()
    client = Client(mcp)
    loop.run_until_complete(client.__aenter__())
    return loop, client, drain_background_tasks
