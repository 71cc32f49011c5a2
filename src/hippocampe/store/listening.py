"""Messages between the processes that share a database in PostgreSQL, delivered when a transaction commits.

What is lost while a process is not connected is only what its caches hold: it drops them when it connects again.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from hippocampe.errors import StoreError
from hippocampe.store.postgres import CHANNEL, CONNECTION, PostgresStore

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger("hippocampe")

Message = dict[str, Any]
"""A message: `from` the process, and what it says."""
WAIT_SECONDS = 0.1
"""Time in which messages are collected before they are handled together."""
RETRY_SECONDS = 1.0
BEAT_SECONDS = 5.0
"""Interval at which each process says that it lives."""
MISSED_BEATS = 3
"""Beats without a sign of life after which a process counts as dead, and a connection as cut."""
STOP_SECONDS = 15.0
"""Longest wait for the thread: a dead connection ends sooner."""


class Listener:
    """A thread with a connection of its own that hears the other processes.

    Args:
        url: Its URL, not that of a pooler in transaction mode, which delivers no messages.
        hear: Called with the messages of others, and with None after a connection.
        attempt: Called with the work from one connection to its end; records an unexpected error instead of raising it.
    """

    def __init__(
        self,
        store: PostgresStore,
        url: str,
        hear: Callable[[Sequence[Message] | None], None],
        attempt: Callable[[Callable[[], None]], object],
    ) -> None:
        self._store = store
        self._url = url
        self._hear = hear
        self._attempt = attempt
        self._delivers = False
        self._reported = False
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
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._attempt(self._connect)
            self._stop.wait(RETRY_SECONDS)

    def _connect(self) -> None:
        import psycopg

        # Without a word: what uses the database says that it is away.
        with (
            suppress(psycopg.Error, OSError, StoreError),
            psycopg.connect(self._url, **CONNECTION) as connection,
        ):
            self._listen(connection)

    def _listen(self, connection: "psycopg.Connection[Any]") -> None:
        """Hear the others until the end, or until the own beats are no longer heard."""
        connection.execute(f"LISTEN {CHANNEL}")
        self._connected.set()
        self._hear(None)
        beat, unheard = 0.0, 0
        while not self._stop.is_set():
            if time.monotonic() >= beat:
                if unheard == MISSED_BEATS:
                    # A dead connection and one without messages look the same.
                    self._report()
                    return
                beat = time.monotonic() + BEAT_SECONDS
                self._store.tell({"alive": True})
                unheard += 1
            # The generator holds the lock of the connection until it ends: nothing may fail inside it.
            payloads = [each.payload for each in connection.notifies(timeout=WAIT_SECONDS)]
            messages = [message for each in payloads if (message := _parsed(each)) is not None]
            others = [message for message in messages if message["from"] != self._store.sender]
            if len(others) < len(messages):
                unheard, self._delivers = 0, True
            if others:
                self._hear(others)

    def _report(self) -> None:
        """Say once that the address has never delivered a message."""
        if not self._delivers and not self._reported:
            self._reported = True
            log.warning(
                "changes by other processes are noticed %.0f seconds late, because the address of the database delivers "
                "no messages, as that of a pooler in transaction mode: set database_listen_url to the database itself",
                MISSED_BEATS * BEAT_SECONDS,
            )


def _parsed(payload: str) -> Message | None:
    """A message, or None: any user of the database may write to the channel."""
    try:
        message: Any = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    sent = isinstance(message, dict) and isinstance(cast(Message, message).get("from"), str)
    return cast(Message, message) if sent else None
