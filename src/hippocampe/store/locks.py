"""The advisory locks of the processes that share a database in PostgreSQL, each until its transaction ends."""

from zlib import crc32

_UPGRADE, _WORDS, _WRITERS, _SPACES, _SCHEDULE, _FILLING = 1, 2, 3, 4, 5, 6
"""Families of locks."""
WAITING_TO_UPGRADE = f"SELECT pg_advisory_xact_lock({_UPGRADE}, 0)"
"""The statement that waits for other processes that create or upgrade the tables."""
WAITING_TO_ADD_WORDS = f"SELECT pg_advisory_xact_lock({_WORDS}, 0)"
"""The statement that waits for other transactions that add words: their ids are assigned in the order of commits."""
WAITING_FOR_ERASURES = f"SELECT pg_advisory_xact_lock_shared({_WRITERS}, 0)"
"""The statement that waits for erasures, and keeps others from beginning."""
WAITING_TO_SCHEDULE = f"SELECT pg_advisory_xact_lock({_SCHEDULE}, 0)"
"""The statement that waits for other processes that look at the schedule of jobs."""
TRYING_TO_FILL = f"SELECT pg_try_advisory_xact_lock({_FILLING}, 0)"
"""The statement that answers whether no other process fills the index."""


def trying_to_write(space: str | None) -> str:
    """The statement that answers whether no other process writes in a space, or in any, and keeps them from it."""
    return (
        waiting_for_writers(space)
        .replace("pg_advisory", "pg_try_advisory")
        .replace(", pg_", " AND pg_")
    )


def waiting_for_writers(space: str | None) -> str:
    """The statement that waits for the writers of a space, or for all writers."""
    if space is None:
        return f"SELECT pg_advisory_xact_lock({_WRITERS}, 0)"
    every = f"pg_advisory_xact_lock_shared({_WRITERS}, 0)"
    return f"SELECT {every}, pg_advisory_xact_lock({_SPACES}, {_number(space)})"


def holding(space: str | None, seconds: int) -> str:
    """The statement that returns who has kept the writers of a space waiting for so long, or all writers: the name and
    the number of its connection."""
    others = f"classid IN ({_UPGRADE}, {_WORDS})"
    if space is None:
        others += f" OR classid = {_WRITERS}"
    else:
        # Numbers of locks are shown without a sign.
        others += f" OR (classid = {_WRITERS} AND mode = 'ExclusiveLock')"
        others += f" OR (classid = {_SPACES} AND objid = {_number(space) % 2**32})"
    return (
        "SELECT application_name, pid FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted"
        f" AND datname = current_database() AND now() - xact_start > interval '{seconds} s' AND ({others})"
        " ORDER BY xact_start LIMIT 1"
    )


def _number(space: str) -> int:
    # Two spaces with the same number only wait for each other.
    return crc32(space.encode()) - 2**31
