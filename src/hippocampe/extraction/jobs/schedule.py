"""Find the scheduled jobs that are due, from the clock of the context and the ledger alone."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from sqlalchemy import Connection

from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.language.datetimes import next_hour
from hippocampe.store import job_runs, spaces
from hippocampe.types import Settings

EVERY: Mapping[str, timedelta] = {
    "settle": timedelta(minutes=10),
    # Recall excludes expired memories already; this removes them from the index.
    "expire": timedelta(hours=1),
    "decay": timedelta(days=1),
    "prune": timedelta(days=1),
}
"""The interval of each job that has no hour of the day."""
SCHEDULED = ("digest", *EVERY)
"""The jobs of a space that need no input."""
CATCH_UP = timedelta(hours=4)
"""Age of the last digest above which one is made at start."""
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
    live = spaces.with_live(connection)
    chosen, last = corpus.settings.of_all(live), _last(connection, "digest", live, now)
    for space, oldest in live.items():
        since = last.get(space, oldest)
        if is_digest_due(chosen[space], since=since, now=now, starting=starting):
            yield "digest", space
    wanted = {
        "settle": () if context.language_model is None else spaces.to_review(connection),
        "expire": spaces.with_expired(connection, now),
        "decay": _setting(corpus, connection, "decay_half_life_days"),
        "prune": _setting(corpus, connection, "prune_below"),
    }
    for job, every in EVERY.items():
        last = _last(connection, job, wanted[job], now)
        for space in wanted[job]:
            if space not in last or now - last[space] >= every:
                yield job, space


def _setting(corpus: Corpus, connection: Connection, name: str) -> list[str]:
    """The spaces in which a setting is on."""
    chosen = corpus.settings.of_all(spaces.that_set(connection, name))
    return [space for space, its in chosen.items() if getattr(its, name)]


def _last(
    connection: Connection, job: str, of: Iterable[str], now: datetime
) -> dict[str, datetime]:
    return job_runs.last_ended_in(connection, job, of, before=now + SET_BACK)


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
