"""Idempotency of the server's writes: stored replies, so that a repeated request does not write twice.

The client's idempotency key is stored in the first transaction of the write itself, so a crash cannot separate
the two.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

from hippocampe.store import replies as rows
from hippocampe.store.replies import CLAIM, Claim, Reply
from hippocampe.store.store import Store

KEPT = timedelta(hours=24)


class Replies:
    """The stored replies of one open data folder.

    Args:
        store: The store of the folder.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, space: str, key: str) -> Reply | None:
        """The reply to the write with the idempotency key `key`; None without such a write."""
        with self._store.read() as connection:
            return rows.find(connection, space, key)

    @contextmanager
    def claiming(self, space: str, key: str, request: str) -> Generator[Claim]:
        """Store `key` in the first transaction of the block, also of the threads it waits for.

        Args:
            space: The space.
            key: The client's idempotency key, not used before.
            request: The digest of the request.
        """
        claim = Claim(self._store.path, space, key, request, self._store.now())
        token = CLAIM.set(claim)
        try:
            yield claim
        finally:
            CLAIM.reset(token)

    def keep(self, claim: Claim, status: int, body: bytes) -> None:
        """Store the reply to a finished write, unless its space was erased since."""
        with self._store.write(durable=False, from_reserve=True) as connection:
            rows.answer(connection, claim, status, body)


def expire(store: Store) -> None:
    """Delete replies older than a day."""
    oldest_retained = store.now() - KEPT
    with store.read() as connection:
        oldest = rows.oldest(connection)
    if oldest is not None and oldest < oldest_retained:
        with store.write(durable=False, from_reserve=True) as connection:
            rows.remove_before(connection, oldest_retained)
