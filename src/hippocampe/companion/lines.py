"""Asynchronous line I/O on standard input and output, on every system.

Blocking reads and writes run in threads, because files, pipes and consoles cannot all be polled in one loop.
The threads are daemons on bare file descriptors: a host that neither writes nor reads does not keep the process
from ending.
"""

import asyncio
import os
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress

MAX_WAITING_LINES = 1_000
"""Lines buffered between a thread and the loop; the side that is ahead then waits."""
_CHUNK_BYTES = 2**16


class LineReader:
    """Reads lines from a file descriptor, without their ends; skips blank lines.

    A line of more than `limit` bytes is None; the rest of it is discarded.
    """

    def __init__(self, source: int, limit: int) -> None:
        self._source = source
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[tuple[bool, bytes | None]] = asyncio.Queue(MAX_WAITING_LINES)

    async def __aiter__(self) -> AsyncGenerator[bytes | None]:
        threading.Thread(target=self._read, name="hippocampe-input", daemon=True).start()
        while True:
            more, line = await self._waiting.get()
            if not more:
                return
            yield line

    def _read(self) -> None:
        # The loop may be closed while this thread waits.
        with suppress(RuntimeError, asyncio.CancelledError):
            for line in split(lambda: _chunk(self._source), self._limit):
                self._put(True, line)
            self._put(False, None)

    def _put(self, more: bool, line: bytes | None) -> None:
        putting = self._waiting.put((more, line))
        try:
            asyncio.run_coroutine_threadsafe(putting, self._loop).result()
        except RuntimeError:
            putting.close()
            raise


class LineWriter:
    """Writes lines to a file descriptor in order, each at once.

    Args:
        when_lost: Called in the loop when the reader has gone.
    """

    def __init__(self, target: int, when_lost: Callable[[], object]) -> None:
        self._target = target
        self._when_lost = when_lost
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(MAX_WAITING_LINES)
        self._ended = asyncio.Event()
        self.lost = False
        threading.Thread(target=self._run, name="hippocampe-output", daemon=True).start()

    async def write(self, line: bytes) -> None:
        """Queue a line; wait while the reader is far behind. Does nothing once it has gone."""
        await self._room.acquire()
        self._lines.put(line)

    async def close(self) -> None:
        """Wait until every line is written."""
        self._lines.put(None)
        await self._ended.wait()

    def _run(self) -> None:
        # The loop may be closed while this thread waits.
        with suppress(RuntimeError):
            while (line := self._lines.get()) is not None:
                if not self.lost:
                    self._write(line)
                self._loop.call_soon_threadsafe(self._room.release)
            self._loop.call_soon_threadsafe(self._ended.set)

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._target, left) :]
        except OSError:
            self.lost = True
            self._loop.call_soon_threadsafe(self._when_lost)


def split(read: Callable[[], bytes], limit: int) -> Iterator[bytes | None]:
    """Split the chunks of `read` into lines, until it returns nothing; None is a line over `limit` bytes."""
    begun, too_long = bytearray(), False
    while chunk := read():
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            begun += end
            if too_long or len(begun) > limit:
                yield None
            elif begun.strip():
                yield bytes(begun)
            begun, too_long = bytearray(), False
        if not too_long:
            begun += rest
        if len(begun) > limit:
            begun, too_long = bytearray(), True
    if too_long:
        yield None
    elif begun.strip():
        yield bytes(begun)


def _chunk(source: int) -> bytes:
    try:
        return os.read(source, _CHUNK_BYTES)
    except OSError:
        return b""
