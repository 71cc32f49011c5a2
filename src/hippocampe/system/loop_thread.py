"""An event loop in a thread of its own, for synchronous callers of asynchronous code."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs calls of any thread in one event loop, so that connections outlive a call.

    The thread starts at the first call.

    Args:
        closed: Creates the error of calls cancelled by closing, or made after it.
    """

    def __init__(self, name: str, closed: Callable[[], Exception]) -> None:
        self._name = name
        self._error = closed
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Await the coroutine of `work` in the loop; return its result or raise its error."""
        started = self._start(work)
        try:
            return started.result()
        except CancelledError as exc:
            raise self._error() from exc

    def _start(self, work: Callable[[], Awaitable[T]]) -> "Future[T]":
        async def awaited() -> T:
            return await work()

        # One step with the check, so that closing cancels every call that was started.
        with self._starting:
            if self._closed:
                raise self._error()
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name=self._name, daemon=True
                )
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(awaited(), self._loop)

    def close(self, last: Callable[[], Awaitable[Any]] | None = None) -> None:
        """Cancel the calls under way, await `last`, and end the thread. Idempotent."""
        with self._starting:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_end(last), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(last: Callable[[], Awaitable[Any]] | None) -> None:
    await _cancel_all()
    if last is not None:
        await last()
    await asyncio.get_running_loop().shutdown_asyncgens()
    await _cancel_all()


async def _cancel_all() -> None:
    # A cancelled task may start others.
    while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
