"""Rows of the costs of language models. Each function takes a connection."""

from datetime import datetime

from sqlalchemy import Connection, func, insert, select

from hippocampe.store.portable import newest
from hippocampe.store.schema import fields_of, model_usage
from hippocampe.types import ModelUsage


def add(connection: Connection, usage: ModelUsage) -> None:
    """Insert one call."""
    connection.execute(insert(model_usage).values(**fields_of(model_usage, usage)))


def spent(connection: Connection, space: str, since: datetime) -> float:
    """US dollars spent in a space since a time; calls of unknown price count as zero."""
    query = select(func.coalesce(func.sum(model_usage.c.price), 0.0)).where(
        model_usage.c.space == space, model_usage.c.created_at >= since
    )
    return float(connection.execute(query).scalar_one())


def find(
    connection: Connection, space: str, *, since: datetime | None, limit: int
) -> list[ModelUsage]:
    """The latest calls of a space, newest first."""
    query = newest(model_usage, space, since=since, limit=limit)
    return [ModelUsage(**row) for row in connection.execute(query).mappings()]
