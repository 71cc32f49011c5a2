"""Replies of the server to writes, so that a client that sends one again does not make it twice.

The name that the client gave a write is stored in the first transaction of the write itself: a crash in
between cannot leave the one without the other.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta

from hippocampe.engine.context import Context
from hippocampe.store import replies as rows
from hippocampe.store.replies import CLAIM, Claim, Reply

KEPT = timedelta(hours=24)


class Replies:
    """The replies of one open data folder.

    Args:
        context: Returns the context that serves now.
    """

    def __init__(self, context: Callable[[], Context]) -> None:
        self._context = context

    def find(self, space: str, key: str) -> Reply | None:
        """What was replied to the write that a client calls `key`; None if it made none."""
        with self._context().store.read() as connection:
            return rows.find(connection, space, key)

    @contextmanager
    def claiming(self, space: str, key: str, request: str) -> Generator[Claim]:
        """Write `key` with the first transaction of the block, also of the threads it waits for.

        Args:
            space: The space.
            key: The client's name of the write, which no reply has.
            request: The digest of what was asked for.
        """
        context = self._context()
        claim = Claim(context.store.path, space, key, request, context.now())
        token = CLAIM.set(claim)
        try:
            yield claim
        finally:
            CLAIM.reset(token)

    def keep(self, claim: Claim, status: int, body: bytes) -> None:
        """Store what was replied to a write that was made, unless its space was erased since."""
        with self._context().store.write(durable=False, from_reserve=True) as connection:
            rows.answer(connection, claim, status, body)


def expire(context: Context) -> None:
    """Delete replies older than a day."""
    kept_from = context.now() - KEPT
    with context.store.read() as connection:
        oldest = rows.oldest(connection)
    if oldest is not None and oldest < kept_from:
        with context.store.write(durable=False, from_reserve=True) as connection:
            rows.remove_before(connection, kept_from)
