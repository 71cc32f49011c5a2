"""Counts of a large space, kept for a while: many readers must not take the machine from the turns."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any

EXPENSIVE_SECONDS = 0.01
"""Seconds of computing from which a count is kept; cheaper ones are made each time."""
SHARE = 0.005
"""Of one core that the same count may take: one of 100 ms is kept for 20 seconds."""
MAX_KEPT = 1_000


@dataclass(slots=True)
class _Count:
    """A count that is expensive: the last value, how long it is kept, and the one being made."""

    value: Any
    until: float
    coming: "asyncio.Task[Any] | None" = None


class Kept:
    """Keeps the results of expensive counts. For one event loop.

    Args:
        clock: Seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: OrderedDict[Hashable, _Count] = OrderedDict()

    async def get(self, name: Hashable, count: Callable[[], Awaitable[tuple[Any, float]]]) -> Any:
        """A count, made now or a moment ago.

        Args:
            name: Which count of what.
            count: Makes it; returns it and the seconds of computing that it took.
        """
        known = self._counts.get(name)
        if known is None:
            return await self._make(name, count)
        if self._clock() < known.until:
            return known.value
        if known.coming is None:
            known.coming = asyncio.create_task(self._make(name, count))
        # The count goes on if this reader leaves: others wait for it.
        return await asyncio.shield(known.coming)

    async def _make(self, name: Hashable, count: Callable[[], Awaitable[tuple[Any, float]]]) -> Any:
        before = self._counts
        try:
            value, seconds = await count()
        except BaseException:
            before.pop(name, None)
            raise
        before.pop(name, None)
        if seconds >= EXPENSIVE_SECONDS:
            before[name] = _Count(value, self._clock() + seconds / SHARE)
            if len(before) > MAX_KEPT:
                before.popitem(last=False)
        return value

    def clear(self) -> None:
        """Forget all counts, also those being made: something was erased or digested."""
        # Those being made write to the old table.
        self._counts = OrderedDict()
