"""The memory as the server calls it: in bounded thread pools, with metrics."""

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hippocampe.aio import AsyncHippocampe
from hippocampe.config import Config
from hippocampe.hippocampe import Hippocampe
from hippocampe.injection.incoming import HostMessage
from hippocampe.server.kept import Kept
from hippocampe.server.metrics import Metrics
from hippocampe.system.workers import Lane, Workers
from hippocampe.types import Injection, Scope
from hippocampe.validation import check_scope

T = TypeVar("T")
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
COUNTS = frozenset({"stats", "spaces", "users", "subjects", "activity"})
"""Verbs that count a whole space, which takes long for a large one."""
RECOUNTED = frozenset({"erase", "digest"})
"""Verbs that invalidate the cached counts."""


class ServedMemory(AsyncHippocampe):
    """A memory with bounded calls by kind, a cache of expensive counts, and metrics of turns.

    Args:
        hippo: The open memory; the caller closes it.
    """

    def __init__(self, hippo: Hippocampe) -> None:
        workers = Workers(LANES)
        super().__init__(hippo, workers=workers)
        self.metrics = Metrics(self)
        self._workers = workers
        self._kept = Kept()

    async def _run(self, kind: str, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        run = super()._run
        if call.__name__ not in COUNTS:
            done = await run(kind, call, *args, **kwargs)
            if call.__name__ in RECOUNTED:
                self._kept.clear()
            return done
        space = check_scope(kwargs["scope"]).space if "scope" in kwargs else None
        others = {name: value for name, value in kwargs.items() if name != "scope"}
        # As text: wrong arguments may have no hash, and True is not 1.
        name = (call.__name__, space, repr((args, sorted(others.items()))))

        def timed() -> tuple[T, float]:
            started = time.thread_time()
            return call(*args, **kwargs), time.thread_time() - started

        return await self._kept.get(name, lambda: run("count", timed))

    @property
    def config(self) -> Config:
        """The configuration that the memory was opened with."""
        return self.sync.config

    async def before_turn(
        self,
        message: HostMessage | Sequence[HostMessage],
        *,
        scope: Scope,
        role: str = "user",
        fresh: bool = False,
    ) -> Injection:
        injection = await super().before_turn(message, scope=scope, role=role, fresh=fresh)
        self.metrics.turn(injection)
        return injection

    def release(self) -> None:
        """Drop the waiting calls; the memory stays open."""
        self._workers.close()
