"""Rows of the API keys: digests, never the keys. Each function takes a connection."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from hippocampe.store.schema import api_key
from hippocampe.types import ApiKey


def add(connection: Connection, key: ApiKey, digest: str) -> None:
    """Insert a key by its digest."""
    values = {name: getattr(key, name) for name in ApiKey.__dataclass_fields__}
    connection.execute(insert(api_key).values(hash=digest, **values))


def everything(connection: Connection) -> list[ApiKey]:
    """The keys of all spaces, revoked ones included, newest first."""
    newest = select(api_key).order_by(api_key.c.created_at.desc(), api_key.c.id.desc())
    return [_key(row) for row in connection.execute(newest)]


def by_digest(connection: Connection, digest: str) -> tuple[ApiKey, str] | None:
    """The key with a digest, and the digest as stored; None if there is no such key, or it is revoked."""
    wanted = select(api_key).where(api_key.c.hash == digest, api_key.c.revoked_at.is_(None))
    row = connection.execute(wanted).first()
    return None if row is None else (_key(row), row.hash)


def revoke(connection: Connection, id: str, at: datetime) -> ApiKey | None:
    """Revoke a key; None if there is no key with this id, or it was revoked before."""
    wanted = update(api_key).where(api_key.c.id == id, api_key.c.revoked_at.is_(None))
    row = connection.execute(wanted.values(revoked_at=at).returning(api_key)).first()
    return None if row is None else _key(row)


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey(**{name: getattr(row, name) for name in ApiKey.__dataclass_fields__})
