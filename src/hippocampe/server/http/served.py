"""The memory as the server calls it: in bounded thread pools, with metrics, and with a cache of expensive counts."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any

from hippocampe.aio import AsyncHippocampe
from hippocampe.config import Config
from hippocampe.hippocampe import Hippocampe
from hippocampe.server.http.metrics import Metrics
from hippocampe.system.recent import Recent
from hippocampe.system.workers import Lane, Workers
from hippocampe.types import Injection
from hippocampe.validation import check_scope
from hippocampe.verbs import Verb

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
        self._counts = Recent[Hashable, _Count](MAX_CACHED)

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
        return value

    def clear(self) -> None:
        """Invalidate all counts, also those under way, after an erasure or a digest."""
        # Counts under way write to the old table.
        self._counts = Recent[Hashable, _Count](MAX_CACHED)


LANES = {
    # Turns wait inside, within their deadline, for one of the few places.
    "turn": Lane(threads=64, waiting=64),
    # More threads would only compete for the interpreter.
    "read": Lane(threads=4, waiting=28),
    # A count of a large space occupies a core while it runs: the turns need the other one.
    "count": Lane(threads=1, waiting=31),
    "write": Lane(threads=2, waiting=62),
    # They wait for models and child processes.
    "long": Lane(threads=4, waiting=12),
}


class ServedMemory(AsyncHippocampe):
    """A memory with bounded calls by kind, a cache of expensive counts, and metrics of turns."""

    def __init__(self, hippo: Hippocampe) -> None:
        self._lanes = Workers(LANES)
        super().__init__(hippo, workers=self._lanes)
        self.metrics = Metrics(self)
        self._counts = CountCache()

    async def _awaited(self, verb: Verb, /, *arguments: Any, **named: Any) -> Any:
        if verb.lane == "count":
            return await self._counted(verb, *arguments, **named)
        done = await super()._awaited(verb, *arguments, **named)
        if verb.recounts:
            self._counts.clear()
        if isinstance(done, Injection) and verb.lane == "turn":
            self.metrics.turn(done)
        return done

    async def _counted(self, verb: Verb, /, *arguments: Any, **named: Any) -> Any:
        """A count, made now or a moment ago: it takes long if the space is large."""
        call = getattr(self.sync, verb.name)
        space = check_scope(named["scope"]).space if "scope" in named else None
        others = {name: value for name, value in named.items() if name != "scope"}
        # As text: arguments that no verb takes may have no hash, and True is not 1.
        name = (verb.name, space, repr((arguments, sorted(others.items()))))

        def timed() -> tuple[Any, float]:
            started = time.thread_time()
            return call(*arguments, **named), time.thread_time() - started

        return await self._counts.get(name, lambda: self._in_lane("count", timed))

    @property
    def config(self) -> Config:
        """The configuration that the memory was opened with."""
        return self.sync.config

    def release(self) -> None:
        """Drop the waiting calls; the memory stays open."""
        self._lanes.close()
