"""An event loop in a thread of its own: its results, and how it ends."""

import asyncio
import threading

import pytest

from hippocampe.system.loop_thread import LoopThread


class Closed(Exception):
    """The loop is closed."""


@pytest.fixture
def loop() -> LoopThread:
    return LoopThread("test-loop", Closed)


def test_results_and_errors_reach_the_caller(loop: LoopThread) -> None:
    async def fails() -> None:
        raise KeyError("missing")

    assert loop.run(lambda: asyncio.sleep(0, "done")) == "done"
    with pytest.raises(KeyError, match="missing"):
        loop.run(fails)
    loop.close()
    with pytest.raises(Closed):
        loop.run(fails)


def test_closing_ends_what_a_cancelled_call_starts(loop: LoopThread) -> None:
    started, late = threading.Event(), list[asyncio.Task[None]]()

    async def call() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            late.append(asyncio.create_task(asyncio.sleep(60)))

    def caller() -> None:
        with pytest.raises(Closed):
            loop.run(call)

    thread = threading.Thread(target=caller)
    thread.start()
    assert started.wait(10)
    loop.close()
    thread.join(10)
    [task] = late
    assert task.cancelled()
