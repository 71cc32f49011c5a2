"""Rows of the server's replies to idempotent writes, and the claim of a call's write.

Each function takes a connection.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, delete, insert, select, update

from hippocampe.store.schema import reply


@dataclass(slots=True)
class Claim:
    """An idempotent write, which its client may retry.

    Attributes:
        database: The file that it writes to.
        key: The client's idempotency key.
        request: The digest of the request.
        sender: In a shared database, the name of the process.
        committed: Whether a transaction of it has been committed, with this claim.
    """

    database: Path
    space: str
    key: str
    request: str
    at: datetime
    sender: str | None = None
    committed: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a write.

    Attributes:
        request: The digest of the request.
        at: The time of the write.
        status: The status; None as long as it is not known, which it never is if the process ended before.
        body: The body, if the status is known.
        sender: In a shared database, the name of the process of a reply that is not known.
    """

    request: str
    at: datetime
    status: int | None
    body: bytes | None
    sender: str | None = None


CLAIM: ContextVar[Claim | None] = ContextVar("hippocampe_claim", default=None)
"""The claim that the transactions of this call belong to."""


def put(connection: Connection, claim: Claim) -> None:
    """Insert the row of a claim, in the first transaction of its write."""
    values = {"space": claim.space, "key": claim.key, "request": claim.request}
    sender = None if claim.sender is None else claim.sender.encode()
    connection.execute(insert(reply).values(**values, body=sender, created_at=claim.at))


def find(connection: Connection, space: str, key: str) -> Reply | None:
    """The reply to a write, if known."""
    wanted = select(reply).where(reply.c.space == space, reply.c.key == key)
    row = connection.execute(wanted).first()
    if row is None:
        return None
    if row.status is None:
        sender = None if row.body is None else bytes(row.body).decode()
        return Reply(row.request, row.created_at, None, None, sender)
    return Reply(row.request, row.created_at, row.status, row.body)


def answer(connection: Connection, claim: Claim, status: int, body: bytes) -> None:
    """Complete the row of a claim; an erasure may have removed it."""
    wanted = update(reply).where(reply.c.space == claim.space, reply.c.key == claim.key)
    connection.execute(wanted.values(status=status, body=body))


def oldest(connection: Connection) -> datetime | None:
    """The time of the oldest row."""
    return connection.execute(select(reply.c.created_at).order_by(reply.c.created_at)).scalar()


def remove_before(connection: Connection, at: datetime) -> None:
    """Delete the rows older than a time."""
    connection.execute(delete(reply).where(reply.c.created_at < at))
