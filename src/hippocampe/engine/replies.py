"""Idempotency of the server's writes: stored replies, so that a repeated request does not write twice.

The client's idempotency key is stored in the first transaction of the write itself, so a crash cannot separate
the two.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta

from hippocampe.engine.context import Context
from hippocampe.store import replies as rows
from hippocampe.store.replies import CLAIM, Claim, Reply

KEPT = timedelta(hours=24)


class Replies:
    """The stored replies of one open data folder.

    Args:
        context: Returns the context that serves now.
    """

    def __init__(self, context: Callable[[], Context]) -> None:
        self._context = context

    def find(self, space: str, key: str) -> Reply | None:
        """The reply to the write with the idempotency key `key`; None without such a write."""
        with self._context().store.read() as connection:
            return rows.find(connection, space, key)

    @contextmanager
    def claiming(self, space: str, key: str, request: str) -> Generator[Claim]:
        """Store `key` in the first transaction of the block, also of the threads it waits for.

        Args:
            space: The space.
            key: The client's idempotency key, not used before.
            request: The digest of the request.
        """
        context = self._context()
        claim = Claim(context.store.path, space, key, request, context.now())
        token = CLAIM.set(claim)
        try:
            yield claim
        finally:
            CLAIM.reset(token)

    def keep(self, claim: Claim, status: int, body: bytes) -> None:
        """Store the reply to a finished write, unless its space was erased since."""
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
