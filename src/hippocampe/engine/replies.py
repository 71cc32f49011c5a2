"""Idempotency of the server's writes: stored replies, so that a repeated request does not write twice.

The client's idempotency key is stored in the first transaction of the write itself, so a crash cannot separate
the two.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from hippocampe.store import replies as rows
from hippocampe.store.replies import CLAIM, Claim, Reply
from hippocampe.store.store import Store

KEPT = timedelta(hours=24)
YOUNG = timedelta(minutes=2)
"""Age up to which a write of another process counts as under way, although that process was not heard: this one may not
have listened for long."""
LONGEST = timedelta(hours=1)
"""Age up to which a write of another process counts as under way as long as that process lives. An older one has
failed after its first transaction."""


@dataclass(frozen=True, slots=True)
class Replies:
    """The stored replies of one open data folder.

    `lives` returns whether another process that shares the database lives, by its name.
    """

    _store: Store
    _lives: Callable[[str], bool] | None = None

    def find(self, space: str, key: str) -> Reply | None:
        """The reply to the write with the idempotency key `key`; None without such a write."""
        with self._store.read() as connection:
            return rows.find(connection, space, key)

    def is_under_way(self, reply: Reply) -> bool:
        """Return whether another process may still execute a write whose reply is not known."""
        if reply.status is not None or reply.sender in (None, self._store.sender):
            return False
        age = self._store.now() - reply.at
        lives = self._lives is not None and self._lives(reply.sender)
        return age < (LONGEST if lives else YOUNG)

    @contextmanager
    def claiming(self, space: str, key: str, request: str) -> Generator[Claim]:
        """Store `key` in the first transaction of the block, also of the threads it waits for.

        Args:
            key: The client's idempotency key, not used before.
            request: The digest of the request.
        """
        store = self._store
        claim = Claim(store.path, space, key, request, store.now(), store.sender)
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
