"""Find the spaces with work for a scheduled job. Each function takes a connection."""

from datetime import datetime

from sqlalchemy import Connection, String, select, text

from hippocampe.store import associations, memories
from hippocampe.store.schema import Instant, memory, setting

# An index lookup for each space, instead of a scan of all rows of all spaces.
_KNOWN = """
    WITH RECURSIVE known(space) AS (
        SELECT min(space) FROM {table}
        UNION ALL
        SELECT (SELECT min(space) FROM {table} WHERE space > known.space)
        FROM known WHERE known.space IS NOT NULL
    )
"""
_WITH_LIVE = text(f"""{_KNOWN.format(table="message")}
    -- The sign keeps SQLite from walking the index of times, past all that is no longer live.
    SELECT space, oldest FROM (
        SELECT space, (
            SELECT min(+created_at) FROM message WHERE message.space = known.space AND live = TRUE
        ) AS oldest
        FROM known WHERE space IS NOT NULL
    ) AS found WHERE oldest IS NOT NULL
""").columns(space=String, oldest=Instant)
_JUDGED = " OR ".join(
    f"judged.reason LIKE :reason_{number}" for number in range(len(associations.FOR_A_PERSON))
)
_TO_REVIEW = text(f"""{_KNOWN.format(table="association")}
    SELECT space FROM known WHERE EXISTS (
        SELECT 1 FROM association AS edge
        JOIN memory AS source ON source.id = edge.source_id
        JOIN memory AS target ON target.id = edge.target_id
        WHERE edge.space = known.space AND edge.review = TRUE
        AND source.forgotten_at IS NULL AND source.superseded_by IS NULL
        AND target.forgotten_at IS NULL AND target.superseded_by IS NULL
        AND NOT EXISTS (
            SELECT 1 FROM association AS judged WHERE ({_JUDGED}) AND (
                (judged.source_id = edge.source_id AND judged.target_id = edge.target_id)
                OR (judged.source_id = edge.target_id AND judged.target_id = edge.source_id)
            )
        )
    )
""").bindparams(**{f"reason_{n}": f"{each}%" for n, each in enumerate(associations.FOR_A_PERSON)})


def with_live(connection: Connection) -> dict[str, datetime]:
    """The spaces with live messages, each with the time when its oldest one was stored."""
    return {row.space: row.oldest for row in connection.execute(_WITH_LIVE)}


def to_review(connection: Connection) -> list[str]:
    """The spaces with a pair of current memories to review that a language model may settle."""
    return [row.space for row in connection.execute(_TO_REVIEW)]


def with_expired(connection: Connection, now: datetime) -> list[str]:
    """The spaces with memories that have expired and are not hidden yet."""
    expired = [memories.CURRENT, memory.c.expires_at <= now]
    return list(connection.execute(select(memory.c.space).distinct().where(*expired)).scalars())


def that_set(connection: Connection, name: str) -> list[str]:
    """The spaces with a value of their own for a setting."""
    query = select(setting.c.space).where(setting.c.name == name)
    return list(connection.execute(query).scalars())
