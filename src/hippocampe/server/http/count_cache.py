"""Cache expensive counts, so that dashboards do not slow down turns."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any

EXPENSIVE_SECONDS = 0.01
"""Least seconds of computing of a cached count; cheaper ones are computed each time."""
SHARE = 0.005
"""Share of one core for the same count, from which its time to live follows: 20 seconds for a count of 100 ms."""
MAX_CACHED = 1_000


@dataclass(slots=True)
class _Count:
    """A cache entry: the last value, its expiry, and the computation under way."""

    value: Any
    until: float
    coming: "asyncio.Task[Any] | None" = None


class CountCache:
    """A cache of expensive counts. For one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: OrderedDict[Hashable, _Count] = OrderedDict()

    async def get(self, name: Hashable, count: Callable[[], Awaitable[tuple[Any, float]]]) -> Any:
        """A count, cached or computed now.

        Args:
            count: Computes it; returns it and the seconds of computing.
        """
        known = self._counts.get(name)
        if known is None:
            return await self._make(name, count)
        if self._clock() < known.until:
            return known.value
        if known.coming is None:
            known.coming = asyncio.create_task(self._make(name, count))
        # The computation continues if this reader disconnects: others wait for it.
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
            if len(before) > MAX_CACHED:
                before.popitem(last=False)
        return value

    def clear(self) -> None:
        """Invalidate all counts, also those under way, after an erasure or a digest."""
        # Counts under way write to the old table.
        self._counts = OrderedDict()
