"""Rows of the ledger of jobs. Each function takes a connection."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    delete,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)
from uuid6 import uuid7

from hippocampe.store.portable import json_values
from hippocampe.store.schema import fields_of, job_run, to_json
from hippocampe.types import JobRun, JobState

READY: tuple[JobState, ...] = ("waiting", "failed")
"""The states of runs that start when due."""
FURTHEST = timedelta(days=1)
"""Longest back-off of a run: one due later was postponed by a clock that ran ahead."""
_NOW: ColumnElement[int] = literal_column(
    "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)", BigInteger()
)
"""The time of the shared database: a lease of a process is not judged by the clock of another."""


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
    run = {"id": id, "job": job, "space": space, "state": "waiting", "due_at": due_at}
    connection.execute(insert(job_run).values(**run, payload=dict(payload or {}), attempts=0))
    return id


def ask(connection: Connection, job: str, space: str, at: datetime) -> None:
    """Make the run of a job due, or add one, unless it is running."""
    if (job, space) not in pending(connection, [job]):
        add(connection, job, space, due_at=at)
    ready = job_run.c.state.in_(READY)
    which = (job_run.c.job == job, job_run.c.space == space, ready)
    connection.execute(update(job_run).where(*which).values(due_at=at))


def due(
    connection: Connection, at: datetime, *, jobs: Collection[str], space: str | None = None
) -> JobRun | None:
    """The run that may start now and has been due longest.

    A run that is due more than `FURTHEST` from now counts too: the clock was set back.
    """
    now = or_(job_run.c.due_at <= at, job_run.c.due_at > at + FURTHEST)
    query = select(job_run).where(job_run.c.state.in_(READY), now, job_run.c.job.in_(jobs))
    if space is not None:
        query = query.where(job_run.c.space == space)
    # In a shared database, the next one that no other process is about to claim.
    query = query.with_for_update(skip_locked=True)
    row = connection.execute(query.order_by(job_run.c.due_at, job_run.c.id).limit(1)).first()
    return None if row is None else _run(row)


def lease(connection: Connection, id: str, length: timedelta) -> None:
    """Keep a running run from other processes of a shared database for some time."""
    leave(connection, id, due_at=_from_now(length))


def _from_now(length: timedelta) -> ColumnElement[int]:
    return _NOW + length // timedelta(microseconds=1)


def claim(
    connection: Connection, id: str, at: datetime, *, leased: timedelta | None = None
) -> bool:
    """Mark a run as running, unless another claim came first; return whether this one won.

    Args:
        leased: In a shared database, time after which other processes may take it back, unless its `lease` is renewed.
    """
    ready = (job_run.c.id == id) & job_run.c.state.in_(READY)
    claimed = connection.execute(
        update(job_run)
        .where(ready)
        .values(
            state="running",
            attempts=job_run.c.attempts + 1,
            started_at=at,
            due_at=job_run.c.due_at if leased is None else _from_now(leased),
        )
    )
    return claimed.rowcount == 1


def get(connection: Connection, space: str, id: str) -> JobRun | None:
    """A run of a space by id."""
    query = select(job_run).where(job_run.c.id == id, job_run.c.space == space)
    row = connection.execute(query).first()
    return None if row is None else _run(row)


def abandoned(connection: Connection, *, leased: bool) -> list[JobRun]:
    """The runs marked as running which no process executes; with `leased`, those whose lease has ended."""
    query = select(job_run).where(*_abandoned(leased))
    return [_run(row) for row in connection.execute(query)]


def take_back(connection: Connection, id: str, *, leased: bool, **values: Any) -> None:
    """Set columns of a run, if it is still abandoned."""
    which = (job_run.c.id == id, *_abandoned(leased))
    connection.execute(update(job_run).where(*which).values(**values))


def _abandoned(leased: bool) -> list[ColumnElement[bool]]:
    running = job_run.c.state == "running"
    return [running, job_run.c.due_at < _NOW] if leased else [running]


def pending(connection: Connection, jobs: Collection[str]) -> set[tuple[str, str]]:
    """The jobs and spaces with a waiting, running or postponed run."""
    query = select(job_run.c.job, job_run.c.space).distinct()
    rows = connection.execute(
        query.where(job_run.c.state.in_((*READY, "running")), job_run.c.job.in_(jobs))
    )
    return {(row.job, row.space) for row in rows}


def last_done(connection: Connection, job: str, space: str) -> datetime | None:
    """The time when the last run of a job in a space was done."""
    of = (job_run.c.space == space, job_run.c.job == job, job_run.c.state == "done")
    return connection.execute(select(func.max(job_run.c.ended_at)).where(*of)).scalar()


def last_ended_in(
    connection: Connection, job: str, spaces: Iterable[str], *, before: datetime
) -> dict[str, datetime]:
    """The time when the last run of a job was done or parked, in each of many spaces that has one.

    Args:
        before: Exclude runs that ended later.
    """
    named = json_values(literal(to_json([*spaces])))
    ended = select(func.max(job_run.c.ended_at)).where(
        *(job_run.c.space == named.c.value, job_run.c.job == job),
        *(job_run.c.ended_at <= before, job_run.c.state.in_(("done", "parked"))),
    )
    query = select(named.c.value, ended.correlate(named).scalar_subquery())
    return {space: at for space, at in connection.execute(query) if at is not None}


def put_off(connection: Connection, job: str, space: str | None, until: datetime) -> None:
    """Postpone the runs of a job until a time, in one space or in all."""
    which = [job_run.c.job == job, job_run.c.state.in_(READY), job_run.c.due_at < until]
    if space is not None:
        which.append(job_run.c.space == space)
    connection.execute(update(job_run).where(*which).values(due_at=until))


def retry(connection: Connection, space: str, id: str, at: datetime) -> bool:
    """Make a failed or parked run due, with all its attempts available again; return whether there is one."""
    stopped = job_run.c.state.in_(("failed", "parked"))
    retried = connection.execute(
        update(job_run)
        .where(job_run.c.id == id, job_run.c.space == space, stopped)
        .values(state="waiting", attempts=0, due_at=at, ended_at=None)
    )
    return retried.rowcount == 1


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


def leave(connection: Connection, id: str, **values: Any) -> None:
    """Set columns of a run, unless it has ended."""
    running = (job_run.c.id == id) & (job_run.c.state == "running")
    connection.execute(update(job_run).where(running).values(**values))


def finish(connection: Connection, id: str, outcome: str, at: datetime) -> None:
    """Mark a run as done, in the transaction of its writes."""
    change(connection, id, state="done", outcome=outcome, error=None, ended_at=at)


def remove_done(connection: Connection, before: datetime) -> None:
    """Delete runs that were done before a time, except the last of each job of a space."""
    later = job_run.alias()
    last = (
        select(later.c.space, later.c.job, func.max(later.c.ended_at))
        .where(later.c.state == "done")
        .group_by(later.c.space, later.c.job)
    )
    row = tuple_(job_run.c.space, job_run.c.job, job_run.c.ended_at)
    old = (job_run.c.state == "done") & (job_run.c.ended_at < before)
    connection.execute(delete(job_run).where(old, row.not_in(last)))


def _run(row: Row[Any]) -> JobRun:
    return JobRun(**fields_of(job_run, row))
