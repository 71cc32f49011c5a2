"""Start the processes of the cells, restart one that ends, stop all."""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from hippocampe import errors
from hippocampe.cells import Divided
from hippocampe.client.wire import encode
from hippocampe.config import Config
from hippocampe.errors import HippocampeError, Overloaded, ServerUnavailable
from hippocampe.server.cells.passing import INTERNAL
from hippocampe.server.http.slow_clients import MAX_CONNECTIONS

log = logging.getLogger("hippocampe.cells")
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
"""Seconds before a cell that ended is started again: doubled each time, up to the longest."""
STEADY_SECONDS = 60.0
"""A cell that has run for so long is restarted after the first pause again."""
STOP_SECONDS = 30.0
"""Time for a cell to finish its requests and to close; then it is killed, which loses nothing."""
PROBE_SECONDS = 5.0
"""Interval between two questions to a cell whether it is alive, and the time for its answer."""
MISSED_PROBES = 6
"""A cell that leaves so many in a row without an answer is killed, after 30 seconds: a busy one answers within them."""
MOST_UNDER_WAY = MAX_CONNECTIONS // 2
"""Most requests of clients that a cell has at once: one that does not answer leaves connections to the others."""
IDLE_CONNECTIONS = 64
TIMEOUTS = {"connect": 5.0, "read": None, "write": None, "pool": None}
"""Streams and long calls have no limit: a cell that does not answer at all is killed, which ends them."""


@dataclass(frozen=True, slots=True)
class Orders:
    """The orders that all cells get."""

    config: Config
    loopback: bool
    keyless: bool
    address: str
    signing: str
    log_format: str
    log_level: str


@dataclass(slots=True)
class Cell:
    """One cell.

    Attributes:
        running: Set while it can be reached.
        under_way: The number of requests of clients that it has, or that wait for it.
    """

    number: int
    socket: Path
    running: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: int = 0
    process: "asyncio.subprocess.Process | None" = None
    transport: httpx.AsyncHTTPTransport = field(init=False)

    def __post_init__(self) -> None:
        self.connect()

    def connect(self) -> None:
        """Use new connections: those to a process that ended are of no use."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS)
        self.transport = httpx.AsyncHTTPTransport(uds=str(self.socket), limits=limits)

    @contextmanager
    def place(self) -> Generator[None]:
        """Count a request of a client.

        Raises:
            Overloaded: The cell has `MOST_UNDER_WAY` already.
        """
        if self.under_way >= MOST_UNDER_WAY:
            raise Overloaded(
                f"cell {self.number} has {MOST_UNDER_WAY} requests under way already: try again in a moment."
            )
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    async def ask(self, name: str, arguments: dict[str, Any] | None = None) -> httpx.Response:
        """Send a request of the router itself, and read the answer.

        Raises:
            httpx.TransportError: The cell cannot be reached, or ended.
        """
        method = "GET" if arguments is None else "POST"
        url = f"http://cell{INTERNAL}{name}"
        request = httpx.Request(method, url, json=arguments, extensions={"timeout": TIMEOUTS})
        response = await self.transport.handle_async_request(request)
        await response.aread()
        return response

    async def is_alive(self) -> bool:
        """Return whether it answers at all, and soon."""
        with suppress(httpx.TransportError, TimeoutError):
            async with asyncio.timeout(PROBE_SECONDS):
                await self.ask("alive")
                return True
        return False


class Supervisor:
    """The processes of the cells."""

    def __init__(self, divided: Divided, orders: Orders, sockets: Path) -> None:
        self._divided = divided
        self._orders = orders
        count = divided.read().count
        self.cells = [Cell(number, sockets / f"{number}.sock") for number in range(count)]
        self._tending: list[asyncio.Task[None]] = []
        self._stopping = False

    async def start(self) -> None:
        """Start all cells, and wait until they can be reached.

        Raises:
            HippocampeError: A cell cannot be started.
        """
        # The first one may create or upgrade the tables that all read.
        for cell in self.cells[:1]:
            await self._launch(cell)
        await asyncio.gather(*(self._launch(cell) for cell in self.cells[1:]))
        self._tending = [asyncio.create_task(self._tend(cell)) for cell in self.cells]

    async def stop(self) -> None:
        """Let the cells finish their requests and close."""
        self._stopping = True
        await asyncio.gather(*(self._end(cell) for cell in self.cells))
        for each in self._tending:
            each.cancel()
        await asyncio.gather(*self._tending, return_exceptions=True)

    async def _launch(self, cell: Cell) -> None:
        """Start a cell once.

        Raises:
            HippocampeError: It cannot be started.
        """
        cell.process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hippocampe.server.cells.cell"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # Ctrl-C reaches the router alone, which stops the cells in order.
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(self._order(cell)).encode() + b"\n")
        with suppress(ConnectionError):
            await process.stdin.drain()
        line = await process.stdout.readline()
        told: Mapping[str, Any] = json.loads(line) if line.strip() else {}
        if not told.get("ready"):
            await process.wait()
            raise _error(cell.number, told)
        cell.connect()
        cell.running.set()

    def _order(self, cell: Cell) -> dict[str, Any]:
        return {
            **encode(self._orders),
            "cell": cell.number,
            "division": encode(self._divided.read()),
            "socket": str(cell.socket),
            "others": [str(each.socket) for each in self.cells if each is not cell],
        }

    async def _tend(self, cell: Cell) -> None:
        """Restart a cell whenever it ends, until all are stopped."""
        pause = FIRST_PAUSE
        while True:
            started = time.monotonic()
            code = await self._ended(cell)
            cell.running.clear()
            if self._stopping:
                return
            if time.monotonic() - started > STEADY_SECONDS:
                pause = FIRST_PAUSE
            log.error("cell %d ended (%d): it is started again in %.1f s", cell.number, code, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            try:
                await self._launch(cell)
            except (HippocampeError, OSError) as exc:
                log.error("cell %d cannot be started: %s", cell.number, exc)

    async def _ended(self, cell: Cell) -> int:
        """Wait for the end of a process, and bring it about if that does not answer any more; return its code."""
        assert cell.process is not None
        watching = asyncio.create_task(self._watch(cell, cell.process))
        try:
            return await cell.process.wait()
        finally:
            watching.cancel()

    async def _watch(self, cell: Cell, process: asyncio.subprocess.Process) -> None:
        """Kill a process that runs and does not answer; count probes, so that a pause of the whole machine is one."""
        missed = 0
        while missed < MISSED_PROBES:
            alive, _ = await asyncio.gather(cell.is_alive(), asyncio.sleep(PROBE_SECONDS))
            missed = 0 if alive else missed + 1
        # While all are stopped, a cell finishes its requests and does not listen any more.
        if process.returncode is None and not self._stopping:
            log.error("cell %d does not answer: it is killed and started again", cell.number)
            process.kill()

    async def _end(self, cell: Cell) -> None:
        process = cell.process
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            log.error("cell %d did not end: it is killed", cell.number)
            process.kill()
            await process.wait()


def _error(number: int, told: Mapping[str, Any]) -> HippocampeError:
    kind = getattr(errors, str(told.get("kind")), ServerUnavailable)
    reason = told.get("error", "it ended without a reason: see its log.")
    return kind(f"cell {number} cannot be started: {reason}")
