"""The companion's statements about itself and its goals: by category, and over time."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from hippocampe.hippocampe import Hippocampe, every_memory
from hippocampe.types import CATEGORIES, Memory, Scope, State

Unit = Literal["day", "week"]
Kind = tuple[str, str]
"""A collection and a category: `("self", "capability")`."""
KINDS: tuple[Kind, ...] = tuple(
    (collection, category)
    for collection in ("self", "goal")
    for category in sorted(CATEGORIES[collection])
)


def own_statements(
    hippo: Hippocampe, *, space: str = "default", state: State = "current"
) -> list[Memory]:
    """The statements of `self` and `goal`, newest first in each.

    Raises:
        InvalidInput: The space or the state cannot be used.
    """
    scope = Scope(space=space)
    return [
        memory
        for collection in ("self", "goal")
        for memory in every_memory(hippo, scope=scope, collection=collection, state=state)
    ]


def by_category(memories: Iterable[Memory]) -> dict[Kind, list[Memory]]:
    """Group statements by category; every category is present, in a fixed order."""
    groups: dict[Kind, list[Memory]] = {kind: [] for kind in KINDS}
    for memory in memories:
        if memory.category is not None:
            groups.setdefault((memory.collection, memory.category), []).append(memory)
    return groups


def counts_over_time(
    memories: Iterable[Memory], times: Sequence[datetime]
) -> dict[Kind, tuple[int, ...]]:
    """Count those of the statements, given in all states, that were current at each of some times, by category.

    Returns:
        By category, one number for each of `times`.
    """
    return {
        kind: tuple(sum(_current_at(memory, time) for memory in group) for time in times)
        for kind, group in by_category(memories).items()
    }


def period_ends(now: datetime, timezone: str, unit: Unit, number: int) -> list[datetime]:
    """The ends of the last days or weeks, oldest first; the last one has not ended and is `now`.

    Args:
        timezone: Days end at midnight there, weeks on Sunday at midnight.
        number: Number of periods; 0 for none.
    """
    if number < 1:
        return []
    zone = ZoneInfo(timezone)
    local = now.astimezone(zone)
    # Days of the calendar, not of 24 hours: some have 23 or 25.
    begin = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    length = timedelta(days=1)
    if unit == "week":
        begin -= timedelta(days=begin.weekday())
        length = timedelta(days=7)
    past = [(begin - length * back).replace(tzinfo=zone) for back in range(number - 1)]
    return [*reversed(past), now]


def _current_at(memory: Memory, time: datetime) -> bool:
    ends = (memory.forgotten_at, memory.superseded_at, memory.expires_at)
    return memory.created_at <= time and all(end is None or end > time for end in ends)
