"""Thread pools for the blocking calls of asynchronous programs: one per kind of call, so that no kind starves
another."""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from hippocampe.errors import Overloaded

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lane:
    """The bounds of one kind of call: concurrent calls, and waiting calls."""

    threads: int
    waiting: int


class Workers:
    """Thread pools by kind of call. A call beyond the bounds of its kind is refused at once."""

    def __init__(self, lanes: Mapping[str, Lane]) -> None:
        self._most = {kind: lane.threads + lane.waiting for kind, lane in lanes.items()}
        self._pools = {
            kind: ThreadPoolExecutor(lane.threads, thread_name_prefix=f"hippocampe-{kind}")
            for kind, lane in lanes.items()
        }
        self._lock = threading.Lock()
        self._pending = dict.fromkeys(lanes, 0)

    @property
    def pending(self) -> Mapping[str, int]:
        """The number of running and waiting calls, by kind."""
        return dict(self._pending)

    async def run(self, kind: str, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call in a thread of a kind, with the caller's context variables.

        A call that its caller cancels while it waits is not executed.

        Raises:
            Overloaded: The bounds of this kind are reached.
        """
        with self._lock:
            if self._pending[kind] >= self._most[kind]:
                raise Overloaded(
                    f"{self._most[kind]} requests of this kind are pending already: try again in a moment."
                )
            self._pending[kind] += 1
        context = contextvars.copy_context()
        try:
            future = self._pools[kind].submit(context.run, partial(call, *args, **kwargs))
        except BaseException:
            self._ended(kind, None)
            raise
        future.add_done_callback(partial(self._ended, kind))
        return await asyncio.wrap_future(future)

    def _ended(self, kind: str, _: "Future[Any] | None") -> None:
        with self._lock:
            self._pending[kind] -= 1

    def close(self) -> None:
        """Drop the waiting calls. Running ones end by themselves."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
