"""The server tier for tests: one PostgreSQL and one Qdrant per process of tests, a database for each folder.

`TIER=server pytest …` runs any test that opens its memory with the fixture `open_hippo` on this tier.
"""

import atexit
import hashlib
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

_TEMPLATE = "made"


class Tier:
    """The servers, and the databases made so far."""

    def __init__(self) -> None:
        # Here, because every process of tests imports this module.
        import postgres
        import qdrant

        with ExitStack() as stack:
            self.database = stack.enter_context(postgres.running())
            [self.index] = stack.enter_context(qdrant.running())
            self._stack = stack.pop_all()
        self._names: set[str] = set()
        self._made = False
        atexit.register(self.close)

    def settings(self, folder: Path) -> dict[str, Any]:
        """The settings of `Config` for the database of a folder, which is made at the first call."""
        name = "t" + hashlib.blake2b(str(folder).encode(), digest_size=8).hexdigest()
        if name not in self._names:
            self._make(name)
        return {
            "database_url": self.database.url(name),
            "qdrant_url": self.index.url,
            "qdrant_collection": name,
        }

    def _make(self, name: str) -> None:
        from hippocampe.store.postgres import PostgresStore

        if not self._made:
            # Making the tables takes longer than copying them.
            PostgresStore(self.database.create(_TEMPLATE), Path()).opened().close()
            self._made = True
        with self.database.admin() as connection:
            connection.execute(
                f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER {self.database.user} STRATEGY file_copy"
            )
        self._names.add(name)

    def clean(self) -> None:
        """Remove the databases and collections of a test."""
        if not self._names:
            return
        from qdrant_client import QdrantClient

        client = QdrantClient(self.index.url, check_compatibility=False)
        for collection in client.get_collections().collections:
            client.delete_collection(collection.name)
        client.close()
        for name in self._names:
            self.database.drop(name)
        self._names.clear()

    def close(self) -> None:
        """Stop the servers. Idempotent."""
        self._stack.close()


_running: list[tuple[int, Tier]] = []


def current() -> Tier:
    """The tier of this process, started at the first call."""
    if not _running or _running[0][0] != os.getpid():
        _running[:] = [(os.getpid(), Tier())]
    return _running[0][1]


def is_chosen() -> bool:
    """Return whether the tests are to run on this tier."""
    return os.environ.get("TIER") == "server"
