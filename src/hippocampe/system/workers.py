"""Blocking calls of asynchronous programs, in threads of their own kind: none of them can use up all threads."""

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
    """The bounds of one kind of call: how many run at once, and how many more may wait."""

    threads: int
    waiting: int


class Workers:
    """Threads by kind of call. A call beyond the bounds of its kind is refused at once.

    Args:
        lanes: The bounds, by kind.
    """

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
        """The calls that run or wait, by kind."""
        return dict(self._pending)

    async def run(self, kind: str, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call in a thread of a kind, with the caller's context variables.

        A call that its caller gives up while it waits is not made.

        Raises:
            Overloaded: As many calls of this kind run and wait as may.
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
        """Drop the calls that wait. Those that run end by themselves."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
