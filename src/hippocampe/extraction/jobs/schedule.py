"""Find the scheduled jobs that are due, from the clock of the context and the ledger alone."""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from sqlalchemy import Connection

from hippocampe.engine.context import Context
from hippocampe.language.datetimes import as_zone
from hippocampe.store import job_runs, spaces
from hippocampe.types import Settings

SCHEDULED = ("digest", "settle", "expire", "decay", "prune")
"""The jobs of a space that need no input."""
CATCH_UP = timedelta(hours=4)
"""Age of the last digest above which one is made at start."""
SETTLE_EVERY = timedelta(minutes=10)
"""Interval of asking the language model about the pairs that wait for review."""
EXPIRE_EVERY = timedelta(hours=1)
"""Interval of expiry. Recall excludes expired memories already; this removes them from the index."""
DAILY = timedelta(days=1)
SET_BACK = timedelta(days=1)
"""A run that ended further in the future than this comes from a clock that ran ahead, and is ignored."""


def due(
    context: Context, *, jobs: Collection[str], starting: bool, space: str | None = None
) -> list[tuple[str, str]]:
    """The scheduled jobs to queue now, each with its space.

    A job that has a waiting, running or postponed run in the space is not due.

    Args:
        starting: Whether a digest is due because the last one is more than four hours old.
    """
    with context.corpus.store.read() as connection:
        known = job_runs.pending(connection, jobs)
        return [
            (job, of)
            for job, of in _due(context, connection, starting=starting)
            if job in jobs and space in (None, of) and (job, of) not in known
        ]


def _due(context: Context, connection: Connection, *, starting: bool) -> Iterator[tuple[str, str]]:
    corpus = context.corpus
    now = corpus.store.now()

    def passed(job: str, space: str, every: timedelta) -> bool:
        last = _last(connection, job, space, now)
        return last is None or now - last >= every

    for space, oldest in spaces.with_live(connection).items():
        since = _last(connection, "digest", space, now) or oldest
        if is_digest_due(corpus.settings.of(space), since=since, now=now, starting=starting):
            yield "digest", space
    if context.language_model is not None:
        for space in spaces.to_review(connection):
            if passed("settle", space, SETTLE_EVERY):
                yield "settle", space
    for space in spaces.with_expired(connection, now):
        if passed("expire", space, EXPIRE_EVERY):
            yield "expire", space
    for job, name in (("decay", "decay_half_life_days"), ("prune", "prune_below")):
        for space in spaces.that_set(connection, name):
            if getattr(corpus.settings.of(space), name) and passed(job, space, DAILY):
                yield job, space


def _last(connection: Connection, job: str, space: str, now: datetime) -> datetime | None:
    return job_runs.last_ended(connection, job, space, before=now + SET_BACK)


def is_digest_due(chosen: Settings, *, since: datetime, now: datetime, starting: bool) -> bool:
    """Return whether a space with live messages is to be digested.

    Args:
        since: When its last digest ended; without one, when its oldest live message was stored.
        starting: Whether this is the first poll since the start.
    """
    if not chosen.digest_hours:
        return False
    if starting and now - since > CATCH_UP:
        return True
    return next_hour(chosen.digest_hours, chosen.timezone, after=since) <= now


def next_hour(hours: Sequence[int], timezone: str, *, after: datetime) -> datetime:
    """The first fixed hour after a moment, in UTC.

    An hour that a daylight-saving change skips begins at the change; of an hour that occurs twice,
    only the first one counts.

    Args:
        hours: Hours of the day, 0 to 23; at least one.
        after: An aware time.
    """
    # Loaded at the first use: importing it takes longer than opening a folder.
    from apscheduler.triggers.cron import CronTrigger

    zone = as_zone(timezone)
    # The trigger runs on local wall-clock time without a zone. In the zone itself it would fire
    # twice when clocks are set back, and never at a skipped midnight.
    trigger = cast(
        "Any", CronTrigger(hour=",".join(map(str, hours)), minute=0, second=0, timezone=UTC)
    )
    wall = after.astimezone(zone).replace(tzinfo=UTC, fold=0)
    while True:
        next_one = trigger.get_next_fire_time(None, wall + timedelta(microseconds=1))
        wall = cast("datetime", next_one)
        moment = wall.replace(tzinfo=zone).astimezone(UTC)
        if moment > after:
            return moment
