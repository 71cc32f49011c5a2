"""Rows of the ledger of jobs. Each function takes a connection."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update
from uuid6 import uuid7

from hippocampe.store.schema import job_run
from hippocampe.types import JobRun, JobState


def add(
    connection: Connection,
    job: str,
    space: str,
    *,
    due_at: datetime,
    payload: Mapping[str, str] | None = None,
) -> str:
    """Add a waiting run; return its id."""
    id = str(uuid7())
    connection.execute(
        insert(job_run).values(
            id=id,
            job=job,
            space=space,
            state="waiting",
            payload=dict(payload or {}),
            attempts=0,
            due_at=due_at,
        )
    )
    return id


def due(connection: Connection, at: datetime, limit: int) -> list[JobRun]:
    """Runs that may start now, the longest due first."""
    query = (
        select(job_run)
        .where(job_run.c.state.in_(("waiting", "failed")), job_run.c.due_at <= at)
        .order_by(job_run.c.due_at, job_run.c.id)
        .limit(limit)
    )
    return [_run(row) for row in connection.execute(query)]


def find(
    connection: Connection,
    space: str,
    *,
    job: str | None = None,
    states: Sequence[JobState] | None = None,
    limit: int,
) -> list[JobRun]:
    """The latest runs of a space, newest first."""
    query = select(job_run).where(job_run.c.space == space)
    if job is not None:
        query = query.where(job_run.c.job == job)
    if states is not None:
        query = query.where(job_run.c.state.in_(states))
    return [
        _run(row) for row in connection.execute(query.order_by(job_run.c.id.desc()).limit(limit))
    ]


def change(connection: Connection, id: str, **values: Any) -> None:
    """Set columns of a run."""
    connection.execute(update(job_run).where(job_run.c.id == id).values(**values))


def finish(connection: Connection, id: str, outcome: str, at: datetime) -> None:
    """Mark a run as done, in the transaction that writes what it made."""
    change(connection, id, state="done", outcome=outcome, error=None, ended_at=at)


def is_done(connection: Connection, id: str) -> bool:
    """Whether a run is done already."""
    return connection.execute(select(job_run.c.state).where(job_run.c.id == id)).scalar() == "done"


def remove_done(connection: Connection, before: datetime) -> None:
    """Delete runs that were done before a time."""
    old = (job_run.c.state == "done") & (job_run.c.ended_at < before)
    connection.execute(delete(job_run).where(old))


def _run(row: Row[Any]) -> JobRun:
    return JobRun(**{column.name: getattr(row, column.name) for column in job_run.c})
