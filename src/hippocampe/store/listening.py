"""Messages between the processes that share a database in PostgreSQL, delivered when a transaction commits.

What is lost while a process is not connected is only what its caches hold: it drops them when it connects again.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from hippocampe.errors import StoreError
from hippocampe.store.postgres import CHANNEL, PostgresStore

Message = dict[str, Any]
"""A message: `from` the process, and what it says."""
WAIT_SECONDS = 0.1
"""Time in which messages are collected before they are handled together."""
RETRY_SECONDS = 1.0
BEAT_SECONDS = 5.0
"""Interval at which each process says that it lives."""


class Listener:
    """A thread with a connection of its own that hears the other processes.

    Args:
        store: The database.
        url: Its URL, not that of a pooler in transaction mode, which delivers no messages.
        hear: Called with the messages of others, and with None after a connection.
    """

    def __init__(
        self,
        store: PostgresStore,
        url: str,
        hear: Callable[[Sequence[Message] | None], None],
    ) -> None:
        self._store = store
        self._url = url
        self._hear = hear
        self._stop = threading.Event()
        self._connected = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hippocampe-listening", daemon=True)
        self._thread.start()
        # What others say from now on is heard.
        self._connected.wait(RETRY_SECONDS)

    def stop(self) -> None:
        """Stop and disconnect. Idempotent."""
        if not self._stop.is_set():
            self._stop.set()
            with suppress(StoreError):
                self._store.tell({"alive": False})
        self._thread.join()

    def _run(self) -> None:
        import psycopg

        while not self._stop.is_set():
            with (
                suppress(psycopg.Error, OSError, StoreError),
                psycopg.connect(
                    self._url, autocommit=True, connect_timeout=5, application_name="hippocampe"
                ) as connection,
            ):
                connection.execute(f"LISTEN {CHANNEL}")
                self._connected.set()
                self._hear(None)
                beat = 0.0
                while not self._stop.is_set():
                    if time.monotonic() >= beat:
                        beat = time.monotonic() + BEAT_SECONDS
                        self._store.tell({"alive": True})
                    heard = [
                        message
                        for each in connection.notifies(timeout=WAIT_SECONDS)
                        for message in self._of_others(each.payload)
                    ]
                    if heard:
                        self._hear(heard)
            self._stop.wait(RETRY_SECONDS)

    def _of_others(self, payload: str) -> Iterator[Message]:
        message: Message = json.loads(payload)
        if message["from"] != self._store.sender:
            yield message
