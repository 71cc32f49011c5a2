"""Counts of a space by day. Each function takes a connection.

The days are the outer loop of every query, so that SQLite reads one range of an index per day.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from hippocampe.store.schema import microseconds

Bounds = Sequence[tuple[datetime, datetime]]
"""By day: its first instant, and that of the day after."""

_WITHIN = "BETWEEN day.start AND day.stop - 1"
_LEARNT = f"""
    SELECT day.number, memory.collection, memory.category, count(*)
    FROM day CROSS JOIN memory
    WHERE memory.space = :space AND memory.collection IN ('memory', 'self', 'goal', 'summary')
        AND memory.created_at {_WITHIN}
    GROUP BY day.number, memory.collection, memory.category
"""
_SAID = f"""
    SELECT day.number, count(*)
    FROM day CROSS JOIN message
    WHERE message.space = :space AND message.at {_WITHIN}
    GROUP BY day.number
"""
_INJECTED = f"""
    SELECT day.number, count(*) FILTER (WHERE retrieval.tokens_added > 0), sum(retrieval.tokens_added)
    FROM day CROSS JOIN retrieval
    WHERE retrieval.space = :space AND retrieval.created_at {_WITHIN}
    GROUP BY day.number
"""
_TOOK = f""", served AS (
        SELECT day.number, retrieval.took_ms,
            row_number() OVER (PARTITION BY day.number ORDER BY retrieval.took_ms) AS place,
            count(*) OVER (PARTITION BY day.number) AS many
        FROM day CROSS JOIN retrieval
        WHERE retrieval.space = :space AND retrieval.created_at {_WITHIN}
            AND retrieval.skipped IS NULL
    )
    SELECT number, min(took_ms) FILTER (WHERE place >= 0.5 * many),
        min(took_ms) FILTER (WHERE place >= 0.95 * many)
    FROM served GROUP BY number
"""
_SPENT = f"""
    SELECT day.number, usage.purpose, usage.model, count(*), sum(usage.input_tokens),
        sum(usage.output_tokens), sum(usage.injected_tokens), sum(usage.price)
    FROM day CROSS JOIN model_usage AS usage
    WHERE usage.space = :space AND usage.created_at {_WITHIN}
    GROUP BY day.number, usage.purpose, usage.model
    ORDER BY day.number, usage.purpose, usage.model
"""


def learnt(
    connection: Connection, space: str, days: Bounds
) -> list[tuple[int, str, str | None, int]]:
    """The memories created, by number of the day, collection and category."""
    return _rows(connection, _LEARNT, space, days)


def messages(connection: Connection, space: str, days: Bounds) -> dict[int, int]:
    """The messages by number of the day."""
    return dict(_rows(connection, _SAID, space, days))


def injected(connection: Connection, space: str, days: Bounds) -> dict[int, tuple[int, int]]:
    """The non-empty injections and their tokens, by number of the day."""
    return {day: (many, tokens) for day, many, tokens in _rows(connection, _INJECTED, space, days)}


def took(connection: Connection, space: str, days: Bounds) -> dict[int, tuple[float, float]]:
    """The median and the 95th percentile of the milliseconds of served turns, by number of the day."""
    return {day: (median, most) for day, median, most in _rows(connection, _TOOK, space, days)}


def spent(
    connection: Connection, space: str, days: Bounds
) -> list[tuple[int, str, str, int, int, int, int, float | None]]:
    """The calls of language models by number of the day, purpose and model: their number, their tokens of the
    request, of the answer and of injections, and their known price."""
    return _rows(connection, _SPENT, space, days)


def _rows(connection: Connection, query: str, space: str, days: Bounds) -> list[Any]:
    bounds = ", ".join(
        f"({number}, {microseconds(start)}, {microseconds(stop)})"
        for number, (start, stop) in enumerate(days)
    )
    known = f"WITH day(number, start, stop) AS MATERIALIZED (VALUES {bounds}) {query}"
    return [tuple(row) for row in connection.execute(text(known), {"space": space})]
